//! The certificate of the server (`--tls-cert`, `--tls-key`): its settings, and following its files
//! while the server runs.

use std::sync::Arc;
use std::time::Duration;

use sluice_engine::Engine;
use sluice_engine::clock::{Clock as _, SystemClock};
use sluice_flow::time::DAY_SECONDS;
use sluice_web::{Tls, TlsError, TlsFiles};

use crate::args::ServeArgs;
use crate::failure::Failure;

/// How often the files are compared with those that were loaded.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);
/// A certificate that expires sooner is worth a line in the log, each time that it is loaded.
const SOON_SECONDS: i64 = 14 * DAY_SECONDS;

/// Both files, or none.
pub(crate) fn resolve(given: &ServeArgs, file: &ServeArgs) -> Result<Option<TlsFiles>, Failure> {
    let certificate = given.tls_cert.clone().or_else(|| file.tls_cert.clone());
    let key = given.tls_key.clone().or_else(|| file.tls_key.clone());
    match (certificate, key) {
        (Some(certificate), Some(key)) => Ok(Some(TlsFiles { certificate, key })),
        (None, None) => Ok(None),
        (Some(_), None) => Err(half("tls-key", "the private key")),
        (None, Some(_)) => Err(half("tls-cert", "the certificate")),
    }
}

fn half(flag: &str, what: &str) -> Failure {
    Failure::usage(
        format!("TLS needs a certificate and its key, and {flag} is missing"),
        format!("name the PEM file of {what} with --{flag}"),
    )
}

/// Loads the certificate for the first time.
pub(crate) fn load(files: TlsFiles) -> Result<Arc<Tls>, Failure> {
    let tls = Tls::load(files).map_err(|error| unusable(&error))?;
    report(&tls);
    Ok(Arc::new(tls))
}

fn unusable(error: &TlsError) -> Failure {
    let remedy = match error {
        TlsError::Unreadable(..) => {
            "check the path and its permissions: the user of the service must be able to read it"
        }
        TlsError::NoCertificate(_) => {
            "--tls-cert names a PEM file with the server's certificate first, then its issuers"
        }
        TlsError::NoKey(_) => {
            "--tls-key names a PEM file with the unencrypted private key (RSA, ECDSA or Ed25519)"
        }
        TlsError::Unusable(..) => {
            "use a certificate of X.509 version 3, and an unencrypted key: RSA, ECDSA or Ed25519"
        }
        TlsError::Mismatch(_) => "use the key that the certificate was issued for",
    };
    Failure::new(error.to_string(), remedy)
}

/// Logs how long the certificate is valid.
fn report(tls: &Tls) {
    let Some(expires_at) = tls.expires_at() else {
        return tracing::info!("TLS certificate loaded");
    };
    let left = (expires_at.as_millis() - SystemClock.now().as_millis()) / 1_000;
    match left {
        ..=0 => tracing::warn!(%expires_at, "the TLS certificate has expired: clients refuse it"),
        1..SOON_SECONDS => tracing::warn!(%expires_at, "the TLS certificate expires soon"),
        _ => tracing::info!(%expires_at, "TLS certificate loaded"),
    }
}

/// Loads the files again. If they cannot be used, the server keeps the loaded certificate.
pub(crate) fn reload(tls: &Tls) {
    match tls.reload() {
        Ok(()) => report(tls),
        Err(error) => {
            tracing::error!(%error, "the TLS certificate was not reloaded; the loaded one stays in use");
        }
    }
}

/// Loads the files again whenever they change, and keeps the metric of the expiry up to date.
pub(crate) async fn follow(engine: &Engine, tls: Option<&Tls>) {
    let Some(tls) = tls else { return std::future::pending().await };
    loop {
        if let Some(expires_at) = tls.expires_at() {
            engine.metrics().set_certificate_expiry(expires_at);
        }
        tokio::time::sleep(CHECK_INTERVAL).await;
        if tls.has_changed() {
            reload(tls);
        }
    }
}
