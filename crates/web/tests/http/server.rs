//! The real accept loop on a loopback socket: how it handles slow, greedy and silent clients, and
//! how it stops.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sluice_engine::Rates;
use sluice_web::Limits;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::rate::burst;
use crate::support::{Site, submission};

const SHORT: Duration = Duration::from_millis(300);
/// Well past any short limit, and far below the timeouts of the tests.
const PATIENCE: Duration = Duration::from_secs(60);

fn short_limits() -> Limits {
    Limits {
        header_read_timeout: SHORT,
        body_stall_timeout: SHORT,
        body_read_timeout: SHORT * 4,
        drain_timeout: PATIENCE,
        body_bytes_max: 64 * 1024,
        header_bytes_max: Limits::HEADER_BYTES_LEAST,
        ..Limits::default()
    }
}

pub(crate) struct Running {
    pub(crate) site: Site,
    pub(crate) address: std::net::SocketAddr,
    stop: oneshot::Sender<()>,
    server: JoinHandle<std::io::Result<()>>,
}

impl Running {
    pub(crate) async fn start(limits: Limits) -> Self {
        Self::start_site(Site::with_limits(limits).await, limits).await
    }

    async fn start_site(site: Site, limits: Limits) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let router = Arc::new(site.router.clone());
        let server = tokio::spawn(async move {
            sluice_web::serve(listener, router, &limits, &[], async { drop(stopped.await) }).await
        });
        Self { site, address, stop, server }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    fn post(&self, headers: &str) -> String {
        let path = self.site.path("trpc/response.submit");
        format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n{headers}\r\n"
        )
    }
}

/// Reads until the server closes.
async fn read_to_end(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut bytes)).await;
    // A reset counts as an end, too; the data before it counts.
    assert!(read.is_ok(), "the server must close the connection");
    String::from_utf8_lossy(&bytes).into_owned()
}

/// With this header, the server says that it waits for the body.
const EXPECTS: &str = "expect: 100-continue\r\n";

async fn waits_for_body(stream: &mut TcpStream) {
    let mut reply = *b"HTTP/1.1 100 Continue\r\n\r\n";
    let read = tokio::time::timeout(PATIENCE, stream.read_exact(&mut reply)).await;
    read.unwrap().unwrap();
    assert!(reply.starts_with(b"HTTP/1.1 100 "));
}

/// Reads one reply with a content length.
async fn read_reply(stream: &mut TcpStream) -> String {
    let mut text = String::new();
    let mut buffer = [0; 4096];
    loop {
        let read = tokio::time::timeout(PATIENCE, stream.read(&mut buffer)).await.unwrap().unwrap();
        assert_ne!(read, 0, "closed after: {text}");
        text.push_str(&String::from_utf8_lossy(&buffer[..read]));
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        if length.is_some_and(|length| body.len() >= length.parse().unwrap()) {
            return text;
        }
    }
}

#[tokio::test]
async fn one_connection_carries_many_requests() {
    let running = Running::start(Limits::default()).await;
    let (_, version) = running.site.published().await;
    let body = submission(version).to_string();
    let mut stream = running.connect().await;
    for _ in 0..3 {
        let head = running.post(&format!("content-length: {}\r\n", body.len()));
        stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
        let reply = read_reply(&mut stream).await;
        assert!(reply.starts_with("HTTP/1.1 200 OK\r\n"), "{reply}");
        assert!(reply.contains("\"success\":true"), "{reply}");
    }
}

#[tokio::test]
async fn a_client_that_sends_nothing_or_partial_headers_is_disconnected() {
    let running = Running::start(short_limits()).await;
    for opening in ["", "P", "PRI * HTTP/2", "GET /healthz HTTP/1.1\r\nhost: x\r\nx-slow: "] {
        let mut stream = running.connect().await;
        let started = Instant::now();
        stream.write_all(opening.as_bytes()).await.unwrap();
        read_to_end(&mut stream).await;
        let waited = started.elapsed();
        assert!(
            waited >= SHORT / 2 && waited < PATIENCE,
            "{opening:?} was disconnected after {waited:?}"
        );
    }
}

