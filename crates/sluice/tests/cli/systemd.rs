//! As a service of systemd: reports of its state, the watchdog, and a listener that is passed.
//!
//! The tests play systemd: they bind the socket for reports, and pass the listener as file 3.

use crate::support;

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use support::{Server, assert_complains, http, sluice, submission, submit};

/// Far longer than a report takes on a busy machine.
const REPORT_MAX: Duration = Duration::from_secs(30);
/// The interval of the watchdog. systemd ends a service that is silent for as long.
const WATCHDOG: Duration = Duration::from_millis(1_500);
/// More reports than a server sends after its disk has stopped: it trusts a recent write.
const LAST_REPORTS_MAX: usize = 60;

/// The manager's end of the socket for reports.
struct Manager(UnixDatagram);

impl Manager {
    fn bind(folder: &Path) -> Self {
        Self(UnixDatagram::bind(folder.join("notify")).unwrap())
    }

    /// The next report, unless none comes in this time.
    fn hears_within(&self, time: Duration) -> Option<String> {
        self.0.set_read_timeout(Some(time)).unwrap();
        let mut report = [0; 512];
        let size = self.0.recv(&mut report).ok()?;
        Some(String::from_utf8(report[..size].to_vec()).unwrap())
    }

    /// The next report that is not from the watchdog, without its status.
    fn next_state(&self) -> String {
        loop {
            let report = self.hears_within(REPORT_MAX).expect("a report");
            let state = report.lines().next().unwrap().to_owned();
            if state != "WATCHDOG=1" {
                assert!(report.contains("\nSTATUS="), "{report}");
                return state;
            }
        }
    }

    fn hears_of_watchdog(&self) {
        while self.hears_within(REPORT_MAX).expect("a report") != "WATCHDOG=1" {}
    }
}

