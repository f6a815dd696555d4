//! The use cases: publish, resolve, submit. Holds the store and the clock.
