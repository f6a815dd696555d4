//! Every transport: the public API, tRPC, the hosted pages, the console, the admin API. axum lives
//! only here.
//!
//! A handler takes a request, calls one use case of the engine, and wraps what comes back; no rule
//! of flows is written here. Sibling transports ([`public`], [`trpc`], [`hosted`], [`console`],
//! [`admin`]) never import one another; what they share stands beside them: who may come in
//! ([`access`]), how a body is read ([`body`]), where a request comes from ([`client`]), what a
//! browser is told ([`cors`]), how a file goes out ([`download`]). The one way out to other
//! machines is [`outbound`]. Status codes are named only in the reply modules ([`reply`],
//! `trpc::envelope`, `hosted::reply`, `console::reply`, `admin::reply`), so that one page shows all
//! that a client can meet.
//!
//! All routes come together in [`app`]; what every exchange gets, whatever its route, is in
//! [`exchange`]; the accept loop is [`server`]. Deliberately absent: TLS (a proxy's task), and any
//! state of its own.

mod access;
pub mod admin;
mod app;
mod body;
mod client;
mod console;
mod cors;
mod docs;
mod download;
mod exchange;
mod health;
mod hosted;
mod limits;
mod negotiate;
pub mod openapi;
mod outbound;
mod preview;
mod public;
mod query;
mod rate;
mod reply;
mod request_id;
mod server;
mod trpc;

pub use app::App;
pub use console::{ConsoleOptions, OidcOptions};
pub use health::{MetricsAccess, MetricsSite, MetricsToken};
pub use hosted::HostedOptions;
pub use limits::Limits;
pub use outbound::{Allowed, KeyFetcher, Network, client_builder};
pub use rate::{
    ADDRESS_BYTES_PER_SECOND, ADDRESS_CALLS_PER_SECOND, address_bytes_quota, address_quota,
};
pub use server::{Site, serve};
pub use trpc::{CALLS_MAX, TRPC_CODES};
