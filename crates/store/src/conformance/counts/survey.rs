//! A flow with counted responses, and their counts computed from scratch.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use sluice_flow::counts::{Contribution, Counts, DailyCounts, Gathered, segment};
use sluice_flow::definition::{self, Definition};
use sluice_flow::id::{FlowVersionId, ResponseId};
use sluice_flow::respondent::{Claim, IdentityType, ProfileIdentity};
use sluice_flow::submission::{Admission, Identity};
use sluice_flow::time::Day;

use super::super::world::{
    TheStore, all_of, app_row, apply, at, audit_row, flow_row, public_revision, published_row,
    respondent_id, response_row,
};
use crate::{
    AnswersOnErasure, At, Change, CountsQuery, Erasure, ErasureTarget, Expiry, ExpiryCursor,
    FlowRow, NewResponse, Next, Outcome, Record, ResponseQuery, ResponseRow, VersionRow, Write,
};

pub(super) const DAY_MILLIS: i64 = 24 * 60 * 60 * 1000;

/// An app with a flow of two versions with different questions.
pub(super) struct Survey {
    pub(super) flow: FlowRow,
    versions: [VersionRow; 2],
    definitions: [Definition; 2],
}

impl Survey {
    pub(super) async fn open(store: &TheStore) -> Self {
        Self::made(store, Definition::to_json).await
    }

    /// The same, with versions that have unreadable definitions.
    pub(super) async fn open_unreadable(store: &TheStore) -> Self {
        Self::made(store, |_| json!({"questions": "none"})).await
    }

    async fn made(store: &TheStore, stored: fn(&Definition) -> serde_json::Value) -> Self {
        let app = app_row();
        let flow = flow_row(app.app_id);
        let options = json!([{"id": "a", "label": "A"}, {"id": "b", "label": "B"}]);
        let nps = json!({"id": "nps", "type": "nps", "prompt": "?"});
        let pick = json!({"id": "pick", "type": "multipleChoice", "prompt": "?", "options": options, "allowOther": true});
        let number = json!({"id": "n", "type": "number", "prompt": "?"});
        let drafts = [json!([nps, pick]), json!([number, nps])];
        let drafts = drafts.map(|questions| json!({"title": "T", "questions": questions}));
        let definitions = drafts.map(|draft| definition::check(&draft).unwrap());
        let version = |number, definition: &Definition| VersionRow {
            definition: stored(definition).to_string(),
            ..published_row(&flow, number)
        };
        let mut versions = [version(1, &definitions[0]), version(2, &definitions[1])];
        versions[0].times.superseded_at = Some(at(0));
        let mut rows = vec![Write::App(app), Write::Flow(flow.clone())];
        rows.extend(versions.iter().cloned().map(Write::Version));
        store.apply(At::Instance, Change::new(|| rows)).await.unwrap();
        Self { flow, versions, definitions }
    }

    fn definition(&self, version: FlowVersionId) -> &Definition {
        let at = self.versions.iter().position(|it| it.flow_version_id == version).unwrap();
        &self.definitions[at]
    }

    fn contribution(&self, row: &ResponseRow) -> Contribution {
        let definition = self.definition(row.flow_version_id);
        Contribution::from_stored(
            Some(definition),
            &row.answers,
            row.tags.as_deref(),
            row.admission,
        )
    }

    /// The response with this number, which determines its version, day, answers and tags.
    pub(super) async fn response(&self, store: &TheStore, number: u32) -> NewResponse {
        let version = &self.versions[number as usize % 2];
        let millis = i64::from(number % 3) * DAY_MILLIS + i64::from(number);
        let mut row = response_row(&self.flow, version, millis);
        let nps = number % 11;
        row.answers = match number % 2 {
            0 => json!({"nps": nps.to_string(), "pick": ["a", format!("other:{nps}")]}).to_string(),
            _ => json!({"n": format!("{nps}.5"), "nps": nps.to_string()}).to_string(),
        };
        let plan = ["pro", "free", "beta"][number as usize % 3];
        row.tags = Some(json!({"plan": plan, "of": ["x", "y"]}).to_string());
        let contribution = self.contribution(&row);
        let public_revision = public_revision(store, self.flow.app_id).await;
        NewResponse {
            row,
            idempotency_key: None,
            public_revision,
            claim: None,
            invitation: None,
            limits: Vec::new(),
            contribution,
        }
    }

