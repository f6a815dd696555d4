//! The limits of the fields of requests, as the reference page and generated clients show them. The
//! engine enforces them.

use serde_json::{Map, Value, json};
use sluice_engine::retention::RETENTION_DAYS_MAX;
use sluice_engine::webhooks::ROTATION_SECONDS_MAX;
use sluice_flow::closing::{LIMIT_MAX, QUOTA_ID_CHARS_MAX, QUOTAS_MAX};
use sluice_flow::definition::limits::{ID_CHARS_MAX, QUESTIONS_MAX};
use sluice_flow::design::BUTTON_CHARS_MAX;
use sluice_flow::flow_key::KEY_CHARS_MAX;
use sluice_flow::invitation_email::{SUBJECT_CHARS_MAX, TEXT_CHARS_MAX};
use sluice_flow::labels::{LABEL_CHARS_MAX, LABELS_MAX};
use sluice_flow::lifecycle::GRACE_MAX_SECONDS;
use sluice_flow::submission::{IDEMPOTENCY_KEY_CHARS_MAX, IDENTITIES_MAX};

/// A prefix and 22 digits.
const ID_TEXT_CHARS_MAX: usize = 32;
const NAME_CHARS_MAX: usize = 200;
const URL_CHARS_MAX: usize = 2048;
const EMAIL_CHARS_MAX: usize = 254;

/// Adds its limits to each field.
pub(super) fn add_to(schemas: &mut Map<String, Value>) {
    let all = [apps(), designs(), flows(), people(), webhooks(), submissions()];
    for (path, limits) in all.into_iter().flatten() {
        let (name, field) = path.split_once('.').unwrap_or((path, ""));
        let pointer = format!("/properties/{}", field.replace("[]", "/items"));
        let Some(field) = schemas.get_mut(name).and_then(|it| it.pointer_mut(&pointer)) else {
            continue;
        };
        for (keyword, limit) in limits.as_object().into_iter().flatten() {
            field[keyword] = limit.clone();
        }
    }
}