#[tokio::test]
async fn slow_headers_do_not_extend_their_time_limit() {
    let running = Running::start(short_limits()).await;
    let mut stream = running.connect().await;
    let started = Instant::now();
    stream.write_all(b"GET /healthz HTTP/1.1\r\n").await.unwrap();
    while started.elapsed() < PATIENCE {
        tokio::time::sleep(SHORT / 6).await;
        if stream.write_all(b"x-a: b\r\n").await.is_err() {
            break;
        }
    }
    assert!(started.elapsed() < PATIENCE, "cut after {:?}", started.elapsed());
}

#[tokio::test]
async fn an_idle_connection_is_closed() {
    let running = Running::start(short_limits()).await;
    let mut stream = running.connect().await;
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    assert!(read_reply(&mut stream).await.ends_with("alive\n"));
    assert_eq!(read_to_end(&mut stream).await, "");
}

#[tokio::test]
async fn a_stalled_body_is_answered_408_and_disconnected() {
    let running = Running::start(short_limits()).await;
    for framing in ["content-length: 100\r\n", "transfer-encoding: chunked\r\n"] {
        let mut stream = running.connect().await;
        let head = running.post(framing);
        stream.write_all(head.as_bytes()).await.unwrap();
        let reply = read_to_end(&mut stream).await;
        assert!(reply.starts_with("HTTP/1.1 408 "), "{reply}");
        assert!(reply.contains("\"code\":\"TIMEOUT\""), "{reply}");
        assert!(reply.contains("connection: close\r\n"), "{reply}");
    }
}

#[tokio::test]
async fn a_slow_body_is_disconnected_at_its_time_limit() {
    // A pause of this test must not count as a stall.
    let limits = Limits { body_stall_timeout: PATIENCE, ..short_limits() };
    let running = Running::start(limits).await;
    let mut stream = running.connect().await;
    let started = Instant::now();
    let head = running.post("content-length: 1000\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let (mut reader, mut writer) = stream.split();
    let drip = async {
        while writer.write_all(b" ").await.is_ok() {
            tokio::time::sleep(SHORT / 6).await;
        }
        std::future::pending::<()>().await
    };
    let mut reply = [0; 12];
    let read = tokio::time::timeout(PATIENCE, reader.read_exact(&mut reply));
    tokio::select! {
        read = read => { read.unwrap().unwrap(); }
        () = drip => {}
    }
    assert_eq!(&reply, b"HTTP/1.1 408");
    assert!(
        started.elapsed() >= SHORT * 3,
        "the body must get its full time: {:?}",
        started.elapsed()
    );
}

#[tokio::test]
async fn a_body_that_is_too_large_is_413_with_and_without_a_content_length() {
    let running = Running::start(short_limits()).await;
    let bytes = "x".repeat(65 * 1024);
    let chunked = format!("{:x}\r\n{bytes}\r\n0\r\n\r\n", bytes.len());
    for (framing, body) in [
        (format!("content-length: {}\r\n", bytes.len()), bytes.as_str()),
        ("content-length: 999999999999\r\n".to_owned(), ""),
        ("transfer-encoding: chunked\r\n".to_owned(), chunked.as_str()),
    ] {
        let mut stream = running.connect().await;
        let head = running.post(&framing);
        stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
        let reply = read_to_end(&mut stream).await;
        assert!(reply.starts_with("HTTP/1.1 413 "), "{framing}: {reply}");
        assert!(reply.contains("\"code\":\"PAYLOAD_TOO_LARGE\""), "{reply}");
        assert!(reply.contains("\"path\":\"response.submit\""), "{reply}");
        assert!(reply.contains("connection: close\r\n"), "{reply}");
    }
}

/// A client that sends its whole body before it reads, as Node's does, would otherwise see a broken
/// connection.
#[tokio::test]
async fn a_client_whose_large_body_is_not_read_gets_the_reply_and_connection_close() {
    let limits = Limits::default();
    let rates = Rates { calls: Some(burst(1)), bytes_per_day: None };
    let running = Running::start_site(Site::with_rates(limits, rates).await, limits).await;
    let (_, version) = running.site.published().await;
    running.site.submit(&submission(version)).await.assert_accepted();
    let bytes = " ".repeat(900 * 1024);
    let chunked = format!("{:x}\r\n{bytes}\r\n0\r\n\r\n", bytes.len());
    for (framing, body) in [
        (format!("content-length: {}\r\n", bytes.len()), bytes.as_str()),
        ("transfer-encoding: chunked\r\n".to_owned(), chunked.as_str()),
    ] {
        let mut stream = running.connect().await;
        let head = running.post(&framing);
        stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
        let reply = read_to_end(&mut stream).await;
        assert!(reply.starts_with("HTTP/1.1 429 "), "{framing}: {reply}");
        assert!(reply.contains("connection: close\r\n"), "{framing}: {reply}");
        assert!(reply.contains("\"reason\":\"rate_limited\""), "{framing}: {reply}");
    }
}

#[tokio::test]
async fn a_refusal_before_a_large_body_is_read_says_that_the_connection_ends() {
    let running = Running::start(short_limits()).await;
    let path = running.site.path("trpc/response.submit");
    for (length, closes) in [(900 * 1024, true), (1_000, false)] {
        let mut stream = running.connect().await;
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: text/plain\r\ncontent-length: {length}\r\n\r\n"
        );
        let body = " ".repeat(length);
        stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
        let reply = read_reply(&mut stream).await;
        assert!(reply.starts_with("HTTP/1.1 415 "), "{reply}");
        assert_eq!(reply.contains("connection: close\r\n"), closes, "{length}: {reply}");
    }
}

