//! Cache of published flows: bounded, loaded on first use, dropped on change.
//!
//! Changes by this process take effect at once ([`Registry::forget`]); those by other processes
//! arrive through the store's change feed ([`Registry::follow`]). Even before that, a response
//! judged on an outdated entry is not stored: the entry has the public revision of its app at which
//! it was read, and the store compares that when it writes.
//!
//! Lookups that found nothing are cached too, until something changes, so that guessing keys costs
//! no database reads.

mod assets;
mod designs;
mod lookup;
mod resolve;
mod resolved_body;
mod schemas;
mod short_paths;

use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use quick_cache::sync::Cache;
use quick_cache::{UnitWeighter, Weighter};
use sluice_flow::closing::VersionLimits;
use sluice_flow::id::{ApiKey, AppId, AssetId, FlowId, FlowVersionId};
use sluice_flow::lifecycle::{self, Accepting, FlowTimes, VersionTimes};
use sluice_flow::origin::AllowedOrigins;
use sluice_flow::payload::{self, Generation};
use sluice_flow::snapshot::{Snapshot, VersionMeta};
use sluice_flow::time::Timestamp;
use sluice_store::{
    App, FeedPosition, FlowState, IdentityVerification, ShortPathRow, Store, StoreError,
    StoreResult, VersionState,
};

use self::lookup::Lookup;
use crate::branding::Branding;
use crate::cache_marks::CacheMarks;
use crate::clock::Clock;
use crate::definitions::Definitions;
use crate::encoded_body::EncodedBody;
use crate::full_check::FullCheck;
use crate::rate::{Usage, Usages};
use crate::shown_images::{ImageSizes, ServedImage, image_sizes};
use crate::single_flight::{CacheEntry, SingleFlightCache};
use crate::spans;
use crate::verify::{Verification, Verifying};

pub(crate) use self::designs::FlowBranding;
pub(crate) use self::resolved_body::grace_seconds;
use self::schemas::{SchemaKey, ServedSchema};

/// The maximum number of cached apps, by key and by id.
const APPS_MAX: usize = 10_000;
/// The maximum number of cached flows.
const FLOWS_MAX: usize = 10_000;
/// Versions in use at once.
const VERSIONS_EXPECTED: usize = 1_000;
/// The minimum size of an entry in bytes, found or not, or guessed ids would fill the memory.
const ENTRY_BYTES: u64 = 512;
/// The memory limit for versions with their encoded snapshots.
const VERSIONS_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// The memory limit for the hosted-page data of apps, including logos; and for that of flows.
const HOSTED_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Images, and designs with logos, of typically 200 KB. A cache with many entries keeps no large
/// ones.
const LARGE_EXPECTED: usize = 200;
/// The size of cached images, in bytes.
const ASSETS_BYTES_MAX: u64 = 32 * 1024 * 1024;

/// The parts of an app that the public API needs.
#[derive(Debug, Clone)]
pub struct AppView {
    pub app_id: AppId,
    pub identity_verification: IdentityVerification,
    /// Origins that browsers may call from.
    pub allowed_origins: AllowedOrigins,
    /// How tokens are verified; `None` if they are not checked.
    pub(crate) verification: Option<Arc<Verification>>,
    pub(crate) usage: Arc<Usage>,
}

impl AppView {
    /// Whether a request's token is checked.
    pub fn verifies_tokens(&self) -> bool {
        self.verification.is_some()
    }
}

/// The parts of an app that its hosted pages need.
#[derive(Debug)]
pub(crate) struct HostedApp {
    pub(crate) view: Arc<AppView>,
    pub(crate) branding: Branding,
}

/// A flow as it is resolved: its body for each status in its live window.
#[derive(Debug)]
pub(crate) struct FlowView {
    pub(crate) app_id: AppId,
    pub(crate) times: FlowTimes,
    pub(crate) current: Option<FlowVersionId>,
    /// Whether it replaces parts of its app's design ([`Registry::flow_branding`]).
    pub(crate) has_design: bool,
    full: Option<FullCheck>,
    published: Option<[Arc<EncodedBody>; 3]>,
}

/// A version that submissions can be judged against.
#[derive(Debug)]
pub(crate) struct VersionView {
    pub(crate) app_id: AppId,
    pub(crate) flow_id: FlowId,
    pub(crate) flow_version_id: FlowVersionId,
    pub(crate) public_revision: u64,
    pub(crate) current: Option<FlowVersionId>,
    times: VersionTimes,
    pub(crate) flow_times: FlowTimes,
    /// How many responses the flow accepts; empty if any number.
    pub(crate) limits: VersionLimits,
    /// `None` for a draft.
    pub(crate) published: Option<PublishedView>,
}

