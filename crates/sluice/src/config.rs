//! The server's settings: flag, else environment, else file, else default.
//!
//! The flags' struct is also what the file is read into, so the two cannot differ in their names.
//! An unknown key in the file is refused, since a mistyped setting that is silently ignored would
//! be noticed only when it is missed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args as _;
use serde::de::IgnoredAny;
use sluice_engine::Rates;
use sluice_engine::rate::{
    APP_BYTES_PER_DAY, APP_CALLS_PER_SECOND, BYTES_PER_DAY_MAX, CALLS_PER_SECOND_MAX,
};
use sluice_flow::submission::BODY_BYTES_DEFAULT;
use sluice_flow::time::DAY_SECONDS;
use sluice_web::{ConsoleOptions, HostedOptions, Network, OutboundPolicy, TlsFiles};

use crate::args::ServeArgs;
use crate::backend::{CreatePolicy, StoreAddress};
use crate::certificate;
use crate::failure::Failure;
use crate::logging::LogFormat;
use crate::mail::{self, MailSettings};
use crate::master_key::{self, MasterKeys};
use crate::nats::NatsSettings;
use crate::number_setting::NumberSetting;
use crate::otlp::OtlpSettings;
use crate::sign_in;
use crate::tuning::Tuning;
use crate::web_addresses::WebAddresses;

const DATA_DEFAULT: &str = "sluice-data";
const DATABASE_FILE: &str = "sluice.db";
/// Sluice at info; dependencies at warn.
const LOG_DEFAULT: &str = "warn,sluice=info";
/// Below this not even a small submission fits; above it a few requests could exhaust memory.
const BODY_LIMIT: NumberSetting = NumberSetting {
    flag: "body-limit",
    unit: "bytes",
    default: BODY_BYTES_DEFAULT as u64,
    allowed: 1024..=64 * 1024 * 1024,
};
const MAX_CONNECTIONS: NumberSetting = NumberSetting {
    flag: "max-connections",
    unit: "connections",
    default: 20_000,
    allowed: 1..=1_000_000,
};
const MAX_CONNECTIONS_PER_ADDRESS: NumberSetting = NumberSetting {
    flag: "max-connections-per-address",
    unit: "connections",
    default: 1_000,
    allowed: 0..=1_000_000,
};
const DRAIN_TIMEOUT: NumberSetting =
    NumberSetting { flag: "drain-timeout", unit: "seconds", default: 30, allowed: 0..=3600 };
const SCRUB_DAYS: NumberSetting =
    NumberSetting { flag: "scrub-days", unit: "days", default: 7, allowed: 0..=365 };
const HOSTED_SENDS: NumberSetting = NumberSetting {
    flag: "hosted-sends-per-minute",
    unit: "forms",
    default: 60,
    allowed: 0..=1_000_000,
};
const RATE_PER_APP: NumberSetting = NumberSetting {
    flag: "rate-per-app",
    unit: "calls a second",
    default: APP_CALLS_PER_SECOND as u64,
    allowed: 0..=CALLS_PER_SECOND_MAX as u64,
};
const RATE_PER_ADDRESS: NumberSetting = NumberSetting {
    flag: "rate-per-address",
    unit: "calls a second",
    default: sluice_web::ADDRESS_CALLS_PER_SECOND as u64,
    allowed: 0..=CALLS_PER_SECOND_MAX as u64,
};
const BYTES_PER_ADDRESS: NumberSetting = NumberSetting {
    flag: "bytes-per-address",
    unit: "bytes a second",
    default: sluice_web::ADDRESS_BYTES_PER_SECOND as u64,
    allowed: 0..=BYTES_PER_SECOND_MAX,
};
const DAILY_BYTES_PER_APP: NumberSetting = NumberSetting {
    flag: "daily-bytes-per-app",
    unit: "bytes a day",
    default: APP_BYTES_PER_DAY,
    allowed: 0..=BYTES_PER_DAY_MAX,
};
/// The limiter counts in steps of ten nanoseconds per byte.
const BYTES_PER_SECOND_MAX: u64 = 100_000_000;
/// Read if no other file is named.
const FILE_DEFAULT: &str = "sluice.toml";
const ADMIN_TOKEN_VARIABLE: &str = "SLUICE_ADMIN_TOKEN";
const METRICS_TOKEN_VARIABLE: &str = "SLUICE_METRICS_TOKEN";
/// A shorter token could be guessed.
const METRICS_TOKEN_CHARS_MIN: usize = 16;
/// The length of 128 random bits in base64.
const ADMIN_TOKEN_CHARS_MIN: usize = 22;
const ADMIN_TOKEN_DISTINCT_MIN: usize = 10;
/// The least number of adjacent pairs that are neither equal nor consecutive, unlike in `aaa` and
/// `abc`.
const ADMIN_TOKEN_JUMPS_MIN: usize = 12;

