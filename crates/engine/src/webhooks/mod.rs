//! Webhooks: endpoints of an app that receive its events.
//!
//! An endpoint follows the log of its app ([`crate::events`]); [`worker`] sends what it has not
//! received. Here are the use cases of administrators. Endpoints receive answers and identities,
//! and their URLs may contain secrets, so everything about them needs the scope `admin`.

mod attempt;
mod batch;
mod deliveries;
pub mod format;
pub(crate) mod outbox;
mod overview;
mod pacing;
mod pages;
mod removals;
mod scout;
mod secrets;
mod sender;
mod signing;
mod slots;
mod step;
mod wakes;
mod worker;

use serde_json::{Value, json};
use sluice_flow::definition::Fault;
use sluice_flow::event::EventType;
use sluice_flow::event::filter::EventFilter;
use sluice_flow::id::{EndpointId, EventId, FlowId};
use sluice_flow::time::Timestamp;
use sluice_store::{EndpointRow, EndpointWrite, Scope, StoreError, Write};

use crate::admin::{AdminError, AdminResult, Missing};
use crate::audit_action::AuditAction;
use crate::boxed;
use crate::conflict::retry_on_conflict;
use crate::core::Core;
use crate::events::position_at;
use crate::fault::faultless;
use crate::handle::AppHandle;
use crate::people::Secret;

pub use deliveries::Delivery;
pub use overview::{EndpointOverview, WAITING_COUNTED_MAX};
pub(crate) use secrets::{closed_endpoint_secrets, reseal_endpoint_secrets};
pub use sender::{REPLY_BYTES_MAX, SendFuture, WebhookReply, WebhookRequest, WebhookSender};
pub(crate) use worker::DeliveryWorker;

/// The maximum number of endpoints of one app.
pub const ENDPOINTS_MAX: usize = 50;
/// The maximum length of a description, in characters.
pub const DESCRIPTION_CHARS_MAX: usize = 500;
/// The maximum length of a URL, in characters.
pub const URL_CHARS_MAX: usize = 2048;
/// The maximum number of flows that an endpoint selects.
pub const FLOWS_MAX: usize = 100;
/// The longest time for which a replaced secret still signs, in seconds.
pub const ROTATION_SECONDS_MAX: u32 = 7 * 24 * 60 * 60;

/// An endpoint to create.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewEndpoint {
    pub url: String,
    pub description: String,
    /// The name of a format; absent means the default.
    pub format: Option<String>,
    /// Whether several events share a request.
    pub batch: bool,
    pub filter: EventFilter,
}

/// Changes to an endpoint; absent ones stay as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EndpointPatch {
    pub url: Option<String>,
    pub description: Option<String>,
    pub format: Option<String>,
    pub batch: Option<bool>,
    pub types: Option<Vec<EventType>>,
    pub flows: Option<Vec<FlowId>>,
    pub enabled: Option<bool>,
}

/// Whether an endpoint receives events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndpointState {
    Active,
    /// The last attempts failed; they are repeated.
    Failing,
    Disabled,
}

impl EndpointState {
    pub const ALL: [Self; 3] = [Self::Active, Self::Failing, Self::Disabled];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Failing => "failing",
            Self::Disabled => "disabled",
        }
    }
}

/// An endpoint as administrators see it: without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    pub endpoint_id: EndpointId,
    pub url: String,
    pub description: String,
    pub format: String,
    pub batch: bool,
    pub filter: EventFilter,
    pub state: EndpointState,
    /// Everything up to this position was sent, or waits for another attempt.
    pub cursor: EventId,
    pub failing_since: Option<Timestamp>,
    pub disabled_at: Option<Timestamp>,
    /// `gone` or `failing`; absent if a person disabled it.
    pub disabled_reason: Option<String>,
    /// Until when requests are also signed with the previous secret.
    pub previous_secret_until: Option<Timestamp>,
    pub created_at: Timestamp,
}

impl Endpoint {
    fn new(row: EndpointRow, now: Timestamp) -> Self {
        let state = match (row.disabled_at, row.failing_since) {
            (Some(_), _) => EndpointState::Disabled,
            (None, Some(_)) => EndpointState::Failing,
            (None, None) => EndpointState::Active,
        };
        Self {
            filter: filter_of(&row),
            endpoint_id: row.endpoint_id,
            url: row.url,
            description: row.description,
            format: row.format,
            batch: row.batch,
            state,
            cursor: row.cursor,
            failing_since: row.failing_since,
            disabled_at: row.disabled_at,
            disabled_reason: row.disabled_reason,
            previous_secret_until: row.previous_until.filter(|until| *until > now),
            created_at: row.created_at,
        }
    }
}

