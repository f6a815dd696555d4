//! Languages of columns: `English (en)`, `en`, or only a name.

/// Tags of names, in English and in the language itself. Only what forms commonly name.
const NAMES: &[(&str, &[&str])] = &[
    ("am", &["amharic", "አማርኛ"]),
    ("ar", &["arabic", "العربية"]),
    ("bn", &["bengali", "bangla", "বাংলা"]),
    ("de", &["german", "deutsch"]),
    ("en", &["english"]),
    ("es", &["spanish", "español", "espanol"]),
    ("fa", &["persian", "farsi", "dari", "فارسی"]),
    ("fil", &["filipino", "tagalog"]),
    ("fr", &["french", "français", "francais"]),
    ("ha", &["hausa"]),
    ("hi", &["hindi", "हिन्दी"]),
    ("ht", &["haitian creole", "kreyòl", "kreyol"]),
    ("id", &["indonesian", "bahasa indonesia"]),
    ("it", &["italian", "italiano"]),
    ("ja", &["japanese", "日本語"]),
    ("km", &["khmer"]),
    ("ku", &["kurdish"]),
    ("lo", &["lao"]),
    ("my", &["burmese", "myanmar"]),
    ("ne", &["nepali", "नेपाली"]),
    ("nl", &["dutch", "nederlands"]),
    ("om", &["oromo", "afaan oromo"]),
    ("pl", &["polish", "polski"]),
    ("ps", &["pashto"]),
    ("pt", &["portuguese", "português", "portugues"]),
    ("ru", &["russian", "русский"]),
    ("rw", &["kinyarwanda"]),
    ("so", &["somali"]),
    ("sw", &["swahili", "kiswahili"]),
    ("ta", &["tamil"]),
    ("th", &["thai"]),
    ("ti", &["tigrinya"]),
    ("tr", &["turkish", "türkçe"]),
    ("uk", &["ukrainian", "українська"]),
    ("ur", &["urdu", "اردو"]),
    ("vi", &["vietnamese", "tiếng việt"]),
    ("yo", &["yoruba"]),
    ("zh", &["chinese", "中文"]),
];

/// The tag of a language: that in `Deutsch (de)`, that of a known name, or the text itself.
pub(super) fn tag_of(language: &str) -> String {
    let inner = language.rsplit_once('(').and_then(|(_, rest)| rest.split(')').next());
    let text = inner.unwrap_or(language).trim();
    let lower = text.to_lowercase();
    let known = NAMES.iter().find(|(_, names)| names.contains(&lower.as_str()));
    known.map_or(text, |(tag, _)| tag).to_owned()
}

/// Whether two columns are in the same language, although one may be written as `en`.
pub(super) fn same(one: &str, other: &str) -> bool {
    one == other || tag_of(one).eq_ignore_ascii_case(&tag_of(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_has_a_tag_however_it_is_written() {
        for (written, tag) in [
            ("Deutsch (de)", "de"),
            ("English", "en"),
            ("FRANÇAIS", "fr"),
            ("sw", "sw"),
            ("pt-BR", "pt-BR"),
            ("Klingon", "Klingon"),
        ] {
            assert_eq!(tag_of(written), tag);
        }
        assert!(same("English", "english (en)") && same("en", "English (en)"));
        assert!(!same("en", "French (fr)"));
    }
}