/// An admin token from the environment; never shown.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(pub(crate) String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) listen: String,
    /// Without a trailing slash.
    pub(crate) public_url: Option<String>,
    pub(crate) store: StoreAddress,
    pub(crate) tuning: Tuning,
    pub(crate) demo: bool,
    pub(crate) body_bytes_max: usize,
    pub(crate) connections_max: usize,
    pub(crate) connections_per_address_max: usize,
    /// The separate address of the console and the admin API, if set.
    pub(crate) admin_listen: Option<String>,
    /// Without a trailing slash.
    pub(crate) admin_url: Option<String>,
    pub(crate) tls: Option<TlsFiles>,
    /// The separate address of `/metrics`, if set.
    pub(crate) metrics_listen: Option<String>,
    pub(crate) metrics_token: Option<Secret>,
    pub(crate) drain_timeout: Duration,
    pub(crate) rates: Rates,
    /// In calls per second; 0 means no limit.
    pub(crate) rate_per_address: u32,
    /// In bytes per second; 0 means no limit.
    pub(crate) bytes_per_address: u32,
    /// In bytes; if absent, the default depends on the disk.
    pub(crate) disk_reserve: Option<u64>,
    pub(crate) create: CreatePolicy,
    /// The time between two checks of everything stored, if there are any.
    pub(crate) scrub_interval: Option<Duration>,
    pub(crate) log: String,
    pub(crate) log_format: LogFormat,
    pub(crate) admin_token: Option<Secret>,
    pub(crate) master_keys: MasterKeys,
    pub(crate) jwks: OutboundPolicy,
    pub(crate) webhooks: OutboundPolicy,
    pub(crate) hosted: HostedOptions,
    /// Absent if no e-mails are sent.
    pub(crate) mail: Option<MailSettings>,
    /// Absent if events are not published.
    pub(crate) nats: Option<NatsSettings>,
    /// Absent if there are no traces.
    pub(crate) otlp: Option<OtlpSettings>,
    /// Whether neither e-mails nor webhooks are sent.
    pub(crate) hold_outbound: bool,
    pub(crate) console: ConsoleOptions,
}

impl Settings {
    /// Resolves the settings from the parsed flags and environment, and the file they name.
    pub(crate) fn read(given: ServeArgs) -> Result<Self, Failure> {
        let file = match &given.config {
            Some(path) => read_file(path)?,
            None if Path::new(FILE_DEFAULT).exists() => read_file(Path::new(FILE_DEFAULT))?,
            None => ServeArgs::default(),
        };
        let (token, key) = (variable(ADMIN_TOKEN_VARIABLE), variable(master_key::VARIABLE));
        let mut settings = Self::resolve(given, file, token, key)?;
        settings.metrics_token = variable(METRICS_TOKEN_VARIABLE).map(metrics_token).transpose()?;
        if let Some(provider) = &mut settings.console.oidc {
            provider.client_secret = variable(sign_in::OIDC_SECRET_VARIABLE);
        }
        Ok(settings)
    }

