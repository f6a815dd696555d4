//! Creates a database for benchmarks, with one flow that has been answered for a long time.
//!
//! `cargo run --release -p sluice-store --example fill -- FILE RESPONSES [DAYS]` prints the id of
//! the app and of the flow.
//!
//! The flow has a question of most types in five versions, each answered for a fifth of the days,
//! which end now. Its responses have four tags: one with three values, one with twenty, one with
//! two hundred, and one that one response in ten thousand has. Nothing is random: answers vary by
//! the number of the response. They are imported as by `sluice move`, so a server counts them when
//! it starts.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "an example may panic, and prints its result"
)]

use std::path::Path;

use sluice_flow::definition::{self, Kind};
use sluice_flow::id::{AppId, FlowId, FlowVersionId, ResponseId, v7};
use sluice_flow::lifecycle::VersionTimes;
use sluice_flow::submission::Admission;
use sluice_flow::time::{Timestamp, Window};
use sluice_store::conformance::rows::empty_response;
use sluice_store::roles::*;
use sluice_store::sqlite::{Options, SqliteStore};
use sluice_store::{
    App, AppLimits, AppRow, FlowRow, IdentityVerification, Record, ResponseRow, VersionRow,
};

/// Records written in one transaction.
const BATCH_RECORDS: usize = 5_000;
const VERSIONS: i64 = 5;
const DAY_MILLIS: i64 = 86_400_000;

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().expect("the file to create");
    let responses = arguments.next().expect("how many responses").parse().unwrap();
    let days: i64 = arguments.next().map_or(90, |days| days.parse().unwrap());
    let history = History::new(responses, days);
    let store = SqliteStore::open(Path::new(&file), Options::default()).unwrap();
    store.import_records(history.around()).await.unwrap();
    let mut records = (0..responses).map(|number| history.response(number));
    loop {
        let batch: Vec<_> = records.by_ref().take(BATCH_RECORDS).collect();
        if batch.is_empty() {
            break;
        }
        store.import_records(batch).await.unwrap();
    }
    store.close().await;
    println!("{} {}", history.app_id, history.flow_id);
}

struct History {
    app_id: AppId,
    flow_id: FlowId,
    versions: Vec<FlowVersionId>,
    start_millis: i64,
    responses: i64,
    millis: i64,
}

impl History {
    fn new(responses: i64, days: i64) -> Self {
        let millis = days * DAY_MILLIS;
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let start_millis = i64::try_from(now.as_millis()).unwrap() - millis;
        let id = |kind| v7(Timestamp::from_millis(start_millis), 0, kind);
        let version = |kind| FlowVersionId::from_uuid(id(kind));
        Self {
            app_id: AppId::from_uuid(id(1)),
            flow_id: FlowId::from_uuid(id(2)),
            versions: (3..).take(VERSIONS as usize).map(version).collect(),
            start_millis,
            responses,
            millis,
        }
    }

    /// The time at `part` of `of` equal parts of the history.
    fn at(&self, part: i64, of: i64) -> Timestamp {
        let into = i128::from(self.millis) * i128::from(part) / i128::from(of.max(1));
        Timestamp::from_millis(self.start_millis + i64::try_from(into).unwrap())
    }

    /// All records except the responses.
    fn around(&self) -> Vec<Record> {
        let created_at = self.at(0, 1);
        let row = AppRow {
            app_id: self.app_id,
            name: "Shop".to_owned(),
            identity_verification: IdentityVerification::Off,
            allowed_origins: Vec::new(),
            grace_window_seconds: None,
            retention_days: None,
            token_lifetime_seconds: None,
            hosted: None,
            limits: AppLimits::default(),
            created_at,
        };
        let flow = FlowRow {
            app_id: self.app_id,
            flow_id: self.flow_id,
            kind: Kind::Survey,
            name: "Feedback".to_owned(),
            live: Window { starts_at: None, ends_at: None },
            grace_window_seconds: None,
            created_at,
            archived_at: None,
            closing: None,
            invitation_email: None,
            key: None,
            labels: Vec::new(),
            design: None,
            test_links: 0,
        };
        let mut records = vec![Record::App(App { row, revision: 1, public_revision: 1 })];
        records.push(Record::Flow(flow));
        for (number, id) in (0..).zip(&self.versions) {
            let superseded_at = (number + 1 < VERSIONS).then(|| self.at(number + 1, VERSIONS));
            records.push(Record::Version(VersionRow {
                app_id: self.app_id,
                flow_id: self.flow_id,
                flow_version_id: *id,
                number: u32::try_from(number).unwrap() + 1,
                times: VersionTimes {
                    published_at: Some(self.at(number, VERSIONS)),
                    superseded_at,
                    grace_ends_at: superseded_at,
                    retired_at: None,
                },
                definition: definition(number),
                created_at: self.at(number, VERSIONS),
                updated_at: self.at(number, VERSIONS),
            }));
        }
        records
    }

