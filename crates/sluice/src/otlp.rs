//! Traces over OTLP: the settings, and the exporter's life.
//!
//! The flags exist in every build, as those of [`crate::nats`]. A build without the feature `otlp`
//! refuses them. The standard variables of OpenTelemetry are often set for every program of a
//! machine, so such a build ignores them.

#[cfg(feature = "otlp")]
mod exporter;
#[cfg(not(feature = "otlp"))]
#[path = "otlp/without.rs"]
mod exporter;
#[cfg(feature = "otlp")]
mod messages;

use std::time::Duration;

use sluice_engine::spans::{SampleRatio, Tracer};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::args::ServeArgs;
use crate::failure::Failure;
use exporter::Exporter;

/// Ended spans that may wait for the exporter; further ones are dropped. A few megabytes.
const QUEUE_MAX: usize = 8_192;
/// How long a server that stops may take to export its last spans.
const FLUSH_MAX: Duration = Duration::from_secs(5);
const RATIO_DEFAULT: f64 = 1.0;
/// The path that is appended to a base URL.
const TRACES_PATH: &str = "/v1/traces";

/// The receiver of traces; never shown, since headers and the URL may have a password.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct OtlpSettings {
    url: String,
    ratio: SampleRatio,
    /// As in the variables of OpenTelemetry: `name=value,…`.
    headers: String,
    resource: String,
    service: Option<String>,
}

impl std::fmt::Debug for OtlpSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OtlpSettings(…)")
    }
}

