//! `kill -9` under load, at random moments: acknowledged responses are stored and counted, and
//! nothing is stored twice.
//!
//! Every answer contains its idempotency key, so that a key stored twice shows as two rows. The
//! moments come from a seed that is printed; `KILL_SEED` repeats a run.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a panic fails the test"
)]

use crate::support;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;
use support::{Server, http, submission, submit};

const ROUNDS: usize = 20;
const CLIENTS: usize = 6;
/// Duration of load per round, in milliseconds.
const LOAD_MS: std::ops::Range<u64> = 150..500;
const READY_MAX: Duration = Duration::from_secs(30);

/// What clients know of their submissions: the id by key, if it was acknowledged.
type SubmittedIds = HashMap<String, Option<String>>;

struct Demo {
    token: String,
    api_key: String,
    flow: String,
    version: String,
}

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_responses_survive_kill_9_exactly_once() {
    let mut random = Random::seeded();
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path());
    let demo = Demo {
        token: server.token().unwrap(),
        api_key: server.id("pk_"),
        flow: server.id("fl_"),
        version: server.id("fv_"),
    };
    let mut all = SubmittedIds::new();
    let mut unsettled = 0;
    for round in 0..ROUNDS {
        let seen = all.values().flatten().max().cloned();
        let known = load_until_killed(&mut server, &demo, round, random.within(LOAD_MS)).await;
        server = restart(folder.path()).await;
        let stored = server.stored(&demo.token, &demo.flow, seen).await;
        unsettled += known.values().filter(|id| id.is_none()).count();
        all.extend(settle(&server, &demo, known, &stored).await);
        assert_eq!(
            counted(&server, &demo).await,
            all.len(),
            "the counts must equal the stored rows"
        );
    }
    let stored = server.stored(&demo.token, &demo.flow, None).await;
    assert_eq!(stored.len(), all.len(), "there must be one row per key");
    for (key, id) in &all {
        assert_is(&stored[id.as_ref().unwrap()], key);
    }
    println!("{ROUNDS} kills, {} submissions, {unsettled} settled by a retry", all.len());
    assert!(all.len() > ROUNDS * CLIENTS, "too little load for a meaningful test");
}

/// Clients submit until the server is gone.
async fn load_until_killed(
    server: &mut Server,
    demo: &Demo,
    round: usize,
    millis: u64,
) -> SubmittedIds {
    let url = server.submit_url(&demo.api_key);
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let (url, version) = (url.clone(), demo.version.clone());
            tokio::spawn(async move {
                let http = http();
                let mut known = SubmittedIds::new();
                for count in 0.. {
                    let key = format!("{round}-{client}-{count}");
                    let id = submit(&http, &url, &key, &submission(&version, &key)).await;
                    let gone = id.is_none();
                    known.insert(key, id);
                    if gone {
                        break;
                    }
                }
                known
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(millis)).await;
    server.kill();
    let mut known = SubmittedIds::new();
    for client in clients {
        known.extend(client.await.unwrap());
    }
    known
}

/// The number of responses according to the counts.
async fn counted(server: &Server, demo: &Demo) -> usize {
    let path = format!("/flows/{}/summary", demo.flow);
    let (status, summary) = server.admin(&demo.token, &path).await;
    assert_eq!(status, 200, "{summary}");
    summary["responses"].as_u64().and_then(|count| count.try_into().ok()).unwrap()
}

/// Starts again on the same folder, and checks how long it takes until it can store.
async fn restart(folder: &Path) -> Server {
    let begin = Instant::now();
    let server = Server::start(folder);
    let ready = http().get(format!("{}/readyz", server.base)).send().await.unwrap();
    assert_eq!(ready.status(), 200);
    assert!(begin.elapsed() < READY_MAX, "ready after {:?}", begin.elapsed());
    server
}

/// Checks the acknowledged submissions and retries the rest: each then has one id.
async fn settle(
    server: &Server,
    demo: &Demo,
    known: SubmittedIds,
    stored: &BTreeMap<String, Value>,
) -> SubmittedIds {
    let url = server.submit_url(&demo.api_key);
    let http = http();
    let mut settled = SubmittedIds::new();
    for (key, id) in known {
        if let Some(id) = &id {
            let answers = stored.get(id).unwrap_or_else(|| panic!("{id} ({key}) is gone"));
            assert_is(answers, &key);
            settled.insert(key, Some(id.clone()));
            continue;
        }
        let survived = stored.iter().find(|(_, answers)| answers["why"] == key.as_str());
        let body = submission(&demo.version, &key);
        let retried = submit(&http, &url, &key, &body).await.expect("a retry is answered");
        let again = submit(&http, &url, &key, &body).await.expect("a retry is answered");
        assert_eq!(retried, again);
        if let Some((id, _)) = survived {
            assert_eq!(*id, retried, "{key} was stored before the kill, and again by a retry");
        }
        settled.insert(key, Some(retried));
    }
    settled
}

/// Asserts that the stored answers are those sent with this key.
fn assert_is(answers: &Value, key: &str) {
    assert_eq!(*answers, submission("", key)["answers"], "{key}");
}

/// A small generator (xorshift), so that a run can be repeated.
struct Random(u64);

impl Random {
    fn seeded() -> Self {
        let given = std::env::var("KILL_SEED").ok().and_then(|seed| seed.parse().ok());
        let clock = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        let seed = given.unwrap_or(clock.as_nanos() as u64) | 1;
        println!("KILL_SEED={seed}");
        Self(seed)
    }

    fn within(&mut self, range: std::ops::Range<u64>) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        range.start + self.0 % (range.end - range.start)
    }
}