    /// The same, from a person known by this name, which is also in a tag.
    pub(super) async fn response_of(
        &self,
        store: &TheStore,
        number: u32,
        user: &str,
    ) -> NewResponse {
        let mut response = self.response(store, number).await;
        let identities = [Identity { kind: "userId".into(), value: user.to_owned().into() }];
        let mut claim = Claim::from_identities(&identities).unwrap();
        claim.new_id = respondent_id(0);
        response.claim = Some(Box::new(claim));
        response.row.admission = Admission::Admitted;
        response.row.identities = Some(json!([{"type": "userId", "value": user}]).to_string());
        response.row.tags = Some(json!({"who": user, "plan": "pro"}).to_string());
        response.row.digest = response.row.digest_of_content();
        response.contribution = self.contribution(&response.row);
        response
    }

    pub(super) async fn store(
        &self,
        store: &TheStore,
        numbers: impl IntoIterator<Item = u32>,
    ) -> Vec<ResponseId> {
        let mut ids = Vec::new();
        for number in numbers {
            let response = self.response(store, number).await;
            ids.push(response.row.response_id);
            assert_eq!(store.commit(vec![response]).await.unwrap(), [Outcome::Stored]);
        }
        ids
    }

    /// Stores responses to one version on one day with these tags.
    pub(super) async fn store_tagged(
        &self,
        store: &TheStore,
        tags: impl Iterator<Item = serde_json::Value>,
    ) -> Vec<ResponseId> {
        let mut responses = Vec::new();
        for tags in tags {
            let mut response = self.response(store, 0).await;
            response.row.tags = Some(tags.to_string());
            response.row.digest = response.row.digest_of_content();
            response.contribution = self.contribution(&response.row);
            responses.push(response);
        }
        for some in responses.chunks(50) {
            let outcomes = store.commit(some.to_vec()).await.unwrap();
            assert!(outcomes.iter().all(|it| *it == Outcome::Stored), "{outcomes:?}");
        }
        responses.iter().map(|response| response.row.response_id).collect()
    }

    pub(super) async fn rows(&self, store: &TheStore) -> Vec<ResponseRow> {
        let query = all_of(&self.flow);
        store.list_responses(&ResponseQuery { limit: 100_000, ..query }).await.unwrap().rows
    }

    /// Compares the counts with all stored responses. Of `moved`, only those up to the scan's
    /// cursor are counted.
    pub(super) async fn assert_exact(&self, store: &TheStore, moved: &BTreeSet<ResponseId>) {
        let (app, flow) = (self.flow.app_id, self.flow.flow_id);
        let reported = store.read_counts(app, flow, &CountsQuery::default()).await.unwrap();
        let is_passed = |row: &ResponseRow| match reported.scan {
            Some(scan) if moved.contains(&row.response_id) => {
                scan.passed.is_some_and(|passed| row.response_id <= passed)
            }
            _ => true,
        };
        let rows = self.rows(store).await;
        let mut expected: BTreeMap<(Day, FlowVersionId), Vec<&ResponseRow>> = BTreeMap::new();
        for row in rows.iter().filter(|row| is_passed(row)) {
            let day = row.response_id.made_at().day();
            expected.entry((day, row.flow_version_id)).or_default().push(row);
        }
        let keys: Vec<_> =
            reported.daily.iter().map(|(version, day, _)| (*day, *version)).collect();
        assert_eq!(keys, expected.keys().copied().collect::<Vec<_>>());
        for (version, day, daily) in &reported.daily {
            let rows = &expected[&(*day, *version)];
            assert_eq!(daily.all(), &self.counted(rows, |_| true));
            let names: BTreeSet<String> = rows.iter().flat_map(|row| names_of(row)).collect();
            assert_eq!(
                daily.tags().map(|(name, _)| name.to_owned()).collect::<BTreeSet<_>>(),
                names
            );
            for (name, tag) in daily.tags() {
                for (value, count) in &tag.values {
                    let has = |row: &ResponseRow| has_tag(row, name, Some(value));
                    let counts = self.counted(rows, has);
                    assert_eq!(counts.responses, *count, "{name}={value}");
                    self.assert_segment(store, (*version, *day), (name, value), &counts).await;
                }
                let all = rows.iter().filter(|row| has_tag(row, name, None));
                let values = all.map(|row| values_of(row, name).len() as i64).sum::<i64>();
                let reported = tag.values.values().sum::<i64>() + tag.others.unwrap_or(0);
                assert_eq!(reported, values, "{name}");
            }
        }
        let mut days: BTreeMap<Day, i64> = BTreeMap::new();
        for ((day, _), rows) in &expected {
            *days.entry(*day).or_default() += rows.len() as i64;
        }
        let totals = store.count_by_day(app, None).await.unwrap();
        let totals = totals.iter().filter(|it| it.flow_id == flow && it.responses != 0);
        assert_eq!(totals.map(|it| (it.day, it.responses)).collect::<BTreeMap<_, _>>(), days);
        let mut of_version: BTreeMap<FlowVersionId, i64> = BTreeMap::new();
        for ((_, version), rows) in &expected {
            *of_version.entry(*version).or_default() += rows.len() as i64;
        }
        let reported = store.count_by_version(app, flow).await.unwrap();
        assert_eq!(reported.into_iter().collect::<BTreeMap<_, _>>(), of_version);
    }

