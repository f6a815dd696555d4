//! The table of question types. (stub)
