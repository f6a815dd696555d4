//! Apps and their publishable keys.

use std::sync::Arc;

use serde_json::json;
use sluice_flow::definition::Fault;
use sluice_flow::id::{ApiKey, AppId};
use sluice_flow::origin::AllowedOrigin;
use sluice_store::{AppLimits, AppRow, At, IdentityVerification, KeyRow, Page, Scope, Write};

use crate::actor::{Actor, Reach};
use crate::admin::{AdminError, AdminResult, Missing};
use crate::audit_action::AuditAction;
use crate::boxed;
use crate::branding::{HostedPatch, HostedSettings};
use crate::conflict::retry_on_conflict;
use crate::core::Core;
use crate::fault::{faultless, grace_faults, name_faults};
use crate::handle::AppHandle;
use crate::ids::random_bits;
use crate::instance::{InstanceHandle, made_first};
use crate::rate::{BYTES_PER_DAY_MAX, CALLS_PER_SECOND_MAX};
use crate::retention::RETENTION_DAYS_MAX;
use crate::verify::LIFETIME_MAX_SECONDS;

/// The maximum number of origins that an app may list.
pub const ORIGINS_MAX: usize = 100;

/// An app with its active keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppDetail {
    pub row: AppRow,
    pub api_keys: Vec<ApiKey>,
}

impl AppDetail {
    /// Keeps the active keys of this app from a list of keys of any app.
    fn new(row: AppRow, keys: &[KeyRow]) -> Self {
        let own = keys.iter().filter(|key| key.app_id == row.app_id && key.revoked_at.is_none());
        let api_keys = own.map(|key| key.api_key.clone()).collect();
        Self { row, api_keys }
    }
}

/// Changes to an app; absent fields stay unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AppPatch {
    pub name: Option<String>,
    pub identity_verification: Option<IdentityVerification>,
    pub allowed_origins: Option<Vec<String>>,
    /// `Some(None)` restores the default.
    pub grace_window_seconds: Option<Option<u32>>,
    /// `Some(None)` keeps responses indefinitely.
    pub retention_days: Option<Option<u32>>,
    /// `Some(None)` restores the default.
    pub token_lifetime_seconds: Option<Option<u32>>,
    /// `Some(None)` restores the defaults.
    pub hosted: Option<Option<HostedPatch>>,
    /// `Some(None)` restores the instance's limits.
    pub limits: Option<Option<LimitsPatch>>,
}

/// Changes to an app's limits; absent fields stay unchanged, `Some(None)` restores the instance's
/// limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LimitsPatch {
    pub calls_per_second: Option<Option<u32>>,
    pub bytes_per_day: Option<Option<u64>>,
}

impl LimitsPatch {
    fn apply(self, limits: &mut AppLimits) {
        limits.calls_per_second = self.calls_per_second.unwrap_or(limits.calls_per_second);
        limits.bytes_per_day = self.bytes_per_day.unwrap_or(limits.bytes_per_day);
    }

    fn faults(self) -> impl Iterator<Item = Fault> {
        let range = |pointer: &str, max: u64, unit| {
            let message = format!("must be 1 to {max} {unit}, or null for the server's default");
            Fault::new(pointer, message)
        };
        let calls = self.calls_per_second.flatten();
        let calls = calls.filter(|calls| !(1..=CALLS_PER_SECOND_MAX).contains(calls)).map(|_| {
            range("/limits/callsPerSecond", CALLS_PER_SECOND_MAX.into(), "calls a second")
        });
        let bytes = self.bytes_per_day.flatten();
        let bytes = bytes
            .filter(|bytes| !(1..=BYTES_PER_DAY_MAX).contains(bytes))
            .map(|_| range("/limits/bytesPerDay", BYTES_PER_DAY_MAX, "bytes a day"));
        calls.into_iter().chain(bytes)
    }
}