    async fn assert_segment(
        &self,
        store: &TheStore,
        (version, day): (FlowVersionId, Day),
        (name, value): (&str, &str),
        expected: &Counts,
    ) {
        let segment = segment(name, value);
        let (app, flow) = (self.flow.app_id, self.flow.flow_id);
        let query = CountsQuery { segment: Some(segment.clone()), ..CountsQuery::default() };
        let reported = store.read_counts(app, flow, &query).await.unwrap();
        let mut daily = reported.daily.iter().filter(|it| (it.0, it.1) == (version, day));
        let daily = &daily.next().unwrap().2;
        assert_eq!(daily.of_segment(&segment), Some(expected), "{name}={value}");
    }

    fn counted(&self, rows: &[&ResponseRow], which: impl Fn(&ResponseRow) -> bool) -> Counts {
        let mut daily = DailyCounts::default();
        for row in rows.iter().filter(|row| which(row)) {
            daily.put(&Gathered::from_delta(self.contribution(row).as_bytes()).unwrap());
        }
        daily.all().clone()
    }

    pub(super) async fn expire(&self, store: &TheStore, before: i64, limit: usize) {
        let mut cursor = ExpiryCursor::default();
        loop {
            let app_id = self.flow.app_id;
            let audit = audit_row(Some(app_id));
            let expiry =
                Expiry { app_id, retention_days: None, before: at(before), cursor, audit, limit };
            match store.expire(expiry).await.unwrap().next {
                Next::At(next) => cursor = next,
                Next::Done | Next::LeftToAnother | Next::SettingChanged => return,
            }
        }
    }

    pub(super) async fn erase(&self, store: &TheStore, user: &str, answers: AnswersOnErasure) {
        let app_id = self.flow.app_id;
        let known = ProfileIdentity::new(IdentityType::UserId, user);
        let Some(id) = store.find_respondent_by(app_id, &known).await.unwrap() else { return };
        let audit = audit_row(Some(app_id));
        let target = ErasureTarget::Respondent(id);
        let erasure = Erasure { app_id, target, answers, audit, limit: 2 };
        while !store.erase(erasure.clone()).await.unwrap().done {}
    }

    pub(super) async fn delete(&self, store: &TheStore, id: ResponseId) {
        apply(store, self.flow.app_id, vec![Write::DeleteResponse(id)]).await;
    }

    /// Imports responses as records; returns their ids.
    pub(super) async fn move_in(
        &self,
        store: &TheStore,
        numbers: impl IntoIterator<Item = u32>,
    ) -> Vec<ResponseId> {
        let mut records = Vec::new();
        for number in numbers {
            let row = self.response(store, number).await.row;
            records.push(Record::Response { row, idempotency_key: None });
        }
        let ids = records.iter().map(|record| match record {
            Record::Response { row, .. } => row.response_id,
            _ => unreachable!("only responses are imported"),
        });
        let ids = ids.collect();
        store.import_records(records).await.unwrap();
        ids
    }
}

fn tags_of(row: &ResponseRow) -> serde_json::Map<String, serde_json::Value> {
    serde_json::from_str(row.tags.as_deref().unwrap_or("{}")).unwrap()
}

fn names_of(row: &ResponseRow) -> Vec<String> {
    tags_of(row).into_iter().map(|(name, _)| name).collect()
}

fn values_of(row: &ResponseRow, name: &str) -> Vec<String> {
    match tags_of(row).get(name).unwrap_or(&serde_json::Value::Null) {
        serde_json::Value::String(text) => vec![text.clone()],
        serde_json::Value::Array(items) => {
            items.iter().map(|item| item.as_str().unwrap().to_owned()).collect()
        }
        _ => Vec::new(),
    }
}

pub(super) fn has_tag(row: &ResponseRow, name: &str, value: Option<&str>) -> bool {
    let values = values_of(row, name);
    value.map_or(!values.is_empty(), |value| values.iter().any(|it| it == value))
}
