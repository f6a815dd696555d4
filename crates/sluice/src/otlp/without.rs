//! The exporter of a build without the feature `otlp`: there is none.

use sluice_engine::SpanMetrics;
use sluice_engine::spans::Span;
use tokio::sync::{mpsc, watch};

use super::OtlpSettings;
use crate::failure::Failure;

pub(super) struct Exporter;

impl Exporter {
    pub(super) fn new(settings: &OtlpSettings) -> Result<Self, Failure> {
        let OtlpSettings { url: _, ratio: _, headers: _, resource: _, service: _ } = settings;
        let refused = Failure::usage(
            "this build cannot export traces",
            "build it with: cargo build --release --features otlp; or leave --otlp-endpoint out",
        );
        Err::<(), _>(refused).map(|()| Self)
    }

    pub(super) async fn run(
        self,
        _: mpsc::Receiver<Span>,
        _: SpanMetrics,
        _: watch::Receiver<bool>,
    ) {
    }
}
