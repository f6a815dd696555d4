//! The arguments of `sluice serve`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::BoolishValueParser;
use serde::Deserialize;

use crate::logging::LogFormat;

/// The help heading of flags that apply only to `--store postgres://…`.
const PG: &str = "PostgreSQL";
/// The help heading of flags that protect the server from its callers.
const LIMITS: &str = "Limits of the public API";
/// The help heading of flags for publishing events.
const NATS: &str = "Publishing events to NATS JetStream (a build with the feature nats)";
/// The help heading of flags for traces.
const TRACES: &str = "Traces over OTLP (a build with the feature otlp)";
/// The help heading of flags for sending e-mail.
const MAIL: &str = "E-mail";
/// The help heading of flags that apply only to the console.
const SIGN_IN: &str = "Signing in to the console";

/// The flags of the server. The configuration file has the same names.
#[derive(Debug, Clone, Default, Args, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(
    long_about = "\
Start the server.

On an empty store it creates an admin token (printed once), a demo app and a published survey, and
prints three calls that are ready to paste.

A setting is taken from its flag, then its environment variable, then the configuration file, then
its default. Four secrets have only a variable, so that they do not show in the list of processes:
SLUICE_ADMIN_TOKEN (22 characters or more) is a valid admin token while it is set;
SLUICE_MASTER_KEY (32 bytes in base64) seals signing secrets instead of the file master.key;
SLUICE_METRICS_TOKEN (16 characters or more) is required to read /metrics if it is set;
SLUICE_SMTP_PASSWORD is the password of the mail server.",
    after_long_help = "\
Examples:
  sluice serve
  sluice serve --listen 0.0.0.0:8080 --data /var/lib/sluice --no-demo
  sluice serve --listen 127.0.0.1:0         any free port; the first line printed names it
  SLUICE_ADMIN_TOKEN=… sluice serve --log info,sluice_api=debug --log-format json

A configuration file (sluice.toml):
  listen = \"0.0.0.0:8080\"
  data = \"/var/lib/sluice\"
  no-demo = true

On SIGTERM or Ctrl-C the server stops accepting, finishes requests in progress and exits with 0."
)]
pub(crate) struct ServeArgs {
    /// Address and port to listen on [default: 127.0.0.1:8080]
    #[arg(long, env = "SLUICE_LISTEN", value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<String>,

    /// Folder for all stored data; created if missing [default: ./sluice-data]
    #[arg(long, env = "SLUICE_DATA", value_name = "FOLDER")]
    pub(crate) data: Option<PathBuf>,