fn start_watched(folder: &Path, arguments: &[&str]) -> Server {
    Server::start_with(folder, "127.0.0.1:0", |command| {
        command
            .args(arguments)
            .env("NOTIFY_SOCKET", folder.join("notify"))
            .env("WATCHDOG_USEC", WATCHDOG.as_micros().to_string())
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_reports_ready_and_stopping() {
    let folder = tempfile::tempdir().unwrap();
    let manager = Manager::bind(folder.path());
    let mut server = start_watched(folder.path(), &[]);
    assert_eq!(manager.next_state(), "READY=1");
    let (url, version) = (server.submit_url(&server.id("pk_")), server.id("fv_"));
    submit(&http(), &url, "ready", &submission(&version, "ready")).await.expect("stored");
    manager.hears_of_watchdog();
    // A request in progress keeps the server draining.
    let mut slow = slow_request(&server);
    server.signal("-TERM");
    assert_eq!(manager.next_state(), "STOPPING=1");
    assert!(server.is_running(), "it reports before the last request has ended");
    slow.write_all(b"}").unwrap();
    assert_eq!(server.wait(), Some(0));
}

/// A submission whose body lacks one byte. The server reads it.
fn slow_request(server: &Server) -> TcpStream {
    let mut stream = TcpStream::connect(server.base.strip_prefix("http://").unwrap()).unwrap();
    let path = format!("/api/v1/{}/trpc/response.submit", server.id("pk_"));
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n\
         content-length: 2\r\nexpect: 100-continue\r\n\r\n"
    )
    .unwrap();
    let mut begun = [0; 25];
    stream.read_exact(&mut begun).unwrap();
    assert_eq!(&begun, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"{").unwrap();
    stream
}

#[test]
fn reports_reach_an_abstract_socket() {
    let folder = tempfile::tempdir().unwrap();
    let name = format!("sluice-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let manager = Manager(UnixDatagram::bind_addr(&address).unwrap());
    let server = Server::start_with(folder.path(), "127.0.0.1:0", |command| {
        command.env("NOTIFY_SOCKET", format!("@{name}"))
    });
    assert_eq!(manager.next_state(), "READY=1");
    assert_eq!(server.stop(), Some(0));
    assert_eq!(manager.next_state(), "STOPPING=1");
}

#[test]
fn a_server_serves_although_its_manager_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let server = start_watched(folder.path(), &[]);
    assert_eq!(server.stop(), Some(0));
}

/// A restart would not free the disk.
#[tokio::test(flavor = "multi_thread")]
async fn the_watchdog_is_content_with_a_store_that_refuses() {
    let folder = tempfile::tempdir().unwrap();
    let manager = Manager::bind(folder.path());
    let full = u64::from(u32::MAX) * 1024 * 1024;
    let server = start_watched(folder.path(), &["--disk-reserve", &full.to_string()]);
    let ready = http().get(format!("{}/readyz", server.base)).send().await.unwrap();
    assert_eq!(ready.status().as_u16(), 503);
    for _ in 0..3 {
        manager.hears_of_watchdog();
    }
}

#[test]
fn the_watchdog_hears_nothing_of_a_store_that_hangs() {
    let folder = tempfile::tempdir().unwrap();
    let manager = Manager::bind(folder.path());
    let server = start_watched(folder.path(), &[]);
    for _ in 0..3 {
        manager.hears_of_watchdog();
    }
    // From here on, a sync takes ten minutes.
    let syncs = "fsync,fdatasync,sync_file_range,msync";
    let mut strace = Command::new("strace");
    strace.args(["-f", "-o", "/dev/null", "-p", &server.pid().to_string()]);
    strace.args(["-e", &format!("trace={syncs}")]);
    strace.args(["-e", &format!("inject={syncs}:delay_enter=600000000")]);
    let strace = strace.stderr(Stdio::null()).spawn();
    let mut strace = strace.expect("strace is needed; on Debian: apt-get install strace");
    let reports = (0..LAST_REPORTS_MAX).take_while(|_| manager.hears_within(WATCHDOG).is_some());
    let reports = reports.count();
    strace.kill().unwrap();
    strace.wait().unwrap();
    assert!(reports < LAST_REPORTS_MAX, "systemd would never restart it");
}

/// The server with a listener as file 3, as systemd starts it.
fn activated(folder: &Path, file: impl Into<OwnedFd>, sockets: u32) -> Command {
    let own = sluice();
    let mut command = Command::new("sh");
    // The shell becomes the server, so its process id is the server's.
    let passed = format!(
        "exec 3<&0 </dev/null; LISTEN_PID=$$ LISTEN_FDS={sockets} exec \"$0\" serve --no-demo \
         --listen 127.0.0.1:1"
    );
    command.arg("-c").arg(passed).arg(own.get_program()).current_dir(folder);
    for (name, value) in own.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.stdin(Stdio::from(file.into()));
    command
}

#[test]
fn a_restart_refuses_no_connection_to_a_passed_listener() {
    let folder = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let started = || Server::spawn(folder.path(), activated(folder.path(), again(&listener), 1));
    let server = started();
    assert_eq!(server.base, format!("http://{address}"), "--listen is not used");
    assert_eq!(ask(&begin(address)), 200);
    assert_eq!(server.stop(), Some(0));
    // No server runs now. Its successor answers.
    let waiting = begin(address);
    let server = started();
    assert_eq!(ask(&waiting), 200);
    assert_eq!(server.stop(), Some(0));
}

fn again(listener: &TcpListener) -> TcpListener {
    listener.try_clone().unwrap()
}

fn begin(address: std::net::SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET /readyz HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    stream
}

/// The status of the reply.
fn ask(mut stream: &TcpStream) -> u16 {
    stream.set_read_timeout(Some(REPORT_MAX)).unwrap();
    let mut begin = [0; 12];
    stream.read_exact(&mut begin).unwrap();
    std::str::from_utf8(&begin[9..]).unwrap().parse().unwrap()
}

#[test]
fn other_sockets_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let check = |output: std::io::Result<Output>, why: &str| {
        assert_complains(&output.unwrap(), 1, &["that systemd passed", why, "ListenStream="]);
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    check(activated(folder.path(), listener, 2).output(), "2 sockets");
    let datagram = UnixDatagram::unbound().unwrap();
    check(activated(folder.path(), datagram, 1).output(), "invalid");
}

#[test]
fn a_listener_for_another_process_is_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_with(folder.path(), "127.0.0.1:0", |command| {
        command.env("LISTEN_PID", "1").env("LISTEN_FDS", "1")
    });
    assert_eq!(server.stop(), Some(0));
}
