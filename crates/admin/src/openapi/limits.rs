//! The limits of the fields of requests, as the reference page and generated clients show them. The
//! engine enforces them.

use serde_json::{Map, Value, json};
use sluice_engine::design::PICTURE_BYTES_MAX;
use sluice_engine::limits::{
    ADDRESS_CHARS_MAX, KID_CHARS_MAX, LIFETIME_MAX_SECONDS, NAME_CHARS_MAX, ORIGINS_MAX,
    PASSWORD_CHARS_MAX, PASSWORD_CHARS_MIN, PEM_CHARS_MAX,
};
use sluice_engine::rate::{BYTES_PER_DAY_MAX, CALLS_PER_SECOND_MAX};
use sluice_engine::reports::FILTERS_BYTES_MAX;
use sluice_engine::retention::RETENTION_DAYS_MAX;
use sluice_engine::rows::Scope;
use sluice_engine::webhooks::{self, ROTATION_SECONDS_MAX};
use sluice_flow::closing::{LIMIT_MAX, QUOTA_ID_CHARS_MAX, QUOTAS_MAX};
use sluice_flow::definition::limits::{ID_CHARS_MAX, QUESTIONS_MAX};
use sluice_flow::design::{BUTTON_CHARS_MAX, DesignField, DesignValue};
use sluice_flow::email::EMAIL_BYTES_MAX;
use sluice_flow::flow_key::KEY_CHARS_MAX;
use sluice_flow::invitation_email::{SUBJECT_CHARS_MAX, TEXT_CHARS_MAX};
use sluice_flow::labels::{LABEL_CHARS_MAX, LABELS_MAX};
use sluice_flow::lifecycle::GRACE_MAX_SECONDS;
use sluice_flow::locale::LOCALE_BYTES_MAX;
use sluice_flow::origin::ORIGIN_BYTES_MAX;
use sluice_flow::short_path;
use sluice_flow::submission::{
    ANSWERS_MAX, ASSIGNMENT_ID_CHARS_MAX, IDEMPOTENCY_KEY_CHARS_MAX, IDENTITIES_MAX,
    IDENTITY_TYPE_CHARS_MAX, IDENTITY_VALUE_CHARS_MAX, TAGS_MAX, USER_ID_CHARS_MAX,
};

/// A prefix and 22 digits.
const ID_TEXT_CHARS_MAX: usize = 32;
/// The shortest e-mail address, `a@b`.
const EMAIL_CHARS_MIN: usize = 3;
/// The shortest language tag.
const LOCALE_CHARS_MIN: usize = 2;
/// A colour, as in `#0f6b73`.
const COLOR_CHARS: usize = 7;
/// What stands before the base64 of a picture: `data:image/svg+xml;base64,` is the longest.
const DATA_URL_CHARS_MAX: usize = 64;
/// An invitation has a `userId`, an address, or both.
const INVITED_IDENTITIES_MAX: usize = 2;
/// The name of a payload generation, with room.
const GENERATION_CHARS_MAX: usize = 8;
/// More than there are types of events: the engine has no limit.
const EVENT_TYPES_MAX: usize = 50;

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

/// One of the names of a field of designs.
fn choice(field: DesignField) -> Value {
    let names = match field.value() {
        DesignValue::OneOf(names) => names,
        _ => &[],
    };
    chars(1, names.iter().map(|name| name.len()).max().unwrap_or(0))
}

