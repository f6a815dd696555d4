//! The cases that every backend passes. (stub)
