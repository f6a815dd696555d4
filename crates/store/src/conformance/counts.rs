//! Counts are exact: whatever was stored, removed, moved and folded, they are those of the responses that are there.
//!
//! Every case ends by counting all stored responses from scratch.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use sluice_flow::counts::{Contribution, Counts, Sheet, segment};
use sluice_flow::definition::{self, Definition};
use sluice_flow::id::{FlowVersionId, ResponseId};
use sluice_flow::respondent::Claim;
use sluice_flow::submission::{Admission, Identity};
use sluice_flow::time::Day;

use super::world::{
    TheStore, all_of, app_row, apply, at, audit_row, flow_row, public_revision, published_row,
    respondent_id, response_row, revision, try_apply,
};
use crate::{
    Answers, At, Change, Erasure, Expiry, ExpiryPlace, FlowRow, NewResponse, Next, Outcome, Person,
    Place, Record, ResponseQuery, ResponseRow, VersionRow, Write,
};

const DAY_MILLIS: i64 = 24 * 60 * 60 * 1000;

/// An app with a flow of two versions that ask different things.
struct Survey {
    flow: FlowRow,
    versions: [VersionRow; 2],
    definitions: [Definition; 2],
}

impl Survey {
    async fn open(store: &TheStore) -> Self {
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
            definition: definition.to_json().to_string(),
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
        Contribution::of_stored(Some(definition), &row.answers, row.tags.as_deref(), row.admission)
    }

    /// The so-manieth response: its version, day, answers and tags follow from the number.
    async fn response(&self, store: &TheStore, number: u32) -> NewResponse {
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
            contribution,
        }
    }

    /// The same, of somebody who is known by this name, which is in a tag, too.
    async fn response_of(&self, store: &TheStore, number: u32, user: &str) -> NewResponse {
        let mut response = self.response(store, number).await;
        let identities = [Identity { kind: "userId".into(), value: user.to_owned().into() }];
        let mut claim = Claim::of(&identities).unwrap();
        claim.new_id = respondent_id(0);
        response.claim = Some(Box::new(claim));
        response.row.admission = Admission::Admitted;
        response.row.identities = Some(json!([{"type": "userId", "value": user}]).to_string());
        response.row.tags = Some(json!({"who": user, "plan": "pro"}).to_string());
        response.row.digest = response.row.digest_of_content();
        response.contribution = self.contribution(&response.row);
        response
    }

    async fn store(
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

    async fn rows(&self, store: &TheStore) -> Vec<ResponseRow> {
        let query = all_of(&self.flow);
        store.list_responses(&ResponseQuery { limit: 100_000, ..query }).await.unwrap().rows
    }

    /// Holds the counts against all that is stored. Of `moved` only what the walk has passed is counted.
    async fn assert_exact(&self, store: &TheStore, moved: &BTreeSet<ResponseId>) {
        let (app, flow) = (self.flow.app_id, self.flow.flow_id);
        let told = store.read_counts(app, flow, None).await.unwrap();
        let is_passed = |row: &ResponseRow| match told.walk {
            Some(walk) if moved.contains(&row.response_id) => {
                walk.passed.is_some_and(|passed| row.response_id <= passed)
            }
            _ => true,
        };
        let rows = self.rows(store).await;
        let mut expected: BTreeMap<(Day, FlowVersionId), Vec<&ResponseRow>> = BTreeMap::new();
        for row in rows.iter().filter(|row| is_passed(row)) {
            let day = row.response_id.made_at().day();
            expected.entry((day, row.flow_version_id)).or_default().push(row);
        }
        let keys: Vec<_> = told.sheets.iter().map(|(version, day, _)| (*day, *version)).collect();
        assert_eq!(keys, expected.keys().copied().collect::<Vec<_>>());
        for (version, day, sheet) in &told.sheets {
            let rows = &expected[&(*day, *version)];
            assert_eq!(sheet.all(), &self.counted(rows, |_| true));
            for (name, tally) in sheet.tags() {
                for (value, count) in &tally.values {
                    let has = |row: &ResponseRow| has_tag(row, name, Some(value));
                    let counts = self.counted(rows, has);
                    assert_eq!(counts.responses, *count, "{name}={value}");
                    self.assert_segment(store, (*version, *day), (name, value), &counts).await;
                }
                let all = rows.iter().filter(|row| has_tag(row, name, None));
                let values = all.map(|row| values_of(row, name).len() as i64).sum::<i64>();
                let told = tally.values.values().sum::<i64>() + tally.others.unwrap_or(0);
                assert_eq!(told, values, "{name}");
            }
        }
        let mut days: BTreeMap<Day, i64> = BTreeMap::new();
        for ((day, _), rows) in &expected {
            *days.entry(*day).or_default() += rows.len() as i64;
        }
        let totals = store.count_by_day(app).await.unwrap();
        let totals = totals.iter().filter(|it| it.flow_id == flow && it.responses != 0);
        assert_eq!(totals.map(|it| (it.day, it.responses)).collect::<BTreeMap<_, _>>(), days);
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
        let told = store.read_counts(app, flow, Some(segment.clone())).await.unwrap();
        let mut sheets = told.sheets.iter().filter(|it| (it.0, it.1) == (version, day));
        let sheet = &sheets.next().unwrap().2;
        assert_eq!(sheet.of_segment(&segment), Some(expected), "{name}={value}");
    }

    fn counted(&self, rows: &[&ResponseRow], which: impl Fn(&ResponseRow) -> bool) -> Counts {
        let mut sheet = Sheet::default();
        for row in rows.iter().filter(|row| which(row)) {
            sheet.put(self.contribution(row).as_bytes()).unwrap();
        }
        sheet.all().clone()
    }

    async fn expire(&self, store: &TheStore, before: i64, limit: usize) {
        let mut place = ExpiryPlace::default();
        loop {
            let app_id = self.flow.app_id;
            let audit = audit_row(Some(app_id));
            let expiry = Expiry { app_id, before: at(before), place, audit, limit };
            match store.expire(expiry).await.unwrap().next {
                Next::At(next) => place = next,
                Next::Done | Next::LeftToAnother => return,
            }
        }
    }

    async fn erase(&self, store: &TheStore, user: &str, answers: Answers) {
        let app_id = self.flow.app_id;
        let known = sluice_flow::respondent::Known::new(
            sluice_flow::respondent::IdentityType::UserId,
            user,
        );
        let Some(id) = store.find_respondent_by(app_id, &known).await.unwrap() else { return };
        let audit = audit_row(Some(app_id));
        let person = Person::Respondent(id);
        let erasure = Erasure { app_id, person, answers, audit, limit: 2 };
        while !store.erase(erasure.clone()).await.unwrap().done {}
    }

    async fn delete(&self, store: &TheStore, id: ResponseId) {
        apply(store, self.flow.app_id, vec![Write::DeleteResponse(id)]).await;
    }

    /// Puts responses in as a move does; gives their ids.
    async fn move_in(
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
            _ => unreachable!("only responses are put in"),
        });
        let ids = ids.collect();
        store.write_in(records).await.unwrap();
        ids
    }
}

