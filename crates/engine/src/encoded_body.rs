//! Response bodies that are rendered, hashed and compressed once, when they are loaded.

use std::io::Write;

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};

/// Shorter bodies are sent uncompressed: compression would not save a packet.
const GZIP_BYTES_MIN: usize = 512;

/// One immutable body in each encoding that a client can ask for.
#[derive(Debug, Clone)]
pub struct EncodedBody {
    pub body: Bytes,
    /// The gzip encoding, if it is smaller.
    pub gzip: Option<Bytes>,
    /// A strong entity tag of the body, including quotes.
    pub etag: String,
    /// The entity tag of the gzip encoding, which is a different representation.
    pub gzip_etag: String,
}

impl EncodedBody {
    pub fn new(body: Vec<u8>) -> Self {
        let hash = blake3::hash(&body).to_hex();
        let tag = &hash[..24];
        let gzip = if body.len() < GZIP_BYTES_MIN { None } else { compressed(&body) };
        Self {
            gzip,
            etag: format!("\"{tag}\""),
            gzip_etag: format!("\"{tag}-gzip\""),
            body: body.into(),
        }
    }

    /// A body that compression does not make smaller, such as an image.
    pub(crate) fn uncompressed(body: Vec<u8>) -> Self {
        let hash = blake3::hash(&body).to_hex();
        let etag = format!("\"{}\"", &hash[..24]);
        Self { body: body.into(), gzip: None, gzip_etag: etag.clone(), etag }
    }

    /// The memory that it takes, for a bounded cache.
    pub(crate) fn weight(&self) -> usize {
        self.body.len() + self.gzip.as_ref().map_or(0, Bytes::len)
    }
}

fn compressed(body: &[u8]) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 2), Compression::default());
    // Writing into memory does not fail; if it did, the plain body would still be correct.
    encoder.write_all(body).ok()?;
    let bytes = encoder.finish().ok()?;
    (bytes.len() < body.len()).then(|| bytes.into())
}
