//! Runs the real binary: as a server that stops with the test, or as a command until it ends.

pub(crate) mod author;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Far longer than a start takes on a busy machine.
const START_MAX: Duration = Duration::from_secs(120);
const STOP_MAX: Duration = Duration::from_secs(120);

/// The binary, without any environment variables that it would read.
pub(crate) fn sluice() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sluice"));
    let is_read = |name: &str| name.starts_with("SLUICE_") || name.starts_with("OTEL_");
    for (name, _) in std::env::vars().filter(|(name, _)| is_read(name)) {
        command.env_remove(name);
    }
    // Profiles of the person who runs the tests.
    command.env("XDG_CONFIG_HOME", "/nonexistent");
    command
}

/// Runs a command in a folder until it ends.
pub(crate) fn run(folder: &Path, arguments: &[&str]) -> Output {
    sluice().current_dir(folder).args(arguments).output().unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Checks the exit code and stderr of a command: two lines, no dump.
pub(crate) fn assert_complains(output: &Output, code: i32, parts: &[&str]) {
    let output_text = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{output_text}");
    assert_eq!(
        output_text.lines().count(),
        2,
        "expected one line for what happened and one for what to do: {output_text}"
    );
    for part in parts {
        assert!(output_text.contains(part), "{part:?} is not in {output_text}");
    }
}

/// A running server process.
pub(crate) struct Server {
    child: Child,
    printed: Arc<Mutex<String>>,
    pub(crate) http: reqwest::Client,
    pub(crate) base: String,
    /// Time from the start to the first line.
    pub(crate) started_in: Duration,
}

impl Server {
    /// Starts on any free port, with its data in this folder.
    pub(crate) fn start(folder: &Path) -> Self {
        Self::start_with(folder, "127.0.0.1:0", |command| command)
    }

    /// The same, on the backend of this test run: with `SLUICE_TEST_STORE`, a database there.
    pub(crate) fn on_test_store(folder: &Path) -> Self {
        let database = crate::database::of_folder(folder);
        Self::start_with(folder, "127.0.0.1:0", |command| match &database {
            Some(url) => command.args(["--store", url]),
            None => command,
        })
    }

    pub(crate) fn start_with(
        folder: &Path,
        listen: &str,
        prepare: impl FnOnce(&mut Command) -> &mut Command,
    ) -> Self {
        let mut command = sluice();
        command.current_dir(folder).args(["serve", "--listen", listen]);
        prepare(&mut command);
        Self::spawn(folder, command)
    }

    /// Starts a command that becomes the server.
    pub(crate) fn spawn(folder: &Path, mut command: Command) -> Self {
        let begin = Instant::now();
        let log = std::fs::File::create(folder.join("server.log")).unwrap();
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let printed = Arc::new(Mutex::new(String::new()));
        let mut stdout = child.stdout.take().unwrap();
        let sink = Arc::clone(&printed);
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(read @ 1..) = stdout.read(&mut buffer) {
                sink.lock().unwrap().push_str(std::str::from_utf8(&buffer[..read]).unwrap());
            }
        });
        let (base, started_in) = (String::new(), Duration::ZERO);
        let mut server = Self { child, printed, http: http(), base, started_in };
        server.await_banner(folder, begin);
        server
    }

    fn await_banner(&mut self, folder: &Path, begin: Instant) {
        loop {
            let printed = self.banner();
            if printed.contains("sluice responses tail") || printed.contains("sluice app list") {
                let first = printed.lines().next().unwrap();
                self.base = first.strip_prefix("Sluice listening on ").unwrap().to_owned();
                self.started_in = begin.elapsed();
                return;
            }
            if let Some(status) = self.child.try_wait().unwrap() {
                let log = std::fs::read_to_string(folder.join("server.log")).unwrap();
                panic!("the server ended with {status}: {log}");
            }
            assert!(begin.elapsed() < START_MAX, "no banner: {printed}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn banner(&self) -> String {
        self.printed.lock().unwrap().clone()
    }

    /// The admin token that this start printed.
    pub(crate) fn token(&self) -> Option<String> {
        let banner = self.banner();
        banner.lines().map(str::trim).find(|line| line.starts_with("sluice_")).map(str::to_owned)
    }

    /// The part of the banner that starts with a prefix such as `pk_`.
    pub(crate) fn id(&self, prefix: &str) -> String {
        let banner = self.banner();
        let start = banner.find(prefix).unwrap();
        banner[start..].chars().take(prefix.len() + 22).collect()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until `strace` has attached to every thread of the process; it prints nothing then.
    pub(crate) fn until_traced(&self) {
        let begin = Instant::now();
        let tasks = format!("/proc/{}/task", self.pid());
        // A thread that has ended in the meantime has no status.
        let is_traced = |task: std::io::Result<std::fs::DirEntry>| {
            let status = std::fs::read_to_string(task.unwrap().path().join("status"));
            status.map_or(true, |status| !status.contains("\nTracerPid:\t0\n"))
        };
        while !std::fs::read_dir(&tasks).unwrap().all(is_traced) {
            assert!(begin.elapsed() < START_MAX, "strace does not attach");
            std::thread::sleep(Duration::from_millis(5));
        }
        // It lets the last thread continue a moment later.
        std::thread::sleep(Duration::from_millis(200));
    }

    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Waits for the process to end and returns the exit code.
    pub(crate) fn wait(&mut self) -> Option<i32> {
        let begin = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(begin.elapsed() < STOP_MAX, "the server does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn stop(mut self) -> Option<i32> {
        self.signal("-TERM");
        self.wait()
    }

    /// Kills the process, as a power cut would.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn submit_url(&self, api_key: &str) -> String {
        format!("{}/api/v1/{api_key}/trpc/response.submit", self.base)
    }

    pub(crate) async fn admin(&self, token: &str, path: &str) -> (u16, Value) {
        let url = format!("{}/api/admin/v1{path}", self.base);
        let reply = self.http.get(url).bearer_auth(token).send().await.unwrap();
        let status = reply.status().as_u16();
        (status, serde_json::from_slice(&reply.bytes().await.unwrap()).unwrap())
    }
}

impl Server {
    /// The answers of every stored response of a flow after an id, by response id.
    pub(crate) async fn stored(
        &self,
        token: &str,
        flow: &str,
        mut after: Option<String>,
    ) -> BTreeMap<String, Value> {
        let mut stored = BTreeMap::new();
        loop {
            let cursor = after.map(|after| format!("&after={after}")).unwrap_or_default();
            let path = format!("/flows/{flow}/responses?limit=1000{cursor}");
            let (status, mut page) = self.admin(token, &path).await;
            assert_eq!(status, 200, "{page}");
            for item in page["items"].as_array_mut().unwrap() {
                let id = item["responseId"].as_str().unwrap().to_owned();
                assert!(stored.insert(id, item["answers"].take()).is_none(), "listed twice");
            }
            after = page["next"].as_str().map(str::to_owned);
            if after.is_none() {
                return stored;
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }
}

/// An HTTP client with our cryptography: the library is built without any.
pub(crate) fn client_builder() -> reqwest::ClientBuilder {
    let _there_already = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
}

/// A client that uses no proxy, whatever the environment says, and no TLS: reading the
/// certificates of the system takes longer than most requests.
pub(crate) fn http() -> reqwest::Client {
    client_builder().no_proxy().tls_certs_only([]).timeout(Duration::from_secs(60)).build().unwrap()
}

/// A submission to the demo survey.
pub(crate) fn submission(flow_version_id: &str, why: &str) -> Value {
    json!({
        "flowVersionId": flow_version_id, "flowVersionPayloadGeneration": "4",
        "respondentAnalyticsAdmission": "collection_only",
        "answers": {"nps": "3", "why": why},
    })
}

/// Submits, and returns the responseId if the server acknowledged it.
pub(crate) async fn submit(
    http: &reqwest::Client,
    url: &str,
    key: &str,
    body: &Value,
) -> Option<String> {
    let request = http.post(url).header("idempotency-key", key).json(body);
    let reply = request.send().await.ok()?;
    let reply: Value = serde_json::from_slice(&reply.bytes().await.ok()?).ok()?;
    let data = &reply["result"]["data"];
    (data["success"] == true).then(|| data["responseId"].as_str().unwrap().to_owned())
}
