//! The texts of a definition for one reader: in the best matching language, else in the default
//! one.

use super::{Definition, TranslatedText, Translation};
use crate::locale;
use crate::question::Question;
use crate::question::choice::Choice;

/// A definition in one language. Texts without a translation are in the default language.
#[derive(Debug, Clone, Copy)]
pub struct Wording<'d> {
    definition: &'d Definition,
    locale: &'d str,
    translation: Option<&'d Translation>,
}

impl Definition {
    /// The texts for a reader of these languages, in order of preference.
    pub fn wording(&self, wanted: &[String]) -> Wording<'_> {
        let available: Vec<&str> = self.locales().collect();
        let best = wanted.iter().find_map(|tag| locale::best(&available, tag));
        let locale = best.unwrap_or(&self.default_locale);
        Wording { definition: self, locale, translation: self.translations.get(locale) }
    }
}

impl<'d> Wording<'d> {
    pub fn definition(&self) -> &'d Definition {
        self.definition
    }

    /// The language of the texts, in canonical BCP 47.
    pub fn locale(&self) -> &'d str {
        self.locale
    }

    pub fn title(&self) -> &'d str {
        let translated = self.translation.and_then(|texts| texts.title.as_deref());
        translated.unwrap_or(&self.definition.title)
    }

    pub fn description(&self) -> Option<&'d str> {
        let translated = self.translation.and_then(|texts| texts.description.as_deref());
        translated.or(self.definition.description.as_deref())
    }

    pub fn ending_title(&self) -> Option<&'d str> {
        let ending = self.translation.and_then(|texts| texts.ending.as_ref());
        let translated = ending.and_then(|ending| ending.title.as_deref());
        translated.or(self.definition.ending.title.as_deref())
    }

    pub fn ending_body(&self) -> Option<&'d str> {
        let ending = self.translation.and_then(|texts| texts.ending.as_ref());
        let translated = ending.and_then(|ending| ending.body.as_deref());
        translated.or(self.definition.ending.body.as_deref())
    }

    pub fn prompt(&self, question: &'d Question) -> &'d str {
        self.text(question, "prompt").unwrap_or(&question.prompt)
    }

    pub fn help(&self, question: &'d Question) -> Option<&'d str> {
        self.text(question, "help").or(question.help.as_deref())
    }

    /// The label of one end of a scale, given the original.
    pub fn end<'o>(
        &self,
        question: &'d Question,
        field: &str,
        original: Option<&'o str>,
    ) -> Option<&'o str>
    where
        'd: 'o,
    {
        self.text(question, field).or(original)
    }

    /// The label of an option, row or column; `field` is the list that contains it.
    pub fn label(&self, question: &'d Question, field: &str, choice: &'d Choice) -> &'d str {
        let translated = match self.field(question, field) {
            Some(TranslatedText::Each(labels)) => labels.get(&choice.id).map(String::as_str),
            _ => None,
        };
        translated.unwrap_or(&choice.label)
    }

    fn text(&self, question: &Question, field: &str) -> Option<&'d str> {
        match self.field(question, field)? {
            TranslatedText::One(text) => Some(text),
            TranslatedText::Each(_) => None,
        }
    }

    fn field(&self, question: &Question, field: &str) -> Option<&'d TranslatedText> {
        self.translation?.questions.get(&question.id)?.get(field)
    }
}
