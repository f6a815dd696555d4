//! SQLite. (stub)