    fn resolve(
        given: ServeArgs,
        file: ServeArgs,
        token: Option<String>,
        master_key: Option<String>,
    ) -> Result<Self, Failure> {
        let tuning = Tuning::resolve(&given, &file)?;
        let addresses = WebAddresses::resolve(&given, &file)?;
        let tls = certificate::resolve(&given, &file)?;
        let mail = MailSettings::resolve(&given, &file, variable(mail::PASSWORD_VARIABLE))?;
        let nats = NatsSettings::resolve(&given, &file)?;
        let otlp = OtlpSettings::resolve(&given, &file, variable)?;
        let console = sign_in::resolve(&given, &file, addresses.console_url())?;
        let not_tuned = Tuning::must_be_absent(&given, &file);
        let (store, folder) = store_of(given.data.or(file.data), given.store.or(file.store))?;
        let disk_reserve = given.disk_reserve.or(file.disk_reserve);
        let create = given.create.or(file.create);
        match store {
            StoreAddress::Sqlite(_) => not_tuned?,
            StoreAddress::Postgres(_) => must_be_without_files(disk_reserve, create)?,
        }
        let per_address = given.rate_per_address.or(file.rate_per_address);
        let bytes_per_address = given.bytes_per_address.or(file.bytes_per_address);
        let rates = rates(
            given.rate_per_app.or(file.rate_per_app),
            given.daily_bytes_per_app.or(file.daily_bytes_per_app),
        )?;
        let public_url = addresses.public_url;
        mail::must_be_reachable(mail.as_ref(), public_url.as_deref(), &addresses.listen)?;
        let sends = given.hosted_sends_per_minute.or(file.hosted_sends_per_minute);
        let scrub_days = SCRUB_DAYS.resolve(given.scrub_days.or(file.scrub_days))? as u64;
        let drain_seconds = DRAIN_TIMEOUT.resolve(given.drain_timeout.or(file.drain_timeout))?;
        Ok(Self {
            listen: addresses.listen,
            public_url,
            store,
            tuning,
            demo: !given.no_demo.or(file.no_demo).unwrap_or(false),
            body_bytes_max: BODY_LIMIT.resolve(given.body_limit.or(file.body_limit))?,
            connections_max: MAX_CONNECTIONS
                .resolve(given.max_connections.or(file.max_connections))?,
            connections_per_address_max: MAX_CONNECTIONS_PER_ADDRESS
                .resolve(given.max_connections_per_address.or(file.max_connections_per_address))?,
            admin_listen: addresses.admin_listen,
            admin_url: addresses.admin_url,
            tls,
            metrics_listen: addresses.metrics_listen,
            metrics_token: None,
            drain_timeout: Duration::from_secs(drain_seconds as u64),
            rates,
            rate_per_address: count(&RATE_PER_ADDRESS, per_address)?,
            bytes_per_address: count(&BYTES_PER_ADDRESS, bytes_per_address)?,
            disk_reserve,
            create: create_policy(create),
            scrub_interval: (scrub_days > 0)
                .then(|| Duration::from_secs(scrub_days * DAY_SECONDS.unsigned_abs())),
            log: given.log.or(file.log).unwrap_or_else(|| LOG_DEFAULT.into()),
            log_format: given.log_format.or(file.log_format).unwrap_or_default(),
            admin_token: token.map(admin_token).transpose()?,
            master_keys: MasterKeys::from_variable(master_key, &folder)?,
            jwks: OutboundPolicy {
                networks: networks("jwks-allow", given.jwks_allow.or(file.jwks_allow))?,
                plain_http: given.jwks_allow_http.or(file.jwks_allow_http).unwrap_or(false),
            },
            webhooks: OutboundPolicy {
                networks: networks("webhook-allow", given.webhook_allow.or(file.webhook_allow))?,
                plain_http: given.webhook_allow_http.or(file.webhook_allow_http).unwrap_or(false),
            },
            hosted: hosted_options(sends, given.trusted_proxies.or(file.trusted_proxies))?,
            mail,
            nats,
            otlp,
            hold_outbound: given.hold_outbound.or(file.hold_outbound).unwrap_or(false),
            console,
        })
    }
}

