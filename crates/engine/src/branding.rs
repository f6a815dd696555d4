//! Branding of an app's hosted pages: a colour, a logo, and whether suspected bots must confirm.
//!
//! The settings are stored as the JSON that an administrator sees. What pages need (the decoded
//! logo, ready to send, and a text colour that is readable on the accent) is computed when the app
//! is loaded. The logo is part of the settings, not a URL: pages make no requests to other hosts.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sluice_flow::definition::Fault;
use sluice_store::AppRow;

use crate::encoded_body::EncodedBody;
use crate::fault::fault;

/// The maximum size of a logo in bytes, before base64 encoding.
const LOGO_BYTES_MAX: usize = 64 * 1024;
/// The number of hexadecimal digits of the hash that name a picture.
const NAME_DIGITS: usize = 16;

/// The settings of an app's hosted pages, as administrators see them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HostedSettings {
    /// `#rrggbb`.
    pub accent_color: Option<String>,
    /// A picture as a `data:` URL.
    pub logo: Option<String>,
    pub spam_protection: bool,
}

impl Default for HostedSettings {
    fn default() -> Self {
        Self { accent_color: None, logo: None, spam_protection: true }
    }
}

impl HostedSettings {
    /// The settings of an app; the defaults if it has none.
    pub fn of(app: &AppRow) -> Self {
        let stored = app.hosted.as_deref().map(serde_json::from_str);
        stored.transpose().ok().flatten().unwrap_or_default()
    }

    /// The settings as stored; `None` if all of them are the defaults.
    pub(crate) fn to_stored(&self) -> Option<String> {
        let is_default = *self == Self::default();
        if is_default { None } else { serde_json::to_string(self).ok() }
    }
}

/// Changes to the settings; absent fields stay unchanged, `Some(None)` restores the default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostedPatch {
    pub accent_color: Option<Option<String>>,
    pub logo: Option<Option<String>>,
    pub spam_protection: Option<bool>,
}

impl HostedPatch {
    pub(crate) fn apply(&self, settings: &mut HostedSettings) {
        if let Some(color) = &self.accent_color {
            settings.accent_color = color.as_deref().and_then(canonical_color);
        }
        if let Some(logo) = &self.logo {
            settings.logo.clone_from(logo);
        }
        if let Some(protection) = self.spam_protection {
            settings.spam_protection = protection;
        }
    }

    /// The changes for the audit log: only the type and size of a picture.
    pub(crate) fn to_json(&self) -> Value {
        let mut to_json = serde_json::Map::new();
        if let Some(color) = &self.accent_color {
            to_json.insert("accentColor".into(), json!(color));
        }
        if let Some(logo) = &self.logo {
            let bytes = logo.as_deref().and_then(|logo| picture(logo).ok());
            to_json.insert(
                "logo".into(),
                json!(bytes.map(|(kind, bytes)| format!("{kind}, {} bytes", bytes.len()))),
            );
        }
        if let Some(protection) = self.spam_protection {
            to_json.insert("spamProtection".into(), json!(protection));
        }
        to_json.into()
    }

    pub(crate) fn faults(&self) -> Vec<Fault> {
        let color = self.accent_color.as_ref().and_then(Option::as_deref);
        let color = color.filter(|color| canonical_color(color).is_none());
        let color = color.map(|_| fault("/hosted/accentColor", "must be a colour such as #0a7d4f"));
        let logo = self.logo.as_ref().and_then(Option::as_deref);
        let logo = logo.and_then(|logo| picture(logo).err()).map(|why| fault("/hosted/logo", why));
        color.into_iter().chain(logo).collect()
    }
}

/// `#rgb` or `#rrggbb` as `#rrggbb` in lower case.
fn canonical_color(text: &str) -> Option<String> {
    let digits = text.strip_prefix('#')?;
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let digits: String = match digits.len() {
        3 => digits.chars().flat_map(|digit| [digit, digit]).collect(),
        6 => digits.to_owned(),
        _ => return None,
    };
    Some(format!("#{}", digits.to_ascii_lowercase()))
}

/// The media type and the bytes of a picture in a `data:` URL.
fn picture(address: &str) -> Result<(&'static str, Vec<u8>), String> {
    const KINDS: [(&str, &[u8]); 4] = [
        ("image/png", b"\x89PNG\r\n\x1a\n"),
        ("image/jpeg", b"\xff\xd8\xff"),
        ("image/webp", b"RIFF"),
        ("image/svg+xml", b""),
    ];
    let rest = address.strip_prefix("data:").unwrap_or_default();
    let kind = KINDS.iter().find_map(|(kind, start)| {
        let data = rest.strip_prefix(kind)?.strip_prefix(";base64,")?;
        Some((*kind, *start, data))
    });
    let Some((kind, start, data)) = kind else {
        return Err(
            "must be a picture as data:image/png;base64,… (png, jpeg, webp or svg+xml)".into()
        );
    };
    let bytes =
        STANDARD.decode(data).map_err(|_| "must have its bytes in base64 after the comma")?;
    if bytes.len() > LOGO_BYTES_MAX {
        return Err(format!("has {} bytes; at most {LOGO_BYTES_MAX} are allowed", bytes.len()));
    }
    let is_svg = || std::str::from_utf8(&bytes).is_ok_and(|text| text.contains("<svg"));
    let fits = if start.is_empty() { is_svg() } else { bytes.starts_with(start) };
    if fits { Ok((kind, bytes)) } else { Err(format!("is not a picture of the type {kind}")) }
}