impl OtlpSettings {
    /// `None` if there are no traces.
    pub(crate) fn resolve(
        given: &ServeArgs,
        file: &ServeArgs,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, Failure> {
        let ratio = given.otlp_sample.or(file.otlp_sample);
        let ratio = ratio.map(own_ratio).transpose()?;
        let own = given.otlp_endpoint.clone().or(file.otlp_endpoint.clone());
        let own = own.filter(|url| !url.is_empty()).map(|url| of_all_signals(&url));
        let of_environment = || {
            let is_off = variable("OTEL_SDK_DISABLED").is_some_and(|it| it == "true");
            let all = || Some(of_all_signals(&variable("OTEL_EXPORTER_OTLP_ENDPOINT")?));
            let url = variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT").or_else(all);
            url.filter(|_| !is_off && cfg!(feature = "otlp"))
        };
        let Some(url) = own.or_else(of_environment) else { return Ok(None) };
        // It may be the argument of a sampler that this is not.
        let standard = || variable("OTEL_TRACES_SAMPLER_ARG")?.parse().ok();
        let ratio = ratio.or_else(|| SampleRatio::new(standard()?));
        let headers = variable("OTEL_EXPORTER_OTLP_TRACES_HEADERS")
            .or_else(|| variable("OTEL_EXPORTER_OTLP_HEADERS"));
        let settings = Self {
            url,
            ratio: ratio.map_or_else(|| own_ratio(RATIO_DEFAULT), Ok)?,
            headers: headers.unwrap_or_default(),
            resource: variable("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default(),
            service: variable("OTEL_SERVICE_NAME"),
        };
        Exporter::new(&settings)?;
        Ok(Some(settings))
    }

    /// Starts exporting. Needs a Tokio runtime.
    pub(crate) fn start(&self) -> Result<Traces, Failure> {
        let exporter = Exporter::new(self)?;
        let (tracer, spans) = Tracer::new(self.ratio, QUEUE_MAX);
        let stop = watch::Sender::new(false);
        let exporting = exporter.run(spans, tracer.metrics().clone(), stop.subscribe());
        Ok(Traces { tracer, stop, task: tokio::spawn(exporting) })
    }
}

fn own_ratio(ratio: f64) -> Result<SampleRatio, Failure> {
    SampleRatio::new(ratio).ok_or_else(|| {
        Failure::usage(
            format!("otlp-sample is out of range: {ratio}"),
            "choose --otlp-sample from 0 (no traces) to 1 (all)",
        )
    })
}

/// The traces URL that belongs to a receiver's base URL.
fn of_all_signals(url: &str) -> String {
    let base = url.trim_end_matches('/');
    if base.ends_with(':') {
        // There is no host, and the path would become one.
        return url.to_owned();
    }
    format!("{}{TRACES_PATH}", base.strip_suffix(TRACES_PATH).unwrap_or(base))
}

/// Traces that are recorded and exported.
pub(crate) struct Traces {
    pub(crate) tracer: Tracer,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Traces {
    /// Exports what waits, within a limited time, and ends.
    pub(crate) async fn flush(mut self) {
        self.stop.send_replace(true);
        if tokio::time::timeout(FLUSH_MAX, &mut self.task).await.is_err() {
            self.task.abort();
            tracing::warn!(
                "the last traces were not exported: the receiver did not answer in time"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(
        endpoint: Option<&str>,
        sample: Option<f64>,
        variables: &[(&str, &str)],
    ) -> Result<Option<OtlpSettings>, Failure> {
        let otlp_endpoint = endpoint.map(str::to_owned);
        let args = ServeArgs { otlp_endpoint, otlp_sample: sample, ..ServeArgs::default() };
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        OtlpSettings::resolve(&args, &ServeArgs::default(), variable)
    }

    #[test]
    fn without_an_endpoint_there_are_no_traces() {
        assert_eq!(resolved(None, None, &[]).ok(), Some(None));
        assert_eq!(resolved(Some(""), Some(0.5), &[]).ok(), Some(None));
        let off = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://h.example:4318"),
            ("OTEL_SDK_DISABLED", "true"),
        ];
        assert_eq!(resolved(None, None, &off).ok(), Some(None));
        for wrong in [-0.1, 1.5, f64::NAN] {
            let failure = resolved(None, Some(wrong), &[]).unwrap_err().to_string();
            assert!(failure.contains("from 0"), "{failure}");
        }
    }

    #[test]
    #[cfg(feature = "otlp")]
    fn own_settings_come_before_the_variables_of_opentelemetry() {
        let all = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://all.example:4318/x/");
        let traces = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://traces.example/in");
        let sample = ("OTEL_TRACES_SAMPLER_ARG", "0.25");
        for (own, variables, url, ratio) in [
            (
                Some("http://own.example:4318"),
                &[all, traces][..],
                "http://own.example:4318/v1/traces",
                1.0,
            ),
            (Some("http://own.example/v1/traces"), &[sample], "http://own.example/v1/traces", 0.25),
            (None, &[all], "http://all.example:4318/x/v1/traces", 1.0),
            (
                None,
                &[all, traces, ("OTEL_TRACES_SAMPLER_ARG", "x=y")],
                "https://traces.example/in",
                1.0,
            ),
        ] {
            let found = resolved(own, None, variables).unwrap().unwrap();
            assert_eq!((found.url.as_str(), found.ratio), (url, SampleRatio::new(ratio).unwrap()));
        }
        let found = resolved(Some("http://own.example"), Some(0.5), &[sample]).unwrap().unwrap();
        assert_eq!(found.ratio, SampleRatio::new(0.5).unwrap());
    }

    #[test]
    #[cfg(feature = "otlp")]
    fn what_is_no_address_or_header_is_refused_without_being_repeated() {
        let good = "https://u:canary-word@h.example";
        for (url, headers) in [
            ("canary-word.example:4317", ""),
            ("grpc://canary-word.example", ""),
            ("https://", ""),
            (good, "api-key canary-word"),
            (good, "api key=canary-word"),
            (good, "api-key=canary-word%0A"),
        ] {
            let headers = [("OTEL_EXPORTER_OTLP_HEADERS", headers)];
            let failure = resolved(Some(url), None, &headers).unwrap_err();
            assert!(!format!("{failure:?} {failure}").contains("canary-word"), "{failure}");
        }
        let headers = [("OTEL_EXPORTER_OTLP_HEADERS", "api-key=canary-word%20x, other = y")];
        let found = resolved(Some(good), None, &headers).unwrap().unwrap();
        assert!(!format!("{found:?}").contains("canary-word"));
    }

    #[test]
    #[cfg(not(feature = "otlp"))]
    fn a_build_without_otlp_refuses_its_own_endpoint_and_ignores_the_standard_one() {
        let failure = resolved(Some("http://h.example"), None, &[]).unwrap_err().to_string();
        assert!(failure.contains("--features otlp"), "{failure}");
        let standard = [("OTEL_EXPORTER_OTLP_ENDPOINT", "http://h.example:4318")];
        assert_eq!(resolved(None, None, &standard).ok(), Some(None));
    }
}
