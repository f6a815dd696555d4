//! Language tags: validation, canonical spelling, and the best match for a reader.
//!
//! Only the spelling is made canonical (`de_at` becomes `de-AT`); no alias is replaced, so the
//! stored tag is still the one that was sent.

use std::ops::RangeInclusive;

/// The longest accepted language tag, in bytes; no tag in use is nearly as long.
pub const LOCALE_BYTES_MAX: usize = 64;

/// The tag in canonical case, with `_` read as `-`; `None` if it is not a BCP 47 language tag.
pub fn canonical(tag: &str) -> Option<String> {
    if tag.len() > LOCALE_BYTES_MAX {
        return None;
    }
    if is_plain(tag.as_bytes()) {
        return Some(tag.to_owned());
    }
    Tag::parse(tag).map(|tag| tag.text)
}

/// A language tag in canonical case, and its parts that decide the direction of writing.
#[derive(Default)]
struct Tag {
    text: String,
    script: Option<String>,
    region: String,
}

impl Tag {
    /// The grammar of BCP 47 without its extended and grandfathered languages, as in Unicode locale
    /// identifiers: language, script, region, variants, extensions, private part.
    fn parse(tag: &str) -> Option<Self> {
        let lowercase = tag.replace('_', "-").to_ascii_lowercase();
        let mut parts = lowercase.split('-').peekable();
        let language = parts.next_if(|part| is_alphabetic(part, &[2, 3, 5, 6, 7, 8]))?;
        let mut tag = Self { text: language.to_owned(), ..Self::default() };
        if let Some(part) = parts.next_if(|part| is_alphabetic(part, &[4])) {
            let script = part[..1].to_ascii_uppercase() + &part[1..];
            tag.push(&script);
            tag.script = Some(script);
        }
        if let Some(part) = parts.next_if(|part| is_region(part)) {
            tag.region = part.to_ascii_uppercase();
            tag.push(&part.to_ascii_uppercase());
        }
        let mut seen = Vec::new();
        while let Some(variant) = parts.next_if(|part| is_variant(part)) {
            tag.push_once(variant, &mut seen)?;
        }
        while let Some(singleton) = parts.next_if(|part| is_subtag(part, 1..=1)) {
            tag.push_once(singleton, &mut seen)?;
            let lengths = if singleton == "x" { 1..=8 } else { 2..=8 };
            tag.push(parts.next_if(|part| is_subtag(part, lengths.clone()))?);
            while let Some(part) = parts.next_if(|part| is_subtag(part, lengths.clone())) {
                tag.push(part);
            }
        }
        parts.next().is_none().then_some(tag)
    }

    fn push(&mut self, part: &str) {
        self.text.push('-');
        self.text.push_str(part);
    }

    /// `None` for a part that the tag has already.
    fn push_once<'a>(&mut self, part: &'a str, seen: &mut Vec<&'a str>) -> Option<()> {
        if seen.contains(&part) {
            return None;
        }
        seen.push(part);
        self.push(part);
        Some(())
    }
}

fn is_alphabetic(part: &str, lengths: &[usize]) -> bool {
    lengths.contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphabetic())
}

fn is_region(part: &str) -> bool {
    is_alphabetic(part, &[2]) || (part.len() == 3 && part.bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_variant(part: &str) -> bool {
    is_subtag(part, 5..=8) || (is_subtag(part, 4..=4) && part.as_bytes()[0].is_ascii_digit())
}

fn is_subtag(part: &str, lengths: RangeInclusive<usize>) -> bool {
    lengths.contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// The canonical tag of a locale as written by a browser or an operating system: an encoding or a
/// modifier (`en_US.UTF-8`, `de_DE@euro`) is dropped. `None` if no language tag is left.
pub fn repaired(locale: &str) -> Option<String> {
    canonical(locale.split(['.', '@']).next().unwrap_or_default())
}

/// The best language for a reader: the wanted one, else a shorter prefix of its tag (`de-AT`, then
/// `de`), else another variant of the same language. `None` if the language is not available at
/// all.
pub fn best<'a>(available: &[&'a str], wanted: &str) -> Option<&'a str> {
    let of = |tag: &str| available.iter().copied().find(|one| one.eq_ignore_ascii_case(tag));
    let mut tag = wanted;
    loop {
        if let Some(found) = of(tag) {
            return Some(found);
        }
        let Some((shorter, _)) = tag.rsplit_once('-') else { break };
        tag = shorter;
    }
    available.iter().copied().find(|one| language(one).eq_ignore_ascii_case(tag))
}

