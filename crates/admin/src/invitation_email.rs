//! The e-mail of a flow's invitations, and a test of the mail server.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use sluice_engine::Engine;
use sluice_engine::rows::Scope;
use sluice_flow::id::FlowId;
use sluice_flow::invitation_email::InvitationEmail;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::auth::Caller;
use super::reply::{self, BodyErrors, CommonErrors, Problem, Reply};
use super::request::{Body, PathParam};

pub(super) fn routes() -> OpenApiRouter<Arc<Engine>> {
    OpenApiRouter::default().routes(routes!(get, put)).routes(routes!(test))
}

/// The e-mail that invites people to a flow.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "an object")]
#[schema(as = InvitationEmail, example = json!({
    "subject": "Three questions about your visit", "text": "Hello,\n\nhow was it? It takes **two minutes**.",
    "language": "en", "reminders": 2, "reminderDays": 7
}))]
struct EmailBody {
    /// One line of at most 200 characters; empty for a standard one with the title of the flow.
    #[serde(default)]
    subject: String,
    /// At most 5,000 characters, with links, emphasis and lists; empty for a standard text. The
    /// personal link and a link to unsubscribe follow it.
    #[serde(default)]
    text: String,
    /// The language of what surrounds the text; null for that of the flow.
    #[serde(default)]
    #[schema(required = false)]
    language: Option<String>,
    /// How often people who have not answered are reminded: 0 to 5.
    #[serde(default)]
    #[schema(default = 0, maximum = 5)]
    reminders: u32,
    /// The days between two e-mails: 1 to 60.
    #[serde(default = "days_default")]
    #[schema(default = 7, minimum = 1, maximum = 60)]
    reminder_days: u32,
}

fn days_default() -> u32 {
    InvitationEmail::default().reminder_days
}

impl From<InvitationEmail> for EmailBody {
    fn from(email: InvitationEmail) -> Self {
        let InvitationEmail { subject, text, language, reminders, reminder_days } = email;
        Self { subject, text, language, reminders, reminder_days }
    }
}

impl From<EmailBody> for InvitationEmail {
    fn from(body: EmailBody) -> Self {
        let EmailBody { subject, text, language, reminders, reminder_days } = body;
        Self { subject, text, language, reminders, reminder_days }
    }
}

/// Read the e-mail of invitations
#[utoipa::path(
    get, path = "/flows/{flowId}/invitation-email", operation_id = "getInvitationEmail", tag = "Invitations",
    security(("adminToken" = ["read"])),
    responses(
        (status = 200, description = "The e-mail", body = EmailBody),
        CommonErrors,
    ),
)]
async fn get(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(flow): PathParam<FlowId>,
) -> Reply {
    let email = engine.flow(&actor, Scope::Read, flow).await?.invitation_email()?;
    reply::ok(EmailBody::from(email))
}

/// Change the e-mail of invitations
///
/// Applies to e-mails that are sent from now on, reminders of earlier invitations included.
#[utoipa::path(
    put, path = "/flows/{flowId}/invitation-email", operation_id = "putInvitationEmail", tag = "Invitations",
    security(("adminToken" = ["write"])),
    request_body = EmailBody,
    responses(
        (status = 200, description = "The e-mail", body = EmailBody),
        (status = 409, description = "`flow_archived`", body = Problem, content_type = "application/problem+json"),
        CommonErrors, BodyErrors,
    ),
)]
async fn put(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(flow): PathParam<FlowId>,
    Body(wanted): Body<EmailBody>,
) -> Reply {
    let email = InvitationEmail::from(wanted);
    engine.flow(&actor, Scope::Write, flow).await?.set_invitation_email(&email).await?;
    reply::ok(EmailBody::from(email))
}

/// Where to send a test.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
#[schema(as = MailTest, example = json!({"address": "ann@example.com"}))]
struct TestBody {
    address: String,
}

/// Whether the mail server accepted a test.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = MailTestResult, example = json!({"accepted": true, "reason": null}))]
struct TestResult {
    accepted: bool,
    /// Why it was not accepted.
    #[schema(required = true)]
    reason: Option<String>,
}

/// Send a test e-mail
///
/// Sent at once, and not counted towards the pace. Needs a token for the whole instance.
#[utoipa::path(
    post, path = "/mail-test", operation_id = "sendTestMail", tag = "Users",
    security(("adminToken" = ["admin"])),
    request_body = TestBody,
    responses(
        (status = 200, description = "Whether the mail server accepted it", body = TestResult),
        CommonErrors, BodyErrors,
    ),
)]
async fn test(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    Body(TestBody { address }): Body<TestBody>,
) -> Reply {
    let reason = engine.instance(&actor)?.send_test_mail(&address).await?.err();
    reply::ok(TestResult { accepted: reason.is_none(), reason })
}
