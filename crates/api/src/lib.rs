//! The public API: resolving a flow and fetching a snapshot ([`public`]), and submitting over tRPC ([`trpc`]).

pub mod public;
pub mod trpc;
