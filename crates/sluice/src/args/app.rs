//! The commands for apps and their settings.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use sluice_flow::id::AppId;

use super::{JsonArg, ServerArgs};

#[derive(Debug, Subcommand)]
pub(crate) enum AppCommand {
    /// List apps with their ids and keys
    List {
        #[command(flatten)]
        json: JsonArg,

        #[command(flatten)]
        server: ServerArgs,
    },
    /// Create an app
    #[command(after_long_help = "Example:\n  sluice app create \"Web shop\"")]
    Create {
        /// Name of the app
        name: String,

        #[command(flatten)]
        server: ServerArgs,
    },
    /// Show an app with all its settings
    Show {
        #[arg(value_name = "APP_ID")]
        app: AppId,

        #[command(flatten)]
        server: ServerArgs,
    },
    /// Change settings of an app; the others stay as they are
    #[command(after_long_help = "\
Examples:
  sluice app set app_… --identity-verification observe
  sluice app set app_… --retention-days 365
  sluice app set app_… --allowed-origin https://shop.example --allowed-origin https://www.shop.example
  sluice app set app_… --retention-days default
  sluice app set app_… --accent-color '#0a7d4f' --logo logo.svg
  sluice app set app_… --calls-per-second 100 --bytes-per-day 1000000000

--retention-days deletes responses that are older, for good, and needs a token with the scope erase.")]
    Set(Box<AppSetArgs>),
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("setting").required(true).multiple(true)
    .args(["name", "identity_verification", "token_lifetime_seconds", "retention_days",
        "grace_window_seconds", "allowed_origin", "calls_per_second", "bytes_per_day",
         "accent_color", "logo", "spam_protection"]))]
pub(crate) struct AppSetArgs {
    #[arg(value_name = "APP_ID")]
    pub(crate) app: AppId,

    #[arg(long)]
    pub(crate) name: Option<String>,

    /// Identity tokens: off ignores them, observe checks and counts them, enforce requires them
    #[arg(long, value_name = "MODE", value_parser = ["off", "observe", "enforce"])]
    pub(crate) identity_verification: Option<String>,

    /// Maximum lifetime of a token in seconds, or default
    #[arg(long, value_name = "SECONDS", value_parser = number_or_default)]
    pub(crate) token_lifetime_seconds: Option<NumberOrDefault>,

    /// Days after which responses are deleted, or default (never)
    #[arg(long, value_name = "DAYS", value_parser = number_or_default)]
    pub(crate) retention_days: Option<NumberOrDefault>,

    /// Grace window: how long a superseded version accepts responses, in seconds, or default
    #[arg(long, value_name = "SECONDS", value_parser = number_or_default)]
    pub(crate) grace_window_seconds: Option<NumberOrDefault>,

    /// Origin whose pages may call the API; repeatable; `any` allows all
    #[arg(long, value_name = "ORIGIN")]
    pub(crate) allowed_origin: Vec<String>,

    /// The colour of hosted pages, such as #0a7d4f, or default
    #[arg(long, value_name = "COLOUR")]
    pub(crate) accent_color: Option<String>,

    /// The logo of hosted pages: a file of at most 64 KiB (png, jpeg, webp, svg), or default
    #[arg(long, value_name = "FILE")]
    pub(crate) logo: Option<PathBuf>,

    /// Whether hosted pages ask suspected bots to confirm
    #[arg(long, value_name = "BOOL")]
    pub(crate) spam_protection: Option<bool>,

    /// Public API calls per second, or default (the server's limit)
    #[arg(long, value_name = "COUNT", value_parser = number_or_default)]
    pub(crate) calls_per_second: Option<NumberOrDefault>,

    /// Bytes of responses stored per UTC day, or default (the server's limit)
    #[arg(long, value_name = "BYTES", value_parser = number_or_default)]
    pub(crate) bytes_per_day: Option<NumberOrDefault>,

    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

/// A number, or `default`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NumberOrDefault(pub(crate) Option<u64>);

fn number_or_default(text: &str) -> Result<NumberOrDefault, String> {
    match text {
        "default" => Ok(NumberOrDefault(None)),
        number => match number.parse() {
            Ok(number) => Ok(NumberOrDefault(Some(number))),
            Err(_) => Err("must be a whole number, or default".to_owned()),
        },
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum IdentityCommand {
    /// Create a signing secret, or register a public key or a key set
    #[command(after_long_help = "\
Examples:
  sluice identity add app_…                                  a secret for HS256, printed once
  sluice identity add app_… --pem public.pem --kid 2026-11
  sluice identity add app_… --jwks https://id.example/.well-known/jwks.json --issuer https://id.example")]
    Add(IdentityAddArgs),
    /// List the keys of an app, revoked ones included
    List {
        #[arg(value_name = "APP_ID")]
        app: AppId,

        #[command(flatten)]
        json: JsonArg,

        #[command(flatten)]
        server: ServerArgs,
    },
    /// Revoke a key: tokens signed with it are refused within a second
    Revoke {
        #[arg(value_name = "APP_ID")]
        app: AppId,

        kid: String,

        #[command(flatten)]
        server: ServerArgs,
    },
    /// Show the outcomes of token checks on the node that answers
    Counts {
        #[arg(value_name = "APP_ID")]
        app: AppId,

        #[command(flatten)]
        json: JsonArg,

        #[command(flatten)]
        server: ServerArgs,
    },
}

#[derive(Debug, Args)]
pub(crate) struct IdentityAddArgs {
    #[arg(value_name = "APP_ID")]
    pub(crate) app: AppId,

    /// A public key in a PEM file (RSA, P-256 or Ed25519)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["jwk", "jwks"])]
    pub(crate) pem: Option<std::path::PathBuf>,

    /// A public key in a JWK file
    #[arg(long, value_name = "FILE", conflicts_with = "jwks")]
    pub(crate) jwk: Option<std::path::PathBuf>,

    /// URL of a key set
    #[arg(long, value_name = "URL")]
    pub(crate) jwks: Option<String>,

    /// Key id (`kid`) that tokens name [default: chosen by the server]
    #[arg(long)]
    pub(crate) kid: Option<String>,

    /// Required `iss` claim of the tokens
    #[arg(long)]
    pub(crate) issuer: Option<String>,

    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_a_number_or_the_default() {
        assert_eq!(number_or_default("30"), Ok(NumberOrDefault(Some(30))));
        assert_eq!(number_or_default("default"), Ok(NumberOrDefault(None)));
        for wrong in ["", "-1", "1.5", "never", "18446744073709551616"] {
            assert!(number_or_default(wrong).is_err(), "{wrong}");
        }
    }
}