#[derive(Debug)]
pub(crate) struct PublishedView {
    pub(crate) snapshot: Snapshot,
    /// For every payload generation, by [`Generation::index`].
    served: Vec<Arc<EncodedBody>>,
    pub(crate) images: ImageSizes,
}

impl VersionView {
    pub(crate) fn accepting(&self, now: Timestamp) -> Accepting {
        lifecycle::accepting(&self.times, &self.flow_times, now)
    }

    /// The version that accepts responses instead of this one: what a client now resolves.
    pub(crate) fn successor(&self, now: Timestamp) -> Option<FlowVersionId> {
        let open = VersionTimes { published_at: Some(Timestamp::MIN), ..VersionTimes::default() };
        let accepts = lifecycle::accepting(&open, &self.flow_times, now).accepts();
        self.current.filter(|&current| accepts && current != self.flow_version_id)
    }
}

/// The result of resolving a flow.
#[derive(Debug, Clone)]
pub struct Resolved {
    pub served: Arc<EncodedBody>,
    /// When this result changes without a write, if it does.
    pub valid_until: Option<Timestamp>,
    pub now: Timestamp,
}

/// Why a flow cannot be resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoFlow {
    NotFound,
    NotPublished,
}

/// The caches. Clones share them.
#[derive(Clone)]
pub(crate) struct Registry {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    verifying: Verifying,
    usages: Arc<Usages>,
    definitions: Definitions,
    caches: Arc<Caches>,
}

struct Caches {
    keys: SingleFlightCache<ApiKey, AppView, UnitWeighter>,
    flows: SingleFlightCache<FlowId, FlowView, UnitWeighter>,
    versions: SingleFlightCache<FlowVersionId, VersionView, RegistryWeighter>,
    hosted: SingleFlightCache<AppId, HostedApp, RegistryWeighter>,
    designs: SingleFlightCache<FlowId, FlowBranding, RegistryWeighter>,
    short_paths: SingleFlightCache<String, ShortPathRow, UnitWeighter>,
    assets: SingleFlightCache<AssetId, ServedImage, RegistryWeighter>,
    schemas: SingleFlightCache<SchemaKey, ServedSchema, RegistryWeighter>,
    /// Incremented with every change; a load during which it changes is not cached.
    changes: AtomicU64,
    marks: CacheMarks,
}

#[derive(Clone)]
struct RegistryWeighter;

impl Weighter<FlowVersionId, CacheEntry<VersionView>> for RegistryWeighter {
    fn weight(&self, _: &FlowVersionId, view: &CacheEntry<VersionView>) -> u64 {
        let published = view.value.as_ref().and_then(|view| view.published.as_ref());
        ENTRY_BYTES + published.map_or(0, PublishedView::weight)
    }
}

