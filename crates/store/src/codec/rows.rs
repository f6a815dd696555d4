//! The columns and readers of every table except responses.

use sluice_flow::id::{
    AppId, AssetId, AssignmentId, AuditId, DeliveryId, EndpointId, EventId, FlowId, FlowVersionId,
    FormKey, MailId, ReportId, RespondentId, ResponseId, TokenId, UserId,
};
use sluice_flow::invitation::{InvitationTimes, Invitee};
use sluice_flow::lifecycle::VersionTimes;
use sluice_flow::respondent::ProfileIdentity;
use sluice_flow::time::Day;
use uuid::Uuid;

use super::ReadCells;
use crate::{
    App, AppLimits, AppRow, AssetInfo, AssetRow, AuditRow, ClosingCountsRow, ConsentRow,
    DeliveryRow, EndpointRow, EventRow, GrantRow, IdentityKeyRow, IdentityRow, InvitationRow,
    KeyRow, LinkRow, MailRow, ReportRow, RespondentRow, SavedViewRow, SecondFactor, SessionHolder,
    SessionRow, ShortPathRow, SinkPositionRow, Subject, TestResponseRow, TokenRow, UsedKeyRow,
    UserRow, VersionRow, VisitCountRow,
};

/// The columns of an app, with this expression for its branding.
macro_rules! app_columns {
    ($hosted:literal) => {
        concat!(
            "apps.app_id, apps.name, apps.identity_verification, apps.allowed_origins, \
             apps.grace_window_seconds, apps.retention_days, apps.token_lifetime_seconds, ",
            $hosted,
            ", apps.calls_per_second, apps.bytes_per_day, apps.created_at, apps.revision, \
             apps.public_revision"
        )
    };
}

pub(crate) const APP: &str = app_columns!("coalesce(apps.hosted_with_pictures, apps.hosted)");
/// Without the pictures of its design.
pub(crate) const LISTED_APP: &str = app_columns!("apps.hosted");

pub(crate) fn app<C: ReadCells>(cells: &mut C) -> Result<App, C::Error> {
    let row = AppRow {
        app_id: cells.id(AppId::from_uuid)?,
        name: cells.text()?,
        identity_verification: cells.variant()?,
        allowed_origins: cells.json()?,
        grace_window_seconds: cells.optional_number()?,
        retention_days: cells.optional_number()?,
        token_lifetime_seconds: cells.optional_number()?,
        hosted: cells.optional_text()?,
        limits: AppLimits {
            calls_per_second: cells.optional_number()?,
            bytes_per_day: cells.optional_integer()?.map(i64::cast_unsigned),
        },
        created_at: cells.time()?,
    };
    Ok(App { row, revision: cells.revision()?, public_revision: cells.revision()? })
}

pub(crate) const KEY: &str = "app_id, api_key, created_at, revoked_at";

pub(crate) fn key<C: ReadCells>(cells: &mut C) -> Result<KeyRow, C::Error> {
    Ok(KeyRow {
        app_id: cells.id(AppId::from_uuid)?,
        api_key: cells.parsed()?,
        created_at: cells.time()?,
        revoked_at: cells.optional_time()?,
    })
}

pub(crate) const IDENTITY_KEY: &str = "app_id, kid, kind, material, issuer, created_at, revoked_at";

pub(crate) fn identity_key<C: ReadCells>(cells: &mut C) -> Result<IdentityKeyRow, C::Error> {
    Ok(IdentityKeyRow {
        app_id: cells.id(AppId::from_uuid)?,
        kid: cells.text()?,
        kind: cells.variant()?,
        material: cells.text()?,
        issuer: cells.optional_text()?,
        created_at: cells.time()?,
        revoked_at: cells.optional_time()?,
    })
}

pub(crate) const VERSION: &str = "versions.app_id, versions.flow_id, versions.flow_version_id, \
     versions.number, versions.published_at, versions.superseded_at, versions.grace_ends_at, \
     versions.retired_at, versions.created_at, versions.updated_at, versions.definition";

