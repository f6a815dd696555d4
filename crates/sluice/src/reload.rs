//! SIGHUP: reads the configuration file again.
//!
//! Only the log filter takes effect in a running server, and the certificate is loaded again:
//! everything else is built into the parts of the server when it starts. A setting that has changed
//! and needs a restart is named, so that no one takes it for applied. A file that cannot be read
//! changes nothing.
//!
//! The same signal reports that the terminal of the process was closed. Then the server stops, as
//! any other program in that terminal does.

use std::sync::Arc;

use sluice_web::Tls;

use crate::args::ServeArgs;
use crate::certificate;
use crate::config::Settings;
use crate::failure::Failure;
use crate::logging::LogFilter;
use crate::signals::{self, Hangups};

/// The setting that a running server applies.
const LOG: &str = "log";

/// What a reload compares with.
pub(crate) struct Reloading {
    pub(crate) given: ServeArgs,
    pub(crate) current: Settings,
    pub(crate) filter: LogFilter,
    pub(crate) tls: Option<Arc<Tls>>,
}

impl Reloading {
    /// Reloads at every signal, as long as the process runs.
    pub(crate) async fn run(mut self, mut hangups: Hangups) {
        let had_terminal = has_terminal() && !hangups.were_ignored;
        loop {
            hangups.next().await;
            if had_terminal && !has_terminal() {
                tracing::info!("the terminal was closed");
                signals::stop_this_process();
                continue;
            }
            if let Some(tls) = &self.tls {
                certificate::reload(tls);
            }
            if let Err(failure) = self.reload() {
                tracing::error!(%failure, "the configuration was not reloaded; nothing was changed");
            }
        }
    }

    fn reload(&mut self) -> Result<(), Failure> {
        let new = Settings::read(self.given.clone())?;
        let changed = changed_settings(&self.current, &new);
        if changed.contains(&LOG) {
            self.filter.replace(&new.log)?;
            self.current.log = new.log;
        }
        let (applied, rest): (Vec<_>, Vec<_>) = changed.into_iter().partition(|name| *name == LOG);
        tracing::info!(applied = applied.join(", "), "SIGHUP: the configuration was read again");
        if !rest.is_empty() {
            tracing::warn!(settings = rest.join(", "), "changed settings that need a restart");
        }
        Ok(())
    }
}

/// Whether the process belongs to an open terminal.
fn has_terminal() -> bool {
    std::fs::File::open("/dev/tty").is_ok()
}

/// The names of the settings that differ. The environment of a process does not change, so secrets
/// are left out.
fn changed_settings(old: &Settings, new: &Settings) -> Vec<&'static str> {
    let rates = |it: &Settings| (it.rates, it.rate_per_address, it.bytes_per_address);
    let connections = |it: &Settings| (it.connections_max, it.connections_per_address_max);
    let admin = |it: &Settings| (it.admin_listen.clone(), it.admin_url.clone());
    let changed = [
        ("listen", old.listen != new.listen),
        ("public-url", old.public_url != new.public_url),
        ("data or store", old.store != new.store),
        ("pg-…", old.tuning != new.tuning),
        ("no-demo", old.demo != new.demo),
        ("body-limit", old.body_bytes_max != new.body_bytes_max),
        ("max-connections or max-connections-per-address", connections(old) != connections(new)),
        ("admin-listen or admin-url", admin(old) != admin(new)),
        ("tls-cert or tls-key", old.tls != new.tls),
        ("metrics-listen", old.metrics_listen != new.metrics_listen),
        ("drain-timeout", old.drain_timeout != new.drain_timeout),
        ("rate-per-…, bytes-per-address or daily-bytes-per-app", rates(old) != rates(new)),
        ("disk-reserve", old.disk_reserve != new.disk_reserve),
        ("create", old.create != new.create),
        ("scrub-days", old.scrub_interval != new.scrub_interval),
        (LOG, old.log != new.log),
        ("log-format", old.log_format != new.log_format),
        ("jwks-…", old.jwks != new.jwks),
        ("webhooks-…", old.webhooks != new.webhooks),
        ("hosted-sends-per-minute or trusted-proxies", old.hosted != new.hosted),
        ("smtp-url, mail-from or mails-per-minute", old.mail != new.mail),
        ("nats-…", old.nats != new.nats),
        ("otlp-…", old.otlp != new.otlp),
        ("hold-outbound", old.hold_outbound != new.hold_outbound),
        ("sign-ins-per-minute or oidc-…", old.console != new.console),
    ];
    changed.into_iter().filter(|(_, is_changed)| *is_changed).map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_of_the_file_is_compared() {
        let folder = tempfile::tempdir().unwrap();
        let read = |text: &str| {
            let path = folder.path().join("sluice.toml");
            std::fs::write(&path, text).unwrap();
            Settings::read(ServeArgs { config: Some(path), ..ServeArgs::default() }).unwrap()
        };
        let before = read("");
        for line in [
            "listen = '127.0.0.1:1'",
            "public-url = 'https://x.example'",
            "data = 'elsewhere'",
            "no-demo = true",
            "body-limit = 2048",
            "max-connections = 7",
            "max-connections-per-address = 7",
            "metrics-listen = '127.0.0.1:2'",
            "admin-listen = '127.0.0.1:3'",
            "public-url = 'https://x.example'\nadmin-listen = '127.0.0.1:3'\nadmin-url = 'https://y.example'",
            "tls-cert = 'a.pem'\ntls-key = 'b.pem'",
            "drain-timeout = 7",
            "rate-per-app = 7",
            "rate-per-address = 7",
            "bytes-per-address = 7000",
            "daily-bytes-per-app = 7000",
            "disk-reserve = 7",
            "create = false",
            "scrub-days = 2",
            "log = 'debug'",
            "log-format = 'json'",
            "jwks-allow = '10.0.0.0/8'",
            "jwks-allow-http = true",
            "webhook-allow = '10.0.0.0/8'",
            "webhook-allow-http = true",
            "hosted-sends-per-minute = 7",
            "trusted-proxies = '10.0.0.0/8'",
            "sign-ins-per-minute = 7",
            "public-url = 'https://x.example'\nsmtp-url = 'smtp://mail.example'\nmail-from = 'a@b.example'",
            "hold-outbound = true",
            #[cfg(feature = "nats")]
            "nats-url = 'nats://nats.example'",
            #[cfg(feature = "otlp")]
            "otlp-endpoint = 'http://127.0.0.1:4318'\notlp-sample = 1",
        ] {
            let changed = changed_settings(&before, &read(line));
            assert!(!changed.is_empty(), "{line}");
            assert_eq!(changed == [LOG], line.starts_with("log ="), "{line}: {changed:?}");
        }
    }
}
