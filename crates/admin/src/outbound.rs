//! Whether e-mails and webhooks are sent, and resuming them in a copy.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use sluice_engine::Engine;
use sluice_engine::outbound::{OutboundState, ResumeChoice, SinkState};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::auth::Caller;
use super::reply::{self, BodyErrors, CommonErrors, Reply};
use super::request::Body;

pub(super) fn routes() -> OpenApiRouter<Arc<Engine>> {
    OpenApiRouter::default().routes(routes!(get)).routes(routes!(resume))
}

/// Whether e-mails and webhooks are sent.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Outbound, example = json!({
    "heldAt": "2026-11-17T09:00:00.000Z", "heldHere": false, "mails": 12, "deliveries": 3, "appsWithEndpoints": 1,
    "sinks": [{"name": "nats/SLUICE", "waitingSince": "2026-11-17T09:03:10.000Z"}]
}))]
struct OutboundBody {
    /// Since when the database is held, because it was restored or moved; null if it is not.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    held_at: Option<String>,
    /// Whether this server was started with `--hold-outbound`.
    held_here: bool,
    /// E-mails that are due.
    mails: u64,
    /// Deliveries to webhooks that wait for another attempt.
    deliveries: u64,
    /// Apps with webhook endpoints: they may have events that were not delivered yet.
    apps_with_endpoints: u64,
    /// The systems that events are published to, such as a stream of NATS.
    sinks: Vec<SinkBody>,
}

/// How far events have been published.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = OutboundSink)]
struct SinkBody {
    /// Such as `nats/SLUICE`, with the name of the stream.
    name: String,
    /// The time of the oldest event that waits because nothing is sent; null if there is none.
    #[schema(required = true, value_type = Option<String>, format = DateTime)]
    waiting_since: Option<String>,
}

impl From<SinkState> for SinkBody {
    fn from(SinkState { name, waiting_since }: SinkState) -> Self {
        Self { name, waiting_since: waiting_since.map(|at| at.to_string()) }
    }
}

impl From<OutboundState> for OutboundBody {
    fn from(state: OutboundState) -> Self {
        let OutboundState { held_at, is_held_here, mails, deliveries, apps_with_endpoints, sinks } =
            state;
        Self {
            held_at: held_at.map(|at| at.to_string()),
            held_here: is_held_here,
            mails,
            deliveries,
            apps_with_endpoints,
            sinks: sinks.into_iter().map(SinkBody::from).collect(),
        }
    }
}

/// Read whether e-mails and webhooks are held
///
/// A restored backup and a moved database are held: they send nothing until this is decided. Needs
/// a token for the whole instance.
#[utoipa::path(
    get, path = "/outbound", operation_id = "getOutbound", tag = "Users",
    security(("adminToken" = ["admin"])),
    responses(
        (status = 200, description = "What is held", body = OutboundBody),
        CommonErrors,
    ),
)]
async fn get(State(engine): State<Arc<Engine>>, Caller(actor): Caller) -> Reply {
    let state = engine.instance(&actor)?.outbound().await?;
    reply::ok(OutboundBody::from(state))
}

/// What to do with what waits.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum WaitingChoice {
    /// Send it.
    Send,
    /// Send nothing from before the hold: no e-mail that is due now or waits for another attempt,
    /// and no event. What was created since then is sent.
    Drop,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
#[schema(as = OutboundResume, example = json!({"waiting": "drop"}))]
struct ResumeBody {
    waiting: WaitingChoice,
}

/// What was dropped.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = OutboundResumed, example = json!({"mails": 12, "deliveries": 3}))]
struct ResumedBody {
    mails: u64,
    deliveries: u64,
}

/// Resume e-mails and webhooks
///
/// Ends the hold of a database that was restored or moved, for all servers on it. If it is not
/// held, nothing changes. Needs a token for the whole instance.
#[utoipa::path(
    post, path = "/outbound/resume", operation_id = "resumeOutbound", tag = "Users",
    security(("adminToken" = ["admin"])),
    request_body = ResumeBody,
    responses(
        (status = 200, description = "How much was dropped", body = ResumedBody),
        CommonErrors, BodyErrors,
    ),
)]
async fn resume(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    Body(ResumeBody { waiting }): Body<ResumeBody>,
) -> Reply {
    let waiting = match waiting {
        WaitingChoice::Send => ResumeChoice::Send,
        WaitingChoice::Drop => ResumeChoice::Drop,
    };
    let (mails, deliveries) = engine.instance(&actor)?.resume_outbound(waiting).await?;
    reply::ok(ResumedBody { mails, deliveries })
}
