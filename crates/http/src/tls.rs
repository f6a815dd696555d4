//! TLS for the accept loop: a certificate and its key, from two PEM files, which can be loaded
//! again while the server runs.
//!
//! New connections get the certificate that was loaded last; open ones are not affected. Files that
//! cannot be used change nothing: a server keeps using the certificate that it has. HTTP/2 and
//! HTTP/1.1 are offered by ALPN. Deliberately absent: client certificates, several certificates by
//! name, obtaining certificates (ACME); a proxy does these well.

mod expiry;

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::SystemTime;
use std::{fmt, io};

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{Error, InconsistentKeys, ServerConfig};
use sluice_flow::time::Timestamp;
use tokio_rustls::TlsAcceptor;

/// In the order of preference.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// The files of a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate of the server, followed by those of its issuers.
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// Why a certificate cannot be used.
#[derive(Debug)]
pub enum TlsError {
    Unreadable(PathBuf, io::Error),
    NoCertificate(PathBuf),
    NoKey(PathBuf),
    /// The key is of a kind that is not supported, or damaged.
    Unusable(PathBuf, String),
    /// The key belongs to another certificate.
    Mismatch(TlsFiles),
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(path, error) => write!(f, "cannot read {}: {error}", path.display()),
            Self::NoCertificate(path) => {
                write!(f, "{} holds no certificate in PEM format", path.display())
            }
            Self::NoKey(path) => {
                write!(f, "{} holds no private key in PEM format", path.display())
            }
            Self::Unusable(path, why) => write!(f, "{} cannot be used: {why}", path.display()),
            Self::Mismatch(files) => write!(
                f,
                "the key in {} does not belong to the certificate in {}",
                files.key.display(),
                files.certificate.display()
            ),
        }
    }
}

impl std::error::Error for TlsError {}

/// A certificate in use.
#[derive(Debug)]
pub struct Tls {
    files: TlsFiles,
    current: Arc<Current>,
    config: Arc<ServerConfig>,
    /// The state of the files when they were last read, whether or not they could be used.
    seen: Mutex<Seen>,
}

impl Tls {
    pub fn load(files: TlsFiles) -> Result<Self, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let seen = Mutex::new(Seen::new(&files));
        let current = Arc::new(Current(RwLock::new(Loaded::read(&files, &provider)?)));
        let resolver = Arc::clone(&current) as Arc<dyn ResolvesServerCert>;
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| TlsError::Unusable(files.certificate.clone(), error.to_string()))?
            .with_no_client_auth()
            .with_cert_resolver(resolver);
        config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
        Ok(Self { files, current, config: Arc::new(config), seen })
    }

    /// Loads the files again. If they cannot be used, nothing changes.
    pub fn reload(&self) -> Result<(), TlsError> {
        *locked(&self.seen) = Seen::new(&self.files);
        let loaded = Loaded::read(&self.files, self.config.crypto_provider())?;
        *self.current.0.write().unwrap_or_else(PoisonError::into_inner) = loaded;
        Ok(())
    }

    /// Whether the files have changed since they were last read. Also true while only one of two
    /// has been replaced; then the other makes it true again.
    pub fn has_changed(&self) -> bool {
        *locked(&self.seen) != Seen::new(&self.files)
    }

    /// When the certificate expires; absent if it is not given in a known form.
    pub fn expires_at(&self) -> Option<Timestamp> {
        self.current.0.read().unwrap_or_else(PoisonError::into_inner).expires_at
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.config))
    }
}

fn locked(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Debug)]
struct Loaded {
    key: Arc<CertifiedKey>,
    expires_at: Option<Timestamp>,
}

impl Loaded {
    fn read(files: &TlsFiles, provider: &CryptoProvider) -> Result<Self, TlsError> {
        let TlsFiles { certificate, key } = files;
        let bytes = read(certificate)?;
        let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&bytes)
            .collect::<Result<_, _>>()
            .map_err(|_| TlsError::NoCertificate(certificate.clone()))?;
        let Some(own) = chain.first() else {
            return Err(TlsError::NoCertificate(certificate.clone()));
        };
        let expires_at = expiry::not_after(own);
        let secret =
            PrivateKeyDer::from_pem_slice(&read(key)?).map_err(|_| TlsError::NoKey(key.clone()))?;
        let key = CertifiedKey::from_der(chain, secret, provider).map_err(|error| match error {
            Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
                TlsError::Mismatch(files.clone())
            }
            Error::InvalidCertificate(_) => {
                TlsError::Unusable(certificate.clone(), error.to_string())
            }
            error => TlsError::Unusable(key.clone(), error.to_string()),
        })?;
        Ok(Self { key: Arc::new(key), expires_at })
    }
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    std::fs::read(path).map_err(|error| TlsError::Unreadable(path.to_owned(), error))
}

/// The certificate that new connections get.
#[derive(Debug)]
struct Current(RwLock<Loaded>);

impl ResolvesServerCert for Current {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner).key))
    }
}

/// The state of both files; links are followed.
#[derive(Debug, PartialEq, Eq)]
struct Seen([Option<(SystemTime, u64, u64)>; 2]);

impl Seen {
    fn new(files: &TlsFiles) -> Self {
        Self([&files.certificate, &files.key].map(|path| {
            let found = std::fs::metadata(path).ok()?;
            Some((found.modified().ok()?, found.len(), file_number(&found)))
        }))
    }
}

#[cfg(unix)]
fn file_number(found: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(found)
}

#[cfg(not(unix))]
fn file_number(_: &Metadata) -> u64 {
    0
}

#[cfg(test)]
pub(crate) mod tests {
    use ::ring::rand::SystemRandom;
    use ::ring::signature::Ed25519KeyPair;
    use rustls::pki_types::PrivatePkcs8KeyDer;

    use super::*;

    /// For connections that never finish their handshake: a key without a certificate.
    pub(crate) fn without_certificate() -> Tls {
        let files = TlsFiles { certificate: PathBuf::new(), key: PathBuf::new() };
        let secret = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        let secret = PrivatePkcs8KeyDer::from(secret.as_ref().to_vec());
        let key = ring::sign::any_eddsa_type(&secret).unwrap();
        let key = Arc::new(CertifiedKey::new(Vec::new(), key));
        let current = Arc::new(Current(RwLock::new(Loaded { key, expires_at: None })));
        let resolver = Arc::clone(&current) as Arc<dyn ResolvesServerCert>;
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
        let config = Arc::new(config.with_cert_resolver(resolver));
        let seen = Mutex::new(Seen::new(&files));
        Tls { files, current, config, seen }
    }
}
