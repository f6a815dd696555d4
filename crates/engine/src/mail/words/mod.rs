//! The texts of e-mails that authors do not write, one file per language of the hosted page.
//!
//! `{name}` in a text is a placeholder ([`sluice_flow::phrase::fill`]).

mod ar;
mod de;
mod en;
mod es;
mod fr;
mod it;
mod ja;
mod nl;
mod pl;
mod pt_br;
mod tr;
mod zh_hans;

use sluice_flow::locale;
use sluice_flow::page_language::PageLanguage;
use sluice_flow::phrase::{Forms, fill};

/// All texts of e-mails, in one language.
#[derive(Debug)]
pub(super) struct Words {
    pub(super) language: &'static str,
    /// With `{title}`.
    pub(super) invitation_subject: &'static str,
    pub(super) invitation_text: &'static str,
    pub(super) answer: &'static str,
    /// With `{subject}`.
    pub(super) reminder: &'static str,
    pub(super) reminder_text: &'static str,
    pub(super) personal: &'static str,
    /// With `{day}`.
    pub(super) until: &'static str,
    /// With `{app}`.
    pub(super) reason: &'static str,
    pub(super) unsubscribe: &'static str,
    pub(super) welcome_subject: &'static str,
    /// With `{url}`.
    pub(super) welcome_text: &'static str,
    pub(super) reset_subject: &'static str,
    /// With `{url}`.
    pub(super) reset_text: &'static str,
    pub(super) set_password: &'static str,
    pub(super) once: &'static str,
    pub(super) ignore: &'static str,
    /// With `{name}`, and `{n}` except in the form for one.
    pub(super) notice_subject: Forms,
    /// With `{time}`.
    pub(super) notice_response: &'static str,
    pub(super) notice_open: &'static str,
    /// With `{n}`, except where a form names the number.
    pub(super) notice_more: Forms,
    pub(super) notice_all: &'static str,
    pub(super) notice_reason: &'static str,
    pub(super) notice_stop: &'static str,
    /// With `{name}`.
    pub(super) endpoint_subject: &'static str,
    /// With `{host}`.
    pub(super) endpoint_disabled: &'static str,
    pub(super) endpoint_gone: &'static str,
    pub(super) endpoint_failing: &'static str,
    pub(super) endpoint_next: &'static str,
    pub(super) endpoint_open: &'static str,
    pub(super) endpoint_reason: &'static str,
}

/// The texts in a language.
fn words_in(language: PageLanguage) -> &'static Words {
    match language {
        PageLanguage::Arabic => &ar::WORDS,
        PageLanguage::ChineseSimplified => &zh_hans::WORDS,
        PageLanguage::Dutch => &nl::WORDS,
        PageLanguage::English => &en::WORDS,
        PageLanguage::French => &fr::WORDS,
        PageLanguage::German => &de::WORDS,
        PageLanguage::Italian => &it::WORDS,
        PageLanguage::Japanese => &ja::WORDS,
        PageLanguage::Polish => &pl::WORDS,
        PageLanguage::PortugueseBrazil => &pt_br::WORDS,
        PageLanguage::Spanish => &es::WORDS,
        PageLanguage::Turkish => &tr::WORDS,
    }
}

/// The language of e-mails for a requested one, such as the first that a browser sends. Only this
/// is stored, not what the browser sent.
pub(crate) fn chosen_language(wanted: &str) -> &'static str {
    let tag = locale::repaired(wanted);
    tag.map_or(en::WORDS.language, |tag| Words::for_language(&tag).language)
}

impl Words {
    pub(super) fn english() -> &'static Self {
        &en::WORDS
    }

    /// The texts in a language, or in another variant of it; otherwise in English.
    pub(super) fn for_language(tag: &str) -> &'static Self {
        PageLanguage::for_tag(tag).map_or(&en::WORDS, words_in)
    }

    /// The subject of a notice of this many responses of a flow.
    pub(super) fn notice_subject(&self, count: u64, name: &str) -> String {
        let form = self.notice_subject.select(self.language, count);
        fill(form, &[("n", &count.to_string()), ("name", name)])
    }

    /// How many responses a notice does not quote.
    pub(super) fn notice_more(&self, count: u64) -> String {
        fill(self.notice_more.select(self.language, count), &[("n", &count.to_string())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_of_pages_has_the_texts_of_its_tag() {
        for language in PageLanguage::ALL {
            assert_eq!(words_in(*language).language, language.tag());
        }
    }

    #[test]
    fn every_language_has_every_placeholder() {
        for words in PageLanguage::ALL.iter().copied().map(words_in) {
            for (text, name) in [
                (words.invitation_subject, "{title}"),
                (words.reminder, "{subject}"),
                (words.until, "{day}"),
                (words.reason, "{app}"),
                (words.welcome_text, "{url}"),
                (words.reset_text, "{url}"),
                (words.notice_response, "{time}"),
                (words.notice_more.other, "{n}"),
                (words.endpoint_subject, "{name}"),
                (words.endpoint_disabled, "{host}"),
            ] {
                assert_eq!(text.matches(name).count(), 1, "{}: {text}", words.language);
                assert_eq!(text.matches('{').count(), 1, "{}: {text}", words.language);
            }
            assert_eq!(Words::for_language(words.language).language, words.language);
            for number in [1, 2, 5, 21, 100] {
                let subject = words.notice_subject.select(words.language, number);
                assert_eq!(subject.matches("{name}").count(), 1, "{}: {subject}", words.language);
            }
            let many = words.notice_subject.other;
            assert!(many.contains("{n}"), "{}: {many}", words.language);
        }
        for (wanted, chosen) in [("de-AT", "de"), ("pt_PT", "pt-BR"), ("sv", "en"), ("<x>", "en")] {
            assert_eq!(chosen_language(wanted), chosen);
        }
        assert_eq!(Words::for_language("pt-PT").language, "pt-BR");
        assert_eq!(Words::for_language("pt-MO").language, "pt-BR");
        assert_eq!(Words::for_language("zh-Hans-HK").language, "zh-Hans");
        assert_eq!(Words::for_language("zh-TW").language, "en");
        assert_eq!(Words::for_language("sv").language, "en");
        for (language, number, subject) in [
            ("en", 1, "New response: Shop"),
            ("en", 1_001, "1001 new responses: Shop"),
            ("fr", 2, "2 nouvelles réponses : Shop"),
            ("pl", 1, "Nowa odpowiedź: Shop"),
            ("pl", 3, "3 nowe odpowiedzi: Shop"),
            ("pl", 12, "12 nowych odpowiedzi: Shop"),
            ("ar", 2, "ردان جديدان: Shop"),
            ("ja", 1, "新しい回答 1 件: Shop"),
        ] {
            let words = Words::for_language(language);
            assert_eq!(words.notice_subject(number, "Shop"), subject);
        }
    }
}