pub(crate) fn version<C: ReadCells>(cells: &mut C) -> Result<VersionRow, C::Error> {
    Ok(VersionRow {
        app_id: cells.id(AppId::from_uuid)?,
        flow_id: cells.id(FlowId::from_uuid)?,
        flow_version_id: cells.id(FlowVersionId::from_uuid)?,
        number: cells.number()?,
        times: VersionTimes {
            published_at: cells.optional_time()?,
            superseded_at: cells.optional_time()?,
            grace_ends_at: cells.optional_time()?,
            retired_at: cells.optional_time()?,
        },
        created_at: cells.time()?,
        updated_at: cells.time()?,
        definition: cells.text()?,
    })
}

pub(crate) const RESPONDENT: &str = "app_id, respondent_id, erasing";

pub(crate) fn respondent<C: ReadCells>(cells: &mut C) -> Result<RespondentRow, C::Error> {
    let app_id = cells.id(AppId::from_uuid)?;
    Ok(RespondentRow {
        app_id,
        respondent_id: cells.id(RespondentId::from_uuid)?,
        erasing: cells.optional_json()?,
    })
}

pub(crate) const IDENTITY: &str = "app_id, type, value, respondent_id";

pub(crate) fn identity<C: ReadCells>(cells: &mut C) -> Result<IdentityRow, C::Error> {
    Ok(IdentityRow {
        app_id: cells.id(AppId::from_uuid)?,
        known: ProfileIdentity { kind: cells.variant()?, value: cells.text()? },
        respondent_id: cells.id(RespondentId::from_uuid)?,
    })
}

pub(crate) const CONSENT: &str = "app_id, response_id, respondent_id, flow_id, flow_version_id";

pub(crate) fn consent<C: ReadCells>(cells: &mut C) -> Result<ConsentRow, C::Error> {
    Ok(ConsentRow {
        app_id: cells.id(AppId::from_uuid)?,
        response_id: cells.id(ResponseId::from_uuid)?,
        respondent_id: cells.id(RespondentId::from_uuid)?,
        flow_id: cells.id(FlowId::from_uuid)?,
        flow_version_id: cells.id(FlowVersionId::from_uuid)?,
    })
}

pub(crate) const USED_KEY: &str = "app_id, response_id, key";

pub(crate) fn used_key<C: ReadCells>(cells: &mut C) -> Result<UsedKeyRow, C::Error> {
    Ok(UsedKeyRow {
        app_id: cells.id(AppId::from_uuid)?,
        response_id: cells.id(ResponseId::from_uuid)?,
        key: cells.id(Uuid::into_bytes)?,
    })
}

pub(crate) const TOKEN: &str =
    "app_id, token_id, name, hash, scopes, created_at, expires_at, revoked_at";

pub(crate) fn token<C: ReadCells>(cells: &mut C) -> Result<TokenRow, C::Error> {
    Ok(TokenRow {
        app_id: cells.optional_app()?,
        token_id: cells.id(TokenId::from_uuid)?,
        name: cells.text()?,
        hash: cells.hash()?,
        scopes: cells.json()?,
        created_at: cells.time()?,
        expires_at: cells.optional_time()?,
        revoked_at: cells.optional_time()?,
    })
}

pub(crate) const AUDIT: &str = "app_id, audit_id, actor, action, subject, detail";

pub(crate) fn audit<C: ReadCells>(cells: &mut C) -> Result<AuditRow, C::Error> {
    Ok(AuditRow {
        app_id: cells.optional_app()?,
        audit_id: cells.id(AuditId::from_uuid)?,
        actor: cells.text()?,
        action: cells.text()?,
        subject: cells.text()?,
        detail: cells.text()?,
    })
}

pub(crate) const INVITATION: &str = "app_id, flow_id, assignment_id, user_id, email, created_at, \
     expires_at, opened_at, completed_at, revoked_at, response_id";

