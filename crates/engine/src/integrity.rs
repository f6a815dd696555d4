//! Checks that everything stored is sound, for `sluice verify`.
//!
//! Reads a whole store at one instant, so servers may run meanwhile: pages, indexes, idempotency
//! keys and consents (which the backend checks), every row, the digest of every response,
//! references between rows, the images that pages show, and the counts of every flow and of its
//! limits, computed again from its responses. Nothing is written or repaired.
//!
//! The order of records makes one pass enough: a row comes after the rows that it references. The
//! ids of apps, flows, versions, respondents and users are held in memory.

use std::collections::{BTreeSet, HashMap, HashSet};

use sluice_flow::id::{AppId, AssetId, FlowId, FlowVersionId, RespondentId, ResponseId, UserId};
use sluice_store::{
    Record, RecordCursor, ResponseRow, Store, StoreError, StoreResult, StoreView, Table,
    UnreadableRow,
};
use uuid::Uuid;

use crate::closing_check::ClosingCheck;
use crate::count_check::CountCheck;
use crate::image_check::ImageCheck;

/// The number of records to read at a time.
const PAGE_RECORDS: usize = 2_000;

/// A damaged place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedPlace {
    /// The table, and the ids of the row.
    pub place: String,
    pub what: String,
}

/// The result of a check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IntegrityReport {
    pub records: u64,
    pub responses: u64,
    pub damaged: u64,
    /// Whether pages and indexes were checked.
    pub has_checked_pages: bool,
    /// What was not checked, and why.
    pub skipped: Vec<String>,
}

/// Checks a whole store. Calls `found` for each damaged place, and `progress` after each page with
/// its number of records. Fails only if the store cannot be reached.
pub async fn check(
    store: &dyn Store,
    found: impl Fn(DamagedPlace) + Send + Sync,
    progress: impl Fn(u64) + Send + Sync,
) -> StoreResult<IntegrityReport> {
    let pages = store.check_pages().await?;
    let mut check = Check {
        store,
        found,
        targets: ReferenceTargets::default(),
        counts: CountCheck::default(),
        closing: ClosingCheck::default(),
        images: ImageCheck::default(),
        unreadable: BTreeSet::new(),
        compared: HashSet::new(),
        uncounted_flows: 0,
        checked: IntegrityReport {
            has_checked_pages: pages.skipped.is_none(),
            skipped: Vec::from_iter(pages.skipped),
            ..IntegrityReport::default()
        },
    };
    for line in pages.damaged {
        check.damaged("pages".to_owned(), line);
    }
    let mut view = store.open_view().await?;
    for table in Table::ALL {
        check.table(&mut view, table, &progress).await?;
    }
    check.finish(&mut *view).await?;
    Ok(check.checked)
}

struct Check<'s, F> {
    store: &'s dyn Store,
    found: F,
    targets: ReferenceTargets,
    counts: CountCheck,
    closing: ClosingCheck,
    images: ImageCheck,
    /// Rows that were reported already.
    unreadable: BTreeSet<UnreadableRow>,
    /// Flows whose counts were compared, or cannot be: some of their responses are unreadable.
    compared: HashSet<FlowId>,
    /// Flows with responses that a server still has to count.
    uncounted_flows: u64,
    checked: IntegrityReport,
}