/// The settings as pages need them.
#[derive(Debug, Clone)]
pub struct Branding {
    pub accent: Option<Accent>,
    pub logo: Option<Logo>,
    /// Whether suspected bots are asked to send once more.
    pub spam_protection: bool,
}

/// A colour, and the colour of text on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accent {
    pub color: String,
    pub on: &'static str,
}

/// A picture, ready to be sent.
#[derive(Debug, Clone)]
pub struct Logo {
    pub media_type: &'static str,
    /// The first digits of its hash, which name it.
    pub name: String,
    pub served: EncodedBody,
}

impl Branding {
    pub(crate) fn of(app: &AppRow) -> Self {
        let settings = HostedSettings::of(app);
        let logo = settings.logo.as_deref().and_then(|logo| picture(logo).ok());
        Self {
            accent: settings.accent_color.and_then(Accent::of),
            logo: logo.map(|(media_type, bytes)| Logo {
                media_type,
                name: blake3::hash(&bytes).to_hex()[..NAME_DIGITS].to_owned(),
                served: EncodedBody::new(bytes),
            }),
            spam_protection: settings.spam_protection,
        }
    }

    /// The memory that it takes, for a bounded cache.
    pub(crate) fn weight(&self) -> usize {
        self.logo.as_ref().map_or(0, |logo| logo.served.weight())
    }
}

impl Accent {
    /// Selects black or white for text on the colour, whichever is easier to read.
    fn of(color: String) -> Option<Self> {
        let channel = |at: usize| -> Option<f64> {
            let value = f64::from(u8::from_str_radix(color.get(at..at + 2)?, 16).ok()?) / 255.0;
            Some(if value <= 0.040_45 {
                value / 12.92
            } else {
                ((value + 0.055) / 1.055).powf(2.4)
            })
        };
        let light = 0.2126 * channel(1)? + 0.7152 * channel(3)? + 0.0722 * channel(5)?;
        let (on_white, on_black) = (1.05 / (light + 0.05), (light + 0.05) / 0.05);
        let on = if on_white >= on_black { "#fff" } else { "#000" };
        Some(Self { color, on })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_colour_is_normalised_to_six_digits_and_has_a_readable_text_colour() {
        for (sent, color, on) in [
            ("#0A7D4F", Some("#0a7d4f"), "#fff"),
            ("#fc0", Some("#ffcc00"), "#000"),
            ("#000", Some("#000000"), "#fff"),
            ("#ffffff", Some("#ffffff"), "#000"),
            ("#7777", None, ""),
            ("red", None, ""),
            ("#0a7d4f;}", None, ""),
            ("#0a7d4é", None, ""),
        ] {
            let made = canonical_color(sent);
            assert_eq!(made.as_deref(), color, "{sent}");
            assert_eq!(made.and_then(Accent::of).map_or("", |accent| accent.on), on, "{sent}");
        }
    }

    #[test]
    fn a_logo_is_a_small_picture_of_its_declared_type() {
        let of =
            |kind: &str, bytes: &[u8]| format!("data:{kind};base64,{}", STANDARD.encode(bytes));
        let png = b"\x89PNG\r\n\x1a\nrest";
        let large = [&png[..], &vec![0; LOGO_BYTES_MAX]].concat();
        for (address, fits) in [
            (of("image/png", png), true),
            (of("image/svg+xml", b"<?xml version='1.0'?><svg/>"), true),
            (of("image/webp", b"RIFF1234WEBP"), true),
            (of("image/jpeg", b"\xff\xd8\xff\xe0"), true),
            (of("image/jpeg", png), false),
            (of("image/svg+xml", b"<html>"), false),
            (of("image/gif", b"GIF89a"), false),
            (of("image/png", &large), false),
            ("data:image/png;base64,!!!".to_owned(), false),
            ("https://example.com/logo.png".to_owned(), false),
            (String::new(), false),
        ] {
            assert_eq!(picture(&address).is_ok(), fits, "{address:.60}");
        }
    }

    #[test]
    fn default_settings_are_not_stored() {
        let mut settings = HostedSettings::default();
        assert_eq!(settings.to_stored(), None);
        let patch = HostedPatch {
            accent_color: Some(Some("#FC0".to_owned())),
            spam_protection: Some(false),
            logo: None,
        };
        patch.apply(&mut settings);
        let stored = settings.to_stored().unwrap();
        assert_eq!(serde_json::from_str::<HostedSettings>(&stored).unwrap(), settings);
        let back =
            HostedPatch { accent_color: Some(None), spam_protection: Some(true), logo: Some(None) };
        back.apply(&mut settings);
        assert_eq!(settings.to_stored(), None);
    }
}