/// The language of a tag, without its script and region.
pub fn language(tag: &str) -> &str {
    tag.split('-').next().unwrap_or(tag)
}

/// The texts of a list of translations for a reader of a language: those in the language or in
/// another variant of it. Chinese in traditional characters is read by others than in simplified
/// ones, so it has none in a list with simplified characters.
pub fn translation<'a, T: ?Sized>(
    all: &[&'a T],
    language_of: impl Fn(&T) -> &str,
    tag: &str,
) -> Option<&'a T> {
    if is_traditional_chinese(tag) {
        return None;
    }
    let wanted = language(tag);
    all.iter().copied().find(|texts| language(language_of(texts)).eq_ignore_ascii_case(wanted))
}

/// Whether a tag names Chinese in traditional characters.
fn is_traditional_chinese(tag: &str) -> bool {
    let Some(parsed) = Tag::parse(tag) else { return false };
    language(&parsed.text) == "zh"
        && match parsed.script {
            Some(script) => script == "Hant",
            None => matches!(parsed.region.as_str(), "TW" | "HK" | "MO"),
        }
}

/// The right-to-left scripts that Unicode encodes.
const RIGHT_TO_LEFT_SCRIPTS: [&str; 37] = [
    "Adlm", "Arab", "Armi", "Avst", "Chrs", "Cprt", "Elym", "Gara", "Hatr", "Hebr", "Hung", "Khar",
    "Lydi", "Mand", "Mani", "Mend", "Merc", "Mero", "Narb", "Nbat", "Nkoo", "Orkh", "Ougr", "Palm",
    "Phli", "Phlp", "Phnx", "Prti", "Rohg", "Samr", "Sarb", "Sidt", "Sogd", "Sogo", "Syrc", "Thaa",
    "Yezi",
];

/// Languages with a right-to-left script, except in the regions of [`OTHER_DIRECTION`].
const RIGHT_TO_LEFT_LANGUAGES: [&str; 15] =
    ["ar", "bal", "ckb", "dv", "fa", "he", "iw", "ks", "nqo", "ps", "sd", "syr", "ug", "ur", "yi"];

/// Regions where a language usually has a script of the other direction (CLDR, likely subtags).
const OTHER_DIRECTION: [(&str, &str); 19] = [
    ("az", "IQ"),
    ("az", "IR"),
    ("ha", "CM"),
    ("ha", "SD"),
    ("kk", "AF"),
    ("kk", "CN"),
    ("kk", "IR"),
    ("kk", "MN"),
    ("ku", "IQ"),
    ("ku", "IR"),
    ("ku", "LB"),
    ("ky", "CN"),
    ("ms", "CC"),
    ("pa", "PK"),
    ("sd", "IN"),
    ("tg", "PK"),
    ("ug", "KZ"),
    ("ug", "MN"),
    ("uz", "AF"),
];

/// Whether the language is written from right to left.
pub fn is_right_to_left(tag: &str) -> bool {
    let Some(parsed) = Tag::parse(tag) else { return false };
    if let Some(script) = &parsed.script {
        return RIGHT_TO_LEFT_SCRIPTS.contains(&script.as_str());
    }
    let language = language(&parsed.text);
    RIGHT_TO_LEFT_LANGUAGES.contains(&language)
        != OTHER_DIRECTION.contains(&(language, &parsed.region))
}