fn values_of(row: &ResponseRow, name: &str) -> Vec<String> {
    let tags: serde_json::Value =
        serde_json::from_str(row.tags.as_deref().unwrap_or("{}")).unwrap();
    match &tags[name] {
        serde_json::Value::String(text) => vec![text.clone()],
        serde_json::Value::Array(items) => {
            items.iter().map(|item| item.as_str().unwrap().to_owned()).collect()
        }
        _ => Vec::new(),
    }
}

fn has_tag(row: &ResponseRow, name: &str, value: Option<&str>) -> bool {
    let values = values_of(row, name);
    value.map_or(!values.is_empty(), |value| values.iter().any(|it| it == value))
}

/// Does all there is to do in the background.
async fn tend(store: &TheStore) {
    for _ in 0..10_000 {
        if store.tend_counts(7).await.unwrap().is_done {
            return;
        }
    }
    panic!("it is never done");
}

fn nobody() -> BTreeSet<ResponseId> {
    BTreeSet::new()
}

pub(super) async fn a_stored_response_is_counted_at_once(store: TheStore) {
    let survey = Survey::open(&store).await;
    survey.assert_exact(&store, &nobody()).await;
    for number in 0..12 {
        survey.store(&store, [number]).await;
        survey.assert_exact(&store, &nobody()).await;
    }
    let batch = [survey.response(&store, 12).await, survey.response(&store, 13).await];
    store.commit(batch.to_vec()).await.unwrap();
    survey.assert_exact(&store, &nobody()).await;
    assert_eq!(survey.rows(&store).await.len(), 14);
}

pub(super) async fn what_is_not_stored_is_not_counted(store: TheStore) {
    let survey = Survey::open(&store).await;
    let mut first = survey.response(&store, 0).await;
    first.idempotency_key = Some([1; 32]);
    let mut again = survey.response(&store, 0).await;
    again.idempotency_key = Some([1; 32]);
    again.row.digest = first.row.digest;
    let mut reused = survey.response(&store, 1).await;
    reused.idempotency_key = Some([1; 32]);
    let mut stale = survey.response(&store, 2).await;
    stale.public_revision -= 1;
    let id = first.row.response_id;
    let outcomes = store.commit(vec![first, again.clone(), reused, stale]).await.unwrap();
    let replayed = Outcome::Replayed(id);
    assert_eq!(outcomes, [Outcome::Stored, replayed, Outcome::KeyReused, Outcome::Stale]);
    assert_eq!(store.commit(vec![again]).await.unwrap(), [replayed]);
    survey.assert_exact(&store, &nobody()).await;
}

