//! The texts of a definition for one reader: in the best matching language, else in the default
//! one.

use super::{Definition, NamedEnding, Section, TranslatedText, Translation, Welcome};
use crate::locale;
use crate::question::choice::Choice;
use crate::question::{IMAGE_ALT, OPTION_ALTS, Question};

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

    /// The title, the text and the button of the welcome screen, if there is one.
    pub fn welcome(&self) -> Option<[Option<&'d str>; 3]> {
        let original = self.definition.welcome.as_ref()?;
        let texts =
            |it: &'d Welcome| [it.title.as_deref(), it.body.as_deref(), it.button_text.as_deref()];
        let translated = self.translation.and_then(|texts| texts.welcome.as_ref()).map(texts);
        let [title, body, button] = texts(original);
        let [own_title, own_body, own_button] = translated.unwrap_or_default();
        Some([own_title.or(title), own_body.or(body), own_button.or(button)])
    }

    pub fn section_title(&self, section: &'d Section) -> Option<&'d str> {
        let sections = self.translation.map(|texts| &texts.sections);
        let translated = sections.and_then(|sections| sections.get(&section.id));
        translated.map(|texts| texts.title.as_str()).or(section.title.as_deref())
    }

    /// The title and the text of an ending; `None` is the last resort.
    pub fn ending(&self, named: Option<&'d NamedEnding>) -> (Option<&'d str>, Option<&'d str>) {
        let translated = self.translation.and_then(|texts| match named {
            Some(named) => texts.endings.get(&named.id),
            None => texts.ending.as_ref(),
        });
        let original = named.map_or(&self.definition.ending, |named| &named.ending);
        let title = translated.and_then(|ending| ending.title.as_deref());
        let body = translated.and_then(|ending| ending.body.as_deref());
        (title.or(original.title.as_deref()), body.or(original.body.as_deref()))
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

    /// The text in place of a question's image; empty if the image is decorative.
    pub fn image_alt(&self, question: &'d Question) -> &'d str {
        let original = question.image.as_ref().and_then(|image| image.alt.as_deref());
        self.text(question, IMAGE_ALT).or(original).unwrap_or_default()
    }

    /// The same for the image of an option.
    pub fn option_alt(&self, question: &'d Question, option: &'d Choice) -> &'d str {
        let translated = match self.field(question, OPTION_ALTS) {
            Some(TranslatedText::Each(alts)) => alts.get(&option.id).map(String::as_str),
            _ => None,
        };
        translated.or(option.alt()).unwrap_or_default()
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