/// What an endpoint receives. Types of a newer release are ignored.
fn filter_of(row: &EndpointRow) -> EventFilter {
    let types = row.types.iter().filter_map(|name| name.parse().ok()).collect();
    EventFilter { types, flows: row.flows.clone() }
}

impl AppHandle {
    /// Creates an endpoint that receives what happens from now on; its secret is returned only
    /// here.
    #[boxed]
    pub async fn create_endpoint(&self, new: &NewEndpoint) -> AdminResult<(Endpoint, Secret)> {
        let core = self.permit.core(Scope::Admin)?;
        let now = core.now();
        let endpoint_id = EndpointId::from_uuid(core.new_id());
        let secret = signing::new_secret();
        let sealed = signing::seal(&core.verifying.vault, endpoint_id, &secret);
        let row = EndpointRow {
            app_id: self.app_id(),
            endpoint_id,
            url: parsed_url(&new.url),
            description: new.description.trim().to_owned(),
            format: new.format.clone().unwrap_or_else(|| default_format().to_owned()),
            batch: new.batch,
            types: names(&new.filter.types),
            flows: new.filter.flows.clone(),
            secret: sealed.map_err(|why| StoreError::Failed(why.into()))?,
            previous_secret: None,
            previous_until: None,
            created_at: now,
            cursor: position_at(now),
            failing_since: None,
            failures: 0,
            disabled_at: None,
            disabled_reason: None,
            due_at: now,
            removals: 0,
        };
        self.must_be_sound(core, &row, UrlCheck::New).await?;
        let row = &row;
        retry_on_conflict(|is_retry| async move {
            let expected =
                if is_retry { self.permit.current_revision().await? } else { self.revision };
            if core.store.list_endpoints(self.app_id()).await?.len() >= ENDPOINTS_MAX {
                let detail =
                    format!("an app has at most {ENDPOINTS_MAX} endpoints; delete one first");
                return Err(AdminError::conflict("too_many_webhooks", detail));
            }
            let put = Write::Endpoint(EndpointWrite::Put(Box::new(row.clone())));
            let audit = self.permit.audit(AuditAction::EndpointCreated, endpoint_id, &shown(row));
            self.permit.change_quietly(Scope::Admin, expected, vec![put, Write::Audit(audit)]).await
        })
        .await?;
        core.deliveries.forget_apps();
        Ok((Endpoint::new(row.clone(), now), Secret(secret)))
    }

    /// The endpoints of the app, oldest first.
    #[boxed]
    pub async fn list_endpoints(&self) -> AdminResult<Vec<Endpoint>> {
        let core = self.permit.core(Scope::Admin)?;
        let (now, rows) = (core.now(), core.store.list_endpoints(self.app_id()).await?);
        Ok(rows.into_iter().map(|row| Endpoint::new(row, now)).collect())
    }

    #[boxed]
    pub async fn endpoint(&self, id: EndpointId) -> AdminResult<Endpoint> {
        let core = self.permit.core(Scope::Admin)?;
        Ok(Endpoint::new(self.endpoint_row(core, id).await?, core.now()))
    }

    /// Changes an endpoint. If it is enabled again, it continues where it left off.
    #[boxed]
    pub async fn change_endpoint(
        &self,
        id: EndpointId,
        patch: &EndpointPatch,
    ) -> AdminResult<Endpoint> {
        let core = self.permit.core(Scope::Admin)?;
        let before = self.endpoint_row(core, id).await?;
        let row = patched(before.clone(), patch);
        // A URL that was allowed once can stay, and its endpoint be disabled, even if it is no
        // longer allowed.
        let is_kept = patch.enabled != Some(true) && row.url == before.url;
        let check = if is_kept { UrlCheck::Known } else { UrlCheck::New };
        self.must_be_sound(core, &row, check).await?;
        self.update_endpoint(id, |row| {
            let is_disabled = row.disabled_at.is_some();
            let (app_id, endpoint_id, now) = (row.app_id, row.endpoint_id, core.now());
            let row = patched(row, patch);
            let mut writes = Vec::new();
            let action = match patch.enabled {
                Some(true) if is_disabled => {
                    let enable = EndpointWrite::Enable { app_id, endpoint_id, due_at: now };
                    writes.push(enable);
                    AuditAction::EndpointEnabled
                }
                Some(false) if !is_disabled => {
                    let at = now;
                    let reason = None;
                    writes.push(EndpointWrite::Disable { app_id, endpoint_id, at, reason });
                    AuditAction::EndpointDisabled
                }
                _ => AuditAction::EndpointUpdated,
            };
            let detail = shown(&row);
            writes.push(EndpointWrite::Put(Box::new(row)));
            Ok((writes, action, detail))
        })
        .await
    }

