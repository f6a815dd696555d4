//! The connection URL: our own parameters, and one configuration for each host.
//!
//! `postgres://user:password@host1:5432,host2:5432/database?sslmode=require&sslrootcert=/path/ca.pem`
//!
//! In addition to what the driver knows: `sslrootcert` (a PEM file, or `system`), and the values
//! `verify-ca` and `verify-full` for `sslmode`, which mean `require` here, since certificates are
//! always verified, including the name. Hosts are tried one by one, each with a separate deadline,
//! so that a hanging host does not hide the next; the host that served last is tried first. A
//! read-only session is never useful, so `target_session_attrs` is always `read-write`.

use std::path::PathBuf;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, TargetSessionAttrs};

/// Idle time on a connection after which TCP probes whether the peer is still there.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(10);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
const KEEPALIVE_RETRIES: u32 = 3;
/// How long sent bytes may stay unacknowledged by the peer.
const TCP_USER_TIMEOUT: Duration = Duration::from_secs(15);

const LOOSE_AT: &str = "a host name cannot contain @: write @ in the password as %40";

/// Where and how to connect. Its `Debug` shows no password.
#[derive(Debug, Clone)]
pub(super) struct Dsn {
    /// One for each host, in the order of the URL.
    pub(super) hosts: Vec<Config>,
    pub(super) root_certificates: Option<PathBuf>,
}

impl Dsn {
    pub(super) fn parse(url: &str) -> Result<Self, String> {
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err("it must start with postgres://".to_owned());
        }
        // The driver ends the password at the first @; the rest would be shown as a host.
        if more_than_one_at(url.split('?').next().unwrap_or(url)) {
            return Err(LOOSE_AT.to_owned());
        }
        let (rest, root_certificates) = take_ours(url);
        let config: Config = rest.parse().map_err(|error: tokio_postgres::Error| {
            let why = std::error::Error::source(&error).map(ToString::to_string);
            match more_than_one_at(url) {
                true => LOOSE_AT.to_owned(),
                false => why.unwrap_or_else(|| error.to_string()),
            }
        })?;
        let loose = |host: &Host| matches!(host, Host::Tcp(name) if name.contains('@'));
        match config.get_hosts().iter().any(loose) {
            true => Err(LOOSE_AT.to_owned()),
            false => Ok(Self { hosts: by_host(&config)?, root_certificates }),
        }
    }

    /// Host, port and database for messages; never the password.
    pub(super) fn place(config: &Config) -> String {
        let port = config.get_ports().first().copied().unwrap_or(5432);
        let host = match config.get_hosts().first() {
            Some(Host::Tcp(name)) => format!("{name}:{port}"),
            #[cfg(unix)]
            Some(Host::Unix(path)) => format!("{}/.s.PGSQL.{port}", path.display()),
            None => format!("port {port}"),
        };
        match config.get_dbname() {
            Some(database) => format!("{host}, database {database}"),
            None => host,
        }
    }
}

fn more_than_one_at(text: &str) -> bool {
    text.matches('@').nth(1).is_some()
}

/// Removes the parameters from the URL that the driver does not know.
fn take_ours(url: &str) -> (String, Option<PathBuf>) {
    let Some((base, query)) = url.split_once('?') else { return (url.to_owned(), None) };
    let mut file = None;
    let mut kept = Vec::new();
    for parameter in query.split('&') {
        match parameter.split_once('=') {
            Some(("sslrootcert", "system")) => {}
            Some(("sslrootcert", path)) => {
                file = Some(PathBuf::from(&*percent_decode_str(path).decode_utf8_lossy()));
            }
            Some(("sslmode", "verify-full" | "verify-ca")) => kept.push("sslmode=require"),
            Some(("sslmode", "allow")) => kept.push("sslmode=prefer"),
            _ => kept.push(parameter),
        }
    }
    let rest = match kept.is_empty() {
        true => base.to_owned(),
        false => format!("{base}?{}", kept.join("&")),
    };
    (rest, file)
}

