//! Components, each with one look. What they are called here is what they are called in the style.

pub(super) mod code;
pub(super) mod empty;
pub(super) mod fault;
pub(super) mod field;
pub(super) mod icon;
pub(super) mod number;
pub(super) mod time;

pub(super) use self::code::code;
pub(super) use self::empty::empty;
pub(super) use self::fault::errors;
pub(super) use self::number::number;
pub(super) use self::time::{day, time};