impl AppPatch {
    /// The scopes that a change needs besides `write`. Changing retention can delete responses, and
    /// changing how identities are proven needs the same scope as managing the keys. Limits need
    /// `admin` of the instance ([`AppHandle::update`]).
    fn scopes(&self) -> impl Iterator<Item = Scope> {
        let of_identity =
            self.identity_verification.is_some() || self.token_lifetime_seconds.is_some();
        let erase = self.retention_days.map(|_| Scope::Erase);
        erase.into_iter().chain(of_identity.then_some(Scope::Admin))
    }
}

impl AppHandle {
    /// The app with its active keys.
    #[boxed]
    pub async fn detail(&self) -> AdminResult<AppDetail> {
        let keys = self.permit.core(Scope::Read)?.store.list_keys(&[self.app_id()]).await?;
        Ok(AppDetail::new(self.row.clone(), &keys))
    }

    /// The same for several apps, in one read.
    #[boxed]
    pub async fn details(apps: &[Self]) -> AdminResult<Vec<AppDetail>> {
        let Some(first) = apps.first() else { return Ok(Vec::new()) };
        let may_read = |app: &Self| app.permit.core(Scope::Read).map(|_| app.app_id());
        let ids = apps.iter().map(may_read).collect::<AdminResult<Vec<AppId>>>()?;
        let keys = first.permit.core(Scope::Read)?.store.list_keys(&ids).await?;
        Ok(apps.iter().map(|app| AppDetail::new(app.row.clone(), &keys)).collect())
    }

    #[boxed]
    pub async fn update(&self, patch: &AppPatch) -> AdminResult<AppDetail> {
        let core = self.permit.core(Scope::Write)?;
        let (actor, id) = (self.permit.actor(), self.app_id());
        patch.scopes().try_for_each(|scope| actor.need_in(scope, id, Missing::App))?;
        // Limits protect the whole server from the app, so an actor limited to the app may not set
        // them.
        if patch.limits.is_some() {
            actor.need_instance(Scope::Admin)?;
        }
        faultless(patch_faults(patch))?;
        let updated = retry_on_conflict(|is_retry| async move {
            let app = if is_retry { self.read_again().await? } else { self.clone() };
            if let Some(Some(hosted)) = &patch.hosted {
                faultless(hosted.design.image_faults(&*core.store, id, "/hosted").await?)?;
            }
            let mut row = app.row.clone();
            let changed = patched(&mut row, patch);
            may_enforce(core, &app.row, &row).await?;
            if row == app.row {
                return Ok(app);
            }
            let audit = self.permit.audit(AuditAction::AppUpdated, id, &changed);
            let rows = vec![Write::App(row), Write::Audit(audit)];
            self.permit.change(Scope::Write, app.revision, rows).await?;
            self.read_again().await
        });
        updated.await?.detail().await
    }

    #[boxed]
    pub async fn create_key(&self) -> AdminResult<ApiKey> {
        let core = self.permit.core(Scope::Admin)?;
        retry_on_conflict(|is_retry| async move {
            let expected =
                if is_retry { self.permit.current_revision().await? } else { self.revision };
            let key = new_key(self.app_id(), core.now());
            let api_key = key.api_key.clone();
            let audit = self.permit.audit(AuditAction::KeyCreated, &api_key, &json!({}));
            let rows = vec![Write::Key(key), Write::Audit(audit)];
            self.permit.change(Scope::Admin, expected, rows).await?;
            Ok(api_key)
        })
        .await
    }