impl Registry {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        verifying: Verifying,
        usages: Usages,
        definitions: Definitions,
    ) -> Self {
        let versions =
            Cache::with_weighter(VERSIONS_EXPECTED, VERSIONS_BYTES_MAX, RegistryWeighter);
        let hosted = Cache::with_weighter(LARGE_EXPECTED, HOSTED_BYTES_MAX, RegistryWeighter);
        let assets = Cache::with_weighter(LARGE_EXPECTED, ASSETS_BYTES_MAX, RegistryWeighter);
        let designs = Cache::with_weighter(LARGE_EXPECTED, HOSTED_BYTES_MAX, RegistryWeighter);
        let caches = Caches {
            keys: SingleFlightCache::new(Cache::new(APPS_MAX)),
            flows: SingleFlightCache::new(Cache::new(FLOWS_MAX)),
            versions: SingleFlightCache::new(versions),
            hosted: SingleFlightCache::new(hosted),
            designs: SingleFlightCache::new(designs),
            short_paths: SingleFlightCache::new(Cache::new(FLOWS_MAX)),
            assets: SingleFlightCache::new(assets),
            schemas: schemas::cache(),
            changes: AtomicU64::new(0),
            marks: CacheMarks::default(),
        };
        let (usages, caches) = (usages.into(), caches.into());
        Self { store, clock, verifying, usages, definitions, caches }
    }

    /// The app of an active key.
    pub(crate) fn app<'a>(&'a self, key: &'a ApiKey) -> Lookup<'a, AppView> {
        self.cached(&self.caches.keys, key, |view| view.app_id, async {
            let Some(app) = self.store.find_app_by_key(key).await? else { return Ok(None) };
            Ok(Some(Arc::new(self.app_view(app).await?)))
        })
    }

    /// The data of an app for its hosted pages.
    pub(crate) fn hosted_app(&self, id: AppId) -> Lookup<'_, HostedApp> {
        self.cached(&self.caches.hosted, &id, |app| app.view.app_id, async move {
            let Some(app) = self.store.find_app(id).await? else { return Ok(None) };
            let branding = Branding::from_app(&app.row);
            let view = Arc::new(self.app_view(app).await?);
            Ok(Some(Arc::new(HostedApp { view, branding })))
        })
    }

    /// Identity keys are read only if they are used; changing the keys or the mode changes the app.
    async fn app_view(&self, app: App) -> StoreResult<AppView> {
        let verification = match app.row.identity_verification {
            IdentityVerification::Off => None,
            IdentityVerification::Observe | IdentityVerification::Enforce => {
                let keys = self.store.list_identity_keys(app.row.app_id).await?;
                Some(self.verifying.verification(&app.row, keys, self.clock.now()))
            }
        };
        Ok(AppView {
            app_id: app.row.app_id,
            identity_verification: app.row.identity_verification,
            usage: self.usages.for_app(app.row.app_id, app.row.limits),
            allowed_origins: AllowedOrigins::from_stored(&app.row.allowed_origins),
            verification: verification.map(Arc::new),
        })
    }

    pub(crate) fn flow(&self, id: FlowId) -> Lookup<'_, FlowView> {
        self.cached(&self.caches.flows, &id, |view| view.app_id, async move {
            let Some(state) = self.store.find_flow(id).await? else { return Ok(None) };
            let full = FullCheck::new(&*self.store, &state.flow, self.clock.monotonic()).await?;
            Ok(Some(Arc::new(FlowView::new(&state, full))))
        })
    }

    /// A version of this app; `None` for a version of another app.
    pub(crate) async fn version(
        &self,
        app: AppId,
        id: FlowVersionId,
    ) -> StoreResult<Option<Arc<VersionView>>> {
        Ok(self.version_of_any_app(id).await?.filter(|view| view.app_id == app))
    }

    fn version_of_any_app(&self, id: FlowVersionId) -> Lookup<'_, VersionView> {
        self.cached(&self.caches.versions, &id, |view| view.app_id, async move {
            let Some(state) = self.store.find_version(id).await? else { return Ok(None) };
            // Parsing and compressing a long definition here would delay other requests.
            let definitions = self.definitions.clone();
            let view = move || VersionView::new(state, &definitions);
            let view = tokio::task::spawn_blocking(view).await;
            let mut view = view.map_err(|error| StoreError::Failed(Box::new(error)))??;
            if let Some(published) = &mut view.published {
                let definition = published.snapshot.definition();
                published.images = image_sizes(&*self.store, view.app_id, definition).await;
            }
            Ok(Some(Arc::new(view)))
        })
    }

    /// Outdates the cached entries of these apps, and all entries for lookups that found nothing.
    pub(crate) fn forget(&self, apps: &[AppId]) {
        // Incremented first: an earlier load notices that, or has its mark, which is outdated here.
        self.caches.changes.fetch_add(1, Ordering::SeqCst);
        self.caches.marks.outdate(apps);
    }

    fn forget_all(&self) {
        self.caches.changes.fetch_add(1, Ordering::SeqCst);
        self.caches.marks.outdate_all();
    }

    /// Follows changes by other processes, indefinitely. While the store is unavailable, cached
    /// entries are still served; the store itself refuses writes based on outdated ones.
    pub(crate) async fn follow(self, mut position: FeedPosition, interval: Duration) {
        let mut away = false;
        loop {
            // Notifications make it fast; the interval makes it reliable.
            tokio::select! {
                () = self.store.changed() => {}
                () = tokio::time::sleep(interval) => {}
            }
            let changes = match self.store.changes(position).await {
                Ok(changes) => changes,
                Err(StoreError::Closed) => return,
                Err(error) => {
                    // Logged once, not five times a second.
                    if !std::mem::replace(&mut away, true) {
                        tracing::warn!(%error, "cannot read the change feed; retrying");
                    }
                    continue;
                }
            };
            let was_away = std::mem::take(&mut away);
            if was_away {
                tracing::info!("the change feed can be read again");
            }
            // The server that answers now may lack changes that were already seen: a standby that
            // was behind, or a restored backup. Then positions cannot be compared, and everything
            // is read again.
            if was_away || changes.position < position {
                self.forget_all();
            } else if changes.position > position {
                self.forget(&changes.apps);
            }
            position = changes.position;
        }
    }

    fn cached<'a, K, V, W>(
        &'a self,
        cache: &'a SingleFlightCache<K, V, W>,
        key: &K,
        app_of: fn(&V) -> AppId,
        load: impl Future<Output = StoreResult<Option<Arc<V>>>> + Send + 'a,
    ) -> Lookup<'a, V>
    where
        K: Eq + Hash + Clone + Send + Sync + 'a,
        V: Send + Sync,
        W: Weighter<K, CacheEntry<V>> + Clone + Send + Sync,
    {
        let before = self.caches.changes.load(Ordering::SeqCst);
        if let Some(known) = cache.get(key) {
            return Lookup::Known(known);
        }
        let key = key.clone();
        Lookup::Load(Box::pin(async move {
            let load = async {
                let value = spans::timed("store read", load).await?;
                let mark = self.caches.marks.mark_for(value.as_deref().map(app_of));
                Ok(CacheEntry { value, mark })
            };
            let loaded = cache.get_or_load(&key, load).await?;
            if self.caches.changes.load(Ordering::SeqCst) != before {
                cache.remove(&key);
            }
            Ok(loaded)
        }))
    }
}