pub(crate) fn invitation<C: ReadCells>(cells: &mut C) -> Result<InvitationRow, C::Error> {
    Ok(InvitationRow {
        app_id: cells.id(AppId::from_uuid)?,
        flow_id: cells.id(FlowId::from_uuid)?,
        assignment_id: cells.id(AssignmentId::from_uuid)?,
        invitee: Invitee { user_id: cells.optional_text()?, email: cells.optional_text()? },
        created_at: cells.time()?,
        times: InvitationTimes {
            expires_at: cells.optional_time()?,
            opened_at: cells.optional_time()?,
            completed_at: cells.optional_time()?,
            revoked_at: cells.optional_time()?,
        },
        response_id: cells.optional_id(ResponseId::from_uuid)?,
    })
}

pub(crate) const VISIT_COUNT: &str = "app_id, flow_id, day, flow_version_id, counter, visits";

pub(crate) fn visit_count<C: ReadCells>(cells: &mut C) -> Result<VisitCountRow, C::Error> {
    let (app_id, flow_id) = (cells.id(AppId::from_uuid)?, cells.id(FlowId::from_uuid)?);
    let day = i32::try_from(cells.integer()?).map_err(|error| cells.unreadable(error))?;
    Ok(VisitCountRow {
        app_id,
        flow_id,
        day: Day::from_number(day),
        flow_version_id: cells.id(FlowVersionId::from_uuid)?,
        counter: cells.text()?,
        visits: cells.revision()?,
    })
}

pub(crate) const CLOSING_COUNTS: &str = "app_id, flow_id, counts";

pub(crate) fn closing_counts<C: ReadCells>(cells: &mut C) -> Result<ClosingCountsRow, C::Error> {
    Ok(ClosingCountsRow {
        app_id: cells.id(AppId::from_uuid)?,
        flow_id: cells.id(FlowId::from_uuid)?,
        counts: cells.json()?,
    })
}

pub(crate) const USER: &str = "users.user_id, users.email, users.name, users.password, \
     users.issuer, users.subject, users.totp_secret, users.totp_step, users.recovery_codes, \
     users.epoch, users.created_at, users.disabled_at";

pub(crate) fn user<C: ReadCells>(cells: &mut C) -> Result<UserRow, C::Error> {
    Ok(UserRow {
        user_id: cells.id(UserId::from_uuid)?,
        email: cells.text()?,
        name: cells.text()?,
        password: cells.optional_text()?,
        subject: match (cells.optional_text()?, cells.optional_text()?) {
            (Some(issuer), Some(subject)) => Some(Subject { issuer, subject }),
            _ => None,
        },
        second_factor: second_factor(cells)?,
        epoch: cells.number()?,
        created_at: cells.time()?,
        disabled_at: cells.optional_time()?,
    })
}

fn second_factor<C: ReadCells>(cells: &mut C) -> Result<Option<SecondFactor>, C::Error> {
    let columns = (cells.optional_text()?, cells.optional_integer()?, cells.optional_bytes()?);
    SecondFactor::from_columns(columns).map_err(|why| cells.unreadable(why))
}

pub(crate) const GRANT: &str = "grants.app_id, grants.user_id, grants.role";

pub(crate) fn grant<C: ReadCells>(cells: &mut C) -> Result<GrantRow, C::Error> {
    let app_id = cells.optional_app()?;
    Ok(GrantRow { app_id, user_id: cells.id(UserId::from_uuid)?, role: cells.variant()? })
}

pub(crate) const REPORT: &str = "app_id, flow_id, report_id, hash, title, questions, filters, \
     shows_texts, password, created_by, created_at, expires_at, revoked_at";

pub(crate) fn report<C: ReadCells>(cells: &mut C) -> Result<ReportRow, C::Error> {
    Ok(ReportRow {
        app_id: cells.id(AppId::from_uuid)?,
        flow_id: cells.id(FlowId::from_uuid)?,
        report_id: cells.id(ReportId::from_uuid)?,
        hash: cells.hash()?,
        title: cells.text()?,
        questions: cells.json()?,
        filters: cells.json()?,
        shows_texts: cells.flag()?,
        password: cells.optional_text()?,
        created_by: cells.text()?,
        created_at: cells.time()?,
        expires_at: cells.optional_time()?,
        revoked_at: cells.optional_time()?,
    })
}

pub(crate) const SHORT_PATH: &str = "app_id, flow_id, path";

