//! The texts of a definition in other languages.
//!
//! A translation may omit texts (the default language is used instead), but may contain only texts
//! that the definition has: a text that was removed or renamed is a fault, not silently left over.
//! Which texts a question has is defined by its type.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::limits::{
    DESCRIPTION_CHARS_MAX, ENDING_BODY_CHARS_MAX, HELP_CHARS_MAX, LABEL_CHARS_MAX,
    PROMPT_CHARS_MAX, TITLE_CHARS_MAX, TRANSLATIONS_MAX,
};
use super::reader::{Faults, ObjectReader, child, object, text};
use super::{Ending, NamedEnding, Section, Welcome, screens};
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
    /// By the id of the ending.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub endings: BTreeMap<String, TranslatedEnding>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub welcome: Option<Welcome>,
    /// By the id of the section.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sections: BTreeMap<String, TranslatedSection>,
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

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TranslatedSection {
    pub title: String,
}

/// The texts that can be translated.
pub(super) struct Original<'d> {
    pub(super) default_locale: &'d str,
    pub(super) description: bool,
    pub(super) questions: &'d [Question],
    pub(super) ending: &'d Ending,
    pub(super) endings: &'d [NamedEnding],
    pub(super) welcome: Option<&'d Welcome>,
    pub(super) sections: &'d [Section],
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
    let value = reader.field("ending");
    let ending = value
        .and_then(|value| read_ending(value, reader.at("ending"), original.ending, reader.faults));
    let endings = read_endings(&mut reader, original.endings);
    let welcome = read_welcome(&mut reader, original.welcome);
    let sections = read_sections(&mut reader, original.sections);
    reader.close();
    Translation { title, description, questions, ending, endings, welcome, sections }
}

fn read_welcome(reader: &mut ObjectReader<'_>, original: Option<&Welcome>) -> Option<Welcome> {
    let pointer = reader.at("welcome");
    let translated = screens::read_welcome(reader)?;
    let original = original.cloned().unwrap_or_default();
    for (name, text, had) in [
        ("title", &translated.title, &original.title),
        ("body", &translated.body, &original.body),
        ("buttonText", &translated.button_text, &original.button_text),
    ] {
        if text.is_some() && had.is_none() {
            let message = format!("the welcome screen has no {name} to translate");
            reader.faults.add(child(&pointer, name), message);
        }
    }
    Some(translated)
}

fn read_sections(
    reader: &mut ObjectReader<'_>,
    sections: &[Section],
) -> BTreeMap<String, TranslatedSection> {
    let Some(value) = reader.field("sections") else { return BTreeMap::new() };
    let all = reader.at("sections");
    let map = object(value, &all, reader.faults).into_iter().flatten();
    map.filter(|(_, value)| !value.is_null())
        .filter_map(|(id, value)| {
            let pointer = child(&all, id);
            let Some(original) = sections.iter().find(|section| section.id == *id) else {
                reader.faults.add(pointer, "the definition has no section with this id");
                return None;
            };
            let mut reader = ObjectReader::open(value, pointer, reader.faults)?;
            let title = reader.text("title", TITLE_CHARS_MAX);
            if title.is_some() && original.title.is_none() {
                reader.fault("title", "the section has no title to translate");
            }
            reader.close();
            Some((id.clone(), TranslatedSection { title: title? }))
        })
        .collect()
}

fn read_endings(
    reader: &mut ObjectReader<'_>,
    endings: &[NamedEnding],
) -> BTreeMap<String, TranslatedEnding> {
    let Some(value) = reader.field("endings") else { return BTreeMap::new() };
    let all = reader.at("endings");
    let map = object(value, &all, reader.faults).into_iter().flatten();
    map.filter(|(_, value)| !value.is_null())
        .filter_map(|(id, value)| {
            let pointer = child(&all, id);
            let Some(original) = endings.iter().find(|ending| ending.id == *id) else {
                reader.faults.add(pointer, "the definition has no ending with this id");
                return None;
            };
            let ending = read_ending(value, pointer, &original.ending, reader.faults)?;
            Some((id.clone(), ending))
        })
        .collect()
}

fn read_ending(
    value: &Value,
    pointer: String,
    original: &Ending,
    faults: &Faults,
) -> Option<TranslatedEnding> {
    let mut reader = ObjectReader::open(value, pointer, faults)?;
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
            Label::Alts(choices) => {
                let with_alt = choices.iter().filter(|choice| choice.alt().is_some());
                let ids: Vec<&str> = with_alt.map(|choice| choice.id.as_str()).collect();
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
