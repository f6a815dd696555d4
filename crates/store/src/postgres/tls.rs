//! TLS to the database: rustls, and the certificates that it trusts.
//!
//! A certificate is always verified, including its name: against the system's roots, or against the
//! file in `sslrootcert`. There is deliberately no way to accept any certificate; for a local
//! server or a trusted network there is `sslmode=disable`.

use std::path::Path;
use std::sync::Arc;

use super::tls_stream::MakeRustlsConnect;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres::config::{Host, SslMode};

use super::dsn::Dsn;

pub(super) fn connector(dsn: &Dsn) -> Result<MakeRustlsConnect, String> {
    let roots = match (&dsn.root_certificates, may_use_tls(dsn)) {
        (Some(file), _) => from_file(file)?,
        (None, true) => from_system(),
        (None, false) => RootCertStore::empty(),
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"postgresql".to_vec()];
    Ok(MakeRustlsConnect::new(config))
}

/// Reading the system's roots takes a while, and a local socket does not need them.
fn may_use_tls(dsn: &Dsn) -> bool {
    dsn.hosts.iter().any(|config| {
        let local = config.get_hosts().iter().all(|host| !matches!(host, Host::Tcp(_)))
            && config.get_hostaddrs().is_empty();
        config.get_ssl_mode() != SslMode::Disable && !local
    })
}

fn from_file(file: &Path) -> Result<RootCertStore, String> {
    let failed = |why: String| format!("cannot read certificates from {}: {why}", file.display());
    let mut roots = RootCertStore::empty();
    let certificates =
        CertificateDer::pem_file_iter(file).map_err(|error| failed(error.to_string()))?;
    for certificate in certificates {
        let certificate = certificate.map_err(|error| failed(error.to_string()))?;
        roots.add(certificate).map_err(|error| failed(error.to_string()))?;
    }
    match roots.is_empty() {
        true => Err(failed("it contains none".to_owned())),
        false => Ok(roots),
    }
}

/// Unreadable roots are skipped; a server with an unknown issuer fails the handshake.
fn from_system() -> RootCertStore {
    let found = rustls_native_certs::load_native_certs();
    for error in &found.errors {
        tracing::warn!(%error, "some of the system's root certificates cannot be read");
    }
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    roots
}