/// One configuration for each host of the URL, with the settings shared by all connections.
fn by_host(config: &Config) -> Result<Vec<Config>, String> {
    let (hosts, addresses) = (config.get_hosts(), config.get_hostaddrs());
    let count = hosts.len().max(addresses.len());
    let ports = config.get_ports();
    if count == 0 {
        return Err("it names no host".to_owned());
    }
    if (ports.len() > 1 && ports.len() != count)
        || (!hosts.is_empty() && !addresses.is_empty() && hosts.len() != addresses.len())
    {
        return Err("the numbers of hosts and of ports or addresses differ".to_owned());
    }
    let one = |index: usize| {
        let mut one = shared(config);
        match hosts.get(index) {
            Some(Host::Tcp(name)) => drop(one.host(name)),
            #[cfg(unix)]
            Some(Host::Unix(path)) => drop(one.host_path(path)),
            None => {}
        }
        if let Some(address) = addresses.get(index) {
            one.hostaddr(*address);
        }
        if let Some(port) = ports.get(index).or(ports.first()) {
            one.port(*port);
        }
        one
    };
    Ok((0..count).map(one).collect())
}

/// A configuration without its hosts.
fn shared(config: &Config) -> Config {
    let mut shared = Config::new();
    if let Some(user) = config.get_user() {
        shared.user(user);
    }
    if let Some(password) = config.get_password() {
        shared.password(password);
    }
    if let Some(database) = config.get_dbname() {
        shared.dbname(database);
    }
    if let Some(options) = config.get_options() {
        shared.options(options);
    }
    if let Some(timeout) = config.get_connect_timeout() {
        shared.connect_timeout(*timeout);
    }
    shared
        .application_name(config.get_application_name().unwrap_or("sluice"))
        .ssl_mode(config.get_ssl_mode())
        .ssl_negotiation(config.get_ssl_negotiation())
        .channel_binding(config.get_channel_binding())
        .load_balance_hosts(config.get_load_balance_hosts())
        .target_session_attrs(TargetSessionAttrs::ReadWrite)
        .keepalives(config.get_keepalives())
        .keepalives_idle(config.get_keepalives_idle().min(KEEPALIVE_IDLE))
        .keepalives_interval(config.get_keepalives_interval().unwrap_or(KEEPALIVE_INTERVAL))
        .keepalives_retries(config.get_keepalives_retries().unwrap_or(KEEPALIVE_RETRIES))
        .tcp_user_timeout(config.get_tcp_user_timeout().copied().unwrap_or(TCP_USER_TIMEOUT));
    shared
}

#[cfg(test)]
mod tests {
    use tokio_postgres::config::SslMode;

    use super::*;

    #[test]
    fn every_host_has_a_separate_configuration() {
        let url = "postgres://me:secret@one:1,two:2/db?target_session_attrs=any&sslmode=disable";
        let dsn = Dsn::parse(url).unwrap();
        let places: Vec<_> = dsn.hosts.iter().map(Dsn::place).collect();
        assert_eq!(places, ["one:1, database db", "two:2, database db"]);
        for host in &dsn.hosts {
            assert_eq!(host.get_target_session_attrs(), TargetSessionAttrs::ReadWrite);
            assert_eq!(host.get_user(), Some("me"));
        }
        assert!(!format!("{dsn:?}").contains("secret"));
    }

    #[test]
    fn sslmode_and_sslrootcert_are_parsed() {
        for (query, mode, file) in [
            ("", SslMode::Prefer, None),
            ("?sslmode=disable", SslMode::Disable, None),
            ("?sslmode=require&sslrootcert=system", SslMode::Require, None),
            (
                "?sslrootcert=/a%20b/ca.pem&sslmode=verify-full",
                SslMode::Require,
                Some("/a b/ca.pem"),
            ),
            ("?sslmode=verify-ca&connect_timeout=3", SslMode::Require, None),
        ] {
            let dsn = Dsn::parse(&format!("postgres://host/db{query}")).unwrap();
            assert_eq!(dsn.hosts[0].get_ssl_mode(), mode, "{query}");
            assert_eq!(dsn.root_certificates, file.map(PathBuf::from), "{query}");
        }
    }

    #[test]
    fn a_url_that_cannot_be_used_is_refused_with_a_reason() {
        for (url, reason) in [
            ("mysql://host/db", "must start with postgres://"),
            ("host=localhost", "must start with postgres://"),
            ("postgres:///db", "names no host"),
            ("postgres://host/db?sslmode=maybe", "sslmode"),
            ("postgres://host/db?wrong=1", "wrong"),
            ("postgres://me:se@cret@host/db", "write @ in the password as %40"),
            ("postgres://me:a@se/cret@host/db", "write @ in the password as %40"),
            ("postgres://me:a@b?secret@host/db", "write @ in the password as %40"),
            ("postgres://me:a@b%40secret/db", "write @ in the password as %40"),
        ] {
            let reported = Dsn::parse(url).unwrap_err();
            assert!(!reported.contains("cret"), "{reported}");
            assert!(reported.contains(reason), "{url}: {reported}");
        }
    }
}