    /// Revokes a key; idempotent.
    #[boxed]
    pub async fn revoke_key(&self, key: &ApiKey) -> AdminResult<()> {
        let core = self.permit.core(Scope::Admin)?;
        retry_on_conflict(|is_retry| async move {
            let expected =
                if is_retry { self.permit.current_revision().await? } else { self.revision };
            let keys = core.store.list_keys(&[self.app_id()]).await?;
            let Some(row) = keys.into_iter().find(|row| row.api_key == *key) else {
                return Err(AdminError::NotFound(Missing::ApiKey));
            };
            if row.revoked_at.is_some() {
                return Ok(());
            }
            let row = KeyRow { revoked_at: Some(core.now()), ..row };
            let audit = self.permit.audit(AuditAction::KeyRevoked, key, &json!({}));
            let rows = vec![Write::Key(row), Write::Audit(audit)];
            self.permit.change(Scope::Admin, expected, rows).await
        })
        .await
    }
}

/// The apps that the actor may read, each as a handle for reading.
pub(crate) async fn list(
    core: &Arc<Core>,
    actor: &Actor,
    page: Page<AppId>,
) -> AdminResult<Vec<AppHandle>> {
    let apps = match actor.reach(Scope::Read)? {
        Reach::All => core.store.list_apps(page).await?,
        Reach::Apps(own) => {
            let beyond = own.into_iter().filter(|own| page.after.is_none_or(|it| *own > it));
            let own: Vec<AppId> = beyond.take(page.limit).collect();
            core.store.find_apps(&own).await?
        }
    };
    apps.into_iter().map(|app| AppHandle::listed(core, actor, app)).collect()
}

impl InstanceHandle {
    #[boxed]
    pub async fn create_app(&self, name: &str) -> AdminResult<AppDetail> {
        self.make_app(At::Instance, name).await
    }

    /// Creates an app if there is none; if several processes try at once, only one succeeds.
    #[boxed]
    pub async fn create_first_app(&self, name: &str) -> AdminResult<Option<AppDetail>> {
        made_first(self.make_app(At::FirstApp, name).await)
    }

    async fn make_app(&self, at: At, name: &str) -> AdminResult<AppDetail> {
        let core = self.core();
        faultless(name_faults("/name", name))?;
        let created_at = core.now();
        let app_id = AppId::from_uuid(core.new_id());
        let row = AppRow {
            app_id,
            name: name.to_owned(),
            identity_verification: IdentityVerification::Off,
            allowed_origins: Vec::new(),
            grace_window_seconds: None,
            retention_days: None,
            token_lifetime_seconds: None,
            hosted: None,
            limits: AppLimits::default(),
            created_at,
        };
        let key = new_key(app_id, created_at);
        let (action, detail) = (AuditAction::AppCreated, json!({"name": name}));
        let audit = core.audit(self.actor(), Some(app_id), action, app_id, &detail);
        let rows = vec![Write::App(row.clone()), Write::Key(key.clone()), Write::Audit(audit)];
        core.apply(at, rows).await?;
        core.registry.forget(&[app_id]);
        Ok(AppDetail::new(row, &[key]))
    }
}

/// Refuses to enforce tokens in an app without an active identity key: it would refuse every
/// request.
async fn may_enforce(core: &Core, before: &AppRow, after: &AppRow) -> AdminResult<()> {
    let is_enforced = |row: &AppRow| row.identity_verification == IdentityVerification::Enforce;
    if is_enforced(before) || !is_enforced(after) {
        return Ok(());
    }
    let keys = core.store.list_identity_keys(after.app_id).await?;
    faultless((!keys.iter().any(|key| key.revoked_at.is_none())).then(|| {
        Fault::new(
            "/identityVerification",
            "cannot be \"enforce\" yet: the app has no active identity key, so that every \
             request would be refused; make one first (POST …/identity-keys)",
        )
    }))
}

fn new_key(app_id: AppId, created_at: sluice_flow::time::Timestamp) -> KeyRow {
    KeyRow { app_id, api_key: ApiKey::from_random(random_bits()), created_at, revoked_at: None }
}

