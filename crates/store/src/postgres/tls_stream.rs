//! Lets the PostgreSQL driver use rustls, with channel binding (`tls-server-end-point`, RFC 5929).

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use sha2::{Digest as _, Sha256, Sha384, Sha512};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect};
use tokio_rustls::TlsConnector;

/// Opens TLS with one configuration.
#[derive(Clone)]
pub(super) struct MakeRustlsConnect(Arc<ClientConfig>);

impl MakeRustlsConnect {
    pub(super) fn new(config: ClientConfig) -> Self {
        Self(Arc::new(config))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for MakeRustlsConnect {
    type Stream = RustlsStream<S>;
    type TlsConnect = RustlsConnect;
    type Error = Infallible;

    fn make_tls_connect(&mut self, host: &str) -> Result<RustlsConnect, Infallible> {
        Ok(RustlsConnect { connector: Arc::clone(&self.0).into(), host: host.to_owned() })
    }
}

pub(super) struct RustlsConnect {
    connector: TlsConnector,
    host: String,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for RustlsConnect {
    type Stream = RustlsStream<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<RustlsStream<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move {
            let wrong = |error| io::Error::new(io::ErrorKind::InvalidInput, error);
            let host = ServerName::try_from(self.host).map_err(wrong)?;
            Ok(RustlsStream(self.connector.connect(host, stream).await?))
        })
    }
}

/// A connection after the handshake.
pub(super) struct RustlsStream<S>(tokio_rustls::client::TlsStream<S>);

impl<S: AsyncRead + AsyncWrite + Unpin> tokio_postgres::tls::TlsStream for RustlsStream<S> {
    fn channel_binding(&self) -> ChannelBinding {
        let (_, session) = self.0.get_ref();
        let certificate = session.peer_certificates().and_then(<[_]>::first);
        let binding = certificate.and_then(|it| end_point(it));
        binding.map_or_else(ChannelBinding::none, ChannelBinding::tls_server_end_point)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for RustlsStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for RustlsStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

const SEQUENCE: u8 = 0x30;
const OBJECT_IDENTIFIER: u8 = 0x06;
/// `sha1`, `sha256`, `sha384` and `sha512WithRSAEncryption`, all under this prefix.
const WITH_RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1];
/// `ecdsa-with-SHA256`, `384` and `512`, all under this prefix.
const ECDSA_WITH: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3];

/// The hash of a certificate by the hash function of its signature, with SHA-256 in place of SHA-1.
/// `None` if the signature has no such function, as with Ed25519, or an unknown one: the binding is
/// then undefined.
fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    let mut content = element(&mut &*certificate, SEQUENCE)?;
    let _to_be_signed = element(&mut content, SEQUENCE)?;
    let mut algorithm = element(&mut content, SEQUENCE)?;
    let algorithm = element(&mut algorithm, OBJECT_IDENTIFIER)?;
    let (rsa, ecdsa) = (algorithm.strip_prefix(WITH_RSA), algorithm.strip_prefix(ECDSA_WITH));
    match (rsa, ecdsa) {
        (Some([5 | 11]), _) | (_, Some([2])) => Some(Sha256::digest(certificate).to_vec()),
        (Some([12]), _) | (_, Some([3])) => Some(Sha384::digest(certificate).to_vec()),
        (Some([13]), _) | (_, Some([4])) => Some(Sha512::digest(certificate).to_vec()),
        _ => None,
    }
}

/// The content of the DER element at the start of the input; advances the input past it.
fn element<'a>(input: &mut &'a [u8], tag: u8) -> Option<&'a [u8]> {
    let (first, rest) = input.strip_prefix(&[tag])?.split_first()?;
    let (length, rest) = match usize::from(*first) {
        short @ 0..=0x7f => (short, rest),
        long @ 0x81..=0x83 => {
            let (digits, rest) = rest.split_at_checked(long - 0x80)?;
            (digits.iter().fold(0, |all, digit| all << 8 | usize::from(*digit)), rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    *input = rest;
    Some(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The part of a certificate that the binding reads.
    fn certificate(algorithm: &[u8]) -> Vec<u8> {
        let length = |content: &[u8]| u8::try_from(content.len()).unwrap();
        let identifier = [&[OBJECT_IDENTIFIER, length(algorithm)], algorithm].concat();
        let identifier = [&[SEQUENCE, length(&identifier)][..], &identifier].concat();
        let to_be_signed = [&[SEQUENCE, 0x81, 200][..], &[7; 200]].concat();
        let content = [to_be_signed, identifier, vec![3, 1, 0]].concat();
        let size = u16::try_from(content.len()).unwrap().to_be_bytes();
        [&[SEQUENCE, 0x82, size[0], size[1]][..], &content].concat()
    }

    #[test]
    fn a_certificate_is_hashed_by_the_function_of_its_signature() {
        for (prefix, last, bytes) in [
            (WITH_RSA, 5, Some(32)),
            (WITH_RSA, 11, Some(32)),
            (WITH_RSA, 12, Some(48)),
            (WITH_RSA, 13, Some(64)),
            (ECDSA_WITH, 2, Some(32)),
            (ECDSA_WITH, 3, Some(48)),
            (ECDSA_WITH, 4, Some(64)),
            // RSASSA-PSS names its function elsewhere; Ed25519 has none.
            (WITH_RSA, 10, None),
            (&[0x2b, 0x65], 0x70, None),
        ] {
            let certificate = certificate(&[prefix, &[last]].concat());
            let hash = end_point(&certificate);
            assert_eq!(hash.as_ref().map(Vec::len), bytes, "{prefix:02x?} {last}");
            if bytes == Some(32) {
                assert_eq!(hash, Some(Sha256::digest(&certificate).to_vec()));
            }
        }
    }

    #[test]
    fn a_truncated_certificate_has_no_binding() {
        let whole = certificate(&[WITH_RSA, &[11]].concat());
        for end in 0..whole.len() {
            assert_eq!(end_point(&whole[..end]), None, "{end}");
        }
    }
}
