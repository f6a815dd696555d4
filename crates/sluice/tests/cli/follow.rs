//! A followed export: the folder has every response once, whatever happens to the command, on both
//! stores.

use crate::cluster::{Cluster, Port};
use crate::support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use support::{Server, assert_complains, http, sluice, submission, submit, text};

/// How long a response may take into the folder on a busy machine.
const SAVED_MAX: Duration = Duration::from_secs(60);
const TOKEN: &str = "token-of-a-pipeline-0123456789";

struct Pipeline {
    server: Server,
    folder: tempfile::TempDir,
    // Dropped after the server.
    _cluster: Option<Cluster>,
}

impl Pipeline {
    fn on_sqlite() -> Self {
        Self::start(None, "127.0.0.1:0")
    }

    fn on_postgres() -> Self {
        let cluster = Cluster::start(&[]);
        Self::start(Some(cluster), "127.0.0.1:0")
    }

    fn start(cluster: Option<Cluster>, listen: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = cluster.as_ref().map(|cluster| cluster.url(&cluster.create_database()));
        let server = Server::start_with(folder.path(), listen, |command| {
            command.env("SLUICE_ADMIN_TOKEN", TOKEN);
            match &url {
                Some(url) => command.args(["--store", url.as_str()]),
                None => command,
            }
        });
        Self { server, folder, _cluster: cluster }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, more: &[&str]) -> Command {
        let flow = self.server.id("fl_");
        let mut command = sluice();
        command.current_dir(self.folder.path());
        command.env("SLUICE_SERVER", &self.server.base).env("SLUICE_TOKEN", TOKEN);
        command.args(["responses", "export", &flow, "--interval", "0.1"]).args(more);
        command
    }

    fn run(&self, more: &[&str]) -> Output {
        self.command(more).output().unwrap()
    }

    fn spawn(&self, more: &[&str]) -> Child {
        self.command(more).stderr(Stdio::null()).spawn().unwrap()
    }

    /// Submits this many, and returns their ids.
    async fn submit(&self, count: usize, name: &str) -> Vec<String> {
        let url = self.server.submit_url(&self.server.id("pk_"));
        let (http, version) = (http(), self.server.id("fv_"));
        let mut ids = Vec::new();
        for number in 0..count {
            let body = submission(&version, &format!("reason {number}"));
            ids.push(submit(&http, &url, &format!("{name}-{number}"), &body).await.unwrap());
        }
        ids
    }
}

/// The responses in a folder of lines, by id; none is twice.
fn lines(folder: &Path) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|it| it != "jsonl") {
            continue;
        }
        let day = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let content = std::fs::read_to_string(&path).unwrap();
        // The last line may just be being written.
        let complete = content.rfind('\n').map_or("", |end| &content[..end]);
        for line in complete.lines() {
            let row: Value = serde_json::from_str(line).unwrap();
            assert!(row["receivedAt"].as_str().unwrap().starts_with(&day), "{day}: {row}");
            let id = row["responseId"].as_str().unwrap().to_owned();
            assert!(found.insert(id.clone(), row).is_none(), "{id} is there twice");
        }
    }
    found
}