/// Applies a patch and returns the changes for the audit log.
fn patched(row: &mut AppRow, patch: &AppPatch) -> serde_json::Value {
    let mut changed = serde_json::Map::new();
    if let Some(name) = &patch.name {
        row.name.clone_from(name);
        changed.insert("name".into(), json!(name));
    }
    if let Some(mode) = patch.identity_verification {
        row.identity_verification = mode;
        changed.insert("identityVerification".into(), json!(mode));
    }
    if let Some(origins) = &patch.allowed_origins {
        let origins = canonical(origins);
        row.allowed_origins.clone_from(&origins);
        changed.insert("allowedOrigins".into(), json!(origins));
    }
    if let Some(grace) = patch.grace_window_seconds {
        row.grace_window_seconds = grace;
        changed.insert("graceWindowSeconds".into(), json!(grace));
    }
    if let Some(days) = patch.retention_days {
        row.retention_days = days;
        changed.insert("retentionDays".into(), json!(days));
    }
    if let Some(lifetime) = patch.token_lifetime_seconds {
        row.token_lifetime_seconds = lifetime;
        changed.insert("tokenLifetimeSeconds".into(), json!(lifetime));
    }
    if let Some(hosted) = &patch.hosted {
        let mut settings = HostedSettings::from_app(row);
        match hosted {
            Some(patch) => patch.apply(&mut settings),
            None => settings = HostedSettings::default(),
        }
        row.hosted = settings.to_stored();
        changed.insert("hosted".into(), json!(hosted.as_ref().map(HostedPatch::to_json)));
    }
    if let Some(limits) = patch.limits {
        match limits {
            Some(patch) => patch.apply(&mut row.limits),
            None => row.limits = AppLimits::default(),
        }
        let AppLimits { calls_per_second, bytes_per_day } = row.limits;
        let set = json!({"callsPerSecond": calls_per_second, "bytesPerDay": bytes_per_day});
        changed.insert("limits".into(), set);
    }
    changed.into()
}

fn patch_faults(patch: &AppPatch) -> Vec<Fault> {
    let mut faults = Vec::new();
    if let Some(name) = &patch.name {
        faults.extend(name_faults("/name", name));
    }
    let lifetime = patch.token_lifetime_seconds.flatten();
    if lifetime.is_some_and(|seconds| !(1..=LIFETIME_MAX_SECONDS).contains(&seconds)) {
        faults.push(Fault::new(
            "/tokenLifetimeSeconds",
            format!("must be 1 to {LIFETIME_MAX_SECONDS} seconds, or null for the default"),
        ));
    }
    let origins = patch.allowed_origins.as_deref().unwrap_or_default();
    if origins.len() > ORIGINS_MAX {
        let message = format!("must have at most {ORIGINS_MAX} origins");
        faults.push(Fault::new("/allowedOrigins", message));
    }
    for (index, origin) in origins.iter().enumerate() {
        if let Err(message) = AllowedOrigin::parse(origin) {
            faults.push(Fault::new(format!("/allowedOrigins/{index}"), message));
        }
    }
    faults.extend(grace_faults("/graceWindowSeconds", patch.grace_window_seconds.flatten()));
    let days = patch.retention_days.flatten();
    if days.is_some_and(|days| !(1..=RETENTION_DAYS_MAX).contains(&days)) {
        let range = format!(
            "must be 1 to {RETENTION_DAYS_MAX} days, or null to keep responses permanently"
        );
        faults.push(Fault::new("/retentionDays", range));
    }
    faults.extend(patch.hosted.iter().flatten().flat_map(HostedPatch::faults));
    faults.extend(patch.limits.flatten().into_iter().flat_map(LimitsPatch::faults));
    faults
}

/// The origins of a patch in canonical form, without duplicates.
fn canonical(origins: &[String]) -> Vec<String> {
    let mut canonical = Vec::with_capacity(origins.len());
    for origin in origins.iter().filter_map(|text| AllowedOrigin::parse(text).ok()) {
        let origin = origin.to_string();
        if !canonical.contains(&origin) {
            canonical.push(origin);
        }
    }
    canonical
}