pub(super) async fn folding_changes_nothing_that_is_read(store: TheStore) {
    let survey = Survey::open(&store).await;
    survey.store(&store, 0..30).await;
    let (app, flow) = (survey.flow.app_id, survey.flow.flow_id);
    let before = store.read_counts(app, flow, None).await.unwrap();
    tend(&store).await;
    assert_eq!(store.read_counts(app, flow, None).await.unwrap(), before);
    survey.store(&store, 30..40).await;
    survey.assert_exact(&store, &nobody()).await;
    tend(&store).await;
    survey.assert_exact(&store, &nobody()).await;
}

pub(super) async fn what_is_deleted_is_taken_away(store: TheStore) {
    let survey = Survey::open(&store).await;
    let ids = survey.store(&store, 0..10).await;
    survey.delete(&store, ids[3]).await;
    survey.assert_exact(&store, &nobody()).await;
    tend(&store).await;
    for id in ids {
        survey.delete(&store, id).await;
        survey.assert_exact(&store, &nobody()).await;
    }
    // Twice is once.
    survey.delete(&store, ResponseId::from_uuid(uuid::Uuid::nil())).await;
    tend(&store).await;
    let (app, flow) = (survey.flow.app_id, survey.flow.flow_id);
    assert_eq!(store.read_counts(app, flow, None).await.unwrap().sheets, []);
}

pub(super) async fn what_is_erased_is_taken_away_with_its_tags(store: TheStore) {
    let survey = Survey::open(&store).await;
    survey.store(&store, 0..6).await;
    for (user, answers) in [("user-keep", Answers::Keep), ("user-delete", Answers::Delete)] {
        for number in 0..5 {
            let response = survey.response_of(&store, number, user).await;
            assert_eq!(store.commit(vec![response]).await.unwrap(), [Outcome::Stored]);
        }
        if user == "user-keep" {
            tend(&store).await;
        }
        survey.assert_exact(&store, &nobody()).await;
        survey.erase(&store, user, answers).await;
        survey.assert_exact(&store, &nobody()).await;
        let (app, flow) = (survey.flow.app_id, survey.flow.flow_id);
        let told = format!("{:?}", store.read_counts(app, flow, None).await.unwrap());
        assert!(!told.contains(user), "{told}");
    }
    tend(&store).await;
    survey.assert_exact(&store, &nobody()).await;
    assert_eq!(survey.rows(&store).await.len(), 11);
}

pub(super) async fn what_expires_is_taken_away(store: TheStore) {
    let survey = Survey::open(&store).await;
    survey.store(&store, 0..20).await;
    tend(&store).await;
    survey.store(&store, 20..30).await;
    survey.expire(&store, DAY_MILLIS, 4).await;
    survey.assert_exact(&store, &nobody()).await;
    tend(&store).await;
    survey.assert_exact(&store, &nobody()).await;
    assert_eq!(survey.rows(&store).await.len(), 20);
}

pub(super) async fn what_is_put_in_is_counted_by_a_walk(store: TheStore) {
    let survey = Survey::open(&store).await;
    let moved: BTreeSet<_> = survey.move_in(&store, 0..30).await.into_iter().collect();
    survey.assert_exact(&store, &moved).await;
    let (app, flow) = (survey.flow.app_id, survey.flow.flow_id);
    let walk = store.read_counts(app, flow, None).await.unwrap().walk;
    assert_eq!(walk.map(|walk| walk.passed), Some(None));
    assert_eq!(survey.rows(&store).await.len(), 30);
    tend(&store).await;
    assert_eq!(store.read_counts(app, flow, None).await.unwrap().walk, None);
    survey.assert_exact(&store, &nobody()).await;
}

