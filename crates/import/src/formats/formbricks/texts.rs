//! Texts of Formbricks: by language, perhaps HTML, with recalled answers.

use serde_json::Value;

use crate::text::{Piece, Style, Text, split};

/// Newer versions of the API name the default language, and write each text under its tag; older
/// ones write it under `default`. This makes the newer form the older one.
pub(super) fn with_default(mut value: Value) -> Value {
    let named = value["defaultLanguage"].as_str().or(value["data"]["defaultLanguage"].as_str());
    if let Some(tag) = named.map(str::to_owned) {
        rename(&mut value, &tag);
    }
    value
}

/// The parser of JSON limits how deep a value nests.
fn rename(value: &mut Value, tag: &str) {
    match value {
        Value::Object(map) => {
            map.values_mut().for_each(|inner| rename(inner, tag));
            if !map.contains_key("default")
                && let Some(text) = map.get(tag).filter(|it| it.is_string()).cloned()
            {
                map.remove(tag);
                map.insert("default".to_owned(), text);
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|inner| rename(inner, tag)),
        _ => {}
    }
}

fn pieces(source: &str) -> Vec<Piece> {
    split(source, "#recall:", "#", |inner| {
        let (key, fallback) = inner.split_once("/fallback:").unwrap_or((inner, ""));
        let fallback = fallback.replace("nbsp", " ");
        Some(Piece::Recall { key: key.to_owned(), fallback: fallback.trim().to_owned() })
    })
}

pub(super) fn text(value: &Value) -> Option<Text> {
    let all = match value {
        Value::String(text) => return styled(text, []),
        Value::Object(all) => all,
        _ => return None,
    };
    let default = all.get("default").and_then(Value::as_str);
    let default = default.or_else(|| all.values().find_map(Value::as_str)).unwrap_or_default();
    let others = all.iter().filter(|(tag, _)| *tag != "default");
    styled(default, others.filter_map(|(tag, text)| Some((tag.as_str(), text.as_str()?))))
}

fn styled<'t>(default: &str, others: impl IntoIterator<Item = (&'t str, &'t str)>) -> Option<Text> {
    let others: Vec<(&str, &str)> = others.into_iter().filter(|(_, it)| !it.is_empty()).collect();
    let is_html =
        |text: &str| text.contains("</") || text.contains("<br") || text.contains("&nbsp;");
    let html = is_html(default) || others.iter().any(|(_, text)| is_html(text));
    let style = if html { Style::Html } else { Style::Plain };
    let mut text = Text::new(style, pieces(default));
    text.translations =
        others.iter().map(|(tag, text)| ((*tag).to_owned(), pieces(text))).collect();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_under_the_default_language_are_the_default() {
        let headline = |survey: Value| {
            let text = text(&with_default(survey)["headline"]).unwrap_or_default();
            (text.shown(), text.translations.into_keys().collect::<Vec<_>>())
        };
        for (survey, shown, others) in [
            (json!({"headline": {"default": "A", "de": "B"}}), "A", vec!["de"]),
            (
                json!({"defaultLanguage": "en-US", "headline": {"de-DE": "B", "en-US": "A"}}),
                "A",
                vec!["de-DE"],
            ),
            (json!({"defaultLanguage": "de", "headline": {"default": "A"}}), "A", vec![]),
            (json!({"headline": {"en-US": "A"}}), "A", vec!["en-US"]),
            (json!({"headline": "A"}), "A", vec![]),
        ] {
            let expected = (shown.to_owned(), others.into_iter().map(str::to_owned).collect());
            assert_eq!(headline(survey.clone()), expected, "{survey}");
        }
    }
}
