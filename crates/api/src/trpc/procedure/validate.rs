//! `response.validate`: judges one submission and stores nothing.
//!
//! It is a mutation although it changes nothing: a submission may be larger than a URL, and answers
//! in a URL would reach access logs. An `Idempotency-Key` has no effect.

use serde::{Serialize, Serializer};
use sluice_engine::{Engine, SubmitError, Validation};

use super::Arguments;
use super::judged::Data;

#[derive(Debug)]
pub(in crate::trpc) struct Output(Validation);

pub(super) async fn call(engine: &Engine, arguments: Arguments<'_>) -> Result<Output, SubmitError> {
    let Arguments { app, input, key: _, bearer } = arguments;
    Ok(Output(engine.validate(app, input, bearer).await?))
}

impl Output {
    pub(super) fn is_replay(&self) -> Option<bool> {
        None
    }
}

impl Serialize for Output {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let data = match &self.0 {
            Validation::Valid(valid) => Data::accepted(None, valid.grace, valid.score),
            Validation::Refused(issues) => Data::refused(issues),
        };
        data.serialize(serializer)
    }
}