    /// Removes an endpoint with its deliveries.
    #[boxed]
    pub async fn delete_endpoint(&self, id: EndpointId) -> AdminResult<()> {
        let core = self.permit.core(Scope::Admin)?;
        retry_on_conflict(|is_retry| async move {
            let expected =
                if is_retry { self.permit.current_revision().await? } else { self.revision };
            let row = self.endpoint_row(core, id).await?;
            let delete = Write::Endpoint(EndpointWrite::Delete(self.app_id(), id));
            let audit = self.permit.audit(AuditAction::EndpointDeleted, id, &shown(&row));
            let writes = vec![delete, Write::Audit(audit)];
            self.permit.change_quietly(Scope::Admin, expected, writes).await
        })
        .await
    }

    /// Replaces the secret. For this time, requests are also signed with the previous one.
    #[boxed]
    pub async fn rotate_endpoint_secret(
        &self,
        id: EndpointId,
        keep_seconds: u32,
    ) -> AdminResult<(Endpoint, Secret)> {
        let core = self.permit.core(Scope::Admin)?;
        if keep_seconds > ROTATION_SECONDS_MAX {
            let message = format!("must be 0 to {ROTATION_SECONDS_MAX} seconds");
            return Err(AdminError::Invalid(vec![Fault::new("/keepPreviousSeconds", message)]));
        }
        let secret = signing::new_secret();
        let sealed = signing::seal(&core.verifying.vault, id, &secret)
            .map_err(|why| StoreError::Failed(why.into()))?;
        let until = core.now().plus_seconds(i64::from(keep_seconds));
        let endpoint = self.update_endpoint(id, |row| {
            let row = EndpointRow {
                previous_secret: (keep_seconds > 0).then_some(row.secret),
                previous_until: (keep_seconds > 0).then_some(until),
                secret: sealed.clone(),
                ..row
            };
            let detail = json!({"keepPreviousSeconds": keep_seconds});
            let writes = vec![EndpointWrite::Put(Box::new(row))];
            Ok((writes, AuditAction::EndpointSecretRotated, detail))
        });
        Ok((endpoint.await?, Secret(secret)))
    }

    /// Sends everything after a position of the log again.
    #[boxed]
    pub async fn replay_endpoint(&self, id: EndpointId, after: EventId) -> AdminResult<Endpoint> {
        let core = self.permit.core(Scope::Admin)?;
        self.update_endpoint(id, |row| {
            let (app_id, endpoint_id, due_at) = (row.app_id, row.endpoint_id, core.now());
            let replay = EndpointWrite::Replay { app_id, endpoint_id, cursor: after, due_at };
            let detail = json!({"after": after});
            Ok((vec![replay], AuditAction::EndpointReplayed, detail))
        })
        .await
    }

    /// Computes changes to an endpoint and writes them with an audit entry.
    async fn update_endpoint(
        &self,
        id: EndpointId,
        change: impl Fn(EndpointRow) -> AdminResult<(Vec<EndpointWrite>, AuditAction, Value)> + Sync,
    ) -> AdminResult<Endpoint> {
        let (core, change) = (self.permit.core(Scope::Admin)?, &change);
        retry_on_conflict(|is_retry| async move {
            let expected =
                if is_retry { self.permit.current_revision().await? } else { self.revision };
            let (writes, action, detail) = change(self.endpoint_row(core, id).await?)?;
            let mut writes: Vec<Write> = writes.into_iter().map(Write::Endpoint).collect();
            writes.push(Write::Audit(self.permit.audit(action, id, &detail)));
            self.permit.change_quietly(Scope::Admin, expected, writes).await
        })
        .await?;
        core.deliveries.forget_apps();
        self.endpoint(id).await
    }

