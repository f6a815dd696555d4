//! E-mails: sent once, at the pace of the instance, tried again, and never to people who left.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod invitations;
mod outbound;
mod shop;
#[path = "../support/mod.rs"]
mod support;
mod users;