fn hosted_options(sends: Option<u64>, proxies: Option<String>) -> Result<HostedOptions, Failure> {
    Ok(HostedOptions {
        sends_per_minute: count(&HOSTED_SENDS, sends)?,
        trusted_proxies: networks("trusted-proxies", proxies)?,
    })
}

fn create_policy(create: Option<bool>) -> CreatePolicy {
    match create {
        None => CreatePolicy::InEmptyFolder,
        Some(true) => CreatePolicy::Always,
        Some(false) => CreatePolicy::Never,
    }
}

/// Refuses settings that apply to a database in a file.
fn must_be_without_files(disk_reserve: Option<u64>, create: Option<bool>) -> Result<(), Failure> {
    if disk_reserve.is_some() {
        return Err(Failure::usage(
            "disk-reserve has no effect with PostgreSQL: the database server has its own disk",
            "leave --disk-reserve out, and watch the disk of the database server",
        ));
    }
    match create {
        None => Ok(()),
        Some(_) => Err(Failure::usage(
            "create has no effect with PostgreSQL: its database must exist",
            "leave --create out; an empty database gets its tables at the first start",
        )),
    }
}

fn count(setting: &NumberSetting, given: Option<u64>) -> Result<u32, Failure> {
    Ok(u32::try_from(setting.resolve(given)?).unwrap_or(u32::MAX))
}

/// The limits per app; 0 means no limit.
fn rates(calls: Option<u64>, bytes: Option<u64>) -> Result<Rates, Failure> {
    let bytes = DAILY_BYTES_PER_APP.resolve(bytes)? as u64;
    Ok(Rates {
        calls: sluice_engine::rate::per_second(count(&RATE_PER_APP, calls)?),
        bytes_per_day: Some(bytes).filter(|&bytes| bytes > 0),
    })
}

/// An environment variable without a flag; empty means absent.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The store, and the folder for files beside it: the folder of the database if it is a file.
pub(crate) fn store_of(
    data: Option<PathBuf>,
    store: Option<String>,
) -> Result<(StoreAddress, PathBuf), Failure> {
    let data = data.unwrap_or_else(|| DATA_DEFAULT.into());
    let store = match store {
        Some(address) => StoreAddress::parse("store", &address)?,
        None => StoreAddress::Sqlite(data.join(DATABASE_FILE)),
    };
    let folder = match &store {
        StoreAddress::Sqlite(path) => path.parent().map(Path::to_owned).unwrap_or_default(),
        StoreAddress::Postgres(_) => data,
    };
    Ok((store, folder))
}

fn networks(flag: &str, given: Option<String>) -> Result<Vec<Network>, Failure> {
    let given = given.unwrap_or_default();
    let words = given.split(',').map(str::trim).filter(|it| !it.is_empty());
    words.map(str::parse).collect::<Result<_, String>>().map_err(|why| {
        Failure::usage(format!("{flag}: {why}"), format!("write for example --{flag} 10.0.0.0/8"))
    })
}

fn read_file(path: &Path) -> Result<ServeArgs, Failure> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| {
        Failure::usage(
            format!("cannot read the configuration file {shown}: {error}"),
            "name an existing file with --config, or leave it out",
        )
    })?;
    from_toml(&text).map_err(|(what, remedy)| {
        Failure::usage(format!("the configuration file {shown}: {what}"), remedy)
    })
}

fn from_toml(text: &str) -> Result<ServeArgs, (String, String)> {
    let unreadable =
        |error| (toml_fault(&error), format!("the settings are {}", known_keys().join(", ")));
    let table: BTreeMap<String, IgnoredAny> = basic_toml::from_str(text).map_err(unreadable)?;
    let known = known_keys();
    if let Some(unknown) = table.keys().find(|key| !known.contains(key)) {
        let remedy = match nearest(unknown, &known) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("the settings are {}", known.join(", ")),
        };
        return Err((format!("there is no setting {unknown:?}"), remedy));
    }
    basic_toml::from_str(text).map_err(unreadable)
}

