//! An author's draft, checked into a [`Definition`] or all its faults.
//!
//! A definition is a snapshot without what the server sets. Only [`check`] creates one, so code
//! that has one need not check again: ids are unique, bounds are consistent, conditions refer to
//! earlier questions, and translations to existing texts. Its JSON ([`Definition::to_json`]) is
//! canonical: defaults are written out, absent texts are omitted, and checking it gives an equal
//! definition.
//!
//! Deliberately absent: the flow's kind decides nothing here, and nothing is silently repaired
//! except the spelling of locales.

mod difference;
mod ending;
pub mod limits;
mod piping;
mod presentable;
pub(crate) mod reader;
mod schema;
mod screens;
mod translation;
mod warnings;
mod wording;

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::ending::REDIRECT;
use self::limits::{DESCRIPTION_CHARS_MAX, FAULTS_MAX, TITLE_CHARS_MAX};
use self::reader::{Faults, ObjectReader};
use crate::locale;
use crate::logic::Condition;
use crate::origin;
use crate::question::types::url::is_url;
use crate::question::{self, Image, Question};

pub use self::difference::{Change, ChangeKind, difference};
pub use self::ending::{Ending, NamedEnding};
pub use self::presentable::presentable;
pub use self::reader::Fault;
pub use self::schema::json_schema;
pub use self::screens::{Section, Welcome};
pub use self::translation::{TranslatedText, Translation};
pub use self::warnings::warnings;
pub use self::wording::Wording;

/// The language of a definition that does not specify one.
pub const DEFAULT_LOCALE: &str = "en";

/// Fields of a snapshot that authors cannot set.
pub const SERVER_SET: &[&str] =
    &["flowVersionId", "flowId", "payloadGeneration", "kind", "number", "publishedAt", "locales"];

/// What a flow is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Survey,
    Form,
    Message,
}

/// Whether respondents are asked to be linked to their answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RespondentAnalytics {
    Ask,
    #[default]
    Never,
}

impl RespondentAnalytics {
    pub(crate) const WORDS: &[(&str, Self)] = &[("ask", Self::Ask), ("never", Self::Never)];
}

/// A valid draft; only [`check`] creates one.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Definition {
    title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    default_locale: String,
    respondent_analytics: RespondentAnalytics,
    #[serde(skip_serializing_if = "is_true")]
    auto_advance: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    welcome: Option<Welcome>,
    questions: Vec<Question>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sections: Vec<Section>,
    ending: Ending,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    endings: Vec<NamedEnding>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    translations: BTreeMap<String, Translation>,
    /// The indexes of the questions sorted by id, to find one by its id.
    #[serde(skip)]
    by_id: Vec<usize>,
    /// Whether any question has a score.
    #[serde(skip)]
    is_scored: bool,
    /// Whether a question's `visibleIf` alone decides that it is visible.
    #[serde(skip)]
    is_plain: bool,
}

