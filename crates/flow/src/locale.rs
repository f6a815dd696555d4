//! Language tags: validation, canonical spelling, and the best match for a reader.
//!
//! Only the spelling is made canonical (`de_at` becomes `de-AT`); no alias is replaced, so the
//! stored tag is still the one that was sent.

use std::ops::RangeInclusive;

/// The longest accepted language tag, in bytes; no tag in use is nearly as long.
pub const LOCALE_BYTES_MAX: usize = 64;

/// The most extended languages of a tag, such as `yue` in `zh-yue`.
const EXTENDED_MAX: usize = 3;

/// The tags of RFC 5646 that its grammar lists one by one (`irregular`), in canonical case. The
/// other registered ones (`regular`) have the form of all tags.
const IRREGULAR: [&str; 17] = [
    "en-GB-oed",
    "i-ami",
    "i-bnn",
    "i-default",
    "i-enochian",
    "i-hak",
    "i-klingon",
    "i-lux",
    "i-mingo",
    "i-navajo",
    "i-pwn",
    "i-tao",
    "i-tay",
    "i-tsu",
    "sgn-BE-FR",
    "sgn-BE-NL",
    "sgn-CH-DE",
];

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
    /// The grammar of RFC 5646: language, extended languages, script, region, variants, extensions,
    /// private part; or only a private part; or one of [`IRREGULAR`]. A language of four letters is
    /// refused: that form is reserved.
    fn parse(tag: &str) -> Option<Self> {
        let lowercase = tag.replace('_', "-").to_ascii_lowercase();
        if let Some(known) = IRREGULAR.iter().find(|known| known.eq_ignore_ascii_case(&lowercase)) {
            return Some(Self { text: (*known).to_owned(), ..Self::default() });
        }
        if let Some(private) = lowercase.strip_prefix("x-") {
            let is_tag = private.split('-').all(|part| is_subtag(part, 1..=8));
            return is_tag.then_some(Self { text: lowercase, ..Self::default() });
        }
        let mut parts = lowercase.split('-').peekable();
        let language = parts.next_if(|part| is_alphabetic(part, &[2, 3, 5, 6, 7, 8]))?;
        let mut tag = Self { text: language.to_owned(), ..Self::default() };
        let extended_max = if language.len() <= 3 { EXTENDED_MAX } else { 0 };
        for _ in 0..extended_max {
            let Some(extended) = parts.next_if(|part| is_alphabetic(part, &[3])) else { break };
            tag.push(extended);
        }
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

/// The language of a tag, without its script and region. A tag that starts with one letter, such as
/// `i-klingon` or `x-ours`, is a language as a whole.
pub fn language(tag: &str) -> &str {
    tag.split('-').next().filter(|first| first.len() > 1).unwrap_or(tag)
}

/// Whether a tag names Chinese in traditional characters.
pub(crate) fn is_traditional_chinese(tag: &str) -> bool {
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
    fn a_tag_may_have_extended_languages_be_private_or_be_grandfathered() {
        for (sent, canonical_form) in [
            ("zh-yue", "zh-yue"),
            ("ZH_YUE_hk", "zh-yue-HK"),
            ("zh-CMN-hans-cn", "zh-cmn-Hans-CN"),
            ("zh-min-nan", "zh-min-nan"),
            ("zh-abc-def-ghi-TW", "zh-abc-def-ghi-TW"),
            ("sgn-ase", "sgn-ase"),
            ("ar-afb-x-ours", "ar-afb-x-ours"),
            ("x-private", "x-private"),
            ("X-A_b-12345678", "x-a-b-12345678"),
            ("I-Klingon", "i-klingon"),
            ("i_default", "i-default"),
            ("en-gb-OED", "en-GB-oed"),
            ("sgn-be-fr", "sgn-BE-FR"),
            ("art-lojban", "art-lojban"),
            ("no-bok", "no-bok"),
            ("zh-guoyu", "zh-guoyu"),
            ("cel-gaulish", "cel-gaulish"),
        ] {
            assert_eq!(canonical(sent).as_deref(), Some(canonical_form), "{sent}");
        }
        for tag in IRREGULAR {
            assert_eq!(canonical(&tag.to_ascii_uppercase()).as_deref(), Some(tag));
        }
        for sent in [
            "not_a tag!",
            "x",
            "x-",
            "x-a--b",
            "x-toolonger9",
            "x-a b",
            "i",
            "i-other",
            "i-klingon-US",
            "en-GB-oed-x-a",
            "zh-abc-def-ghi-jkl",
            "zh-Hans-yue",
            "german-abc",
        ] {
            assert_eq!(canonical(sent), None, "{sent:?}");
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
        let check = |available: &[&str], wanted: &str, expected: Option<&str>| {
            assert_eq!(best(available, wanted), expected, "{wanted}");
        };
        for (wanted, best_one) in [
            ("en", Some("en")),
            ("en-GB", Some("en")),
            ("de", Some("de-AT")),
            ("de-CH", Some("de-AT")),
            ("PT-br", Some("pt-BR")),
            ("pt-PT", Some("pt")),
            ("zh-Hant-TW", Some("zh-Hant")),
            ("fr", None),
            ("zh-yue-HK", Some("zh-Hant")),
            ("en-GB-oed", Some("en")),
            ("e", None),
            ("", None),
        ] {
            check(&available, wanted, best_one);
        }
        let rare = ["zh", "zh-yue", "i-hak", "x-ours"];
        check(&rare, "zh-yue-HK", Some("zh-yue"));
        check(&rare, "zh-cmn-Hans-CN", Some("zh"));
        check(&rare, "I-HAK", Some("i-hak"));
        check(&rare, "x-ours-too", Some("x-ours"));
        // They have only their first letter in common.
        check(&rare, "i-klingon", None);
        check(&rare, "x-theirs", None);
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
            ("ar-arz-EG", true),
            ("x-ar", false),
            ("ug-CN", true),
            ("zz", false),
            ("", false),
        ] {
            assert_eq!(is_right_to_left(tag), rtl, "{tag}");
        }
    }
}
