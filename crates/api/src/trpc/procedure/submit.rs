//! `response.submit`: stores one response.

use serde::{Serialize, Serializer};
use sluice_engine::{Engine, Receipt, SubmitError};

use super::Arguments;
use super::judged::Data;

#[derive(Debug)]
pub(in crate::trpc) struct Output(Receipt);

pub(super) async fn call(engine: &Engine, arguments: Arguments<'_>) -> Result<Output, SubmitError> {
    let Arguments { app, input, key, bearer } = arguments;
    Ok(Output(engine.submit_as(app, input, key, bearer).await?))
}

impl Output {
    /// `None` for a refusal.
    pub(super) fn is_replay(&self) -> Option<bool> {
        match &self.0 {
            Receipt::Accepted(accepted) => Some(accepted.replayed),
            Receipt::Refused(_) => None,
        }
    }
}

impl Serialize for Output {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let data = match &self.0 {
            Receipt::Accepted(it) => Data::accepted(Some(it.response_id), it.grace, it.score),
            Receipt::Refused(issues) => Data::refused(issues),
        };
        data.serialize(serializer)
    }
}