impl Definition {
    /// The canonical JSON of the definition, stored when it is published.
    #[expect(clippy::expect_used, reason = "texts, numbers and text keys always have a JSON form")]
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("a definition has a JSON form")
    }

    pub fn title(&self) -> &str {
        &self.title
    }

    pub fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }

    /// The language of the texts themselves, in canonical BCP 47.
    pub fn default_locale(&self) -> &str {
        &self.default_locale
    }

    /// All languages: the default one, then the translations sorted by tag.
    pub fn locales(&self) -> impl Iterator<Item = &str> {
        let translated = self.translations.keys().map(String::as_str);
        std::iter::once(self.default_locale.as_str()).chain(translated)
    }

    pub fn respondent_analytics(&self) -> RespondentAnalytics {
        self.respondent_analytics
    }

    /// Whether a page advances by itself after a single choice was clicked.
    pub fn auto_advance(&self) -> bool {
        self.auto_advance
    }

    pub fn welcome(&self) -> Option<&Welcome> {
        self.welcome.as_ref()
    }

    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// The section of a question, and the range of the indexes of its questions.
    pub fn section_of(&self, at: usize) -> Option<(&Section, Range<usize>)> {
        let id = &self.questions.get(at)?.id;
        let section = self.sections.iter().find(|section| section.questions.contains(id))?;
        let first = self.position(section.questions.first()?)?;
        Some((section, first..first + section.questions.len()))
    }

    pub fn questions(&self) -> &[Question] {
        &self.questions
    }

    /// Whether there is anything to answer; a message has only texts.
    pub fn asks_anything(&self) -> bool {
        self.questions.iter().any(|question| question.question_type.is_answerable())
    }

    pub fn question(&self, id: &str) -> Option<&Question> {
        self.position(id).map(|at| &self.questions[at])
    }

    /// The index of a question.
    pub fn position(&self, id: &str) -> Option<usize> {
        let found = self.by_id.binary_search_by(|&at| self.questions[at].id.as_str().cmp(id));
        found.ok().map(|at| self.by_id[at])
    }

    /// Whether any question has a score.
    pub fn is_scored(&self) -> bool {
        self.is_scored
    }

    /// Whether a question's `visibleIf` alone decides that it is visible: there are no jumps, and
    /// no condition reads the score.
    pub(crate) fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// The questions sorted by id, each with its index in the definition.
    pub(crate) fn in_order_of_ids(&self) -> impl Iterator<Item = (usize, &Question)> {
        self.by_id.iter().map(|&at| (at, &self.questions[at]))
    }

    /// The ending if none of [`Self::endings`] applies.
    pub fn ending(&self) -> &Ending {
        &self.ending
    }

    pub fn endings(&self) -> &[NamedEnding] {
        &self.endings
    }

    /// Every image, with the JSON Pointer to it.
    pub fn images(&self) -> Vec<(String, &Image)> {
        let mut images = Vec::new();
        for (at, question) in self.questions.iter().enumerate() {
            let own = question.image.as_ref();
            images.extend(own.map(|image| (format!("/questions/{at}/image"), image)));
            for (number, option) in question.options().iter().enumerate() {
                let place = || format!("/questions/{at}/options/{number}/image");
                images.extend(option.image.as_ref().map(|image| (place(), image)));
            }
        }
        images
    }

    /// The address that each ending redirects to.
    pub fn redirects(&self) -> impl Iterator<Item = &str> {
        let endings = self.endings.iter().map(|named| &named.ending);
        endings.chain([&self.ending]).filter_map(|ending| ending.redirect_url.as_deref())
    }

    /// The texts in other languages, by canonical BCP 47 tag.
    pub fn translations(&self) -> &BTreeMap<String, Translation> {
        &self.translations
    }
}

/// Checks a draft; returns all faults at once.
pub fn check(draft: &Value) -> Result<Definition, Vec<Fault>> {
    let faults = Faults::default();
    let definition = read(draft, &faults);
    let faults = faults.into_vec();
    match definition {
        Some(definition) if faults.is_empty() => Ok(definition),
        _ => Err(faults),
    }
}

/// Reads a definition stored as JSON, or returns why it cannot be read.
pub fn stored(json: &str) -> Result<Definition, String> {
    let value = serde_json::from_str(json).map_err(|error| error.to_string())?;
    check(&value).map_err(|faults| {
        let messages =
            faults.into_iter().map(|fault| format!("{}: {}", fault.pointer, fault.message));
        messages.take(1).collect()
    })
}

