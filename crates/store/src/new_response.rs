//! A response to be stored, and its outcome in a commit.

use sluice_flow::closing::Limit;
use sluice_flow::counts::Contribution;
use sluice_flow::id::ResponseId;
use sluice_flow::issue::Full;
use sluice_flow::respondent::Claim;

use crate::{IdempotencyKey, Invited, ResponseRow};

/// A response to be stored. The store adds nothing to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewResponse {
    pub row: ResponseRow,
    pub idempotency_key: Option<IdempotencyKey>,
    /// The public revision of the app at which it was judged.
    pub public_revision: u64,
    /// The identities claimed, if the respondent consented to be linked.
    pub claim: Option<Box<Claim>>,
    /// The invitation that it completes.
    pub invitation: Option<Invited>,
    /// The limits of its flow that it counts towards; empty if the flow has none.
    pub limits: Vec<Limit>,
    /// What it adds to the counts, according to its version's definition.
    pub contribution: Contribution,
}

/// What a commit does about an app that is being changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfBusy {
    /// Waits until the change is over.
    Wait,
    /// Stores nothing of this app, so that its change does not delay other apps.
    Skip,
}

/// The outcome for one response of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Stored,
    /// The same submission is already stored, under this id.
    Replayed(ResponseId),
    /// The idempotency key belongs to another submission.
    KeyReused,
    /// The app has changed since the response was judged.
    Stale,
    /// The app is being changed, and the commit did not wait for it ([`IfBusy::Skip`]).
    Busy,
    /// Its invitation does not accept a response, or no longer does.
    Uninvited,
    /// The flow accepts no more responses, or none with these answers.
    Full(Full),
}