fn apps() -> Limits {
    vec![
        ("NewApp.name", chars(1, NAME_CHARS_MAX)),
        ("AppPatch.name", chars(1, NAME_CHARS_MAX)),
        ("AppPatch.allowedOrigins", items(0, ORIGINS_MAX)),
        ("AppPatch.allowedOrigins[]", chars(1, ORIGIN_BYTES_MAX)),
        ("AppPatch.graceWindowSeconds", range(0, GRACE_MAX_SECONDS.into())),
        ("AppPatch.retentionDays", range(1, RETENTION_DAYS_MAX.into())),
        ("AppPatch.tokenLifetimeSeconds", range(1, LIFETIME_MAX_SECONDS.into())),
        ("LimitsPatch.callsPerSecond", range(1, CALLS_PER_SECOND_MAX.into())),
        ("LimitsPatch.bytesPerDay", range(1, BYTES_PER_DAY_MAX)),
        ("NewIdentityKey.pem", chars(1, PEM_CHARS_MAX)),
        ("NewIdentityKey.url", chars(1, ADDRESS_CHARS_MAX)),
        ("NewIdentityKey.kid", chars(1, KID_CHARS_MAX)),
        ("NewIdentityKey.issuer", chars(1, ADDRESS_CHARS_MAX)),
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
            (colour, chars(1, COLOR_CHARS)),
            (background, chars(1, ID_TEXT_CHARS_MAX)),
            (font, choice(DesignField::Font)),
            (corners, choice(DesignField::Corners)),
            (theme, choice(DesignField::Theme)),
        ]);
    }
    let picture = chars(1, PICTURE_BYTES_MAX.div_ceil(3) * 4 + DATA_URL_CHARS_MAX);
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
        ("ShortPath.path", chars(*short_path::CHARS.start(), *short_path::CHARS.end())),
        ("InvitationEmail.subject", chars(0, SUBJECT_CHARS_MAX)),
        ("InvitationEmail.text", chars(0, TEXT_CHARS_MAX)),
        ("InvitationEmail.language", chars(LOCALE_CHARS_MIN, LOCALE_BYTES_MAX)),
        ("NewInvitation.identities", items(1, INVITED_IDENTITIES_MAX)),
        ("InvitedIdentity.type", chars(1, IDENTITY_TYPE_CHARS_MAX)),
        ("InvitedIdentity.value", chars(1, USER_ID_CHARS_MAX)),
        ("NewReport.title", chars(1, NAME_CHARS_MAX)),
        ("NewReport.questions", items(1, QUESTIONS_MAX)),
        ("NewReport.questions[]", chars(1, ID_CHARS_MAX)),
        ("NewReport.filters", chars(0, FILTERS_BYTES_MAX)),
        ("NewReport.password", chars(PASSWORD_CHARS_MIN, PASSWORD_CHARS_MAX)),
        ("ReportPatch.title", chars(1, NAME_CHARS_MAX)),
        ("ReportPatch.questions", items(1, QUESTIONS_MAX)),
        ("ReportPatch.questions[]", chars(1, ID_CHARS_MAX)),
        ("ReportPatch.filters", chars(0, FILTERS_BYTES_MAX)),
        ("ReportPatch.password", chars(PASSWORD_CHARS_MIN, PASSWORD_CHARS_MAX)),
    ]
}

fn people() -> Limits {
    vec![
        ("NewToken.name", chars(1, NAME_CHARS_MAX)),
        ("NewToken.scopes", items(1, Scope::ALL.len())),
        ("NewToken.appId", chars(1, ID_TEXT_CHARS_MAX)),
        ("NewUser.email", chars(EMAIL_CHARS_MIN, EMAIL_BYTES_MAX)),
        ("NewUser.name", chars(1, NAME_CHARS_MAX)),
        ("NewUser.appId", chars(1, ID_TEXT_CHARS_MAX)),
        ("UserPatch.name", chars(1, NAME_CHARS_MAX)),
        ("UserRole.appId", chars(1, ID_TEXT_CHARS_MAX)),
        ("MailTest.address", chars(EMAIL_CHARS_MIN, EMAIL_BYTES_MAX)),
    ]
}

fn webhooks() -> Limits {
    vec![
        ("NewWebhook.url", chars(1, webhooks::URL_CHARS_MAX)),
        ("NewWebhook.description", chars(0, webhooks::DESCRIPTION_CHARS_MAX)),
        ("NewWebhook.events", items(0, EVENT_TYPES_MAX)),
        ("NewWebhook.flows", items(0, webhooks::FLOWS_MAX)),
        ("NewWebhook.flows[]", chars(1, ID_TEXT_CHARS_MAX)),
        ("NewWebhook.flowId", chars(1, ID_TEXT_CHARS_MAX)),
        ("WebhookPatch.url", chars(1, webhooks::URL_CHARS_MAX)),
        ("WebhookPatch.description", chars(0, webhooks::DESCRIPTION_CHARS_MAX)),
        ("WebhookPatch.events", items(0, EVENT_TYPES_MAX)),
        ("WebhookPatch.flows", items(0, webhooks::FLOWS_MAX)),
        ("WebhookPatch.flows[]", chars(1, ID_TEXT_CHARS_MAX)),
        ("Replay.after", chars(1, ID_TEXT_CHARS_MAX)),
        ("Rotation.keepPreviousSeconds", range(0, ROTATION_SECONDS_MAX.into())),
    ]
}

fn submissions() -> Limits {
    vec![
        ("Submission.flowVersionId", chars(1, ID_TEXT_CHARS_MAX)),
        ("Submission.flowVersionPayloadGeneration", chars(1, GENERATION_CHARS_MAX)),
        ("Submission.answers", json!({"maxProperties": ANSWERS_MAX})),
        ("Submission.identities", items(0, IDENTITIES_MAX)),
        ("Identity.type", chars(1, IDENTITY_TYPE_CHARS_MAX)),
        ("Identity.value", chars(0, IDENTITY_VALUE_CHARS_MAX)),
        ("SubmissionMetadata.tags", json!({"maxProperties": TAGS_MAX})),
        ("Submission.flowAssignmentId", chars(0, ASSIGNMENT_ID_CHARS_MAX)),
        ("Submission.idempotencyKey", chars(1, IDEMPOTENCY_KEY_CHARS_MAX)),
        ("Visit.flowVersionId", chars(1, ID_TEXT_CHARS_MAX)),
        ("VisitStep.question", chars(1, ID_CHARS_MAX)),
    ]
}
