//! The question types of SurveyJS, their options and checks.

use serde_json::Value;

use super::{SurveyJsReader, field, text};
use crate::draft::{Choice, ITEMS_MAX, Item, Kind, Options, Scale};
use crate::fields::{Fields, scalar};
use crate::report::{EntryId, quoted};
use crate::text::{Style, Text};

impl SurveyJsReader {
    pub(super) fn kind_of(
        &mut self,
        element: &Fields<'_>,
        kind: &str,
        item: &mut Item,
    ) -> Result<Kind, String> {
        Ok(match kind {
            "text" => self.text_kind(element, item.entry)?,
            "comment" => {
                Kind::Text { name: "longText", min: None, max: element.count("maxLength") }
            }
            "radiogroup" => {
                Kind::Single { options: self.options(element, item.entry), dropdown: false }
            }
            "dropdown" => {
                Kind::Single { options: self.options(element, item.entry), dropdown: true }
            }
            "checkbox" | "tagbox" => {
                if element.flag("showSelectAllItem") || element.flag("hasSelectAll") {
                    self.draft.report.change(item.entry, "“Select all” is not mapped");
                }
                let count = |name| element.count(name);
                let (min, max) = (count("minSelectedChoices"), count("maxSelectedChoices"));
                Kind::Multiple { options: self.options(element, item.entry), min, max }
            }
            "ranking" => Kind::Ranking(self.options(element, item.entry)),
            "imagepicker" => {
                let change = "images are not mapped: upload them to the app";
                self.draft.report.change(item.entry, change);
                let options = self.options(element, item.entry);
                match element.flag("multiSelect") {
                    true => Kind::Multiple { options, min: None, max: None },
                    false => Kind::Single { options, dropdown: false },
                }
            }
            "boolean" => {
                element.skip(&["renderAs"]);
                Kind::YesNo
            }
            "rating" => self.rating(element, item.entry),
            "slider" => {
                if element.text("sliderType").as_deref() == Some("range") {
                    return Err("Sluice has no question about a range".to_owned());
                }
                self.draft.report.change(item.entry, "is a number without steps");
                element.skip(&["step"]);
                let (min, max) = (element.number("min"), element.number("max"));
                Kind::Number { min: min.or(Some(0.0)), max: max.or(Some(100.0)), integer: false }
            }
            "matrix" => {
                if item.required
                    || element.flag("isAllRowRequired")
                    || element.flag("eachRowRequired")
                {
                    item.required = true;
                    self.draft.report.change(item.entry, "every row needs an answer");
                }
                Kind::Matrix {
                    rows: choices(element.list("rows")),
                    columns: choices(element.list("columns")),
                }
            }
            "html" => {
                item.prompt = text(element.get("html"), Style::Html).unwrap_or_default();
                Kind::Statement
            }
            "file" | "signaturepad" => return Err("Sluice does not accept files".to_owned()),
            "expression" => return Err("Sluice does not calculate".to_owned()),
            "matrixdynamic" | "paneldynamic" => {
                return Err("Sluice has no questions that repeat".to_owned());
            }
            "image" => return Err("images are not mapped: upload them to the app".to_owned()),
            _ => return Err("Sluice has no such question type".to_owned()),
        })
    }

    pub(super) fn text_kind(
        &mut self,
        element: &Fields<'_>,
        entry: EntryId,
    ) -> Result<Kind, String> {
        let input = element.text("inputType").unwrap_or_default();
        Ok(match input.as_str() {
            "" | "text" => {
                Kind::Text { name: "shortText", min: None, max: element.count("maxLength") }
            }
            "email" => Kind::text("email"),
            "url" => Kind::text("url"),
            "tel" => Kind::text("phone"),
            "number" | "range" => {
                let (min, max) = (element.number("min"), element.number("max"));
                Kind::Number { min, max, integer: false }
            }
            "date" | "datetime" | "datetime-local" => {
                if input != "date" {
                    self.draft.report.change(entry, "takes a date without a time");
                }
                let day = |name| element.text(name).and_then(|it| it.get(..10).map(str::to_owned));
                Kind::Date { min: day("min"), max: day("max") }
            }
            "password" => return Err("Sluice has no secret answers".to_owned()),
            other => {
                self.draft.report.change(entry, format!("{} is a short text", quoted(other)));
                Kind::text("shortText")
            }
        })
    }

    fn options(&mut self, element: &Fields<'_>, entry: EntryId) -> Options {
        let list = element.list("choices");
        let mut options = Options { choices: choices(list), ..Options::default() };
        for (name, what) in [
            ("visibleIf", "conditions of options are not mapped"),
            ("enableIf", "conditions of options are not mapped"),
            ("elements", "questions inside options are not mapped"),
        ] {
            if list.iter().any(|choice| choice.get(name).is_some()) {
                self.draft.report.change(entry, what);
            }
        }
        options.other = element.flag("showOtherItem") || element.flag("hasOther");
        if element.flag("showNoneItem") || element.flag("hasNone") {
            let label = field(element, "noneText").unwrap_or_else(|| Text::plain("None"));
            options.choices.push(Choice { fixed: true, ..Choice::new("none", label) });
        }
        match element.text("choicesOrder").as_deref() {
            Some("random") => options.random = true,
            Some("asc") => options.choices.sort_by_key(|choice| choice.label.shown()),
            Some("desc") => {
                options.choices.sort_by_key(|choice| std::cmp::Reverse(choice.label.shown()));
            }
            _ => {}
        }
        self.correct(element, &mut options, entry);
        options
    }

