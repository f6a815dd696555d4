//! The console, from its routes to the store: what a browser sends, and what it is shown.

#![expect(clippy::unwrap_used, reason = "tests say what fails by failing")]

mod sign_in;
mod support;
mod walls;
mod welcome;
