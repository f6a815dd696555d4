//! A PostgreSQL server for one test: created in a temporary folder, on loopback, stopped when
//! dropped.
//!
//! It is the server from the distribution's package. PostgreSQL refuses to run as root, so if the
//! tests run as root, the server runs as another user. If no server is installed the test fails
//! with what to install. It syncs nothing: tests kill processes, never the machine, and create
//! hundreds of databases. Tests of other crates include this file by its path; it needs no database
//! driver.

#![expect(dead_code, reason = "each test binary uses a different part of this")]

use std::fs::File;
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher, RandomState};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

use tempfile::TempDir;

/// The superuser of every cluster; it needs no password on the socket.
pub(crate) const USER: &str = "sluice";

/// A port that no other test gets while this lives, also while the server on it restarts.
///
/// A port that the system chooses is free during a restart, and may then go to another process.
/// These are below all that it chooses; a lock of a file reserves one.
pub(crate) struct Port {
    pub(crate) number: u16,
    _reserved: File,
}

impl Port {
    const FIRST: u16 = 15_000;
    const COUNT: u16 = 15_000;

    pub(crate) fn reserve() -> Self {
        let folder = std::env::temp_dir().join("sluice-test-ports");
        std::fs::create_dir_all(&folder).unwrap();
        let random = RandomState::new().hash_one(std::process::id()) % u64::from(Self::COUNT);
        let random = u16::try_from(random).unwrap();
        for step in 0..Self::COUNT {
            let number = Self::FIRST + (random + step) % Self::COUNT;
            let Ok(reserved) = File::create(folder.join(number.to_string())) else { continue };
            let is_free = || TcpListener::bind(("127.0.0.1", number)).is_ok();
            if reserved.try_lock().is_ok() && is_free() {
                return Self { number, _reserved: reserved };
            }
        }
        panic!("no port is free");
    }
}

pub(crate) struct Cluster {
    folder: TempDir,
    programs: PathBuf,
    port: Port,
    settings: String,
    made: AtomicU32,
}

impl Cluster {
    /// A running server with these settings, such as `ssl=on`.
    pub(crate) fn start(settings: &[&str]) -> Self {
        let cluster = Self::new(settings);
        cluster.control(&["start"]);
        cluster
    }

    /// A server that is created but not running.
    pub(crate) fn new(settings: &[&str]) -> Self {
        let folder = tempfile::tempdir_in(place()).unwrap();
        let port = Port::reserve();
        let mut all = format!(
            "-p {} -k {} -c listen_addresses=127.0.0.1 -c max_connections=60 \
             -c fsync=off -c full_page_writes=off",
            port.number,
            folder.path().display()
        );
        for setting in settings {
            all.push_str(&format!(" -c {setting}"));
        }
        let made = AtomicU32::new(0);
        let cluster = Self { folder, programs: programs(), port, settings: all, made };
        if let Some(user) = other_user() {
            run(Command::new("chown").arg(user).arg(cluster.folder.path()));
        }
        cluster.create_data();
        cluster
    }

    /// Copies an initialised data folder. Only the first cluster of a build runs `initdb`, because
    /// that takes a second of processor time.
    fn create_data(&self) {
        let data = self.data();
        let version = run(self.program("initdb").arg("--version")).stdout;
        let version = BuildHasherDefault::<DefaultHasher>::default().hash_one(version);
        let template = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cluster-{version:x}"));
        let lock = File::create(template.with_extension("lock")).unwrap();
        lock.lock().unwrap();
        if !template.exists() {
            run(self
                .program("initdb")
                .args(["-N", "-A", "trust", "-E", "UTF8", "--locale=C"])
                .args(["-U", USER, "-D", data.to_str().unwrap()]));
            // Under its final name, the template is complete.
            let partial = template.with_extension("partial");
            run(Command::new("rm").arg("-rf").arg(&partial));
            run(Command::new("cp").arg("-a").args([&data, &partial]));
            std::fs::rename(partial, template).unwrap();
            return;
        }
        drop(lock);
        run(Command::new("cp").arg("-a").args([&template, &data]));
    }

    pub(crate) fn control(&self, what: &[&str]) -> Output {
        let (data, log) = (self.data(), self.folder.path().join("log"));
        let mut command = self.program("pg_ctl");
        command.args(what).args(["-w", "-t", "180"]).arg("-D").arg(data).arg("-l").arg(log);
        if what[0] != "stop" {
            command.arg("-o").arg(&self.settings);
        }
        run(&mut command)
    }

