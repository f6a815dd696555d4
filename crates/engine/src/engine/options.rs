//! The settings of an engine.

use std::sync::Arc;
use std::time::Duration;

use crate::mail::MailOptions;
use crate::rate::Rates;
use crate::sink::SinkOptions;
use crate::spans::Tracer;
use crate::verify::{KeySource, MasterKeySource};
use crate::webhooks::WebhookSender;

/// The settings of an operator.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// An admin token from the environment, valid while this process runs.
    pub admin_token: Option<String>,
    /// Seals signing secrets; without it none can be created.
    pub master_keys: Option<Arc<dyn MasterKeySource>>,
    /// Fetches published key sets; without it none can be used.
    pub key_source: Option<Arc<dyn KeySource>>,
    /// The URL at which respondents reach this service, for personal links; no trailing slash.
    pub public_url: Option<String>,
    /// The URL at which users reach the console, without a trailing slash; if absent, the public
    /// URL.
    pub admin_url: Option<String>,
    /// The maximum size of a submission's body in bytes, if not the default; for warnings to
    /// authors.
    pub body_bytes_max: Option<usize>,
    /// The limits of an app that has none configured.
    pub rates: Rates,
    /// Sends e-mails; without it none are sent.
    pub mail: Option<MailOptions>,
    /// How often everything stored is read and checked in the background; absent means never.
    pub scrub_interval: Option<Duration>,
    /// Sends webhooks; without it none are sent.
    pub webhook_sender: Option<Arc<dyn WebhookSender>>,
    /// Where events are published; absent means nowhere.
    pub sink: Option<SinkOptions>,
    /// Sends neither e-mails nor webhooks, to inspect a copy.
    pub hold_outbound: bool,
    /// Records traces; without it there are none.
    pub tracer: Option<Tracer>,
}
