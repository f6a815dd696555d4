//! The public API: resolving a flow and fetching a snapshot ([`public`]), submitting over tRPC
//! ([`trpc`]), and counting visits ([`visits`]).

pub mod public;
pub mod trpc;
pub mod visits;
