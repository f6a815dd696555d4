//! The settings for signing in to the console: rate limit, public URL, and OpenID provider.

use sluice_web::{ConsoleOptions, OidcOptions};

use crate::args::ServeArgs;
use crate::failure::Failure;
use crate::number_setting::NumberSetting;

/// The client secret has no flag, so that it does not show in the process list.
pub(crate) const OIDC_SECRET_VARIABLE: &str = "SLUICE_OIDC_CLIENT_SECRET";
const BUTTON_DEFAULT: &str = "Sign in with your organisation";
const SIGN_INS: NumberSetting = NumberSetting {
    flag: "sign-ins-per-minute",
    unit: "attempts",
    default: 30,
    allowed: 0..=1_000_000,
};

pub(crate) fn resolve(
    given: &ServeArgs,
    file: &ServeArgs,
    public_url: Option<String>,
) -> Result<ConsoleOptions, Failure> {
    let sign_ins = SIGN_INS.resolve(given.sign_ins_per_minute.or(file.sign_ins_per_minute))?;
    let text = |own: &Option<String>, other: &Option<String>| own.clone().or(other.clone());
    let issuer = text(&given.oidc_issuer, &file.oidc_issuer);
    let client_id = text(&given.oidc_client_id, &file.oidc_client_id);
    let button = text(&given.oidc_button, &file.oidc_button);
    let oidc = match (issuer, client_id) {
        (None, None) if button.is_none() => None,
        (Some(issuer), Some(client_id)) => Some(OidcOptions {
            issuer: checked(issuer)?,
            client_id,
            client_secret: None,
            button: button.unwrap_or_else(|| BUTTON_DEFAULT.to_owned()),
        }),
        _ => {
            return Err(Failure::usage(
                "sign-in with an OpenID provider is only partly configured",
                "give both --oidc-issuer and --oidc-client-id, or neither",
            ));
        }
    };
    let sign_ins_per_minute = u32::try_from(sign_ins).unwrap_or(u32::MAX);
    Ok(ConsoleOptions { sign_ins_per_minute, oidc, public_url })
}

/// The issuer is compared byte by byte with the provider's value, so it is not normalised.
fn checked(issuer: String) -> Result<String, Failure> {
    let rest = issuer.strip_prefix("http://").or_else(|| issuer.strip_prefix("https://"));
    let is_plain = |rest: &str| !rest.is_empty() && !rest.contains(['?', '#', ' ', '@']);
    // Over plain HTTP, anyone on the network path could sign in as any user.
    if issuer.starts_with("http://") && !rest.is_some_and(is_loopback) {
        return Err(Failure::usage(
            format!("the issuer is not reached over TLS: {issuer:?}"),
            "give an https:// address; http:// is for a provider on this machine alone",
        ));
    }
    if rest.is_some_and(is_plain) {
        return Ok(issuer);
    }
    Err(Failure::usage(
        format!("the issuer is not an http or https URL: {issuer:?}"),
        "write it as the provider does, for example --oidc-issuer https://id.example.com/realms/main",
    ))
}

/// Whether the rest after `http://` names this machine.
fn is_loopback(rest: &str) -> bool {
    let host = rest.split('/').next().unwrap_or_default();
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.trim_start_matches('[').trim_end_matches(']');
    name == "localhost" || address.parse::<std::net::IpAddr>().is_ok_and(|it| it.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issuer_is_reached_over_tls_or_on_this_machine() {
        for (issuer, may) in [
            ("https://id.example.com/realms/main", true),
            ("http://127.0.0.1:9000", true),
            ("http://localhost:9000/realms/main", true),
            ("http://[::1]:9000", true),
            ("http://id.example.com", false),
            ("http://127.0.0.1.evil.example", false),
            ("ftp://id.example.com", false),
            ("https://", false),
        ] {
            assert_eq!(checked(issuer.to_owned()).is_ok(), may, "{issuer}");
        }
    }
}