async fn wait_for(folder: &Path, ids: &[String]) {
    let begin = Instant::now();
    while !ids.iter().all(|id| lines(folder).contains_key(id)) {
        assert!(begin.elapsed() < SAVED_MAX, "{} of {}", lines(folder).len(), ids.len());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Kills the command again and again while responses arrive.
async fn survives_kills(pipeline: Pipeline) {
    let folder = pipeline.path("out");
    let follow = ["--follow", "out"];
    let mut ids = pipeline.submit(20, "first").await;
    let mut child = pipeline.spawn(&follow);
    wait_for(&folder, &ids[..1]).await;
    for round in 0..6 {
        ids.extend(pipeline.submit(10, &format!("round-{round}")).await);
        if round % 2 == 0 {
            // Also in the middle of a batch, as it comes.
            wait_for(&folder, &ids[..ids.len() / 2]).await;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        child = pipeline.spawn(&follow);
    }
    wait_for(&folder, &ids).await;
    child.kill().unwrap();
    child.wait().unwrap();
    let once = pipeline.run(&["--follow", "out", "--once"]);
    assert!(once.status.success(), "{once:?}");
    let found = lines(&folder);
    assert_eq!(found.len(), ids.len());
    let (token, flow) = (TOKEN, pipeline.server.id("fl_"));
    let stored = pipeline.server.stored(token, &flow, None).await;
    for (id, answers) in stored {
        assert_eq!(found[&id]["answers"], answers);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_followed_export_survives_kills_on_sqlite() {
    survives_kills(Pipeline::on_sqlite()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_followed_export_survives_kills_on_postgres() {
    survives_kills(Pipeline::on_postgres()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_followed_export_goes_on_after_a_restart_of_the_server_and_ends_on_an_interrupt() {
    // Nobody else gets the port while the server is gone.
    let port = Port::reserve();
    let listen = format!("127.0.0.1:{}", port.number);
    let mut pipeline = Pipeline::start(None, &listen);
    let folder = pipeline.path("out");
    let first = pipeline.submit(3, "first").await;
    let mut child = pipeline.command(&["--follow", "out"]).stderr(Stdio::piped()).spawn().unwrap();
    wait_for(&folder, &first).await;
    let ids = (pipeline.server.id("pk_"), pipeline.server.id("fv_"));
    pipeline.server.kill();
    pipeline.server = Server::start_with(pipeline.folder.path(), &listen, |command| {
        command.env("SLUICE_ADMIN_TOKEN", TOKEN)
    });
    let url = pipeline.server.submit_url(&ids.0);
    let later = submit(&http(), &url, "later", &submission(&ids.1, "later")).await.unwrap();
    wait_for(&folder, &[later]).await;
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(lines(&folder).len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn parquet_is_written_in_files_by_day_and_a_folder_keeps_its_options() {
    let pipeline = Pipeline::on_sqlite();
    let empty = pipeline.run(&["--follow", "parquet", "--format", "parquet", "--once"]);
    assert!(empty.status.success(), "a flow without responses: {empty:?}");
    let files = || -> Vec<PathBuf> {
        let days = std::fs::read_dir(pipeline.path("parquet")).unwrap();
        let days = days.map(|day| day.unwrap().path()).filter(|day| day.is_dir());
        days.flat_map(|day| std::fs::read_dir(day).unwrap()).map(|it| it.unwrap().path()).collect()
    };
    assert_eq!(files().len(), 0);
    assert!(text(&empty.stderr).contains("0 responses exported"), "{empty:?}");
    for round in 1..=2 {
        pipeline.submit(5, &format!("round-{round}")).await;
        let begin = Instant::now();
        let mut counted = 0;
        // They may become readable in several parts.
        while counted < 5 {
            let saved = pipeline.run(&["--follow", "parquet", "--format", "parquet", "--once"]);
            assert!(saved.status.success(), "{saved:?}");
            let note = text(&saved.stderr);
            let last = note.lines().last().unwrap();
            assert!(last.ends_with(" exported"), "{note}");
            counted += last.split(' ').next().unwrap().parse::<u64>().unwrap();
            assert_eq!(note.lines().any(|line| line.contains(" up to ")), !last.starts_with('0'));
            assert!(begin.elapsed() < SAVED_MAX);
        }
        assert_eq!(counted, 5, "each is counted once");
        assert!(files().len() >= round, "each part is a file of its own");
    }
    for file in files() {
        assert!(std::fs::read(&file).unwrap().ends_with(b"PAR1"), "{file:?}");
    }
    let other = pipeline.run(&["--follow", "parquet", "--format", "jsonl", "--once"]);
    assert_complains(&other, 2, &["as parquet, exported with other options", "another folder"]);
    let csv = pipeline.run(&["--follow", "csv", "--format", "csv"]);
    assert_complains(&csv, 2, &["JSON Lines or Parquet", "--format"]);
    let nobody = ["--follow", "out", "--server", "http://127.0.0.1:1"];
    assert_complains(&pipeline.run(&nobody), 1, &["no server answers", "sluice serve"]);
    assert_eq!(pipeline.run(&["--follow", "out", "--out", "x"]).status.code(), Some(2));
    assert!(text(&pipeline.run(&[]).stderr).contains("--out"));
}