/// Checks a draft for publishing: [`check`], and rules that did not exist when older versions were
/// published. Those versions must stay readable, so these rules are not part of [`check`]. Returns
/// the faults of all rules at once.
pub fn check_new(draft: &Value) -> Result<Definition, Vec<Fault>> {
    let checked = check(draft);
    let mut newer = piping::faults(draft);
    if is_empty(draft) {
        newer.push(Fault::new("/questions", EMPTY));
    }
    let redirect = draft.pointer("/ending/redirectUrl").and_then(Value::as_str);
    let is_faulty = |url: &str| is_url(url) && origin::web_origin(url).is_none();
    if redirect.is_some_and(is_faulty) {
        newer.push(Fault::new("/ending/redirectUrl", REDIRECT));
    }
    if newer.is_empty() {
        return checked;
    }
    let mut faults = checked.err().unwrap_or_default();
    faults.append(&mut newer);
    faults.truncate(FAULTS_MAX);
    Err(faults)
}

/// Whether a draft would show nothing but its title. A message may have only a description.
fn is_empty(draft: &Value) -> bool {
    let has_questions = draft["questions"].as_array().is_none_or(|list| !list.is_empty());
    let description = draft["description"].as_str().unwrap_or_default();
    !has_questions && description.trim().is_empty()
}

/// The definition, if it can be read at all; it is valid only if there are no faults.
fn read(draft: &Value, faults: &Faults) -> Option<Definition> {
    let mut reader = ObjectReader::open(draft, String::new(), faults)?;
    let title = reader.needed_text("title", TITLE_CHARS_MAX);
    let description = reader.text("description", DESCRIPTION_CHARS_MAX);
    let default_locale = read_default_locale(&mut reader);
    let respondent_analytics =
        reader.choice("respondentAnalytics", RespondentAnalytics::WORDS).unwrap_or_default();
    let auto_advance = reader.flag_or("autoAdvance", true);
    let welcome = screens::read_welcome(&mut reader);
    let (questions, known) = question::read_all(&mut reader, &ending::ids(draft));
    let sections = screens::read_sections(&mut reader, &questions);
    let ending = ending::read_ending(&mut reader);
    let endings = ending::read_endings(&mut reader, &known);
    let translations = translation::read_all(
        &mut reader,
        &translation::Original {
            default_locale: &default_locale,
            description: description.is_some(),
            questions: &questions,
            ending: &ending,
            endings: &endings,
            welcome: welcome.as_ref(),
            sections: &sections,
        },
    );
    close(reader, draft);
    let mut by_id: Vec<usize> = (0..questions.len()).collect();
    by_id.sort_by(|&one, &other| questions[one].id.cmp(&questions[other].id));
    let is_scored = questions.iter().any(|question| question.question_type.is_scored());
    let is_plain = questions.iter().all(|question| {
        let condition = question.visible_if.as_ref();
        question.next.is_empty() && !condition.is_some_and(Condition::reads_score)
    });
    Some(Definition {
        title: title?,
        description,
        default_locale,
        respondent_analytics,
        auto_advance,
        welcome,
        questions,
        sections,
        ending,
        endings,
        translations,
        by_id,
        is_scored,
        is_plain,
    })
}

/// For fields that are omitted if true.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub(crate) fn is_true(value: &bool) -> bool {
    *value
}

fn read_default_locale(reader: &mut ObjectReader<'_>) -> String {
    let Some(value) = reader.field("defaultLocale") else { return DEFAULT_LOCALE.to_owned() };
    value.as_str().and_then(locale::canonical).unwrap_or_else(|| {
        reader.fault("defaultLocale", "must be a BCP 47 language tag such as en or pt-BR");
        DEFAULT_LOCALE.to_owned()
    })
}

const EMPTY: &str = "must not be empty: add a question, or a description";

/// Reports fields that only the server sets, then all unknown fields.
fn close(mut reader: ObjectReader<'_>, draft: &Value) {
    let allowed = reader.asked().join(", ");
    for &name in SERVER_SET {
        if draft.get(name).is_some_and(|value| !value.is_null()) {
            reader.fault(name, format!("is set by the server; leave it out. Allowed: {allowed}"));
        }
    }
    reader.ignore(SERVER_SET);
    reader.close();
}
