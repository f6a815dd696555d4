//! Components, each with one appearance. Their names match the classes in the style sheet.

pub(super) mod code;
pub(super) mod empty;
pub(super) mod fault;
pub(super) mod field;
pub(super) mod icon;
pub(super) mod json;
pub(super) mod labels;
pub(super) mod number;
pub(super) mod time;

pub(super) use self::code::code;
pub(super) use self::empty::empty;
pub(super) use self::fault::errors;
pub(super) use self::json::json;
pub(super) use self::number::{counted, number};
pub(super) use self::time::{ago, day, time};