/// Whether the tag is like `de` or `de-AT`: the form that most browsers send, already canonical.
fn is_plain(tag: &[u8]) -> bool {
    let is_language = |part: &[u8]| part.len() == 2 && part.iter().all(u8::is_ascii_lowercase);
    let is_region = |part: &[u8]| part.len() == 2 && part.iter().all(u8::is_ascii_uppercase);
    match tag {
        [language @ .., b'-', first, second] => {
            is_language(language) && is_region(&[*first, *second])
        }
        language => is_language(language),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traditional_chinese_is_not_served_by_simplified_texts() {
        let all = ["en", "pt-BR", "zh-Hans"];
        for (tag, expected) in [
            ("pt-PT", Some("pt-BR")),
            ("pt-MO", Some("pt-BR")),
            ("zh", Some("zh-Hans")),
            ("zh-cn", Some("zh-Hans")),
            ("zh-Hans-HK", Some("zh-Hans")),
            ("zh-TW", None),
            ("zh-tw", None),
            ("zh_hant", None),
            ("zh-Hant-CN", None),
            ("sv", None),
            ("", None),
        ] {
            assert_eq!(translation(&all, |it| it, tag), expected, "{tag}");
        }
    }

    #[test]
    fn a_language_tag_is_written_in_canonical_case() {
        for (sent, canonical_form) in [
            ("en", "en"),
            ("en-US", "en-US"),
            ("EN", "en"),
            ("en_us", "en-US"),
            ("de-at", "de-AT"),
            ("zh_hant_tw", "zh-Hant-TW"),
            ("sr-LATN", "sr-Latn"),
            ("es-419", "es-419"),
            ("gsw", "gsw"),
            ("de-CH-1996", "de-CH-1996"),
            ("sl-IT-rozaj-Biske-1994", "sl-IT-rozaj-biske-1994"),
            ("de-t-en-u-co-phonebk", "de-t-en-u-co-phonebk"),
            ("en-x-A-b", "en-x-a-b"),
            ("en-U-HC-H12", "en-u-hc-h12"),
        ] {
            assert_eq!(canonical(sent).as_deref(), Some(canonical_form), "{sent}");
        }
    }

    #[test]
    fn an_invalid_language_tag_is_refused() {
        let too_long = format!("en-x-{}", "abcdefgh-".repeat(7)) + "a";
        for sent in [
            "",
            "e",
            "-",
            "en-",
            "-US",
            "en--US",
            "english!",
            "de AT",
            "en-US\0",
            "日本",
            &too_long,
            "abcd",
            "en-US-DE",
            "en-u",
            "en-u-a",
            "en-x",
            "de-1996-1996",
            "en-u-co-standard-u-hc-h12",
            "en-toolonger",
            "en-US-Latn",
        ] {
            assert_eq!(canonical(sent), None, "{sent:?}");
        }
    }

    #[test]
    fn a_tag_may_have_64_bytes() {
        let tag = format!("en-x-{}", "abcdefgh-".repeat(6)) + "abcde";
        assert_eq!(tag.len(), LOCALE_BYTES_MAX);
        assert_eq!(canonical(&tag), Some(tag));
    }

    #[test]
    fn the_best_language_is_the_wanted_one_or_its_nearest_variant() {
        let available = ["en", "de-AT", "pt", "pt-BR", "zh-Hant"];
        for (wanted, best_one) in [
            ("en", Some("en")),
            ("en-GB", Some("en")),
            ("de", Some("de-AT")),
            ("de-CH", Some("de-AT")),
            ("PT-br", Some("pt-BR")),
            ("pt-PT", Some("pt")),
            ("zh-Hant-TW", Some("zh-Hant")),
            ("fr", None),
            ("e", None),
            ("", None),
        ] {
            assert_eq!(best(&available, wanted), best_one, "{wanted}");
        }
    }

    #[test]
    fn arabic_and_hebrew_are_written_from_right_to_left() {
        for (tag, rtl) in [
            ("ar", true),
            ("he-IL", true),
            ("fa", true),
            ("en", false),
            ("az-Arab", true),
            ("dv", true),
            ("yi-US", true),
            ("fa-Latn", false),
            ("az", false),
            ("az-IR", true),
            ("uz-AF", true),
            ("ku-TR", false),
            ("pa-PK", true),
            ("pa-Guru-PK", false),
            ("sd-IN", false),
            ("ug-CN", true),
            ("zz", false),
            ("", false),
        ] {
            assert_eq!(is_right_to_left(tag), rtl, "{tag}");
        }
    }
}
