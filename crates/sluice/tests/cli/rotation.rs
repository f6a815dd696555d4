//! A rotation of the master key that is killed midway, repeatedly: no secret is lost, and no server
//! stops accepting their tokens.

use crate::cluster;
use crate::identity;
use crate::support;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use cluster::Cluster;
use identity::{Secret, change, enforce, resolve};
use reqwest::Method;
use serde_json::json;
use support::{Server, assert_complains, sluice, text};

const ADMIN: &str = "a-token-for-the-test-of-rotations";
/// Enough secrets that a rotation takes a while; an app has at most twenty.
const APPS: usize = 6;
const SECRETS_EACH: usize = 20;
const ALL: usize = APPS * SECRETS_EACH;
/// The number of resealed secrets at which each run is killed.
const KILLED_AT: [usize; 4] = [1, 30, 60, 90];
/// When to kill a rotation that reports no progress: after both keys are in the file.
const KILLED_AFTER_MS: [u64; 8] = [0, 5, 10, 20, 40, 80, 160, 320];
/// Each secret takes a while, so that a rotation cannot end between two looks at it.
const SLOW: &str = "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS \
     'BEGIN PERFORM pg_sleep(0.02); RETURN NEW; END'; \
     CREATE TRIGGER slow BEFORE UPDATE ON identity_keys FOR EACH ROW EXECUTE FUNCTION slow()";
/// Tries beyond these, until one was cut short.
const TRIES_MORE_MAX: usize = 40;
const PATIENCE: Duration = Duration::from_secs(600);
/// How long a rotation runs between two checks.
const SLICE: Duration = Duration::from_millis(10);

/// An app that enforces identity tokens, with its secrets.
struct Guarded {
    api_key: String,
    secrets: Vec<Secret>,
}

async fn guarded(server: &Server) -> Vec<Guarded> {
    let mut apps = Vec::new();
    for number in 0..APPS {
        let new = json!({"name": format!("Guarded {number}")});
        let app = change(server, ADMIN, Method::POST, "/apps", Some(&new)).await;
        let id = app["appId"].as_str().unwrap();
        let mut secrets = Vec::new();
        for _ in 0..SECRETS_EACH {
            secrets.push(Secret::make(server, ADMIN, id).await);
        }
        enforce(server, ADMIN, id).await;
        apps.push(Guarded { api_key: app["apiKeys"][0].as_str().unwrap().to_owned(), secrets });
    }
    apps
}

/// Asserts that the token of every secret is accepted: the reply is 404, as there is no flow. A
/// forged token gets 401.
async fn assert_accepts_all(server: &Server, apps: &[Guarded], when: &str) {
    for app in apps {
        for secret in &app.secrets {
            let status = resolve(server, &app.api_key, "fl_x", &secret.token("u-1")).await;
            assert_eq!(status, 404, "{when}: {}", secret.kid);
        }
        let forged = Secret { text: "x".to_owned(), ..app.secrets[0].clone() };
        assert_eq!(resolve(server, &app.api_key, "fl_x", &forged.token("u-1")).await, 401);
    }
}

fn signal(child: &Child, name: &str) {
    let pid = child.id().to_string();
    assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
}