type Limits = Vec<(&'static str, Value)>;

fn chars(min: usize, max: usize) -> Value {
    json!({"minLength": min, "maxLength": max})
}

fn items(min: usize, max: usize) -> Value {
    json!({"minItems": min, "maxItems": max})
}

fn range(min: u64, max: u64) -> Value {
    json!({"minimum": min, "maximum": max})
}

fn apps() -> Limits {
    vec![
        ("NewApp.name", chars(1, NAME_CHARS_MAX)),
        ("AppPatch.name", chars(1, NAME_CHARS_MAX)),
        ("AppPatch.allowedOrigins", items(0, 100)),
        ("AppPatch.allowedOrigins[]", chars(1, 300)),
        ("AppPatch.graceWindowSeconds", range(0, GRACE_MAX_SECONDS.into())),
        ("AppPatch.retentionDays", range(1, RETENTION_DAYS_MAX.into())),
        ("AppPatch.tokenLifetimeSeconds", range(1, 86_400)),
        ("LimitsPatch.callsPerSecond", range(1, 100_000_000)),
        ("LimitsPatch.bytesPerDay", range(1, 1 << 50)),
        ("NewIdentityKey.pem", chars(1, 16_384)),
        ("NewIdentityKey.url", chars(1, URL_CHARS_MAX)),
        ("NewIdentityKey.kid", chars(1, 128)),
        ("NewIdentityKey.issuer", chars(1, URL_CHARS_MAX)),
    ]
}

fn designs() -> Limits {
    let mut limits = Vec::new();
    for (colour, background, font, corners, theme) in [
        (
            "HostedPatch.accentColor",
            "HostedPatch.background",
            "HostedPatch.font",
            "HostedPatch.corners",
            "HostedPatch.theme",
        ),
        (
            "DesignPatch.accentColor",
            "DesignPatch.background",
            "DesignPatch.font",
            "DesignPatch.corners",
            "DesignPatch.theme",
        ),
    ] {
        limits.extend([
            (colour, chars(1, 7)),
            (background, chars(1, ID_TEXT_CHARS_MAX)),
            (font, chars(1, 20)),
            (corners, chars(1, 20)),
            (theme, chars(1, 20)),
        ]);
    }
    // 65,536 bytes in base64, and the media type before them.
    let picture = chars(1, 90_000);
    for logo in
        ["HostedPatch.logo", "HostedPatch.darkLogo", "DesignPatch.logo", "DesignPatch.darkLogo"]
    {
        limits.push((logo, picture.clone()));
    }
    for text in [
        "HostedPatch.nextText",
        "HostedPatch.backText",
        "HostedPatch.sendText",
        "DesignPatch.nextText",
        "DesignPatch.backText",
        "DesignPatch.sendText",
    ] {
        limits.push((text, chars(1, BUTTON_CHARS_MAX)));
    }
    limits
}

fn flows() -> Limits {
    vec![
        ("NewFlow.name", chars(1, NAME_CHARS_MAX)),
        ("NewFlow.key", chars(1, KEY_CHARS_MAX)),
        ("FlowPatch.name", chars(1, NAME_CHARS_MAX)),
        ("FlowPatch.key", chars(1, KEY_CHARS_MAX)),
        ("FlowPatch.graceWindowSeconds", range(0, GRACE_MAX_SECONDS.into())),
        ("FlowPatch.closeAfter", range(1, LIMIT_MAX.into())),
        ("FlowPatch.labels", items(0, LABELS_MAX)),
        ("FlowPatch.labels[]", chars(1, LABEL_CHARS_MAX)),
        ("FlowPatch.quotas", items(0, QUOTAS_MAX)),
        ("Quota.id", chars(1, QUOTA_ID_CHARS_MAX)),
        ("Quota.limit", range(1, LIMIT_MAX.into())),
        ("ShortPath.path", chars(3, 64)),
        ("InvitationEmail.subject", chars(0, SUBJECT_CHARS_MAX)),
        ("InvitationEmail.text", chars(0, TEXT_CHARS_MAX)),
        ("InvitationEmail.language", chars(2, 35)),
        ("NewInvitation.identities", items(1, 2)),
        ("InvitedIdentity.type", chars(1, 64)),
        ("InvitedIdentity.value", chars(1, 255)),
        ("NewReport.title", chars(1, NAME_CHARS_MAX)),
        ("NewReport.questions", items(1, QUESTIONS_MAX)),
        ("NewReport.questions[]", chars(1, ID_CHARS_MAX)),
        ("NewReport.filters", chars(0, 8192)),
        ("NewReport.password", chars(10, 200)),
        ("ReportPatch.title", chars(1, NAME_CHARS_MAX)),
        ("ReportPatch.questions", items(1, QUESTIONS_MAX)),
        ("ReportPatch.questions[]", chars(1, ID_CHARS_MAX)),
        ("ReportPatch.filters", chars(0, 8192)),
        ("ReportPatch.password", chars(10, 200)),
    ]
}

fn people() -> Limits {
    vec![
        ("NewToken.name", chars(1, NAME_CHARS_MAX)),
        ("NewToken.scopes", items(1, 5)),
        ("NewToken.appId", chars(1, ID_TEXT_CHARS_MAX)),
        ("NewUser.email", chars(3, EMAIL_CHARS_MAX)),
        ("NewUser.name", chars(1, NAME_CHARS_MAX)),
        ("NewUser.appId", chars(1, ID_TEXT_CHARS_MAX)),
        ("UserPatch.name", chars(1, NAME_CHARS_MAX)),
        ("UserRole.appId", chars(1, ID_TEXT_CHARS_MAX)),
        ("MailTest.address", chars(3, EMAIL_CHARS_MAX)),
    ]
}

fn webhooks() -> Limits {
    vec![
        ("NewEndpoint.url", chars(1, URL_CHARS_MAX)),
        ("NewEndpoint.description", chars(0, 500)),
        ("NewEndpoint.types", items(0, 50)),
        ("NewEndpoint.flows", items(0, 100)),
        ("NewEndpoint.flows[]", chars(1, ID_TEXT_CHARS_MAX)),
        ("EndpointPatch.url", chars(1, URL_CHARS_MAX)),
        ("EndpointPatch.description", chars(0, 500)),
        ("EndpointPatch.types", items(0, 50)),
        ("EndpointPatch.flows", items(0, 100)),
        ("EndpointPatch.flows[]", chars(1, ID_TEXT_CHARS_MAX)),
        ("Replay.after", chars(1, ID_TEXT_CHARS_MAX)),
        ("Rotation.keepPreviousSeconds", range(0, ROTATION_SECONDS_MAX.into())),
    ]
}

fn submissions() -> Limits {
    vec![
        ("Submission.flowVersionId", chars(1, ID_TEXT_CHARS_MAX)),
        ("Submission.flowVersionPayloadGeneration", chars(1, 8)),
        ("Submission.answers", json!({"maxProperties": QUESTIONS_MAX})),
        ("Submission.identities", items(0, IDENTITIES_MAX)),
        ("Identity.type", chars(1, 64)),
        ("Identity.value", chars(0, 500)),
        ("SubmissionMetadata.tags", json!({"maxProperties": 50})),
        ("Submission.flowAssignmentId", chars(0, 255)),
        ("Submission.idempotencyKey", chars(1, IDEMPOTENCY_KEY_CHARS_MAX)),
        ("Visit.flowVersionId", chars(1, ID_TEXT_CHARS_MAX)),
        ("VisitStep.question", chars(1, ID_CHARS_MAX)),
    ]
}