    /// Create a missing or empty SQLite database; false never does [default: only if nothing else
    /// is in its folder]
    #[arg(
        long,
        env = "SLUICE_CREATE",
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        value_parser = BoolishValueParser::new(),
    )]
    pub(crate) create: Option<bool>,

    /// Where to store: sqlite:PATH or postgres://… [default: sqlite:<data>/sluice.db]
    #[arg(long, env = "SLUICE_STORE", value_name = "STORE", hide_env_values = true)]
    pub(crate) store: Option<String>,

    /// URL at which browsers reach this server; with a path, everything is below it, and a proxy
    /// must pass the path on [default: the listen address]
    #[arg(long, env = "SLUICE_PUBLIC_URL", value_name = "URL")]
    pub(crate) public_url: Option<String>,

    /// Separate address and port for the console, the admin API and the documentation; then the
    /// listen address serves only what respondents and their apps need [default: the listen
    /// address]
    #[arg(long, env = "SLUICE_ADMIN_LISTEN", value_name = "ADDRESS:PORT")]
    pub(crate) admin_listen: Option<String>,

    /// URL at which users reach the console, if not the public URL; needs --admin-listen
    #[arg(long, env = "SLUICE_ADMIN_URL", value_name = "URL")]
    pub(crate) admin_url: Option<String>,

    /// Certificate to serve HTTPS with: a PEM file, the server's first, then its issuers [default:
    /// none, plain HTTP]
    #[arg(long, env = "SLUICE_TLS_CERT", value_name = "FILE")]
    pub(crate) tls_cert: Option<PathBuf>,

    /// Private key of the certificate: a PEM file
    #[arg(long, env = "SLUICE_TLS_KEY", value_name = "FILE")]
    pub(crate) tls_key: Option<PathBuf>,

    /// Maximum number of database connections; one more listens for changes [default: 16]
    #[arg(long, env = "SLUICE_PG_CONNECTIONS", value_name = "COUNT", help_heading = PG)]
    pub(crate) pg_connections: Option<u64>,

    /// Concurrent writes of responses; each uses one of the connections [default: 4]
    #[arg(long, env = "SLUICE_PG_WRITE_LANES", value_name = "COUNT", help_heading = PG)]
    pub(crate) pg_write_lanes: Option<u64>,

    /// Time limit for connecting to a host [default: 5]
    #[arg(long, env = "SLUICE_PG_CONNECT_TIMEOUT", value_name = "SECONDS", help_heading = PG)]
    pub(crate) pg_connect_timeout: Option<u64>,

    /// Time limit for one statement [default: 10]
    #[arg(long, env = "SLUICE_PG_STATEMENT_TIMEOUT", value_name = "SECONDS", help_heading = PG)]
    pub(crate) pg_statement_timeout: Option<u64>,

    /// Time limit for a COMMIT, including its standby; after it the outcome is unknown [default:
    /// 10]
    #[arg(long, env = "SLUICE_PG_COMMIT_TIMEOUT", value_name = "SECONDS", help_heading = PG)]
    pub(crate) pg_commit_timeout: Option<u64>,

    /// Listen for changes made by other nodes; false only polls for them [default: true]
    #[arg(
        long,
        env = "SLUICE_PG_LISTEN",
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        value_parser = BoolishValueParser::new(),
        help_heading = PG,
    )]
    pub(crate) pg_listen: Option<bool>,

    /// Do not create the demo app and survey on an empty store
    #[arg(
        long,
        env = "SLUICE_NO_DEMO",
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        value_parser = BoolishValueParser::new(),
    )]
    pub(crate) no_demo: Option<bool>,

    /// Private networks that key sets may be fetched from [default: none]
    #[arg(long, env = "SLUICE_JWKS_ALLOW", value_name = "CIDR,…")]
    pub(crate) jwks_allow: Option<String>,

    /// Allow key sets to be fetched over plain HTTP
    #[arg(
        long,
        env = "SLUICE_JWKS_ALLOW_HTTP",
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        value_parser = BoolishValueParser::new(),
    )]
    pub(crate) jwks_allow_http: Option<bool>,

    /// Private networks that webhooks may be sent to [default: none]
    #[arg(long, env = "SLUICE_WEBHOOK_ALLOW", value_name = "CIDR,…")]
    pub(crate) webhook_allow: Option<String>,

    /// Allow webhooks to be sent over plain HTTP
    #[arg(
        long,
        env = "SLUICE_WEBHOOK_ALLOW_HTTP",
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        value_parser = BoolishValueParser::new(),
    )]
    pub(crate) webhook_allow_http: Option<bool>,

    /// Send neither e-mails nor webhooks, to inspect a copy of a database
    #[arg(
        long,
        env = "SLUICE_HOLD_OUTBOUND",
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        value_parser = BoolishValueParser::new(),
    )]
    pub(crate) hold_outbound: Option<bool>,

    /// Forms per minute that one address may send on hosted pages; 0 for no limit [default: 60]
    #[arg(long, env = "SLUICE_HOSTED_SENDS_PER_MINUTE", value_name = "COUNT")]
    pub(crate) hosted_sends_per_minute: Option<u64>,

    /// Networks of proxies whose X-Forwarded-For is trusted [default: none]
    #[arg(long, env = "SLUICE_TRUSTED_PROXIES", value_name = "CIDR,…")]
    pub(crate) trusted_proxies: Option<String>,

    /// Mail server, such as smtp://user@mail.example.com:587 (STARTTLS) or smtps://…; the password
    /// is read from SLUICE_SMTP_PASSWORD [default: none, and no e-mails]
    #[arg(long, env = "SLUICE_SMTP_URL", value_name = "URL", help_heading = MAIL, hide_env_values = true)]
    pub(crate) smtp_url: Option<String>,

    /// Sender of e-mails, such as 'Acme <feedback@example.com>'
    #[arg(long, env = "SLUICE_MAIL_FROM", value_name = "ADDRESS", help_heading = MAIL)]
    pub(crate) mail_from: Option<String>,

    /// Maximum number of e-mails in a minute, of all servers on one database [default: 60]
    #[arg(long, env = "SLUICE_MAILS_PER_MINUTE", value_name = "COUNT", help_heading = MAIL)]
    pub(crate) mails_per_minute: Option<u64>,

    /// NATS servers to publish events to, such as nats://user:password@nats.example.com:4222 or
    /// tls://… [default: none]
    #[arg(long, env = "SLUICE_NATS_URL", value_name = "URL,…", help_heading = NATS, hide_env_values = true)]
    pub(crate) nats_url: Option<String>,

    /// Credentials file (JWT and seed) for NATS [default: none]
    #[arg(long, env = "SLUICE_NATS_CREDENTIALS", value_name = "FILE", help_heading = NATS)]
    pub(crate) nats_credentials: Option<PathBuf>,

    /// Stream that takes the events; created if it does not exist [default: SLUICE]
    #[arg(long, env = "SLUICE_NATS_STREAM", value_name = "NAME", help_heading = NATS)]
    pub(crate) nats_stream: Option<String>,

    /// Beginning of subjects; the app and the type of the event follow [default: sluice.events]
    #[arg(long, env = "SLUICE_NATS_SUBJECT", value_name = "SUBJECT", help_heading = NATS)]
    pub(crate) nats_subject: Option<String>,

    /// Apps whose events are published [default: all]
    #[arg(long, env = "SLUICE_NATS_APPS", value_name = "APP,…", help_heading = NATS)]
    pub(crate) nats_apps: Option<String>,

    /// Receiver of traces, such as http://127.0.0.1:4318 (OTLP over HTTP); headers are read from
    /// OTEL_EXPORTER_OTLP_HEADERS [default: OTEL_EXPORTER_OTLP_ENDPOINT]
    #[arg(long, env = "SLUICE_OTLP_ENDPOINT", value_name = "URL", help_heading = TRACES, hide_env_values = true)]
    pub(crate) otlp_endpoint: Option<String>,

    /// Share of requests that are traced, from 0 to 1 [default: OTEL_TRACES_SAMPLER_ARG, else 1]
    #[arg(long, env = "SLUICE_OTLP_SAMPLE", value_name = "RATIO", help_heading = TRACES)]
    pub(crate) otlp_sample: Option<f64>,

    /// Sign-in attempts per minute from one address; 0 for no limit [default: 30]
    #[arg(long, env = "SLUICE_SIGN_INS_PER_MINUTE", value_name = "COUNT", help_heading = SIGN_IN)]
    pub(crate) sign_ins_per_minute: Option<u64>,

    /// Issuer URL of the OpenID provider for console users [default: none]
    #[arg(long, env = "SLUICE_OIDC_ISSUER", value_name = "URL", help_heading = SIGN_IN)]
    pub(crate) oidc_issuer: Option<String>,

    /// Client id at the OpenID provider; the secret is read from SLUICE_OIDC_CLIENT_SECRET
    #[arg(long, env = "SLUICE_OIDC_CLIENT_ID", value_name = "ID", help_heading = SIGN_IN)]
    pub(crate) oidc_client_id: Option<String>,

    /// Label of the provider's button on the sign-in page [default: Sign in with your organisation]
    #[arg(long, env = "SLUICE_OIDC_BUTTON", value_name = "TEXT", help_heading = SIGN_IN)]
    pub(crate) oidc_button: Option<String>,

    /// Largest request body, in bytes [default: 1048576]
    #[arg(long, env = "SLUICE_BODY_LIMIT", value_name = "BYTES")]
    pub(crate) body_limit: Option<u64>,

    /// Maximum number of open connections; further ones wait [default: 20000]
    #[arg(long, env = "SLUICE_MAX_CONNECTIONS", value_name = "COUNT")]
    pub(crate) max_connections: Option<u64>,

    /// Public API calls per second for one app; 0 for no limit [default: 20000]
    #[arg(long, env = "SLUICE_RATE_PER_APP", value_name = "COUNT", help_heading = LIMITS)]
    pub(crate) rate_per_app: Option<u64>,

    /// Public API calls per second from one address; 0 for no limit [default: 500]
    #[arg(long, env = "SLUICE_RATE_PER_ADDRESS", value_name = "COUNT", help_heading = LIMITS)]
    pub(crate) rate_per_address: Option<u64>,

    /// Request body bytes per second from one address; 0 for no limit [default: 262144]
    #[arg(long, env = "SLUICE_BYTES_PER_ADDRESS", value_name = "BYTES", help_heading = LIMITS)]
    pub(crate) bytes_per_address: Option<u64>,

    /// Bytes of responses stored per app and UTC day; 0 for no limit [default: 21474836480]
    #[arg(long, env = "SLUICE_DAILY_BYTES_PER_APP", value_name = "BYTES", help_heading = LIMITS)]
    pub(crate) daily_bytes_per_app: Option<u64>,

    /// Free disk space below which submissions are refused; 0 for none [default: 256 MiB, at most 5
    /// % of the disk]
    #[arg(long, env = "SLUICE_DISK_RESERVE", value_name = "BYTES", help_heading = LIMITS)]
    pub(crate) disk_reserve: Option<u64>,

    /// Days between two background checks of everything stored; 0 for none [default: 7]
    #[arg(long, env = "SLUICE_SCRUB_DAYS", value_name = "DAYS")]
    pub(crate) scrub_days: Option<u64>,

    /// Maximum number of open connections from one address; further ones are closed; 0 for no limit
    /// [default: 1000]
    #[arg(long, env = "SLUICE_MAX_CONNECTIONS_PER_ADDRESS", value_name = "COUNT")]
    pub(crate) max_connections_per_address: Option<u64>,

    /// Separate address and port for /metrics, always plain HTTP [default: the admin address]
    #[arg(long, env = "SLUICE_METRICS_LISTEN", value_name = "ADDRESS:PORT")]
    pub(crate) metrics_listen: Option<String>,

    /// Time for requests in progress to finish when the server stops [default: 30]
    #[arg(long, env = "SLUICE_DRAIN_TIMEOUT", value_name = "SECONDS")]
    pub(crate) drain_timeout: Option<u64>,

    /// What to log: a level, or pairs such as warn,sluice=debug [default: warn,sluice=info]
    #[arg(long, env = "SLUICE_LOG", value_name = "FILTER")]
    pub(crate) log: Option<String>,

    /// Format of log lines [default: text]
    #[arg(long, env = "SLUICE_LOG_FORMAT", value_name = "FORMAT", value_enum)]
    pub(crate) log_format: Option<LogFormat>,

    /// Configuration file (TOML) [default: ./sluice.toml if it exists]
    #[arg(long, env = "SLUICE_CONFIG", value_name = "FILE")]
    #[serde(skip)]
    pub(crate) config: Option<PathBuf>,
}
