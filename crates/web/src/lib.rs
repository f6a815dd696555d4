//! Every transport: the public API, tRPC, the admin API.

pub mod admin;
mod docs;
pub mod openapi;
