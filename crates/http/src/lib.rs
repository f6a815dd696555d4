//! What transports share. Also the interface between two of them: the console shows a hosted page
//! through [`preview`] without importing the other.
//!
//! The accept loop is [`server`]; what every exchange gets, on every route, is in [`exchange`].
//! Also: which app a key belongs to ([`access`]), reading a body ([`body`]), where a request comes
//! from ([`client`]), CORS ([`cors`]), sending a file ([`download`]), the path of the public URL
//! ([`mount`]). All outbound requests go
//! through [`outbound`]. TLS, if a proxy does not terminate it, is in [`tls`]. Deliberately absent:
//! routes.

pub mod access;
pub mod body;
pub mod client;
pub mod cors;
pub mod download;
pub mod entity_tags;
pub mod exchange;
pub mod limits;
pub mod mount;
pub mod multipart;
#[cfg(feature = "nats")]
pub mod nats;
pub mod negotiate;
pub mod outbound;
pub mod path_segment;
pub mod preview;
pub mod query;
pub mod rate;
pub mod reply;
pub mod request_id;
pub mod server;
pub mod smtp;
mod store_down;
pub mod tls;
mod unread;
pub mod upload;

pub use limits::Limits;
pub use mount::Mount;
#[cfg(feature = "nats")]
pub use nats::{NatsOptions, NatsSink};
pub use outbound::{KeyFetcher, Network, OutboundPolicy, WebhookClient, client_builder};
pub use smtp::{Sender, SmtpTransport};
pub use store_down::store_down;
pub use tls::{Tls, TlsError, TlsFiles};