impl<F: Fn(DamagedPlace) + Send + Sync> Check<'_, F> {
    fn damaged(&mut self, place: String, what: impl Into<String>) {
        self.checked.damaged += 1;
        (self.found)(DamagedPlace { place, what: what.into() });
    }

    async fn table(
        &mut self,
        view: &mut Box<dyn StoreView>,
        table: Table,
        progress: &(impl Fn(u64) + Send + Sync),
    ) -> StoreResult<()> {
        let mut last = RecordCursor::start_of(table);
        let mut limit = PAGE_RECORDS;
        loop {
            let page = match view.records(&last, limit).await {
                Ok(page) => page,
                Err(StoreError::Corrupt(why) | StoreError::Damaged(why)) => {
                    // An error ends a view.
                    *view = self.store.open_view().await?;
                    if limit > 1 {
                        // One by one up to the damaged record.
                        limit = 1;
                        continue;
                    }
                    limit = PAGE_RECORDS;
                    match self.skip(&last, &why) {
                        Some(next) => last = next,
                        None => return Ok(()),
                    }
                    continue;
                }
                Err(error) => return Err(error),
            };
            page.unreadable.into_iter().for_each(|row| self.unreadable_row(row));
            if page.records.is_empty() {
                return Ok(());
            }
            for record in &page.records {
                let cursor = record.cursor();
                if last >= cursor {
                    self.damaged(place(record), "it is out of order, or stored twice");
                }
                last = last.max(cursor);
                self.record(&mut **view, record).await?;
            }
            progress(page.records.len() as u64);
        }
    }

    async fn record(&mut self, view: &mut dyn StoreView, record: &Record) -> StoreResult<()> {
        self.checked.records += 1;
        self.targets.note(record);
        if let Some(what) = self.targets.dangling(record) {
            self.damaged(place(record), what);
        }
        self.closing.note(record);
        self.images.note(record);
        if let Record::ClosingCounts(row) = record {
            for what in self.closing.differences(row) {
                self.damaged(place(record), what);
            }
        }
        if record.check_intact().is_err() {
            self.damaged(place(record), "the content does not match its digest");
        }
        let Record::Response { row, .. } = record else { return Ok(()) };
        self.checked.responses += 1;
        if self.counts.flow().is_some_and(|flow| flow != (row.app_id, row.flow_id)) {
            self.compare_counts(view).await?;
        }
        self.count(row).await
    }

    async fn count(&mut self, row: &ResponseRow) -> StoreResult<()> {
        if !self.counts.knows(row) {
            // A published version never changes, so it may be read at another instant.
            let version = match self.store.find_version(row.flow_version_id).await {
                Ok(found) => found.map(|found| found.version),
                // Reported when its own table was read.
                Err(StoreError::Corrupt(_) | StoreError::Damaged(_)) => None,
                Err(error) => return Err(error),
            };
            self.counts.learn(row, version.as_ref());
        }
        self.counts.add(row);
        self.closing.add(row, self.counts.definition(row));
        Ok(())
    }

    /// Compares the counts of the flow whose responses were read last.
    async fn compare_counts(&mut self, view: &mut dyn StoreView) -> StoreResult<()> {
        if let Some((app, flow)) = self.counts.flow() {
            self.compare_counts_of(view, app, flow).await?;
        }
        self.counts.clear();
        Ok(())
    }

    async fn compare_counts_of(
        &mut self,
        view: &mut dyn StoreView,
        app: AppId,
        flow: FlowId,
    ) -> StoreResult<()> {
        if !self.compared.insert(flow) {
            return Ok(());
        }
        match view.counts(app, flow).await {
            Ok(stored) if stored.scan.is_some() => self.uncounted_flows += 1,
            Ok(stored) => {
                for what in self.counts.differences(&stored) {
                    self.damaged(format!("counts {flow}"), what);
                }
            }
            Err(StoreError::Corrupt(why) | StoreError::Damaged(why)) => {
                self.damaged(format!("counts {flow}"), why);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// The last flow with responses, and all flows without any.
    async fn finish(&mut self, view: &mut dyn StoreView) -> StoreResult<()> {
        self.compare_counts(view).await?;
        let flows: Vec<_> = self.targets.flows.iter().copied().collect();
        for (app, flow) in flows {
            self.compare_counts_of(view, app, flow).await?;
        }
        if !self.targets.incomplete.contains(&Table::ClosingCounts) {
            for flow in self.closing.without_counts() {
                let what = "it limits its responses, but they are not counted";
                self.damaged(format!("flows {flow}"), what);
            }
        }
        let images = std::mem::take(&mut self.images);
        if !self.targets.incomplete.contains(&Table::Assets) {
            for (place, image) in images.into_missing() {
                let table = Table::Assets.name();
                self.damaged(place, format!("{image} is missing from the table {table}"));
            }
        }
        let flows = match self.uncounted_flows {
            0 => return Ok(()),
            1 => "1 flow".to_owned(),
            flows => format!("{flows} flows"),
        };
        self.checked.skipped.push(format!(
            "the counts of {flows} were not compared: a server still has to count imported responses"
        ));
        Ok(())
    }

    fn unreadable_row(&mut self, row: UnreadableRow) {
        if self.unreadable.insert(row.clone()) {
            self.targets.incomplete.insert(row.table);
            self.compared.extend(row.flow);
            self.damaged(format!("{} {}", row.table.name(), row.ids), row.why);
        }
    }

    /// Reports that the next record after a cursor cannot be read. Returns where to continue in the
    /// same table: among responses with the next flow.
    fn skip(&mut self, last: &RecordCursor, why: &str) -> Option<RecordCursor> {
        let table = last.table;
        self.targets.incomplete.insert(table);
        self.damaged(format!("{} after {}", table.name(), shown(last)), why);
        if table != Table::Responses {
            return None;
        }
        let app = AppId::from_uuid(Uuid::from_bytes(last.app));
        let flow = last.key.first_chunk().map_or(Uuid::nil(), |flow| Uuid::from_bytes(*flow));
        let flow = FlowId::from_uuid(flow);
        self.compared.insert(flow);
        let mut later = self.targets.flows.range((app, flow)..);
        let (app, flow) = *later.find(|next| **next != (app, flow))?;
        // Its first response may be the one that cannot be read.
        self.compared.insert(flow);
        let key = flow.uuid().as_bytes().to_vec();
        Some(RecordCursor { table, app: app.uuid().into_bytes(), key })
    }
}

/// The rows that others may reference.
#[derive(Debug, Default)]
struct ReferenceTargets {
    apps: HashSet<AppId>,
    flows: BTreeSet<(AppId, FlowId)>,
    versions: HashMap<FlowVersionId, FlowId>,
    respondents: HashSet<RespondentId>,
    users: HashSet<UserId>,
    /// Tables that were not read completely: a missing row proves nothing.
    incomplete: BTreeSet<Table>,
}

impl ReferenceTargets {
    fn note(&mut self, record: &Record) {
        match record {
            Record::App(app) => {
                self.apps.insert(app.row.app_id);
            }
            Record::Flow(row) => {
                self.flows.insert((row.app_id, row.flow_id));
            }
            Record::Version(row) => {
                self.versions.insert(row.flow_version_id, row.flow_id);
            }
            Record::Respondent(row) => {
                self.respondents.insert(row.respondent_id);
            }
            Record::User(row) => {
                self.users.insert(row.user_id);
            }
            _ => {}
        }
    }

    /// The first reference of a record that leads nowhere.
    fn dangling(&self, record: &Record) -> Option<String> {
        let app = |id: AppId| (Table::Apps, self.apps.contains(&id), id.to_string());
        let flow = |app: AppId, id: FlowId| {
            (Table::Flows, self.flows.contains(&(app, id)), id.to_string())
        };
        let version = |id: FlowVersionId, flow: FlowId| {
            let exists = self.versions.get(&id) == Some(&flow);
            (Table::Versions, exists, id.to_string())
        };
        let respondent =
            |id: RespondentId| (Table::Respondents, self.respondents.contains(&id), id.to_string());
        let references: Vec<(Table, bool, String)> = match record {
            Record::App(_)
            | Record::User(_)
            | Record::UsedKey(_)
            | Record::Audit(_)
            | Record::AdminRequest(_) => vec![],
            Record::Key(row) => vec![app(row.app_id)],
            Record::IdentityKey(row) => vec![app(row.app_id)],
            Record::Flow(row) => vec![app(row.app_id)],
            Record::Version(row) => vec![flow(row.app_id, row.flow_id)],
            Record::Token(row) => row.app_id.map(app).into_iter().collect(),
            Record::Respondent(row) => vec![app(row.app_id)],
            Record::Identity(row) => vec![respondent(row.respondent_id)],
            Record::Consent(row) => vec![respondent(row.respondent_id)],
            Record::Invitation(row) => vec![flow(row.app_id, row.flow_id)],
            Record::Report(row) => vec![flow(row.app_id, row.flow_id)],
            Record::ClosingCounts(row) => vec![flow(row.app_id, row.flow_id)],
            Record::Asset(row) => vec![app(row.app_id)],
            Record::Event(row) => vec![app(row.app_id)],
            Record::Endpoint(row) => vec![app(row.app_id)],
            Record::Delivery(row) => vec![app(row.app_id)],
            Record::SinkPosition(row) => vec![app(row.app_id)],
            Record::ShortPath(row) => vec![flow(row.app_id, row.flow_id)],
            Record::TestResponse(row) => vec![flow(row.app_id, row.flow_id)],
            Record::VisitCount(row) => {
                vec![flow(row.app_id, row.flow_id), version(row.flow_version_id, row.flow_id)]
            }
            Record::Mail(row) => {
                let user = |id: UserId| (Table::Users, self.users.contains(&id), id.to_string());
                let of = row.app_id.zip(row.flow_id).map(|(app, id)| flow(app, id));
                of.into_iter().chain(row.user_id.map(user)).collect()
            }
            Record::Grant(row) => {
                let exists = self.users.contains(&row.user_id);
                let user = (Table::Users, exists, row.user_id.to_string());
                row.app_id.map(app).into_iter().chain([user]).collect()
            }
            Record::SavedView(row) => {
                let exists = self.users.contains(&row.user_id);
                let user = (Table::Users, exists, row.user_id.to_string());
                vec![flow(row.app_id, row.flow_id), user]
            }
            Record::Response { row, .. } => {
                let version = version(row.flow_version_id, row.flow_id);
                let fixed = [flow(row.app_id, row.flow_id), version];
                fixed.into_iter().chain(row.respondent_id.map(respondent)).collect()
            }
        };
        let is_missing = |(table, exists, _): &(Table, bool, String)| {
            !exists && !self.incomplete.contains(table)
        };
        let missing = references.into_iter().find(is_missing);
        missing.map(|(table, _, id)| format!("{id} is missing from the table {}", table.name()))
    }
}

/// The table and the ids of a record.
fn place(record: &Record) -> String {
    format!("{} {}", record.table().name(), shown(&record.cursor()))
}

fn shown(cursor: &RecordCursor) -> String {
    let app = AppId::from_uuid(Uuid::from_bytes(cursor.app));
    let (ids, rest) = cursor.key.as_chunks::<16>();
    match (cursor.table, ids, rest) {
        (Table::Responses, [flow, response], []) => format!(
            "{} {}",
            FlowId::from_uuid(Uuid::from_bytes(*flow)),
            ResponseId::from_uuid(Uuid::from_bytes(*response))
        ),
        (Table::Flows | Table::Responses | Table::ClosingCounts, [flow], [])
        | (Table::VisitCounts | Table::TestResponses, [flow, ..], _) => {
            FlowId::from_uuid(Uuid::from_bytes(*flow)).to_string()
        }
        (Table::Versions, [version], []) => {
            FlowVersionId::from_uuid(Uuid::from_bytes(*version)).to_string()
        }
        (Table::Consents | Table::UsedKeys, [response], []) => {
            format!("{app} {}", ResponseId::from_uuid(Uuid::from_bytes(*response)))
        }
        (Table::Respondents, [respondent], []) => {
            RespondentId::from_uuid(Uuid::from_bytes(*respondent)).to_string()
        }
        (Table::Assets, [asset], []) => AssetId::from_uuid(Uuid::from_bytes(*asset)).to_string(),
        (Table::Users, [user], []) => UserId::from_uuid(Uuid::from_bytes(*user)).to_string(),
        _ if cursor.app == [0; 16] => "the start".to_owned(),
        // Keys and identities are not shown: a report may be passed on.
        _ => app.to_string(),
    }
}