    async fn endpoint_row(&self, core: &Core, id: EndpointId) -> AdminResult<EndpointRow> {
        let rows = core.store.list_endpoints(self.app_id()).await?;
        let row = rows.into_iter().find(|row| row.endpoint_id == id);
        row.ok_or(AdminError::NotFound(Missing::Endpoint))
    }

    /// Refuses an endpoint with all its faults.
    async fn must_be_sound(
        &self,
        core: &Core,
        row: &EndpointRow,
        url: UrlCheck,
    ) -> AdminResult<()> {
        let mut faults = row_faults(core, row, url);
        if row.flows.len() <= FLOWS_MAX {
            for (at, flow) in row.flows.iter().enumerate() {
                let found = core.store.find_flow(*flow).await?;
                if found.is_none_or(|it| it.flow.app_id != row.app_id) {
                    faults.push(Fault::new(format!("/flows/{at}"), "is not a flow of this app"));
                }
            }
        }
        faultless(faults)
    }
}

fn default_format() -> &'static str {
    format::FORMATS.first().map_or("", |format| format.name)
}

fn names(types: &[EventType]) -> Vec<String> {
    types.iter().map(|it| it.as_str().to_owned()).collect()
}

fn patched(row: EndpointRow, patch: &EndpointPatch) -> EndpointRow {
    EndpointRow {
        url: patch.url.as_deref().map_or(row.url, parsed_url),
        description: patch
            .description
            .as_deref()
            .map_or(row.description, |it| it.trim().to_owned()),
        format: patch.format.clone().unwrap_or(row.format),
        batch: patch.batch.unwrap_or(row.batch),
        types: patch.types.as_deref().map_or(row.types, names),
        flows: patch.flows.clone().unwrap_or(row.flows),
        ..row
    }
}

/// What the audit log records: the host only, since the rest of a URL may be a secret.
fn shown(row: &EndpointRow) -> Value {
    let host = url::Url::parse(&row.url).ok();
    let host = host.as_ref().and_then(url::Url::host_str).unwrap_or_default().to_owned();
    json!({"host": host, "format": row.format, "batch": row.batch, "types": row.types, "flows": row.flows})
}

/// The URL as requests are sent to it: without the characters that are ignored in one, and with `/`
/// for a backslash, so that what is shown leads where it seems to. Other text stays as it is, and
/// is refused.
fn parsed_url(url: &str) -> String {
    url::Url::parse(url.trim()).map_or_else(|_| url.trim().to_owned(), String::from)
}

/// Whether the URL of an endpoint is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UrlCheck {
    New,
    /// It was checked when it was set.
    Known,
}

fn row_faults(core: &Core, row: &EndpointRow, url: UrlCheck) -> Vec<Fault> {
    let mut faults = Vec::new();
    match &core.deliveries.sender {
        _ if url == UrlCheck::Known => {}
        _ if row.url.chars().count() > URL_CHARS_MAX => {
            let message = format!("must have at most {URL_CHARS_MAX} characters");
            faults.push(Fault::new("/url", message));
        }
        Some(sender) => {
            faults.extend(sender.permits(&row.url).err().map(|why| Fault::new("/url", why)));
        }
        None => faults.push(Fault::new("/url", "this server sends no webhooks")),
    }
    if row.description.chars().count() > DESCRIPTION_CHARS_MAX || row.description.contains('\0') {
        let message = format!("must have at most {DESCRIPTION_CHARS_MAX} characters");
        faults.push(Fault::new("/description", message));
    }
    match format::find(&row.format) {
        None => faults.push(Fault::new("/format", "is not a format")),
        Some(format) if row.batch && !format.batches => {
            let message = format!("must be false with the format {}", format.label);
            faults.push(Fault::new("/batch", message));
        }
        Some(_) => {}
    }
    for (at, name) in row.types.iter().enumerate() {
        if !name.parse::<EventType>().is_ok_and(EventType::is_logged) {
            faults.push(Fault::new(format!("/types/{at}"), "is not an event type"));
        }
    }
    if row.flows.len() > FLOWS_MAX {
        faults.push(Fault::new("/flows", format!("must have at most {FLOWS_MAX} flows")));
    }
    faults
}
