//! The texts of e-mails around those of authors, one file per language of the hosted page.
//!
//! `{name}` in a text is a placeholder ([`fill`]).

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
}

const ALL: [&Words; 12] = [
    &en::WORDS,
    &ar::WORDS,
    &de::WORDS,
    &es::WORDS,
    &fr::WORDS,
    &it::WORDS,
    &ja::WORDS,
    &nl::WORDS,
    &pl::WORDS,
    &pt_br::WORDS,
    &tr::WORDS,
    &zh_hans::WORDS,
];

impl Words {
    pub(super) fn english() -> &'static Self {
        &en::WORDS
    }

    /// The texts in a language, or in another variant of it; otherwise in English.
    pub(super) fn for_language(tag: &str) -> &'static Self {
        // Traditional characters are read elsewhere than simplified ones.
        let is_traditional = |part: &str| ["Hant", "TW", "HK", "MO"].contains(&part);
        let is_chinese = tag.starts_with("zh") && !tag.contains("-Hans");
        if is_chinese && tag.split('-').any(is_traditional) {
            return &en::WORDS;
        }
        let language = locale::language(tag);
        let found = ALL.into_iter().find(|words| locale::language(words.language) == language);
        found.unwrap_or(&en::WORDS)
    }
}

/// Puts values in the place of `{name}`. A value is never read as a text with placeholders.
pub(super) fn fill(text: &str, values: &[(&str, &str)]) -> String {
    let mut filled = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        let (name, after) = after.split_once('}').unwrap_or((after, ""));
        filled.extend(values.iter().find(|(key, _)| *key == name).map(|(_, value)| *value));
        rest = after;
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_has_every_placeholder() {
        for words in ALL {
            for (text, name) in [
                (words.invitation_subject, "{title}"),
                (words.reminder, "{subject}"),
                (words.until, "{day}"),
                (words.reason, "{app}"),
                (words.welcome_text, "{url}"),
                (words.reset_text, "{url}"),
            ] {
                assert_eq!(text.matches(name).count(), 1, "{}: {text}", words.language);
                assert_eq!(text.matches('{').count(), 1, "{}: {text}", words.language);
            }
            assert_eq!(Words::for_language(words.language).language, words.language);
        }
        assert_eq!(Words::for_language("pt-PT").language, "pt-BR");
        assert_eq!(Words::for_language("pt-MO").language, "pt-BR");
        assert_eq!(Words::for_language("zh-Hans-HK").language, "zh-Hans");
        assert_eq!(Words::for_language("zh-TW").language, "en");
        assert_eq!(Words::for_language("sv").language, "en");
        assert_eq!(fill("a {x} b {y}", &[("x", "{y}"), ("y", "2")]), "a {y} b 2");
    }
}