/// What is wrong with a TOML file, after the number of the line. The text of the line is left out:
/// it may be a secret.
pub(crate) fn toml_fault(error: &basic_toml::Error) -> String {
    let text = error.to_string().replace('\n', " ");
    match error.line_col() {
        Some((line, _)) => {
            let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
            format!("line {}: {what}", line + 1)
        }
        None => text,
    }
}

/// The flags of the server, except the one that names the file itself.
fn known_keys() -> Vec<String> {
    let command = ServeArgs::augment_args(clap::Command::new("serve"));
    let flags = command.get_arguments().filter_map(clap::Arg::get_long);
    flags.filter(|flag| *flag != "config").map(str::to_owned).collect()
}

/// The most similar known key.
fn nearest<'k>(word: &str, known: &'k [String]) -> Option<&'k String> {
    /// If less than half of the letter pairs match, a guess would mislead.
    const LIKENESS_MIN: f64 = 0.5;
    let word = word.to_lowercase().replace('_', "-");
    let likeness = |key: &str| {
        let pairs = |text: &str| -> Vec<(char, char)> {
            let framed = format!("^{text}$");
            framed.chars().zip(framed.chars().skip(1)).collect()
        };
        let (ours, theirs) = (pairs(&word), pairs(key));
        let shared = ours.iter().filter(|pair| theirs.contains(pair)).count();
        2.0 * shared as f64 / (ours.len() + theirs.len()) as f64
    };
    let best = known.iter().max_by(|one, other| likeness(one).total_cmp(&likeness(other)))?;
    (likeness(best) >= LIKENESS_MIN).then_some(best)
}

fn admin_token(token: String) -> Result<Secret, Failure> {
    let Some(what) = token_fault(&token) else { return Ok(Secret(token)) };
    Err(Failure::usage(
        format!("{ADMIN_TOKEN_VARIABLE} {what}"),
        format!(
            "use {ADMIN_TOKEN_CHARS_MIN} or more random letters, digits and signs without spaces; \
             create one with: openssl rand -base64 32"
        ),
    ))
}

fn metrics_token(token: String) -> Result<Secret, Failure> {
    let fits =
        token.len() >= METRICS_TOKEN_CHARS_MIN && token.chars().all(|c| c.is_ascii_graphic());
    fits.then_some(Secret(token)).ok_or_else(|| {
        Failure::usage(
            format!("{METRICS_TOKEN_VARIABLE} is too short, or cannot be sent in a header"),
            format!(
                "use {METRICS_TOKEN_CHARS_MIN} or more letters, digits and signs without spaces, \
                 such as the output of: openssl rand -hex 32"
            ),
        )
    })
}

/// Why a token is refused.
fn token_fault(token: &str) -> Option<&'static str> {
    let bytes = token.as_bytes();
    let distinct: BTreeSet<u8> = bytes.iter().copied().collect();
    let is_repeated = (1..=bytes.len() / 2)
        .any(|period| bytes.iter().zip(bytes.iter().skip(period)).all(|(one, two)| one == two));
    let jumps = bytes.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) > 1).count();
    if !bytes.iter().all(u8::is_ascii_graphic) {
        Some("cannot be sent in a header")
    } else if bytes.len() < ADMIN_TOKEN_CHARS_MIN {
        Some("is too short to be safe")
    } else if distinct.len() < ADMIN_TOKEN_DISTINCT_MIN {
        Some("is too easy to guess: it has too few different characters")
    } else if is_repeated {
        Some("is too easy to guess: it repeats itself")
    } else if jumps < ADMIN_TOKEN_JUMPS_MIN {
        Some("is too easy to guess: it is a sequence of characters")
    } else {
        None
    }
}

#[cfg(test)]
mod tests;
