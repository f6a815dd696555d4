//! The commands besides `serve`: one file each, all but `check` through [`crate::client`].

pub(crate) mod app;
pub(crate) mod check;
pub(crate) mod flow;
pub(crate) mod responses;
pub(crate) mod token;