pub(super) async fn a_walk_is_exact_while_others_store_and_remove(store: TheStore) {
    let survey = Survey::open(&store).await;
    survey.store(&store, [100]).await;
    let mut moved: BTreeSet<_> = survey.move_in(&store, 0..40).await.into_iter().collect();
    // What was counted before is to be walked over as well.
    moved.extend(survey.rows(&store).await.iter().map(|row| row.response_id));
    for round in 0..60_u32 {
        store.tend_counts(3).await.unwrap();
        survey.store(&store, [200 + round]).await;
        let rows = survey.rows(&store).await;
        let old: Vec<_> =
            rows.iter().map(|row| row.response_id).filter(|id| moved.contains(id)).collect();
        // One from the front, which may be passed, and one from the end.
        for id in [old.first(), old.last()].into_iter().flatten().take(1 + round as usize % 2) {
            survey.delete(&store, *id).await;
        }
        survey.assert_exact(&store, &moved).await;
    }
    tend(&store).await;
    survey.assert_exact(&store, &nobody()).await;
}

pub(super) async fn what_is_put_in_twice_is_counted_once(store: TheStore) {
    let survey = Survey::open(&store).await;
    survey.store(&store, 50..60).await;
    tend(&store).await;
    let mut records = Vec::new();
    let mut after: Option<Place> = None;
    loop {
        let page = store.read_out(after.as_ref(), 1_000).await.unwrap();
        let Some(last) = page.last() else { break };
        after = Some(last.place());
        records.extend(page);
    }
    store.write_in(records.clone()).await.unwrap();
    tend(&store).await;
    survey.assert_exact(&store, &nobody()).await;
    store.write_in(records).await.unwrap();
    store.tend_counts(3).await.unwrap();
    survey.store(&store, 60..62).await;
    tend(&store).await;
    survey.assert_exact(&store, &nobody()).await;
    assert_eq!(survey.rows(&store).await.len(), 12);
}

pub(super) async fn counts_are_exact_though_many_write_and_fold_at_once(store: TheStore) {
    let survey = std::sync::Arc::new(Survey::open(&store).await);
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..4_u32 {
        let (store, survey) = (store.clone(), survey.clone());
        tasks.spawn(async move {
            for round in 0..15 {
                let ids = survey.store(&store, [task * 100 + round, task * 100 + round + 1]).await;
                // Others change the app as well.
                while try_apply(&store, survey.flow.app_id, vec![Write::DeleteResponse(ids[0])])
                    .await
                    .is_err()
                {}
            }
        });
    }
    for _ in 0..2 {
        let store = store.clone();
        tasks.spawn(async move {
            for _ in 0..30 {
                store.tend_counts(10).await.unwrap();
                tokio::task::yield_now().await;
            }
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
    survey.assert_exact(&store, &nobody()).await;
    tend(&store).await;
    survey.assert_exact(&store, &nobody()).await;
    assert_eq!(survey.rows(&store).await.len(), 60);
}

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

pub(super) async fn counts_are_exact_after_whatever_happened(store: TheStore) {
    let survey = Survey::open(&store).await;
    let mut dice = Dice(42);
    let mut moved = BTreeSet::new();
    for step in 0..150_u32 {
        let rows = survey.rows(&store).await;
        let any = |dice: &mut Dice| {
            let at = dice.below(rows.len().max(1) as u64) as usize;
            rows.get(at).map(|row| row.response_id)
        };
        match dice.below(12) {
            0..=3 => {
                let mut batch = Vec::new();
                for number in 0..=dice.below(5) {
                    let number = step * 10 + number as u32;
                    let mut one = match dice.below(3) {
                        0 => {
                            survey
                                .response_of(&store, number, &format!("user-{}", number % 4))
                                .await
                        }
                        _ => survey.response(&store, number).await,
                    };
                    // Every so often a key that was used before.
                    one.idempotency_key = (number % 2 == 0).then(|| [dice.below(40) as u8; 32]);
                    batch.push(one);
                }
                store.commit(batch).await.unwrap();
            }
            4 | 5 => {
                if let Some(id) = any(&mut dice) {
                    survey.delete(&store, id).await;
                }
            }
            6 => {
                let answers = if dice.below(2) == 0 { Answers::Keep } else { Answers::Delete };
                survey.erase(&store, &format!("user-{}", dice.below(4)), answers).await;
            }
            7 if dice.below(6) == 0 => {
                survey.expire(&store, dice.below(3) as i64 * DAY_MILLIS + 700, 3).await;
            }
            8 if dice.below(3) == 0 => {
                survey.move_in(&store, [step * 10, step * 10 + 1]).await;
                moved = survey.rows(&store).await.iter().map(|row| row.response_id).collect();
            }
            9 => tend(&store).await,
            _ => {
                store.tend_counts(5).await.unwrap();
            }
        }
        if step % 10 == 9 {
            survey.assert_exact(&store, &moved).await;
        }
    }
    tend(&store).await;
    survey.assert_exact(&store, &nobody()).await;
    assert!(revision(&store, survey.flow.app_id).await > 10, "responses were deleted");
}