    /// The right answer of a quiz adds one point.
    fn correct(&mut self, element: &Fields<'_>, options: &mut Options, entry: EntryId) {
        let answer = element.get("correctAnswer");
        let list = answer.as_array().map(Vec::as_slice).unwrap_or(std::slice::from_ref(answer));
        let right: Vec<String> = list.iter().filter_map(scalar).collect();
        if right.is_empty() {
            return;
        }
        let points = 1.0 / right.len() as f64;
        for choice in &mut options.choices {
            let is_right = choice.keys.iter().any(|key| right.contains(key));
            choice.score = Some(if is_right { points } else { 0.0 });
        }
        let each = if right.len() > 1 {
            "each right option adds its share of one point"
        } else {
            "the right option adds one point"
        };
        self.draft.report.change(entry, each);
    }

    fn rating(&mut self, element: &Fields<'_>, entry: EntryId) -> Kind {
        let min = element.number("rateMin").unwrap_or(1.0);
        let count = element.count("rateCount").filter(|_| !element.has("rateMax"));
        let max = element.number("rateMax");
        let max = max.unwrap_or_else(|| min + f64::from(count.unwrap_or(5)) - 1.0);
        let shape =
            match element.text("rateType").or_else(|| element.text("rateDisplayMode")).as_deref() {
                Some("stars") => "star",
                Some("smileys") => "emoji",
                _ => "number",
            };
        element.skip(&["displayMode", "rateColorMode", "scaleColorMode", "autoGenerate"]);
        let mut scale = Scale {
            low: field(element, "minRateDescription"),
            high: field(element, "maxRateDescription"),
            shape,
            ..Scale::default()
        };
        let values = element.list("rateValues");
        if !values.is_empty() {
            self.draft.report.change(entry, "its own values are options");
            let options = Options { choices: choices(values), ..Options::default() };
            return Kind::Single { options, dropdown: false };
        }
        if element.has("rateStep") && element.number("rateStep") != Some(1.0) {
            self.draft.report.change(entry, "its steps are 1");
        }
        let steps = max - min + 1.0;
        if min == 0.0 && max == 10.0 {
            return Kind::Nps(scale);
        }
        if !(1.0..=10.0).contains(&steps) {
            self.draft.report.change(entry, "is a number: a rating has at most 10 steps");
            return Kind::Number { min: Some(min), max: Some(max), integer: true };
        }
        scale.max = steps as u32;
        scale.shift = 1.0 - min;
        if scale.shift != 0.0 {
            self.draft.report.change(entry, format!("runs from 1 to {}", scale.max));
        }
        Kind::Rating(scale)
    }

    pub(super) fn validators(&mut self, element: &Fields<'_>, item: &mut Item) {
        for validator in element.list("validators").iter().take(ITEMS_MAX).map(Fields::new) {
            let name = validator.text("type").unwrap_or_default();
            *self.draft.omitted.entry("validators.text").or_default() +=
                usize::from(validator.has("text"));
            match (name.as_str(), &mut item.kind) {
                ("numeric", Some(Kind::Number { min, max, .. })) => {
                    *min = min.or(validator.number("minValue"));
                    *max = max.or(validator.number("maxValue"));
                }
                ("text", Some(Kind::Text { min, max, .. })) => {
                    *min = min.or(validator.count("minLength"));
                    *max = max.or(validator.count("maxLength"));
                }
                ("answercount", Some(Kind::Multiple { min, max, .. })) => {
                    *min = min.or(validator.count("minCount"));
                    *max = max.or(validator.count("maxCount"));
                }
                ("email", Some(kind @ Kind::Text { .. })) => *kind = Kind::text("email"),
                _ => {
                    let change = format!("the check {} is not mapped", quoted(&name));
                    self.draft.report.change(item.entry, change);
                }
            }
        }
    }
}

/// Between the value and the text of a choice that is written as one text.
const SEPARATOR: char = '|';

/// Choices, rows, columns or rate values: values, or objects with a value and a text. The value may
/// be written as `value|text`; a separate text takes precedence.
fn choices(list: &[Value]) -> Vec<Choice> {
    let choice = |value: &Value| {
        let whole = scalar(value).or_else(|| scalar(&value["value"])).unwrap_or_default();
        let (key, short) = whole.split_once(SEPARATOR).unwrap_or((&whole, ""));
        let label = value.get("text").and_then(|it| text(it, Style::Plain));
        let label = label.or_else(|| text(&Value::from(short), Style::Plain));
        Choice::new(key, label.unwrap_or_else(|| Text::plain(key)))
    };
    list.iter().map(choice).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_choice_may_be_written_as_value_and_text() {
        for (source, key, label) in [
            (json!("low|No, too low"), "low", "No, too low"),
            (json!({"value": "low|No, too low"}), "low", "No, too low"),
            (json!({"value": "low|No", "text": "Never"}), "low", "Never"),
            (json!("a|b|c"), "a", "b|c"),
            (json!("low|"), "low", "low"),
            (json!("low"), "low", "low"),
            (json!(3), "3", "3"),
            (json!({"value": 3, "text": "Three|3"}), "3", "Three|3"),
            (json!({"text": "Only a text"}), "", "Only a text"),
        ] {
            let made = choices(std::slice::from_ref(&source)).remove(0);
            assert_eq!(made.keys, [key], "{source}");
            assert_eq!(made.label.shown(), label, "{source}");
        }
    }
}
