//! The rules, by tables and examples.
//!
//! All are one binary, because linking takes longer than compiling.

#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

mod answer_filter;
mod condition_words;
mod context;
mod crosstab;
mod difference;
mod flow_settings;
mod golden;
mod images;
mod judge;
mod lifecycle;
mod malformed;
mod markdown;
mod payload;
mod presentable;
mod respondent;
mod response_order;
mod routes;
mod shape;
mod superjson;
mod visible_if;
mod visit;
mod warnings;
mod withheld;
