//! Events in NATS JetStream: a real `nats-server` gets every event once, whichever process dies.

#![expect(clippy::print_stdout, reason = "it prints what it measures")]

pub(crate) mod server;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::support::{Server, http, submission, submit};
use serde_json::{Value, json};
use server::{Message, Nats};

/// A lease of a killed process, and what it left.
const PUBLISHED_MAX: Duration = Duration::from_secs(120);
const STREAM: &str = "SLUICE";
const CLIENTS: usize = 4;

fn serve(folder: &Path, nats: &Nats, more: &[&str]) -> Server {
    let url = nats.url();
    Server::start_with(folder, "127.0.0.1:0", |command| {
        command.args(["--nats-url", &url]).args(more)
    })
}

struct Demo {
    token: String,
    key: String,
    version: String,
    /// The ids of acknowledged responses.
    stored: Arc<Mutex<BTreeSet<String>>>,
}

impl Demo {
    fn new(server: &Server) -> Self {
        Self {
            token: server.token().unwrap(),
            key: server.id("pk_"),
            version: server.id("fv_"),
            stored: Arc::default(),
        }
    }

    fn count(&self) -> usize {
        self.stored.lock().unwrap().len()
    }

    async fn until(&self, count: usize) {
        while self.count() < count {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Clients submit until the server is gone, or as often as this.
    fn load(&self, server: &Server, round: usize, each: usize) -> Vec<tokio::task::JoinHandle<()>> {
        let clients = (0..CLIENTS).map(|client| {
            let (url, version) = (server.submit_url(&self.key), self.version.clone());
            let stored = Arc::clone(&self.stored);
            tokio::spawn(async move {
                let http = http();
                for turn in 0..each {
                    let key = format!("{round}-{client}-{turn}");
                    match submit(&http, &url, &key, &submission(&version, &key)).await {
                        Some(id) => stored.lock().unwrap().insert(id),
                        None => break,
                    };
                }
            })
        });
        clients.collect()
    }

    /// Every event in the log of the app, by id.
    async fn log(&self, server: &Server) -> Vec<Value> {
        let (_, apps) = server.admin(&self.token, "/apps").await;
        let app = apps["items"][0]["appId"].as_str().unwrap().to_owned();
        let (mut events, mut after) = (Vec::new(), String::new());
        loop {
            let path = format!("/apps/{app}/events?limit=1000{after}");
            let (status, page) = server.admin(&self.token, &path).await;
            assert_eq!(status, 200, "{page}");
            let items = page["items"].as_array().unwrap();
            events.extend(items.iter().cloned());
            let next = format!("&after={}", page["next"].as_str().unwrap());
            if items.is_empty() {
                return events;
            }
            after = next;
        }
    }
}

/// Waits until the stream has an event for each of these responses, and returns its messages.
async fn published(nats: &Nats, responses: &BTreeSet<String>) -> Vec<Message> {
    let begun = Instant::now();
    loop {
        let messages = nats.client().messages(STREAM);
        let got: BTreeSet<&str> = messages.iter().filter_map(|it| response_of(&it.body)).collect();
        let missing = responses.iter().filter(|id| !got.contains(id.as_str())).count();
        if missing == 0 {
            return messages;
        }
        assert!(begun.elapsed() < PUBLISHED_MAX, "{missing} of {} are missing", responses.len());
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
}

fn response_of(event: &Value) -> Option<&str> {
    event["data"]["response"]["responseId"].as_str()
}

/// The stream has the log of the app: every event once, with its id and its subject.
fn assert_is_the_log(messages: &[Message], log: &[Value]) {
    let ids: BTreeSet<&str> = messages.iter().map(|it| it.id.as_str()).collect();
    assert_eq!(ids.len(), messages.len(), "an event is in the stream twice");
    let by_id: BTreeMap<&str, &Value> =
        log.iter().map(|event| (event["id"].as_str().unwrap(), event)).collect();
    // The log may announce a response twice, with the same id.
    assert_eq!(messages.len(), by_id.len());
    for message in messages {
        let body = &message.body;
        assert_eq!(by_id.get(message.id.as_str()), Some(&body), "{} differs", message.id);
        let (app, kind) = (body["data"]["appId"].as_str(), body["type"].as_str());
        let subject = format!("sluice.events.{}.{}", app.unwrap(), kind.unwrap());
        assert_eq!(message.subject, subject);
    }
}

async fn metric(server: &Server, name: &str) -> f64 {
    let reply = server.http.get(format!("{}/metrics", server.base)).send().await.unwrap();
    let text = reply.text().await.unwrap();
    let line = text.lines().find(|line| line.starts_with(name));
    line.and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap_or(0.0)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_event_is_in_the_stream_once_after_kill_9() {
    let (folder, of_nats) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let nats = Nats::start(of_nats.path(), "");
    let mut server = serve(folder.path(), &nats, &[]);
    let demo = Demo::new(&server);
    for round in 0..3 {
        // This process has the lease once it has published what the last one left.
        let so_far = demo.stored.lock().unwrap().clone();
        published(&nats, &so_far).await;
        let (before, messages) = (demo.count(), nats.client().count(STREAM).unwrap_or(0));
        let clients = demo.load(&server, round, usize::MAX);
        demo.until(before + 60).await;
        // In the middle of publishing: some events of this round are in the stream.
        let begun = Instant::now();
        while nats.client().count(STREAM).unwrap_or(0) <= messages + 10 {
            assert!(begun.elapsed() < PUBLISHED_MAX, "nothing is published");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        server.kill();
        for client in clients {
            client.await.unwrap();
        }
        server = serve(folder.path(), &nats, &[]);
    }
    // The log shows these after everything that was stored before.
    for client in demo.load(&server, 3, 1) {
        client.await.unwrap();
    }
    let stored = demo.stored.lock().unwrap().clone();
    published(&nats, &stored).await;
    // What was not acknowledged may be stored as well: the log decides.
    let log = demo.log(&server).await;
    let all = log.iter().filter_map(response_of).map(str::to_owned).collect();
    let messages = published(&nats, &all).await;
    assert_is_the_log(&messages, &log);
    assert!(stored.len() >= 180);
    assert_eq!(server.stop(), Some(0));
    println!("{} responses, {} messages", stored.len(), messages.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_of_nats_under_load_loses_and_doubles_nothing() {
    let (folder, of_nats) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut nats = Nats::start(of_nats.path(), "");
    let server = serve(folder.path(), &nats, &[]);
    let demo = Demo::new(&server);
    let clients = demo.load(&server, 0, 150);
    demo.until(100).await;
    nats.kill();
    // Submissions do not notice, and the lag is visible.
    demo.until(300).await;
    let begun = Instant::now();
    while metric(&server, "sluice_sink_lag_seconds").await == 0.0 {
        assert!(begun.elapsed() < PUBLISHED_MAX, "no lag is reported");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    nats.start_again();
    for client in clients {
        client.await.unwrap();
    }
    let stored = demo.stored.lock().unwrap().clone();
    assert_eq!(stored.len(), CLIENTS * 150, "every submission was acknowledged");
    let messages = published(&nats, &stored).await;
    assert_is_the_log(&messages, &demo.log(&server).await);
    let begun = Instant::now();
    while metric(&server, "sluice_sink_lag_seconds").await > 0.0 {
        assert!(begun.elapsed() < PUBLISHED_MAX, "the lag stays");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let events = metric(&server, "sluice_sink_events_total{outcome=\"published\"}").await;
    assert!(events >= messages.len() as f64, "{events}");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_chosen_apps_are_published_to_a_chosen_subject() {
    let (folder, of_nats) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let nats = Nats::start(of_nats.path(), "");
    let server = Server::start(folder.path());
    let demo = Demo::new(&server);
    let url = format!("{}/api/admin/v1/apps", server.base);
    let new = server.http.post(&url).bearer_auth(&demo.token).json(&json!({"name": "Other"}));
    assert_eq!(new.send().await.unwrap().status(), 201);
    let (_, apps) = server.admin(&demo.token, "/apps").await;
    let mut ids =
        apps["items"].as_array().unwrap().iter().map(|app| app["appId"].as_str().unwrap());
    let (first, second) = (ids.next().unwrap().to_owned(), ids.next().unwrap().to_owned());
    for client in demo.load(&server, 0, 3) {
        client.await.unwrap();
    }
    assert_eq!(server.stop(), Some(0));
    let stored = demo.stored.lock().unwrap().clone();
    let more = ["--nats-stream", "FEEDBACK", "--nats-subject", "acme.feedback", "--nats-apps"];
    // The app without responses first: what it publishes could only be of the other one.
    let server = serve(folder.path(), &nats, &[&more[..], &[&second]].concat());
    let begun = Instant::now();
    while nats.client().count("FEEDBACK").is_none() && begun.elapsed() < Duration::from_secs(3) {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(nats.client().messages("FEEDBACK").is_empty());
    assert_eq!(server.stop(), Some(0));
    let _server = serve(folder.path(), &nats, &[&more[..], &[&first]].concat());
    let begun = Instant::now();
    let messages = loop {
        let messages = nats.client().messages("FEEDBACK");
        if messages.iter().filter(|it| response_of(&it.body).is_some()).count() == stored.len() {
            break messages;
        }
        assert!(begun.elapsed() < PUBLISHED_MAX, "{} messages", messages.len());
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    let prefix = format!("acme.feedback.{first}.");
    assert!(messages.iter().all(|it| it.subject.starts_with(&prefix)));
    assert_eq!(nats.client().count(STREAM), None);
}

/// Waits until the log of a server has a line with this text.
async fn logged(folder: &Path, part: &str) {
    let begun = Instant::now();
    loop {
        let log = std::fs::read_to_string(folder.join("server.log")).unwrap();
        if log.contains(part) {
            return;
        }
        assert!(begun.elapsed() < PUBLISHED_MAX, "{part:?} is not in the log: {log}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_cannot_be_used_is_named_with_what_to_do() {
    let (folder, of_nats) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let nats = Nats::start(of_nats.path(), "");
    let other = json!({"name": STREAM, "subjects": ["sluice.other.>"]});
    let created = nats.client().request(&format!("$JS.API.STREAM.CREATE.{STREAM}"), &other);
    assert_eq!(created["config"]["name"], STREAM, "{created}");
    let _server = serve(folder.path(), &nats, &[]);
    logged(folder.path(), "add 'sluice.events.>' to its subjects").await;
    let both = json!({"name": STREAM, "subjects": ["sluice.other.>", "sluice.events.>"]});
    let updated = nats.client().request(&format!("$JS.API.STREAM.UPDATE.{STREAM}"), &both);
    assert_eq!(updated["config"]["subjects"][1], "sluice.events.>", "{updated}");
    logged(folder.path(), "events are published again").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_is_too_large_is_published_once_without_its_contents() {
    let (folder, of_nats) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let nats = Nats::start(of_nats.path(), "max_payload: 2000");
    let server = serve(folder.path(), &nats, &[]);
    let demo = Demo::new(&server);
    let url = server.submit_url(&demo.key);
    let send = async |why: &str, key: &str| {
        submit(&server.http, &url, key, &submission(&demo.version, why)).await.unwrap()
    };
    let before = send("before", "before").await;
    let long = send(&"x".repeat(2_000), "long").await;
    let mut all = vec![before, long.clone()];
    // Headers count as well: one of these is too large only with them.
    for bytes in (900..1_500).step_by(60) {
        all.push(send(&"x".repeat(bytes), &format!("edge-{bytes}")).await);
    }
    all.push(send("after", "after").await);
    let messages = published(&nats, &all.iter().cloned().collect()).await;
    logged(folder.path(), "an event was published without its contents").await;
    logged(folder.path(), "raise max_payload of the NATS server").await;
    let order: Vec<_> = messages.iter().filter_map(|it| response_of(&it.body)).collect();
    assert_eq!(order, all, "in order, and each once");
    let log = demo.log(&server).await;
    let of_long = messages.iter().find(|it| response_of(&it.body) == Some(&long)).unwrap();
    let whole = log.iter().find(|event| response_of(event) == Some(&long)).unwrap();
    let mut expected = whole.clone();
    let response = expected["data"]["response"].as_object_mut().unwrap();
    response.retain(|_, value| !value.is_object() && !value.is_array());
    let mut found = of_long.body.clone();
    let omitted = found["data"].as_object_mut().unwrap().remove("omitted").unwrap();
    assert_eq!(found, expected);
    assert!(omitted.as_array().unwrap().contains(&json!("/response/answers")), "{omitted}");
    // The position is after it: nothing is published again, also by the next process.
    assert_eq!(server.stop(), Some(0));
    let lines = messages.len();
    let server = serve(folder.path(), &nats, &[]);
    let url = server.submit_url(&demo.key);
    let last = submit(&server.http, &url, "last", &submission(&demo.version, "last")).await;
    let messages = published(&nats, &BTreeSet::from([last.unwrap()])).await;
    assert_eq!(messages.len(), lines + 1);
    let counted = async || metric(&server, "sluice_sink_events_total{outcome=\"published\"}").await;
    let begun = Instant::now();
    // It is in the stream before it is counted.
    while counted().await < 1.0 {
        assert!(begun.elapsed() < PUBLISHED_MAX, "nothing is counted");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(counted().await, 1.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_of_the_stream_counts_like_one_of_the_server() {
    let (folder, of_nats) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let nats = Nats::start(of_nats.path(), "");
    let small = json!({"name": STREAM, "subjects": ["sluice.events.>"], "max_msg_size": 1500});
    let created = nats.client().request(&format!("$JS.API.STREAM.CREATE.{STREAM}"), &small);
    assert_eq!(created["config"]["max_msg_size"], 1500, "{created}");
    let server = serve(folder.path(), &nats, &[]);
    let demo = Demo::new(&server);
    let url = server.submit_url(&demo.key);
    let long = submission(&demo.version, &"x".repeat(2_000));
    let long = submit(&server.http, &url, "long", &long).await.unwrap();
    let messages = published(&nats, &BTreeSet::from([long])).await;
    assert!(messages.last().unwrap().body["data"]["omitted"].is_array());
    logged(folder.path(), "raise max_msg_size of the stream").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_sign_in_is_logged_without_the_password() {
    let (folder, of_nats) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let users = "authorization { users: [{ user: sluice, password: \"right word\" }] }";
    let nats = Nats::start(of_nats.path(), users);
    let with = |word: &str| {
        let url = nats.url().replace("nats://", &format!("nats://sluice:{word}@"));
        Server::start_with(folder.path(), "127.0.0.1:0", |it| {
            it.env("SLUICE_NATS_URL", url).env("SLUICE_LOG", "debug")
        })
    };
    let server = with("canary-word");
    logged(folder.path(), "events cannot be published now").await;
    let log = std::fs::read_to_string(folder.path().join("server.log")).unwrap();
    assert!(log.contains("uthorization") && !log.contains("canary-word"), "{log}");
    assert_eq!(server.stop(), Some(0));
    let _server = with("right%20word");
    logged(folder.path(), "the stream was created").await;
}
