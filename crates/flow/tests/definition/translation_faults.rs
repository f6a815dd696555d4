//! The faults of translations.

use serde_json::{Value, json};
use sluice_flow::definition::check;
use sluice_flow::definition::limits::TRANSLATIONS_MAX;

use crate::{accepted, refused};

fn translated(translations: Value) -> Value {
    let options = json!([{"id": "a", "label": "A"}, {"id": "b", "label": "B"}]);
    json!({
        "title": "T", "description": "D", "defaultLocale": "en-GB",
        "ending": {"title": "Bye"},
        "questions": [
            {"id": "nps", "type": "nps", "prompt": "?", "lowLabel": "low"},
            {"id": "one", "type": "dropdown", "prompt": "?", "help": "H", "options": options},
            {"id": "grid", "type": "matrix", "prompt": "?", "rows": options, "columns": options},
        ],
        "translations": translations,
    })
}

#[test]
fn a_translation_may_contain_every_text_and_omit_any() {
    accepted(&translated(json!({"de": {}, "fr": null})));
    let full = translated(json!({"DE_at": {
        "title": "Titel", "description": "Text", "ending": {"title": "Ende", "body": null},
        "questions": {
            "nps": {"prompt": "Wie?", "lowLabel": "nie"},
            "one": {"prompt": "Was?", "help": "Hilfe", "options": {"a": "Ä", "b": ""}},
            "grid": {"rows": {"a": "Ä"}, "columns": {"b": "Bé"}},
        },
    }, "ar": {"title": "عنوان"}}));
    let definition = check(&full).unwrap();
    assert_eq!(definition.locales().collect::<Vec<_>>(), ["en-GB", "ar", "de-AT"]);
    let german = serde_json::to_value(&definition.translations()["de-AT"]).unwrap();
    assert_eq!(german["questions"]["one"]["options"], json!({"a": "Ä"}));
    assert_eq!(german["ending"], json!({"title": "Ende"}));
}

#[test]
fn a_text_that_the_definition_does_not_have_cannot_be_translated() {
    for (translation, pointer, words) in [
        (json!({"ending": {"body": "x"}}), "/ending/body", "no body"),
        (json!({"ending": {"redirectUrl": "x"}}), "/ending/redirectUrl", "unknown field"),
        (json!({"questions": {"gone": {}}}), "/questions/gone", "no question with this id"),
        (json!({"questions": {"nps": {"help": "x"}}}), "/questions/nps/help", "unknown field"),
        (json!({"questions": {"nps": {"highLabel": "x"}}}), "/questions/nps/highLabel", "unknown"),
        (json!({"questions": {"nps": {"type": "x"}}}), "/questions/nps/type", "unknown"),
        (
            json!({"questions": {"one": {"options": {"c": "x"}}}}),
            "/questions/one/options/c",
            "no such id",
        ),
        (
            json!({"questions": {"grid": {"rows": {"z/z": "x"}}}}),
            "/questions/grid/rows/z~1z",
            "no such id",
        ),
        (json!({"respondentAnalytics": "ask"}), "/respondentAnalytics", "unknown field"),
    ] {
        let pointer = format!("/translations/de{pointer}");
        refused(&translated(json!({"de": translation})), &[(&pointer, words)]);
    }
    let plain =
        json!({"title": "T", "questions": [], "translations": {"de": {"description": "x"}}});
    refused(&plain, &[("/translations/de/description", "no description")]);
}

#[test]
fn only_texts_are_translations() {
    for (translation, pointer) in [
        (json!(1), ""),
        (json!({"title": 1}), "/title"),
        (json!({"title": "x".repeat(301)}), "/title"),
        (json!({"questions": []}), "/questions"),
        (json!({"questions": {"nps": "x"}}), "/questions/nps"),
        (json!({"questions": {"nps": {"prompt": {}}}}), "/questions/nps/prompt"),
        (json!({"questions": {"one": {"options": ["x"]}}}), "/questions/one/options"),
        (json!({"questions": {"one": {"options": {"a": 1}}}}), "/questions/one/options/a"),
        (json!({"ending": "x"}), "/ending"),
    ] {
        let pointer = format!("/translations/de{pointer}");
        refused(&translated(json!({"de": translation})), &[(&pointer, "must be")]);
    }
}

#[test]
fn a_language_is_a_unique_tag_other_than_the_default() {
    refused(&translated(json!({"not a tag": {}})), &[("/translations/not a tag", "BCP 47")]);
    refused(&translated(json!({"en_gb": {}})), &[("/translations/en_gb", "default language")]);
    refused(
        &translated(json!({"de": {}, "de-at": {}, "de_AT": {}})),
        &[("/translations/de_AT", "twice")],
    );
    let tags = (0..=TRANSLATIONS_MAX).map(|at| {
        let letter = |at: usize| char::from(b'a' + (at % 26) as u8);
        (format!("q{}{}", letter(at / 26), letter(at)), json!({}))
    });
    refused(&translated(tags.collect()), &[("/translations", "at most 100 languages")]);
}