/// The status of a stream or of a mixed batch does not show that the body was refused.
#[tokio::test]
async fn a_batch_whose_body_is_too_large_ends_the_connection_whatever_its_status() {
    let running = Running::start(short_limits()).await;
    let path = running.site.path("trpc/response.submit,nope?batch=1");
    for (header, status) in [("x: y", "207"), ("trpc-accept: application/jsonl", "200")] {
        let mut stream = running.connect().await;
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n{header}\r\ncontent-length: 999999\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let reply = read_to_end(&mut stream).await;
        assert!(reply.starts_with(&format!("HTTP/1.1 {status} ")), "{reply}");
        assert!(reply.contains("PAYLOAD_TOO_LARGE"), "{reply}");
        assert!(reply.contains("connection: close\r\n"), "{reply}");
    }
}

#[tokio::test]
async fn a_body_of_exactly_the_limit_is_read() {
    let running = Running::start(short_limits()).await;
    let (_, version) = running.site.published().await;
    let mut body = submission(version).to_string();
    body.push_str(&" ".repeat(64 * 1024 - body.len()));
    let mut stream = running.connect().await;
    let head = running.post(&format!("content-length: {}\r\nconnection: close\r\n", body.len()));
    stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
    let reply = read_to_end(&mut stream).await;
    assert!(reply.contains("\"success\":true"), "{reply}");
}

