//! The settings of the mail server.

use std::sync::Arc;
use std::time::Duration;

use sluice_engine::mail::MailOptions;
use sluice_web::{Sender, SmtpTransport};

use crate::args::ServeArgs;
use crate::failure::Failure;
use crate::number_setting::NumberSetting;

/// The password of the mail server; it has no flag, so that it is not in the list of processes.
pub(crate) const PASSWORD_VARIABLE: &str = "SLUICE_SMTP_PASSWORD";
/// How often the server checks for due e-mails.
const INTERVAL: Duration = Duration::from_secs(1);
const MAILS_PER_MINUTE: NumberSetting =
    NumberSetting { flag: "mails-per-minute", unit: "e-mails", default: 60, allowed: 1..=100_000 };

/// The mail server and the sender; never shown.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct MailSettings {
    url: String,
    password: Option<String>,
    from: Sender,
    per_minute: u32,
}

impl std::fmt::Debug for MailSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MailSettings(…)")
    }
}

impl MailSettings {
    /// `None` if there is no mail server.
    pub(crate) fn resolve(
        given: &ServeArgs,
        file: &ServeArgs,
        password: Option<String>,
    ) -> Result<Option<Self>, Failure> {
        let chosen = |of: fn(&ServeArgs) -> &Option<String>| of(given).clone().or(of(file).clone());
        let from = chosen(|args| &args.mail_from);
        let per_minute = given.mails_per_minute.or(file.mails_per_minute);
        let per_minute = u32::try_from(MAILS_PER_MINUTE.resolve(per_minute)?).unwrap_or(u32::MAX);
        let Some(url) = chosen(|args| &args.smtp_url) else { return Ok(None) };
        let remedy = "write for example --mail-from 'Acme <feedback@example.com>'";
        let from = from.ok_or_else(|| {
            Failure::usage("smtp-url needs mail-from, the address that e-mails come from", remedy)
        })?;
        let from = from
            .parse()
            .map_err(|why: String| Failure::usage(format!("mail-from: {why}"), remedy))?;
        let settings = Self { url, password, from, per_minute };
        settings.options()?;
        Ok(Some(settings))
    }

    pub(crate) fn options(&self) -> Result<MailOptions, Failure> {
        let Self { url, password, from, per_minute } = self.clone();
        let transport = SmtpTransport::new(&url, password, from).map_err(|why| {
            Failure::usage(
                format!("smtp-url {why}"),
                format!(
                    "write for example --smtp-url smtp://user@mail.example.com:587, with the \
                     password in {PASSWORD_VARIABLE}"
                ),
            )
        })?;
        Ok(MailOptions { transport: Arc::new(transport), per_minute, interval: Some(INTERVAL) })
    }
}

/// Refuses a mail server without an address that links in e-mails can start with: the recipients
/// are on other machines.
pub(crate) fn must_be_reachable(
    mail: Option<&MailSettings>,
    public_url: Option<&str>,
    listen: &str,
) -> Result<(), Failure> {
    if mail.is_none() || public_url.is_some() {
        return Ok(());
    }
    Err(Failure::usage(
        format!("smtp-url needs public-url: links in e-mails would start with http://{listen}"),
        "give the address at which people reach this server, such as --public-url https://feedback.example.com",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mail_server_needs_a_sender_and_no_failure_repeats_its_password() {
        let args = |url: &str, from: &str, per_minute| ServeArgs {
            smtp_url: Some(url.to_owned()).filter(|url| !url.is_empty()),
            mail_from: Some(from.to_owned()).filter(|from| !from.is_empty()),
            mails_per_minute: per_minute,
            ..ServeArgs::default()
        };
        let resolved = |args: ServeArgs| {
            MailSettings::resolve(&args, &ServeArgs::default(), None).map(|it| it.is_some())
        };
        assert_eq!(resolved(args("", "", None)).ok(), Some(false));
        assert_eq!(resolved(args("", "a@b.example", None)).ok(), Some(false));
        assert_eq!(resolved(args("smtp://h.example", "a@b.example", None)).ok(), Some(true));
        let mail = |url| {
            MailSettings::resolve(&args(url, "a@b.example", None), &ServeArgs::default(), None)
                .unwrap()
        };
        let (sends, none) = (mail("smtp://u:canary-word@h.example"), mail(""));
        let listen = "127.0.0.1:8080";
        let failure = must_be_reachable(sends.as_ref(), None, listen).unwrap_err();
        assert!(failure.to_string().contains("public-url"), "{failure}");
        assert!(!failure.to_string().contains("canary-word"), "{failure}");
        assert!(must_be_reachable(sends.as_ref(), Some("https://x.example"), listen).is_ok());
        assert!(must_be_reachable(none.as_ref(), None, listen).is_ok());
        for (url, from, per_minute) in [
            ("smtp://u:canary-word@h.example", "", None),
            ("smtp://u:canary-word@h.example", "nobody", None),
            ("http://u:canary-word@h.example", "a@b.example", None),
            ("smtp://u:canary-word@h.example", "a@b.example", Some(0)),
        ] {
            let failure = resolved(args(url, from, per_minute)).unwrap_err();
            assert!(!format!("{failure:?} {failure}").contains("canary-word"), "{failure}");
        }
    }
}