fn start(folder: &Path, more: impl FnOnce(&mut Command) -> &mut Command) -> Server {
    Server::start_with(folder, "127.0.0.1:0", |command| {
        more(command).env("SLUICE_ADMIN_TOKEN", ADMIN)
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotation_on_postgresql_may_be_killed_at_any_moment_and_is_run_again() {
    let cluster = Cluster::start(&[]);
    let database = cluster.create_database();
    let url = cluster.url(&database);
    let folder = tempfile::tempdir().unwrap();
    let rotate = |keys: &str| {
        let mut command = sluice();
        command.current_dir(folder.path()).args(["key", "rotate", "--store", &url]);
        command.env("SLUICE_MASTER_KEY", keys);
        command
    };
    let serve = |keys: &str| {
        start(folder.path(), |command| {
            command.args(["--store", &url, "--no-demo"]).env("SLUICE_MASTER_KEY", keys)
        })
    };
    let old = "b2xkLW9sZC1vbGQtb2xkLW9sZC1vbGQtb2xkLW9sZC0=";
    let server = serve(old);
    let apps = guarded(&server).await;
    assert_eq!(server.stop(), Some(0));
    // With one key nothing is changed; the command prints a new key and the next steps.
    let output = rotate(old).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let new = text(&output.stdout).trim().to_owned();
    assert!(text(&output.stderr).contains("NEW,OLD"), "{}", text(&output.stderr));
    let both = format!("{new},{old}");
    let server = serve(&both);

    let sealed_by_old = "SELECT split_part(material, '.', 2) FROM identity_keys LIMIT 1";
    let old_id = cluster.psql(&database, sealed_by_old).remove(0);
    let done = || {
        let others = format!(
            "SELECT count(*) FROM identity_keys WHERE split_part(material, '.', 2) <> '{old_id}'"
        );
        cluster.psql(&database, &others)[0].parse::<usize>().unwrap()
    };
    assert_eq!(done(), 0);
    cluster.psql(&database, SLOW);
    for killed_at in KILLED_AT {
        let mut child = rotate(&both).stdout(Stdio::null()).spawn().unwrap();
        let begin = Instant::now();
        // The process is stopped during each check, so that it cannot finish in between.
        loop {
            std::thread::sleep(SLICE);
            signal(&child, "-STOP");
            if done() >= killed_at {
                break;
            }
            assert!(begin.elapsed() < PATIENCE, "it makes no progress: {} are done", done());
            signal(&child, "-CONT");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let half = done();
        assert!((killed_at..ALL).contains(&half), "killed too late: {half} of {ALL}");
        assert_accepts_all(&server, &apps, &format!("killed at {half}")).await;
        // A server that starts now needs both keys, and reports it if one is missing.
        let refused = {
            let mut command = sluice();
            command.current_dir(folder.path()).args(["serve", "--listen", "127.0.0.1:0"]);
            command.args(["--store", &url]).env("SLUICE_MASTER_KEY", &new).output().unwrap()
        };
        assert_complains(&refused, 1, &["sealed secrets cannot be opened", "SLUICE_MASTER_KEY"]);
    }
    cluster.psql(&database, "DROP TRIGGER slow ON identity_keys");
    let whole = rotate(&both).output().unwrap();
    assert_eq!(whole.status.code(), Some(0), "{}", text(&whole.stderr));
    assert_eq!(done(), ALL);
    assert_accepts_all(&server, &apps, "rotated").await;
    assert_eq!(server.stop(), Some(0));
    let server = serve(&new);
    assert_accepts_all(&server, &apps, "with only the new key").await;
    assert_eq!(server.stop(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_concurrent_rotations_of_the_file_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), |command| command.arg("--no-demo"));
    let apps = guarded(&server).await;
    let rotate = || {
        let mut command = sluice();
        command.current_dir(folder.path()).args(["key", "rotate"]);
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let ended = [rotate(), rotate(), rotate()].map(|child| child.wait_with_output().unwrap());
    assert!(ended.iter().any(|output| output.status.success()), "{ended:?}");
    for output in ended.iter().filter(|output| !output.status.success()) {
        assert_complains(output, 1, &["is being rotated already", "nothing was changed"]);
    }
    assert_accepts_all(&server, &apps, "rotated").await;
    assert_eq!(server.stop(), Some(0));
    let server = start(folder.path(), |command| command.arg("--no-demo"));
    assert_accepts_all(&server, &apps, "restarted").await;
    assert_eq!(server.stop(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotation_of_the_file_may_be_killed_at_any_moment_and_is_run_again() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), |command| command.arg("--no-demo"));
    let apps = guarded(&server).await;
    let master = folder.path().join("sluice-data/master.key");
    let keys = || std::fs::read_to_string(&master).unwrap().lines().count();
    let first = std::fs::read_to_string(&master).unwrap();
    let rotate = || {
        let mut command = sluice();
        command.current_dir(folder.path()).args(["key", "rotate"]);
        command
    };
    let mut cut_short = 0;
    // A busy machine may be late each time, and is then asked more often.
    let more = std::iter::repeat_n(0, TRIES_MORE_MAX);
    for (at, after_ms) in KILLED_AFTER_MS.into_iter().chain(more).enumerate() {
        if at >= KILLED_AFTER_MS.len() && cut_short > 0 {
            break;
        }
        let mut child = rotate().stdout(Stdio::null()).spawn().unwrap();
        while keys() == 1 && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(after_ms));
        child.kill().unwrap();
        child.wait().unwrap();
        cut_short += usize::from(keys() == 2);
        assert_accepts_all(&server, &apps, &format!("killed after {after_ms} ms")).await;
    }
    assert!(cut_short > 0, "no run was killed between its first and its last step");
    let whole = rotate().output().unwrap();
    assert_eq!(whole.status.code(), Some(0), "{}", text(&whole.stderr));
    assert_eq!(keys(), 1, "the old key must be removed");
    assert!(!std::fs::read_to_string(&master).unwrap().contains(first.trim()));
    let left = std::fs::read_dir(master.parent().unwrap()).unwrap().filter(|entry| {
        let path = entry.as_ref().unwrap().path();
        std::fs::read(path).unwrap().starts_with(first.trim().as_bytes())
    });
    assert_eq!(left.count(), 0, "no temporary file may be left");
    assert_accepts_all(&server, &apps, "rotated").await;
    assert_eq!(server.stop(), Some(0));
    let server = start(folder.path(), |command| command.arg("--no-demo"));
    assert_accepts_all(&server, &apps, "restarted").await;
    assert_eq!(server.stop(), Some(0));
}
