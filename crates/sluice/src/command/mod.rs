//! The commands besides `serve`, one file each. `backup`, `check`, `key`, `manual`, `moving`,
//! `recount`, `restore` and `verify` work without a server, `types` also with a file; the others
//! call one through [`crate::client`].

pub(crate) mod api_key;
pub(crate) mod app;
pub(crate) mod apply;
pub(crate) mod backup;
pub(crate) mod check;
pub(crate) mod export;
pub(crate) mod flow;
pub(crate) mod flow_state;
pub(crate) mod follow;
pub(crate) mod identity;
pub(crate) mod import;
pub(crate) mod import_responses;
pub(crate) mod invite;
pub(crate) mod key;
pub(crate) mod mail;
pub(crate) mod manual;
pub(crate) mod mcp;
pub(crate) mod moving;
pub(crate) mod outbound;
pub(crate) mod pull;
pub(crate) mod recount;
pub(crate) mod respondent;
pub(crate) mod responses;
pub(crate) mod restore;
pub(crate) mod target;
pub(crate) mod token;
pub(crate) mod types;
pub(crate) mod user;
pub(crate) mod verify;
