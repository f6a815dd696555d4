//! The settings of NATS, where events are published.
//!
//! The flags exist in every build, so that the help and the configuration file do not depend on how
//! the binary was compiled. A build without the feature `nats` refuses them.

use std::path::PathBuf;

use sluice_engine::sink::SinkOptions;
use sluice_flow::id::AppId;

use crate::args::ServeArgs;
use crate::failure::Failure;

const STREAM_DEFAULT: &str = "SLUICE";
const SUBJECT_DEFAULT: &str = "sluice.events";

/// The stream and the apps whose events it gets; never shown, since the URL may have a password.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct NatsSettings {
    url: String,
    credentials: Option<PathBuf>,
    stream: String,
    subject: String,
    /// Empty means all.
    apps: Vec<AppId>,
}

impl std::fmt::Debug for NatsSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("NatsSettings(…)")
    }
}

impl NatsSettings {
    /// `None` if events are not published.
    pub(crate) fn resolve(given: &ServeArgs, file: &ServeArgs) -> Result<Option<Self>, Failure> {
        let chosen = |of: fn(&ServeArgs) -> &Option<String>| of(given).clone().or(of(file).clone());
        let apps = chosen(|args| &args.nats_apps).unwrap_or_default();
        let words = apps.split(',').map(str::trim).filter(|it| !it.is_empty());
        let parse = |word: &str| {
            word.parse::<AppId>().map_err(|_| {
                let remedy = "write for example --nats-apps app_01KA2VgdPrWYDVgYy3wLpA";
                Failure::usage(format!("nats-apps: {word:?} is not the id of an app"), remedy)
            })
        };
        let apps = words.map(parse).collect::<Result<_, _>>()?;
        let credentials = given.nats_credentials.clone().or(file.nats_credentials.clone());
        let stream = chosen(|args| &args.nats_stream);
        let subject = chosen(|args| &args.nats_subject);
        let Some(url) = chosen(|args| &args.nats_url) else { return Ok(None) };
        let settings = Self {
            url,
            credentials,
            stream: stream.unwrap_or_else(|| STREAM_DEFAULT.to_owned()),
            subject: subject.unwrap_or_else(|| SUBJECT_DEFAULT.to_owned()),
            apps,
        };
        settings.options()?;
        Ok(Some(settings))
    }

    #[cfg(feature = "nats")]
    pub(crate) fn options(&self) -> Result<SinkOptions, Failure> {
        let Self { url, credentials, stream, subject, apps } = self.clone();
        let options = sluice_web::NatsOptions { url, credentials, stream, subject };
        let sink = sluice_web::NatsSink::new(options).map_err(|why| {
            Failure::usage(why, "write for example --nats-url nats://nats.example.com:4222")
        })?;
        Ok(SinkOptions { sink: std::sync::Arc::new(sink), apps })
    }

    #[cfg(not(feature = "nats"))]
    pub(crate) fn options(&self) -> Result<SinkOptions, Failure> {
        let Self { url: _, credentials: _, stream: _, subject: _, apps: _ } = self;
        Err(Failure::usage(
            "this build cannot publish to NATS",
            "build it with: cargo build --release --features nats; or leave --nats-url out",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(args: ServeArgs) -> Result<Option<NatsSettings>, Failure> {
        NatsSettings::resolve(&args, &ServeArgs::default())
    }

    fn args(url: &str) -> ServeArgs {
        let url = Some(url.to_owned()).filter(|url| !url.is_empty());
        ServeArgs { nats_url: url, ..ServeArgs::default() }
    }

    #[test]
    fn without_a_url_nothing_is_published() {
        assert_eq!(resolved(args("")).ok(), Some(None));
        let wrong = ServeArgs { nats_apps: Some("app_x, fl_y".to_owned()), ..args("") };
        assert!(resolved(wrong).unwrap_err().to_string().contains("nats-apps"));
    }

    #[test]
    #[cfg(feature = "nats")]
    fn stream_and_subject_have_defaults_and_no_failure_repeats_a_password() {
        let apps = Some(" app_01KA2VgdPrWYDVgYy3wLpA ,".to_owned());
        let found = ServeArgs { nats_apps: apps, ..args("nats://u:canary-word@h.example") };
        let found = resolved(found).unwrap().unwrap();
        assert_eq!((found.stream.as_str(), found.subject.as_str()), ("SLUICE", "sluice.events"));
        assert_eq!(found.apps.len(), 1);
        let wrong = ServeArgs {
            nats_subject: Some("a.>".to_owned()),
            ..args("nats://u:canary-word@h.example")
        };
        let failure = resolved(wrong).unwrap_err();
        assert!(!format!("{failure:?} {failure} {found:?}").contains("canary-word"), "{failure}");
    }

    #[test]
    #[cfg(not(feature = "nats"))]
    fn a_build_without_nats_refuses_its_url() {
        let failure = resolved(args("nats://h.example")).unwrap_err().to_string();
        assert!(failure.contains("--features nats"), "{failure}");
    }
}