    fn response(&self, number: i64) -> Record {
        let at = self.at(number, self.responses);
        let version = usize::try_from(number * VERSIONS / self.responses).unwrap();
        let few = u32::try_from(number % 1_000_000).unwrap();
        let id = v7(at, few % 4_096, 0x5EED + u64::from(few));
        let (version_id, response_id) = (self.versions[version], ResponseId::from_uuid(id));
        let mut row = ResponseRow {
            admission: if number % 4 == 0 {
                Admission::Admitted
            } else {
                Admission::CollectionOnly
            },
            answers: answers(number),
            identities: (number % 4 == 0)
                .then(|| format!(r#"[{{"type":"userId","value":"user-{}"}}]"#, number % 50_000)),
            tags: Some(tags(number)),
            context: Some(r#"{"locale":"en-GB","page":{"path":"/settings"}}"#.to_owned()),
            ..empty_response(self.app_id, self.flow_id, version_id, response_id)
        };
        row.digest = row.digest_of_content();
        Record::Response { row, idempotency_key: None }
    }
}

/// The questions; each version differs a little from the one before.
fn definition(version: i64) -> String {
    let options = |names: &[&str]| -> Vec<_> {
        names.iter().map(|name| serde_json::json!({ "id": name, "label": name })).collect()
    };
    let mut questions = vec![
        serde_json::json!({ "id": "nps", "type": "nps", "prompt": format!("How likely? ({version})"), "required": true }),
        serde_json::json!({ "id": "why", "type": "longText", "prompt": "Why?" }),
        serde_json::json!({ "id": "docs", "type": "rating", "prompt": "How good?", "max": 5 }),
        serde_json::json!({ "id": "use", "type": "multipleChoice", "prompt": "What?", "options": options(&USES) }),
        serde_json::json!({ "id": "plan", "type": "singleChoice", "prompt": "Which?", "options": options(&PLANS) }),
        serde_json::json!({ "id": "order", "type": "ranking", "prompt": "In which order?", "options": options(&PLANS) }),
        serde_json::json!({ "id": "quality", "type": "matrix", "prompt": "How good is …", "rows": options(&USES), "columns": options(&PLANS) }),
        serde_json::json!({ "id": "team", "type": "number", "prompt": "How many?" }),
        serde_json::json!({ "id": "since", "type": "date", "prompt": "Since when?" }),
    ];
    if version > 1 {
        questions.push(serde_json::json!({ "id": "again", "type": "yesNo", "prompt": "Again?" }));
    }
    let value = serde_json::json!({ "title": "Feedback", "questions": questions });
    definition::check(&value).expect("a definition that may be published");
    value.to_string()
}

const USES: [&str; 4] = ["api", "console", "exports", "links"];
const PLANS: [&str; 3] = ["free", "pro", "team"];
const WORDS: [&str; 5] = [
    "It does what it says.",
    "Slow on Mondays, and the export was missing a column.",
    "Great!",
    "We moved over from a spreadsheet, and nobody has asked for the old one since then.",
    "No opinion yet",
];

/// A number below `below` that looks randomly chosen for each response and question.
fn mixed(number: i64, question: u64, below: u64) -> u64 {
    let bits = number.cast_unsigned().wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(question);
    ((bits ^ (bits >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 33) % below
}

fn answers(number: i64) -> String {
    let any = |question, below| usize::try_from(mixed(number, question, below)).unwrap();
    let mut answers = serde_json::json!({
        "nps": mixed(number, 1, 11).to_string(),
        "docs": (mixed(number, 2, 5) + 1).to_string(),
        "use": [USES[any(3, 2)], USES[any(4, 2) + 2]],
        "plan": PLANS[any(5, 3)],
        "order": [PLANS[any(5, 3)], PLANS[(any(5, 3) + 1) % 3], PLANS[(any(5, 3) + 2) % 3]],
        "quality": USES.map(|row| format!("{row}:{}", PLANS[any(6, 3)])),
        "team": mixed(number, 7, 400).to_string(),
        "since": format!("20{:02}-{:02}-01", mixed(number, 8, 6) + 20, mixed(number, 9, 12) + 1),
    });
    if number % 3 == 0 {
        answers["why"] = WORDS[any(10, 5)].into();
    }
    answers.to_string()
}

fn tags(number: i64) -> String {
    let mut tags = serde_json::json!({
        "plan": PLANS[usize::try_from(mixed(number, 11, 3)).unwrap()],
        "country": format!("c{}", mixed(number, 12, 20)),
        "campaign": format!("mail-{}", mixed(number, 13, 200)),
    });
    if number % 10_000 == 77 {
        tags["seldom"] = "yes".into();
    }
    tags.to_string()
}
