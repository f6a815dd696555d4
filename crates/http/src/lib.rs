//! What every transport shares, and nothing of any one of them.
//!
//! The accept loop is [`server`]; what every exchange gets, whatever its route, is in [`exchange`]. Beside them: which
//! app a key opens ([`access`]), reading a body ([`body`]), where a request comes from ([`client`]), what browsers may
//! do ([`cors`]), sending a file ([`download`]). The only way out to other machines is [`outbound`].
//! Deliberately absent: routes, TLS (a proxy terminates it), and any state.

pub mod access;
pub mod body;
pub mod client;
pub mod cors;
pub mod download;
pub mod exchange;
pub mod limits;
pub mod negotiate;
pub mod outbound;
pub mod preview;
pub mod query;
pub mod rate;
pub mod reply;
pub mod request_id;
pub mod server;

pub use limits::Limits;
pub use outbound::{Allowed, KeyFetcher, Network, client_builder};
