//! All routes in one service: the public API, tRPC, the admin API, hosted pages and the console.
//!
//! Each transport is a crate, so none can import another; what they share is in `sluice-http`. A
//! handler takes a request, calls one use case of the engine, and wraps the result; flow rules are
//! in `sluice-flow`. Routes are combined in [`app`]; [`health`] is for operators.

mod app;
mod health;

pub use app::{App, AppOptions};
pub use health::{MetricsAccess, MetricsSite, MetricsToken};
pub use sluice_admin::{self as admin, openapi};
pub use sluice_api::trpc::{CALLS_MAX, TRPC_CODES};
pub use sluice_console::{ConsoleOptions, OidcOptions};
pub use sluice_hosted::HostedOptions;
pub use sluice_http::rate::{
    ADDRESS_BYTES_PER_SECOND, ADDRESS_CALLS_PER_SECOND, address_bytes_quota, address_quota,
};
pub use sluice_http::server::{Listener, Site, serve};
pub use sluice_http::{
    KeyFetcher, Limits, Network, OutboundPolicy, Sender, SmtpTransport, Tls, TlsError, TlsFiles,
    WebhookClient, client_builder,
};
#[cfg(feature = "nats")]
pub use sluice_http::{NatsOptions, NatsSink};
