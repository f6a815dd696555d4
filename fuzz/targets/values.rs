//! Small values: instants, days, ids, languages, origins, e-mail addresses, short paths, colours,
//! labels, placeholders. What is accepted is written and read again as the same, and a canonical
//! form is canonical itself.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use sluice_flow::design::{BLACK, Color, Design, DesignField, TEXT_CONTRAST_MIN, WHITE};
use sluice_flow::email::{EMAIL_BYTES_MAX, is_email};
use sluice_flow::id::{ApiKey, AppId, FlowId, FlowVersionId, FormKey, ResponseId};
use sluice_flow::origin::{AllowedOrigin, web_origin};
use sluice_flow::piping::{Part, parts};
use sluice_flow::time::{Day, Timestamp};
use sluice_flow::{flow_key, folding, labels, locale, short_path};

pub(super) fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    written_and_read::<Timestamp>(text);
    written_and_read::<Day>(text);
    for id in [
        canonical::<AppId>(text),
        canonical::<FlowId>(text),
        canonical::<FlowVersionId>(text),
        canonical::<ResponseId>(text),
        canonical::<FormKey>(text),
        canonical::<ApiKey>(text),
    ] {
        assert!(id.is_none_or(|id| id == text), "an id has one form");
    }
    check_languages(text);
    check_origins(text);
    check_texts(text);
    check_design(text);
}

fn written_and_read<T: FromStr + Display + PartialEq + Debug>(text: &str) {
    if let Ok(value) = text.parse::<T>() {
        let written = value.to_string();
        assert_eq!(written.parse::<T>().ok().as_ref(), Some(&value), "{text} as {written}");
    }
}

fn canonical<T: FromStr + Display>(text: &str) -> Option<String> {
    text.parse::<T>().ok().map(|value| value.to_string())
}

fn check_languages(text: &str) {
    if let Some(tag) = locale::canonical(text) {
        assert_eq!(locale::canonical(&tag).as_ref(), Some(&tag), "{text}");
        assert_eq!(locale::repaired(&tag).as_ref(), Some(&tag), "{text}");
        assert!(tag.starts_with(locale::language(&tag)));
        assert_eq!(locale::best(&["zz", &tag], &tag), Some(tag.as_str()));
    }
    locale::is_right_to_left(text);
}

fn check_origins(text: &str) {
    if let Ok(origin) = AllowedOrigin::parse(text) {
        let again = AllowedOrigin::parse(origin.as_str());
        assert_eq!(again.as_ref().map(AllowedOrigin::as_str), Ok(origin.as_str()), "{text}");
        if !origin.as_str().contains('*') {
            assert!(origin.allows(origin.as_str()), "{text}");
        }
    }
    if let Some(origin) = web_origin(text) {
        assert_eq!(web_origin(&origin).as_ref(), Some(&origin), "{text}");
        let is_safe = !origin.contains([' ', ';', ',', '\'', '"', '\n', '\r']);
        assert!(is_safe && origin.is_ascii(), "not for a header: {origin}");
    }
}

fn check_texts(text: &str) {
    if is_email(text) {
        assert!(text.len() <= EMAIL_BYTES_MAX && text.matches('@').count() == 1, "{text}");
        assert!(!text.contains(char::is_whitespace), "{text}");
    }
    if let Ok(path) = short_path::check(text) {
        assert_eq!(short_path::check(&path).as_ref(), Ok(&path), "{text}");
        assert!(path.is_ascii(), "{path}");
    }
    if flow_key::fault(text).is_none() {
        assert!(text.len() <= flow_key::KEY_CHARS_MAX && text.is_ascii(), "{text}");
    }
    let cleaned = labels::cleaned(&[text.to_owned(), text.to_owned()]);
    assert!(cleaned.len() <= 1, "a label twice");
    assert_eq!(labels::cleaned(&cleaned), cleaned);
    let folded = folding::folded(text);
    assert_eq!(folding::folded(&folded), folded, "{text}");
    let length = |part: Part<'_>| match part {
        Part::Text(text) => text.len(),
        Part::Placeholder(placeholder) => placeholder.fallback.len(),
    };
    assert!(parts(text).into_iter().map(length).sum::<usize>() <= text.len());
}

fn check_design(text: &str) {
    if let Some(color) = Color::parse(text) {
        let contrast = color.contrast(color.text_on());
        assert!(contrast >= TEXT_CONTRAST_MIN, "{text}: {contrast}");
        assert!(color.contrast(WHITE).max(color.contrast(BLACK)) >= TEXT_CONTRAST_MIN);
    }
    let mut design = Design::default();
    for field in DesignField::ALL {
        if let Ok(value) = field.read(text) {
            assert_eq!(field.read(&value).as_ref(), Ok(&value), "{field:?} {text}");
            design.set(field, Some(value));
        }
    }
    assert_eq!(Design::from_stored(design.to_stored().as_deref()), design);
}
