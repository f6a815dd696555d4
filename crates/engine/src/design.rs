//! Changes to a design, of an app or of a flow, and the pictures in it.
//!
//! A picture is part of the settings, not a URL: pages make no requests to other hosts.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use sluice_flow::definition::Fault;
use sluice_flow::design::{Design, DesignField, DesignValue, NONE};
use sluice_flow::id::{AppId, AssetId};
use sluice_store::{Store, StoreResult};

use crate::encoded_body::EncodedBody;

/// The maximum size of a picture in bytes, before base64 encoding.
pub const PICTURE_BYTES_MAX: usize = 64 * 1024;
/// The number of hexadecimal digits of the hash that name a picture.
const NAME_DIGITS: usize = 16;

/// Changes to a design. Absent parts stay unchanged, `None` restores what is inherited.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DesignPatch(BTreeMap<DesignField, Option<String>>);

impl DesignPatch {
    pub fn set(&mut self, field: DesignField, value: Option<String>) {
        self.0.insert(field, value);
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The faults of an image that the app does not have.
    pub(crate) async fn image_faults(
        &self,
        store: &dyn Store,
        app: AppId,
        pointer: &str,
    ) -> StoreResult<Vec<Fault>> {
        let named = self.0.get(&DesignField::Background).and_then(Option::as_ref);
        let Some(named) = named.and_then(|it| it.parse::<AssetId>().ok()) else {
            return Ok(Vec::new());
        };
        let stored = store.list_assets(app).await?;
        let is_missing = !stored.iter().any(|asset| asset.asset_id == named);
        let fault = || Fault::new(format!("{pointer}/background"), "must be an image of this app");
        Ok(is_missing.then(fault).into_iter().collect())
    }

    /// The parts that it changes.
    pub fn fields(&self) -> impl Iterator<Item = DesignField> {
        self.0.keys().copied()
    }

    /// Applies a change without faults.
    pub(crate) fn apply(&self, design: &mut Design) {
        for (field, value) in &self.0 {
            design.set(*field, value.as_deref().and_then(|value| read(*field, value).ok()));
        }
    }

    /// The faults, each with a pointer below that of the design.
    pub(crate) fn faults(&self, pointer: &str) -> impl Iterator<Item = Fault> {
        self.0.iter().filter_map(move |(field, value)| {
            let why = read(*field, value.as_deref()?).err()?;
            Some(Fault::new(format!("{pointer}/{}", field.name()), why))
        })
    }

    /// The changes for the audit log: only the type and size of a picture.
    pub(crate) fn to_json(&self) -> Map<String, Value> {
        let logged = |field: DesignField, value: &str| match (field.value(), picture(value)) {
            (DesignValue::Picture, Ok((kind, bytes))) => {
                format!("{kind}, {} bytes", bytes.len())
            }
            _ => value.to_owned(),
        };
        let pairs = self.0.iter().map(|(field, value)| {
            let value = value.as_deref().map(|value| logged(*field, value));
            (field.name().to_owned(), json!(value))
        });
        pairs.collect()
    }
}

impl FromIterator<(DesignField, Option<String>)> for DesignPatch {
    fn from_iter<T: IntoIterator<Item = (DesignField, Option<String>)>>(pairs: T) -> Self {
        Self(pairs.into_iter().collect())
    }
}

fn read(field: DesignField, value: &str) -> Result<String, String> {
    match field.value() {
        DesignValue::Picture if value != NONE => picture(value).map(|_| value.to_owned()),
        _ => field.read(value),
    }
}

/// A picture, ready to be sent.
#[derive(Debug, Clone)]
pub struct Logo {
    pub media_type: &'static str,
    /// The first digits of its hash, which name it.
    pub name: String,
    pub served: EncodedBody,
}

impl Logo {
    /// Reads a `data:` URL; `None` if it is not one.
    pub(crate) fn new(address: &str) -> Option<Self> {
        let (media_type, bytes) = picture(address).ok()?;
        let name = blake3::hash(&bytes).to_hex()[..NAME_DIGITS].to_owned();
        Some(Self { media_type, name, served: EncodedBody::new(bytes) })
    }

    /// The `data:` URL that it was read from.
    pub fn data_url(&self) -> String {
        format!("data:{};base64,{}", self.media_type, STANDARD.encode(&self.served.body))
    }
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
    if bytes.len() > PICTURE_BYTES_MAX {
        return Err(format!("has {} bytes; at most {PICTURE_BYTES_MAX} are allowed", bytes.len()));
    }
    let is_svg = || std::str::from_utf8(&bytes).is_ok_and(|text| text.contains("<svg"));
    let fits = if start.is_empty() { is_svg() } else { bytes.starts_with(start) };
    if fits { Ok((kind, bytes)) } else { Err(format!("is not a picture of the type {kind}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_logo_is_a_small_picture_of_its_declared_type() {
        let of =
            |kind: &str, bytes: &[u8]| format!("data:{kind};base64,{}", STANDARD.encode(bytes));
        let png = b"\x89PNG\r\n\x1a\nrest";
        let large = [&png[..], &vec![0; PICTURE_BYTES_MAX]].concat();
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
    fn only_what_was_sent_is_changed_and_every_fault_is_listed() {
        let sent = |pairs: &[(DesignField, Option<&str>)]| -> DesignPatch {
            pairs.iter().map(|(field, value)| (*field, value.map(str::to_owned))).collect()
        };
        let mut design = Design::default();
        let first = [
            (DesignField::AccentColor, Some("#FC0")),
            (DesignField::Logo, Some("none")),
            (DesignField::NextText, Some("")),
        ];
        sent(&first).apply(&mut design);
        sent(&[(DesignField::AccentColor, None), (DesignField::Font, Some("mono"))])
            .apply(&mut design);
        let left = json!({"font": "mono", "logo": "none", "nextText": ""});
        assert_eq!(Value::from(design.to_json()), left);
        let wrong = sent(&[
            (DesignField::AccentColor, Some("red")),
            (DesignField::DarkLogo, Some("x.png")),
            (DesignField::Font, None),
        ]);
        let pointers: Vec<String> = wrong.faults("/design").map(|it| it.pointer).collect();
        assert_eq!(pointers, ["/design/accentColor", "/design/darkLogo"]);
    }

    #[test]
    fn the_audit_log_has_the_size_of_a_picture() {
        let svg = format!("data:image/svg+xml;base64,{}", STANDARD.encode("<svg/>"));
        let patch: DesignPatch = [
            (DesignField::Logo, Some(svg)),
            (DesignField::DarkLogo, None),
            (DesignField::SendText, Some("Go".to_owned())),
        ]
        .into_iter()
        .collect();
        let logged = json!({"darkLogo": null, "logo": "image/svg+xml, 6 bytes", "sendText": "Go"});
        assert_eq!(Value::from(patch.to_json()), logged);
    }
}
