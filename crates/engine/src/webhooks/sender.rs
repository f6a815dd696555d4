//! Sending a request to a receiver, as a dependency: transports provide it.

use std::fmt;
use std::pin::Pin;

use bytes::Bytes;

/// A request to a receiver.
#[derive(Debug, Clone)]
pub struct WebhookRequest {
    pub url: String,
    pub headers: Vec<(&'static str, String)>,
    pub body: Bytes,
}

/// The reply of a receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookReply {
    pub status: u16,
    /// The header `Retry-After`.
    pub retry_after: Option<String>,
    /// The beginning of the body, at most [`REPLY_BYTES_MAX`].
    pub body: Vec<u8>,
}

/// How much of a reply is kept.
pub const REPLY_BYTES_MAX: usize = 1024;

pub type SendFuture<'s> = Pin<Box<dyn Future<Output = Result<WebhookReply, String>> + Send + 's>>;

/// Sends requests to receivers, within a limit of time, and only where the operator allows it.
pub trait WebhookSender: fmt::Debug + Send + Sync {
    /// Whether requests may be sent to this URL, or why not. Names are resolved only when a request
    /// is sent.
    fn permits(&self, url: &str) -> Result<(), String>;

    /// Sends a request. An error says why there was no reply.
    fn send(&self, request: WebhookRequest) -> SendFuture<'_>;
}
