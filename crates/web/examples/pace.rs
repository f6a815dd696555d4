//! Sends one request at a steady rate, and reports how long the replies took.
//!
//! A client that waits for a reply before it sends again hides the delay that a slow reply causes
//! for later requests (coordinated omission). Here the rate alone determines when each request
//! should be sent, and its latency counts from then, whether or not its connection was free.
//! `bench/run` uses it for the latency at half load. One thread per connection: an asynchronous
//! timer would be late by up to a millisecond.
//!
//! `pace HOST:PORT RATE SECONDS CONNECTIONS TEXT <REQUEST`: the whole request is read from standard
//! input, and a reply is good if it is a 200 that contains the text. The figures are printed as
//! JSON.

use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

/// A reply that takes longer counts as lost.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Delay before the first request, so that all connections can open.
const HEAD_START: Duration = Duration::from_millis(300);

#[derive(Clone)]
struct Plan {
    address: String,
    request: Vec<u8>,
    text: Vec<u8>,
    start: Instant,
    /// Time between two requests of one connection.
    interval: Duration,
    requests: u32,
}

#[derive(Default)]
struct Outcome {
    /// Of good replies, in microseconds.
    latencies: Vec<u64>,
    refused: u32,
    lost: u32,
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut next = |what: &str| arguments.next().ok_or_else(|| bad(&format!("{what} is missing")));
    let address = next("HOST:PORT")?;
    let rate: f64 = number(&next("RATE")?)?;
    let seconds: f64 = number(&next("SECONDS")?)?;
    let connections: u32 = number(&next("CONNECTIONS")?)?;
    let text = next("TEXT")?.into_bytes();
    let mut request = Vec::new();
    std::io::stdin().read_to_end(&mut request)?;
    let interval = Duration::from_secs_f64(f64::from(connections) / rate);
    let requests = (rate * seconds / f64::from(connections)).ceil() as u32;
    let start = Instant::now() + HEAD_START;
    let plan = Plan { address, request, text, start, interval, requests };
    let threads: Vec<_> = (0..connections)
        .map(|number| {
            let offset = interval * number / connections;
            let plan = Plan { start: start + offset, ..plan.clone() };
            thread::spawn(move || send_all(&plan))
        })
        .collect();
    let mut all = Outcome::default();
    for thread in threads {
        let one = thread.join().map_err(|_| bad("a connection's thread panicked"))?;
        all.latencies.extend(one.latencies);
        all.refused += one.refused;
        all.lost += one.lost;
    }
    let took = start.elapsed();
    all.latencies.sort_unstable();
    let at = |share: f64| {
        let place = (all.latencies.len() as f64 * share) as usize;
        all.latencies
            .get(place.min(all.latencies.len().saturating_sub(1)))
            .map_or(0.0, |it| *it as f64 / 1000.0)
    };
    writeln!(
        std::io::stdout(),
        r#"{{"requests":{},"microseconds":{},"refused":{},"lost":{},"p50_ms":{:.3},"p99_ms":{:.3},"p999_ms":{:.3},"max_ms":{:.3}}}"#,
        all.latencies.len(),
        took.as_micros(),
        all.refused,
        all.lost,
        at(0.5),
        at(0.99),
        at(0.999),
        at(1.0),
    )
}

/// Sends the requests of one connection. After a lost connection, its unsent requests count as
/// lost.
fn send_all(plan: &Plan) -> Outcome {
    let mut outcome = Outcome::default();
    if send_in_turn(plan, &mut outcome).is_err() {
        outcome.lost = plan.requests - outcome.latencies.len() as u32 - outcome.refused;
    }
    outcome
}

fn send_in_turn(plan: &Plan, outcome: &mut Outcome) -> Result<()> {
    let mut stream = TcpStream::connect(&plan.address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    let mut buffer = Vec::with_capacity(16 * 1024);
    for number in 0..plan.requests {
        let intended = plan.start + plan.interval * number;
        thread::sleep(intended.saturating_duration_since(Instant::now()));
        stream.write_all(&plan.request)?;
        if is_good(&mut stream, &mut buffer, &plan.text)? {
            outcome.latencies.push(intended.elapsed().as_micros() as u64);
        } else {
            outcome.refused += 1;
        }
    }
    Ok(())
}

/// Reads one reply to its end.
fn is_good(stream: &mut TcpStream, buffer: &mut Vec<u8>, text: &[u8]) -> Result<bool> {
    buffer.clear();
    let mut piece = [0; 8 * 1024];
    loop {
        let count = stream.read(&mut piece)?;
        if count == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        buffer.extend_from_slice(&piece[..count]);
        if let Some(length) = whole_length(buffer)?
            && buffer.len() >= length
        {
            let body = &buffer[..length];
            return Ok(body.starts_with(b"HTTP/1.1 200") && find(body, text).is_some());
        }
    }
}

/// The length of head and body together, once the head has arrived.
fn whole_length(reply: &[u8]) -> Result<Option<usize>> {
    let Some(end) = find(reply, b"\r\n\r\n") else { return Ok(None) };
    let head = String::from_utf8_lossy(&reply[..end]).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    if let Some(length) = length {
        return Ok(Some(end + 4 + number::<usize>(length.trim())?));
    }
    // Chunked: an empty chunk is the last. Only one request is in flight, so nothing follows it.
    let is_whole = reply.ends_with(b"\r\n0\r\n\r\n");
    Ok(is_whole.then_some(reply.len()))
}

fn find(bytes: &[u8], text: &[u8]) -> Option<usize> {
    bytes.windows(text.len()).position(|window| window == text)
}

fn number<N: std::str::FromStr>(text: &str) -> Result<N> {
    text.parse().map_err(|_| bad(&format!("{text} is not a number")))
}

fn bad(message: &str) -> Error {
    Error::new(ErrorKind::InvalidInput, message)
}
