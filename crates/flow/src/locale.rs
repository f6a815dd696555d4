//! Language tags (BCP 47) in their canonical form.

use icu_locale::{Locale, LocaleCanonicalizer};

/// The canonical form of a BCP 47 tag, or nothing if it is not one. `_` is read as `-`.
pub fn canonical(tag: &str) -> Option<String> {
    let mut locale = Locale::try_from_str(&tag.replace('_', "-")).ok()?;
    LocaleCanonicalizer::new_extended().canonicalize(&mut locale);
    Some(locale.to_string())
}