pub(crate) fn short_path<C: ReadCells>(cells: &mut C) -> Result<ShortPathRow, C::Error> {
    let (app_id, flow_id) = (cells.id(AppId::from_uuid)?, cells.id(FlowId::from_uuid)?);
    Ok(ShortPathRow { app_id, flow_id, path: cells.text()? })
}

pub(crate) const TEST_RESPONSE: &str =
    "app_id, flow_id, form_key, number, received_at, answers, tags, score";

pub(crate) fn test_response<C: ReadCells>(cells: &mut C) -> Result<TestResponseRow, C::Error> {
    Ok(TestResponseRow {
        app_id: cells.id(AppId::from_uuid)?,
        flow_id: cells.id(FlowId::from_uuid)?,
        form_key: cells.id(FormKey::from_uuid)?,
        number: cells.number()?,
        received_at: cells.time()?,
        answers: cells.text()?,
        tags: cells.optional_text()?,
        score: cells.optional_text()?,
    })
}

pub(crate) const ASSET: &str =
    "app_id, asset_id, content_type, width, height, digest, created_at, bytes";

pub(crate) fn asset<C: ReadCells>(cells: &mut C) -> Result<AssetRow, C::Error> {
    Ok(AssetRow {
        app_id: cells.id(AppId::from_uuid)?,
        asset_id: cells.id(AssetId::from_uuid)?,
        content_type: cells.variant()?,
        width: cells.number()?,
        height: cells.number()?,
        digest: cells.hash()?,
        created_at: cells.time()?,
        bytes: cells.optional_bytes()?.ok_or_else(|| cells.unreadable("the bytes are missing"))?,
    })
}

/// Followed by the number of bytes, in the SQL of the backend.
pub(crate) const ASSET_INFO: &str =
    "app_id, asset_id, content_type, width, height, digest, created_at";

pub(crate) fn asset_info<C: ReadCells>(cells: &mut C) -> Result<AssetInfo, C::Error> {
    Ok(AssetInfo {
        app_id: cells.id(AppId::from_uuid)?,
        asset_id: cells.id(AssetId::from_uuid)?,
        content_type: cells.variant()?,
        width: cells.number()?,
        height: cells.number()?,
        digest: cells.hash()?,
        created_at: cells.time()?,
        bytes_len: cells.integer()?.cast_unsigned(),
    })
}

pub(crate) const SAVED_VIEW: &str = "app_id, flow_id, user_id, name, query, is_default";

pub(crate) fn saved_view<C: ReadCells>(cells: &mut C) -> Result<SavedViewRow, C::Error> {
    Ok(SavedViewRow {
        app_id: cells.id(AppId::from_uuid)?,
        flow_id: cells.id(FlowId::from_uuid)?,
        user_id: cells.id(UserId::from_uuid)?,
        name: cells.text()?,
        query: cells.text()?,
        is_default: cells.flag()?,
    })
}

pub(crate) const MAIL: &str = "app_id, mail_id, kind, flow_id, assignment_id, user_id, detail, \
     created_at, sent, sent_at, attempts, next_at, ended, reply, address, revision";

pub(crate) fn mail<C: ReadCells>(cells: &mut C) -> Result<MailRow, C::Error> {
    Ok(MailRow {
        app_id: cells.optional_app()?,
        mail_id: cells.id(MailId::from_uuid)?,
        kind: cells.variant()?,
        flow_id: cells.optional_id(FlowId::from_uuid)?,
        assignment_id: cells.optional_id(AssignmentId::from_uuid)?,
        user_id: cells.optional_id(UserId::from_uuid)?,
        detail: cells.optional_text()?,
        created_at: cells.time()?,
        sent: cells.number()?,
        sent_at: cells.optional_time()?,
        attempts: cells.number()?,
        next_at: cells.optional_time()?,
        ended: cells.optional_variant()?,
        reply: cells.optional_text()?,
        address: cells.optional_hash()?,
        revision: cells.number()?,
    })
}

pub(crate) const LINK: &str = "user_id, hash, expires_at";