    /// Everything that the server writes: its data and its log.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Writes a file that only the server can read.
    pub(crate) fn put(&self, name: &str, content: &str) -> PathBuf {
        let path = self.data().join(name);
        std::fs::write(&path, content).unwrap();
        run(Command::new("chmod").arg("600").arg(&path));
        if let Some(user) = other_user() {
            run(Command::new("chown").arg(user).arg(&path));
        }
        path
    }

    /// The URL of a database over TCP.
    pub(crate) fn url(&self, database: &str) -> String {
        format!("postgres://{USER}@127.0.0.1:{}/{database}?sslmode=disable", self.port.number)
    }

    /// The URL over TCP, with this user and these parameters.
    pub(crate) fn url_with(&self, user: &str, database: &str, parameters: &str) -> String {
        format!("postgres://{user}@127.0.0.1:{}/{database}?{parameters}", self.port.number)
    }

    /// The URL of a database over the socket.
    pub(crate) fn socket_url(&self, database: &str) -> String {
        let folder = self.folder.path().display().to_string().replace('/', "%2F");
        format!("postgres://{USER}@{folder}:{}/{database}", self.port.number)
    }

    /// Creates an empty database with the server's own program, and returns its name.
    pub(crate) fn create_database(&self) -> String {
        let name = self.next_name();
        let (folder, port) =
            (self.folder.path().display().to_string(), self.port.number.to_string());
        run(self.program("createdb").args(["-h", &folder, "-p", &port, "-U", USER, &name]));
        name
    }

    /// The name of a database that does not exist yet.
    pub(crate) fn next_name(&self) -> String {
        format!("case_{}", self.made.fetch_add(1, Ordering::Relaxed))
    }

    /// Runs statements with psql, and returns the first column of every row.
    pub(crate) fn psql(&self, database: &str, sql: &str) -> Vec<String> {
        let mut command = self.program("psql");
        command.args(["-X", "-q", "-t", "-A", "-v", "ON_ERROR_STOP=1"]);
        let reported = run(command.args(["-d", &self.url(database), "-c", sql])).stdout;
        String::from_utf8(reported).unwrap().lines().map(str::to_owned).collect()
    }

    fn program(&self, name: &str) -> Command {
        let path = self.programs.join(name);
        let mut command = match other_user() {
            Some(user) => {
                let mut command = Command::new("setpriv");
                command.args(["--reuid", user, "--regid", user, "--clear-groups", "--"]).arg(path);
                command
            }
            None => Command::new(path),
        };
        command.current_dir(self.folder.path());
        command
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let data = self.data();
        let mut command = self.program("pg_ctl");
        let _stopped = command.args(["stop", "-m", "immediate", "-D"]).arg(data).output();
    }
}

/// Memory, if there is plenty and nobody has chosen another place, as in `scripts/postgres`: the
/// files of hundreds of databases take minutes to delete from a disk.
fn place() -> PathBuf {
    const ENOUGH_BYTES: u64 = 8 << 30;
    let memory = Path::new("/dev/shm");
    let has_room = || {
        let free = Command::new("df").args(["--output=avail", "-B1"]).arg(memory).output().ok()?;
        String::from_utf8(free.stdout).ok()?.lines().nth(1)?.trim().parse::<u64>().ok()
    };
    let is_chosen = std::env::var_os("TMPDIR").is_some();
    if !is_chosen && has_room().is_some_and(|bytes| bytes >= ENOUGH_BYTES) {
        memory.to_owned()
    } else {
        std::env::temp_dir()
    }
}

/// The folder of the server's programs: the newest of the package, or those on the path.
fn programs() -> PathBuf {
    let mut found: Vec<(u32, PathBuf)> = Vec::new();
    for entry in std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten() {
        let version = entry.file_name().to_string_lossy().parse().unwrap_or(0);
        found.push((version, entry.path().join("bin")));
    }
    found.sort();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = found.into_iter().rev().map(|(_, folder)| folder);
    folders
        .chain(std::env::split_paths(&path))
        .find(|folder| folder.join("initdb").exists() && folder.join("pg_ctl").exists())
        .expect("no initdb and pg_ctl here: install PostgreSQL 15 or newer (apt-get install postgresql)")
}

/// The user to run the server as, if the tests run as root.
fn other_user() -> Option<&'static str> {
    let root = run(Command::new("id").arg("-u")).stdout.starts_with(b"0\n");
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let known = users.lines().any(|line| line.starts_with("postgres:"));
    root.then_some(if known { "postgres" } else { "nobody" })
}

pub(crate) fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let reported = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {reported}");
    output
}
