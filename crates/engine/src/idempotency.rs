//! The key that lets a client retry a submission safely.

use sluice_flow::id::AppId;
use sluice_flow::issue::KeySource;
use sluice_flow::submission::idempotency_key;

/// The `idempotencyKey` of a submission, or the value of an `Idempotency-Key` header, each without
/// quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey {
    text: String,
    source: KeySource,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("Idempotency-Key must be 1 to 255 printable ASCII characters, quoted or bare")]
pub struct InvalidKey;

impl IdempotencyKey {
    /// Parses a header's value: bare, or a quoted string with `\"` and `\\` escaped.
    pub fn parse(header: &[u8]) -> Result<Self, InvalidKey> {
        let text = std::str::from_utf8(header).map_err(|_| InvalidKey)?.trim_matches([' ', '\t']);
        let key = idempotency_key(text).ok_or(InvalidKey)?;
        Ok(Self { text: key.into_owned(), source: KeySource::Header })
    }

    /// The key inside a submission. Parsing the submission checked it and removed its quotes.
    pub(crate) fn from_submission(key: &str) -> Self {
        Self { text: key.to_owned(), source: KeySource::Field }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.text.as_bytes()
    }

    /// The key of one call of a batch.
    #[must_use]
    pub fn of_call(&self, index: usize) -> Self {
        Self { text: format!("{}#{index}", self.text), source: self.source }
    }

    /// Where the client sent the key.
    pub(crate) fn source(&self) -> KeySource {
        self.source
    }

    /// The stored form of the key: only a hash, different for each app.
    pub(crate) fn hash(&self, app: AppId) -> sluice_store::IdempotencyKey {
        let mut hasher = blake3::Hasher::new();
        hasher.update(app.uuid().as_bytes());
        hasher.update(self.text.as_bytes());
        sluice_store::first_half(hasher.finalize())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use sluice_flow::submission::parse;

    use super::*;

    #[test]
    fn a_key_has_the_same_form_in_the_field_and_in_the_header() {
        let longest = "k".repeat(255);
        let quoted_longest = format!("\"{longest}\"");
        for (text, is_key) in [
            ("K1", true),
            ("\"K1\"", true),
            (r#""a\"b\\c""#, true),
            (r"a\b", true),
            (&longest, true),
            (&quoted_longest, true),
            ("\"\"", false),
            ("\"open", false),
            ("\"a\"b\"", false),
        ] {
            let submission = json!({
                "flowVersionId": "fv_1", "flowVersionPayloadGeneration": "4",
                "respondentAnalyticsAdmission": "collection_only", "idempotencyKey": text,
            });
            let submission = submission.to_string();
            let parsed = parse(submission.as_bytes());
            let field = parsed.as_ref().ok().and_then(|it| it.idempotency_key.as_deref());
            let field = field.map(|key| IdempotencyKey::from_submission(key).text);
            let header = IdempotencyKey::parse(text.as_bytes()).ok().map(|key| key.text);
            assert_eq!((field.is_some(), &field), (is_key, &header), "{text}");
        }
        // For this client, both name the same call.
        assert_eq!(IdempotencyKey::parse(b"\"K1\"").unwrap().text, "K1");
    }

    #[test]
    fn a_quoted_key_equals_the_bare_key() {
        for (header, key) in [
            ("abc", "abc"),
            ("\"abc\"", "abc"),
            ("  abc ", "abc"),
            (r#""a\"b\\c""#, r#"a"b\c"#),
            ("a b", "a b"),
        ] {
            assert_eq!(IdempotencyKey::parse(header.as_bytes()).unwrap().text, key, "{header}");
        }
    }

    #[test]
    fn a_key_has_1_to_255_printable_ascii_characters() {
        assert!(IdempotencyKey::parse("k".repeat(255).as_bytes()).is_ok());
        let long = "k".repeat(256);
        for header in ["", "\"\"", "\"open", "\"a\"b\"", "tab\there", "é", "\u{7f}", long.as_str()]
        {
            assert_eq!(IdempotencyKey::parse(header.as_bytes()), Err(InvalidKey), "{header:?}");
        }
        assert_eq!(IdempotencyKey::parse(b"\xff"), Err(InvalidKey));
    }
}