#[tokio::test]
async fn an_endless_body_is_refused_at_once_and_not_read_for_long() {
    let running = Running::start(short_limits()).await;
    let mut stream = running.connect().await;
    let head = running.post("transfer-encoding: chunked\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let (mut reader, mut writer) = stream.split();
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    let mut sent = 0_usize;
    let flood = async {
        while sent < 256 * 1024 * 1024 && writer.write_all(chunk.as_bytes()).await.is_ok() {
            sent += chunk.len();
        }
    };
    let mut reply = [0; 12];
    let read = tokio::time::timeout(PATIENCE, reader.read_exact(&mut reply));
    let (read, ()) = tokio::join!(read, flood);
    read.unwrap().unwrap();
    assert_eq!(&reply, b"HTTP/1.1 413");
    assert!(sent < 64 * 1024 * 1024, "{sent} bytes were read");
}

/// As documented in `docs/running.md`: the HTTP library answers these before any route.
#[tokio::test]
async fn a_head_beyond_its_limits_gets_a_bare_reply_and_the_connection_ends() {
    let running = Running::start(Limits::default()).await;
    let path = running.site.path("trpc/response.submit");
    let large = |bytes: usize| format!("x-large: {}\r\n", "x".repeat(bytes));
    let many = |headers: usize| (0..headers).map(|n| format!("x-{n}: 1\r\n")).collect::<String>();
    for (query, headers, status) in [
        (String::new(), large(31 * 1024), "415 "),
        (String::new(), large(33 * 1024), "431 "),
        ("?".to_owned() + &"x".repeat(31 * 1024), String::new(), "415 "),
        ("?".to_owned() + &"x".repeat(33 * 1024), String::new(), "431 "),
        // With `host`.
        (String::new(), many(99), "415 "),
        (String::new(), many(100), "431 "),
        (String::new(), "content-length: abc\r\n".to_owned(), "400 "),
        (String::new(), "content-length: 1\r\ncontent-length: 2\r\n".to_owned(), "400 "),
    ] {
        let mut stream = running.connect().await;
        let head = format!("POST {path}{query} HTTP/1.1\r\nhost: x\r\n{headers}\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let (reply, is_bare) = match status {
            "415 " => (read_reply(&mut stream).await, false),
            _ => (read_to_end(&mut stream).await, true),
        };
        assert!(reply.starts_with(&format!("HTTP/1.1 {status}")), "{reply}");
        assert_eq!(reply.ends_with("\r\n\r\n"), is_bare, "{reply}");
        assert_eq!(reply.contains("x-request-id: "), !is_bare, "{reply}");
    }
}

#[tokio::test]
async fn connections_beyond_the_limit_wait_for_a_slot() {
    let limits = Limits { connections_max: 1, ..Limits::default() };
    let running = Running::start(limits).await;
    let first = running.connect().await;
    tokio::time::sleep(SHORT / 6).await;
    let mut second = running.connect().await;
    second.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let mut buffer = [0; 1];
    let early = tokio::time::timeout(SHORT / 3, second.read(&mut buffer)).await;
    assert!(early.is_err(), "the second must wait while the first holds the slot");
    drop(first);
    assert!(read_reply(&mut second).await.ends_with("alive\n"));
}

#[tokio::test]
async fn connections_beyond_the_limit_per_address_are_closed_at_once_and_counted() {
    let limits = Limits { connections_per_address_max: 2, ..Limits::default() };
    let running = Running::start(limits).await;
    let mut held = [running.connect().await, running.connect().await];
    for stream in &mut held {
        stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        assert!(read_reply(stream).await.ends_with("alive\n"));
    }
    let mut third = running.connect().await;
    assert_eq!(read_to_end(&mut third).await, "");
    let metrics = running.site.get("/metrics", &[]).await.text();
    assert!(metrics.contains("sluice_connections_refused_total 1\n"), "{metrics}");

    let elsewhere = tokio::net::TcpSocket::new_v4().unwrap();
    elsewhere.bind("127.0.0.2:0".parse().unwrap()).unwrap();
    let mut other = elsewhere.connect(running.address).await.unwrap();
    other.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    assert!(read_reply(&mut other).await.ends_with("alive\n"), "another address is not affected");

    drop(held);
    let freed = async {
        loop {
            let mut stream = running.connect().await;
            // A refused connection may be reset before it is written to.
            let sent =
                stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
            if sent.await.is_ok() && read_to_end(&mut stream).await.ends_with("alive\n") {
                break;
            }
        }
    };
    assert!(
        tokio::time::timeout(PATIENCE, freed).await.is_ok(),
        "closed connections must not count"
    );
}

#[tokio::test]
async fn stopping_finishes_requests_in_progress_and_closes_idle_connections() {
    let running = Running::start(Limits::default()).await;
    let (_, version) = running.site.published().await;
    let body = submission(version).to_string();
    let mut idle = running.connect().await;
    idle.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    read_reply(&mut idle).await;
    let mut silent = running.connect().await;
    let mut under_way = running.connect().await;
    let head = running.post(&format!("content-length: {}\r\n{EXPECTS}", body.len()));
    under_way.write_all(head.as_bytes()).await.unwrap();
    waits_for_body(&mut under_way).await;

    running.stop.send(()).unwrap();
    assert_eq!(read_to_end(&mut idle).await, "");
    assert_eq!(read_to_end(&mut silent).await, "");
    assert!(
        TcpStream::connect(running.address).await.is_err(),
        "no new connection may be accepted"
    );
    under_way.write_all(body.as_bytes()).await.unwrap();
    let reply = read_to_end(&mut under_way).await;
    assert!(reply.contains("\"success\":true"), "{reply}");
    tokio::time::timeout(PATIENCE, running.server).await.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn draining_ends_at_its_deadline() {
    let limits = Limits { drain_timeout: SHORT, ..Limits::default() };
    let running = Running::start(limits).await;
    let mut stuck = running.connect().await;
    let head = running.post(&format!("content-length: 10\r\n{EXPECTS}"));
    stuck.write_all(head.as_bytes()).await.unwrap();
    waits_for_body(&mut stuck).await;
    let started = Instant::now();
    running.stop.send(()).unwrap();
    tokio::time::timeout(PATIENCE, running.server).await.unwrap().unwrap().unwrap();
    assert!(started.elapsed() >= SHORT && started.elapsed() < PATIENCE);
    read_to_end(&mut stuck).await;
}

/// Otherwise a client that reuses the connection loses its next request.
#[tokio::test]
async fn a_refusal_by_the_head_of_a_request_keeps_the_connection_or_says_that_it_ends() {
    let running = Running::start(Limits::default()).await;
    let (flow, _) = running.site.published().await;
    let visits = "/api/v1/pk_x/visits".to_owned();
    let token = "/api/admin/v1/apps".to_owned();
    for (path, status) in [
        ("/nothing".to_owned(), "404"),
        ("/healthz".to_owned(), "405"),
        ("/f/fl_0000000000000000000000".to_owned(), "404"),
        (format!("/f/{flow}/done"), "405"),
        ("/u/ml_x".to_owned(), "404"),
        ("/r/x".to_owned(), "403"),
        ("/console/sign-out".to_owned(), "403"),
        (visits, "401"),
        (token, "401"),
    ] {
        let head = |length: usize| {
            format!(
                "POST {path} HTTP/1.1\r\nhost: x\r\norigin: https://other.example\r\ncontent-length: {length}\r\n\r\n"
            )
        };
        // A small body may arrive after its head: the server waits for it.
        let mut stream = running.connect().await;
        stream.write_all(head(2).as_bytes()).await.unwrap();
        tokio::task::yield_now().await;
        stream.write_all(b"{}").await.unwrap();
        let reply = read_reply(&mut stream).await;
        assert!(reply.starts_with(&format!("HTTP/1.1 {status} ")), "{path}: {reply}");
        assert!(!reply.contains("connection: close"), "{path}: {reply}");
        stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        assert!(read_reply(&mut stream).await.ends_with("alive\n"), "{path}");
        // One that does not arrive, and a large one, end the connection.
        for (length, sent) in [(2, 0), (900 * 1024, 900 * 1024)] {
            let mut stream = running.connect().await;
            let body = " ".repeat(sent);
            stream.write_all(format!("{}{body}", head(length)).as_bytes()).await.unwrap();
            let reply = read_to_end(&mut stream).await;
            assert!(reply.starts_with(&format!("HTTP/1.1 {status} ")), "{path}: {reply}");
            assert!(reply.contains("connection: close\r\n"), "{path}: {reply}");
        }
    }
}
