//! The languages of Sluice's own texts, which surround an author's texts on hosted pages and in
//! e-mails.
//!
//! This table is the only list of them. The files of texts are selected by an exhaustive match, so
//! the compiler requires one for each language.

use crate::locale;

macro_rules! languages {
    ($($variant:ident = $tag:literal, $name:literal;)*) => {
        /// A language of these texts.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum PageLanguage {
            $(#[doc = $name] $variant,)*
        }

        impl PageLanguage {
            /// All of them, sorted by their names.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The language tag.
            pub fn tag(self) -> &'static str {
                match self {
                    $(Self::$variant => $tag,)*
                }
            }

            /// The name in English.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

languages! {
    Arabic = "ar", "Arabic";
    ChineseSimplified = "zh-Hans", "Chinese (simplified)";
    Dutch = "nl", "Dutch";
    English = "en", "English";
    French = "fr", "French";
    German = "de", "German";
    Italian = "it", "Italian";
    Japanese = "ja", "Japanese";
    Polish = "pl", "Polish";
    PortugueseBrazil = "pt-BR", "Portuguese (Brazil)";
    Spanish = "es", "Spanish";
    Turkish = "tr", "Turkish";
}

impl PageLanguage {
    /// The one for a reader of a language: that language, or another variant of it. Readers of
    /// Traditional Chinese get none, because Simplified Chinese is a different script.
    pub fn for_tag(tag: &str) -> Option<Self> {
        if locale::is_traditional_chinese(tag) {
            return None;
        }
        let is_wanted =
            |it: &Self| locale::language(it.tag()).eq_ignore_ascii_case(locale::language(tag));
        Self::ALL.iter().copied().find(is_wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_is_found_by_its_tag_and_sorted_by_its_name() {
        for it in PageLanguage::ALL {
            assert_eq!(PageLanguage::for_tag(it.tag()), Some(*it));
            assert_eq!(locale::repaired(it.tag()).as_deref(), Some(it.tag()));
        }
        assert!(PageLanguage::ALL.is_sorted_by_key(|it| it.name()));
    }

    #[test]
    fn traditional_chinese_is_not_served_by_simplified_texts() {
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
            let found = PageLanguage::for_tag(tag).map(PageLanguage::tag);
            assert_eq!(found, expected, "{tag}");
        }
    }
}
