//! The texts of a definition in other languages.
//!
//! A translation may omit texts (the default language is used instead), but may contain only texts
//! that the definition has: a text that was removed or renamed is a fault, not silently left over.
//! Which texts a question has is defined by its type.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::Ending;
use super::limits::{
    DESCRIPTION_CHARS_MAX, ENDING_BODY_CHARS_MAX, HELP_CHARS_MAX, LABEL_CHARS_MAX,
    PROMPT_CHARS_MAX, TITLE_CHARS_MAX, TRANSLATIONS_MAX,
};
use super::reader::{Faults, ObjectReader, child, object, text};
use crate::locale;
use crate::question::{Label, Question};

/// One language's texts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Translation {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// By question id, then by the field's name (`prompt`, `help`, `lowLabel`, `options`, …).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub questions: BTreeMap<String, BTreeMap<String, TranslatedText>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ending: Option<TranslatedEnding>,
}

/// A text, or the labels of options, rows or columns by their ids.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum TranslatedText {
    One(String),
    Each(BTreeMap<String, String>),
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TranslatedEnding {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
}

/// The texts that can be translated.
pub(super) struct Original<'d> {
    pub(super) default_locale: &'d str,
    pub(super) description: bool,
    pub(super) questions: &'d [Question],
    pub(super) ending: &'d Ending,
}

pub(super) fn read_all(
    reader: &mut ObjectReader<'_>,
    original: &Original<'_>,
) -> BTreeMap<String, Translation> {
    let mut translations = BTreeMap::new();
    let Some(value) = reader.field("translations") else { return translations };
    let all = reader.at("translations");
    let Some(map) = object(value, &all, reader.faults) else { return translations };
    if map.len() > TRANSLATIONS_MAX {
        reader.fault("translations", format!("must hold at most {TRANSLATIONS_MAX} languages"));
    }
    for (tag, value) in map.iter().take(TRANSLATIONS_MAX).filter(|(_, value)| !value.is_null()) {
        let pointer = child(&all, tag);
        let Some(locale) = locale::canonical(tag) else {
            reader.faults.add(pointer, "must be a BCP 47 language tag such as en or pt-BR");
            continue;
        };
        if locale == original.default_locale {
            reader.faults.add(
                pointer.clone(),
                format!("{locale} is the default language; its texts stand in the definition"),
            );
        }
        let translation = read_one(value, &pointer, original, reader.faults);
        if translations.insert(locale.clone(), translation).is_some() {
            reader.faults.add(pointer, format!("{locale} is given twice"));
        }
    }
    translations
}

fn read_one(value: &Value, pointer: &str, original: &Original<'_>, faults: &Faults) -> Translation {
    let Some(mut reader) = ObjectReader::open(value, pointer.to_owned(), faults) else {
        return Translation::default();
    };
    let title = reader.text("title", TITLE_CHARS_MAX);
    let description = reader.text("description", DESCRIPTION_CHARS_MAX);
    if description.is_some() && !original.description {
        reader.fault("description", "the definition has no description to translate");
    }
    let questions = read_questions(&mut reader, original.questions);
    let ending = read_ending(&mut reader, original.ending);
    reader.close();
    Translation { title, description, questions, ending }
}

fn read_ending(reader: &mut ObjectReader<'_>, original: &Ending) -> Option<TranslatedEnding> {
    let value = reader.field("ending")?;
    let mut reader = ObjectReader::open(value, reader.at("ending"), reader.faults)?;
    let title = reader.text("title", TITLE_CHARS_MAX);
    let body = reader.text("body", ENDING_BODY_CHARS_MAX);
    if title.is_some() && original.title.is_none() {
        reader.fault("title", "the ending has no title to translate");
    }
    if body.is_some() && original.body.is_none() {
        reader.fault("body", "the ending has no body to translate");
    }
    reader.close();
    let ending = TranslatedEnding { title, body };
    (ending != TranslatedEnding::default()).then_some(ending)
}

fn read_questions(
    reader: &mut ObjectReader<'_>,
    questions: &[Question],
) -> BTreeMap<String, BTreeMap<String, TranslatedText>> {
    let mut translated = BTreeMap::new();
    let Some(value) = reader.field("questions") else { return translated };
    let all = reader.at("questions");
    let Some(map) = object(value, &all, reader.faults) else { return translated };
    for (id, value) in map.iter().filter(|(_, value)| !value.is_null()) {
        let pointer = child(&all, id);
        let Some(question) = questions.iter().find(|question| question.id == *id) else {
            reader.faults.add(pointer, "the definition has no question with this id");
            continue;
        };
        let texts = read_question(value, &pointer, question, reader.faults);
        if !texts.is_empty() {
            translated.insert(id.clone(), texts);
        }
    }
    translated
}

fn read_question(
    value: &Value,
    pointer: &str,
    question: &Question,
    faults: &Faults,
) -> BTreeMap<String, TranslatedText> {
    let mut texts = BTreeMap::new();
    let Some(mut reader) = ObjectReader::open(value, pointer.to_owned(), faults) else {
        return texts;
    };
    for (name, label) in question.labels() {
        let chars_max = match name {
            "prompt" => PROMPT_CHARS_MAX,
            "help" => HELP_CHARS_MAX,
            _ => LABEL_CHARS_MAX,
        };
        let text = match label {
            Label::One => reader.text(name, chars_max).map(TranslatedText::One),
            Label::Each(choices) => {
                let ids: Vec<&str> = choices.iter().map(|choice| choice.id.as_str()).collect();
                read_each(&mut reader, name, &ids).map(TranslatedText::Each)
            }
        };
        if let Some(text) = text {
            texts.insert(name.to_owned(), text);
        }
    }
    reader.close();
    texts
}

fn read_each(
    reader: &mut ObjectReader<'_>,
    name: &'static str,
    ids: &[&str],
) -> Option<BTreeMap<String, String>> {
    let value = reader.field(name)?;
    let all = reader.at(name);
    let map = object(value, &all, reader.faults)?;
    let mut labels = BTreeMap::new();
    for (id, value) in map.iter().filter(|(_, value)| !value.is_null() && **value != "") {
        let pointer = child(&all, id);
        if !ids.contains(&id.as_str()) {
            reader.faults.add(pointer, format!("the question's {name} have no such id"));
        } else if let Some(label) = text(value, &pointer, LABEL_CHARS_MAX, reader.faults) {
            labels.insert(id.clone(), label);
        }
    }
    (!labels.is_empty()).then_some(labels)
}
