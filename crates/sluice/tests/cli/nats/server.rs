//! A NATS server for a test, and a client that speaks just enough of its protocol to read a stream.
//! The client shares no code with the service.

#![allow(dead_code, reason = "each test binary uses a part of this")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::cluster::Port;

const START_MAX: Duration = Duration::from_secs(120);
const REPLY_MAX: Duration = Duration::from_secs(60);

/// A running `nats-server` with JetStream on loopback; it ends with the test.
pub(crate) struct Nats {
    child: Child,
    folder: PathBuf,
    port: Port,
    settings: String,
}

impl Nats {
    /// Starts with further settings, as in its configuration file.
    pub(crate) fn start(folder: &Path, settings: &str) -> Self {
        let port = Port::reserve();
        let child = Self::run(folder, port.number, settings);
        let nats = Self { child, folder: folder.to_owned(), port, settings: settings.to_owned() };
        nats.await_start();
        nats
    }

    fn run(folder: &Path, port: u16, settings: &str) -> Child {
        let config = folder.join("nats.conf");
        let store = folder.join("nats");
        let text = format!(
            "listen: \"127.0.0.1:{port}\"\njetstream {{ store_dir: {:?} }}\n{settings}\n",
            store.display()
        );
        std::fs::write(&config, text).unwrap();
        let log = std::fs::File::create(folder.join("nats.log")).unwrap();
        // Debian installs it beside the other servers, which is not in every PATH.
        let installed = Path::new("/usr/sbin/nats-server");
        let program = if installed.exists() { installed } else { Path::new("nats-server") };
        let mut command = Command::new(program);
        command.arg("--config").arg(config).stdout(Stdio::null()).stderr(log);
        command.spawn().expect("nats-server is needed: apt-get install nats-server")
    }

    fn await_start(&self) {
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port.number)).is_err() {
            let log = || std::fs::read_to_string(self.folder.join("nats.log")).unwrap();
            assert!(begun.elapsed() < START_MAX, "nats-server does not start: {}", log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port.number)
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Starts again on the same port with the same data.
    pub(crate) fn start_again(&mut self) {
        self.child = Self::run(&self.folder, self.port.number, &self.settings);
        self.await_start();
    }

    pub(crate) fn client(&self) -> NatsClient {
        NatsClient::connect(self.port.number, &json!({}))
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }
}

/// A message of a stream.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) subject: String,
    /// The header `Nats-Msg-Id`.
    pub(crate) id: String,
    pub(crate) body: Value,
}

pub(crate) struct NatsClient {
    stream: BufReader<TcpStream>,
}

impl NatsClient {
    fn connect(port: u16, options: &Value) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(REPLY_MAX)).unwrap();
        let mut client = Self { stream: BufReader::new(stream) };
        client.send(&format!("CONNECT {options}\r\nSUB inbox 1\r\n"));
        client
    }

    fn send(&mut self, text: &str) {
        self.stream.get_mut().write_all(text.as_bytes()).unwrap();
    }

    /// Sends a request, and returns the reply.
    pub(crate) fn request(&mut self, subject: &str, body: &Value) -> Value {
        let body = body.to_string();
        self.send(&format!("PUB {subject} inbox {}\r\n{body}\r\n", body.len()));
        loop {
            let mut line = String::new();
            assert!(self.stream.read_line(&mut line).unwrap() > 0, "the connection was closed");
            if line.starts_with("PING") {
                self.send("PONG\r\n");
            }
            assert!(!line.starts_with("-ERR"), "{line}");
            let Some(of) = line.strip_prefix("MSG ") else { continue };
            let length: usize = of.split_whitespace().last().unwrap().parse().unwrap();
            let mut reply = vec![0; length + 2];
            self.stream.read_exact(&mut reply).unwrap();
            return serde_json::from_slice(&reply[..length]).unwrap();
        }
    }

    /// The number of messages; `None` if there is no such stream.
    pub(crate) fn count(&mut self, stream: &str) -> Option<u64> {
        let info = self.request(&format!("$JS.API.STREAM.INFO.{stream}"), &json!({}));
        info["state"]["messages"].as_u64()
    }

    /// All messages of a stream, in order.
    pub(crate) fn messages(&mut self, stream: &str) -> Vec<Message> {
        let count = self.count(stream).unwrap_or_default();
        let subject = format!("$JS.API.STREAM.MSG.GET.{stream}");
        let read = |sequence: u64| {
            let reply = self.request(&subject, &json!({"seq": sequence}));
            let message = &reply["message"];
            let text = |name: &str| message[name].as_str().unwrap_or_else(|| panic!("{reply}"));
            let headers = STANDARD.decode(text("hdrs")).unwrap();
            let headers = String::from_utf8(headers).unwrap();
            let id = headers.lines().find_map(|line| line.strip_prefix("Nats-Msg-Id: "));
            Message {
                subject: text("subject").to_owned(),
                id: id.unwrap().to_owned(),
                body: serde_json::from_slice(&STANDARD.decode(text("data")).unwrap()).unwrap(),
            }
        };
        (1..=count).map(read).collect()
    }
}