pub(crate) fn link<C: ReadCells>(cells: &mut C) -> Result<LinkRow, C::Error> {
    Ok(LinkRow {
        user_id: cells.id(UserId::from_uuid)?,
        hash: cells.hash()?,
        expires_at: cells.time()?,
    })
}

pub(crate) const SESSION: &str = "hash, user_id, epoch, token_hash, created_at, used_at, expires_at, \
     confirmed_at";

pub(crate) fn session<C: ReadCells>(cells: &mut C) -> Result<SessionRow, C::Error> {
    let hash = cells.hash()?;
    let user = cells.optional_id(UserId::from_uuid)?;
    let (epoch, token) = (cells.optional_number()?, cells.optional_hash()?);
    let holder = match (user, epoch, token) {
        (Some(user_id), Some(epoch), None) => SessionHolder::User { user_id, epoch },
        (None, None, Some(token)) => SessionHolder::Token(token),
        _ => return Err(cells.unreadable("a session has no holder")),
    };
    Ok(SessionRow {
        hash,
        holder,
        created_at: cells.time()?,
        used_at: cells.time()?,
        expires_at: cells.time()?,
        confirmed_at: cells.time()?,
    })
}

pub(crate) const EVENT: &str = "app_id, event_id, flow_id, kind, body";

pub(crate) fn event<C: ReadCells>(cells: &mut C) -> Result<EventRow, C::Error> {
    Ok(EventRow {
        app_id: cells.id(AppId::from_uuid)?,
        event_id: cells.id(EventId::from_uuid)?,
        flow_id: cells.optional_id(FlowId::from_uuid)?,
        kind: cells.text()?,
        body: cells.text()?,
    })
}

pub(crate) const ENDPOINT: &str = "app_id, endpoint_id, url, description, format, batch, types, \
     flows, secret, previous_secret, previous_until, created_at, cursor, failing_since, failures, \
     disabled_at, disabled_reason, due_at, removals";

pub(crate) fn endpoint<C: ReadCells>(cells: &mut C) -> Result<EndpointRow, C::Error> {
    Ok(EndpointRow {
        app_id: cells.id(AppId::from_uuid)?,
        endpoint_id: cells.id(EndpointId::from_uuid)?,
        url: cells.text()?,
        description: cells.text()?,
        format: cells.text()?,
        batch: cells.flag()?,
        types: cells.json()?,
        flows: cells.json()?,
        secret: cells.text()?,
        previous_secret: cells.optional_text()?,
        previous_until: cells.optional_time()?,
        created_at: cells.time()?,
        cursor: cells.id(EventId::from_uuid)?,
        failing_since: cells.optional_time()?,
        failures: cells.number()?,
        disabled_at: cells.optional_time()?,
        disabled_reason: cells.optional_text()?,
        due_at: cells.time()?,
        removals: cells.number()?,
    })
}

pub(crate) const DELIVERY: &str = "app_id, endpoint_id, delivery_id, event_id, kind, state, \
     attempts, next_at, attempted_at, status, latency_millis, reply, error, batch_id";

pub(crate) fn delivery<C: ReadCells>(cells: &mut C) -> Result<DeliveryRow, C::Error> {
    Ok(DeliveryRow {
        app_id: cells.id(AppId::from_uuid)?,
        endpoint_id: cells.id(EndpointId::from_uuid)?,
        delivery_id: cells.id(DeliveryId::from_uuid)?,
        event_id: cells.id(EventId::from_uuid)?,
        kind: cells.text()?,
        state: cells.variant()?,
        attempts: cells.number()?,
        next_at: cells.optional_time()?,
        attempted_at: cells.time()?,
        status: cells.optional_number()?,
        latency_millis: cells.number()?,
        reply: cells.optional_text()?,
        error: cells.optional_text()?,
        batch_id: cells.optional_text()?,
    })
}

pub(crate) const SINK_POSITION: &str = "app_id, sink, position";

pub(crate) fn sink_position<C: ReadCells>(cells: &mut C) -> Result<SinkPositionRow, C::Error> {
    let app_id = cells.id(AppId::from_uuid)?;
    Ok(SinkPositionRow { app_id, sink: cells.text()?, position: cells.id(EventId::from_uuid)? })
}