impl FlowView {
    fn new(state: &FlowState, full: Option<FullCheck>) -> Self {
        let current = state.current.as_ref().map(|version| version.flow_version_id);
        Self {
            app_id: state.flow.app_id,
            times: state.flow.times(),
            current,
            has_design: state.flow.design.is_some(),
            full,
            published: resolved_body::by_status(state),
        }
    }
}

impl VersionView {
    fn new(state: VersionState, definitions: &Definitions) -> StoreResult<Self> {
        let published = match state.version.times.published_at {
            Some(published_at) => Some(PublishedView::new(&state, published_at, definitions)?),
            None => None,
        };
        let closing = state.flow.limits()?;
        let definition = published.as_ref().map(|it| it.snapshot.definition());
        let limits = definition.map(|it| closing.limits(Some(it))).unwrap_or_default();
        Ok(Self {
            limits,
            app_id: state.version.app_id,
            flow_id: state.version.flow_id,
            flow_version_id: state.version.flow_version_id,
            public_revision: state.public_revision,
            current: state.current,
            times: state.version.times,
            flow_times: state.flow.times(),
            published,
        })
    }
}

impl PublishedView {
    fn new(
        state: &VersionState,
        published_at: Timestamp,
        definitions: &Definitions,
    ) -> StoreResult<Self> {
        let definition = definitions.read(&state.version)?;
        let meta = VersionMeta {
            flow_version_id: state.version.flow_version_id,
            flow_id: state.version.flow_id,
            kind: state.flow.kind,
            number: state.version.number,
            published_at,
        };
        let snapshot = Snapshot::new(meta, definition);
        let render = |generation: &Generation| {
            Arc::new(EncodedBody::new(payload::render(&snapshot, *generation)))
        };
        let served = Generation::ALL.iter().map(render).collect();
        Ok(Self { snapshot, served, images: ImageSizes::new() })
    }

    /// The bytes that it takes; the parsed snapshot takes about as much as its JSON.
    fn weight(&self) -> u64 {
        let snapshot = self.served[Generation::LATEST.index()].weight();
        let served: usize = self.served.iter().map(|served| served.weight()).sum();
        (snapshot + served) as u64
    }

    fn served(&self, generation: Generation) -> &Arc<EncodedBody> {
        &self.served[generation.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Anyone with a publishable key can request any number of versions.
    #[test]
    fn missing_versions_cannot_fill_the_memory() {
        let missing = CacheEntry { value: None, mark: CacheMarks::default().mark_for(None) };
        let weight =
            RegistryWeighter.weight(&FlowVersionId::from_uuid(uuid::Uuid::nil()), &missing);
        let entries_max = VERSIONS_BYTES_MAX / weight;
        // An entry is its key, its value and the cache's own bookkeeping.
        let entry_bytes = size_of::<(FlowVersionId, CacheEntry<VersionView>)>() as u64 * 4;
        assert!(entries_max * entry_bytes <= VERSIONS_BYTES_MAX, "{entries_max} entries");
    }
}
