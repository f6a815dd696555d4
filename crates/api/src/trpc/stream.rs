//! Batches answered line by line, each call as it completes.
//!
//! Version 11 has a head that says where each call will appear, then one chunk per call. Its client
//! applies its transformer to each whole line, so for superjson the lines are wrapped and the
//! values in them are not. Version 10 has one object spread over lines. Its client decodes each
//! network chunk separately, and a chunk may end within a character: so that framing sends only
//! ASCII.

use std::convert::Infallible;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream::{self, FuturesUnordered, Stream, StreamExt};

use super::envelope::{self, Call, Outcome, Transformer};

/// The reply to a batch with these outcomes, in the framing of version 11.
pub(super) fn lines11<F>(calls: Vec<Call>, outcomes: Vec<F>) -> Body
where
    F: Future<Output = Outcome> + Send + 'static,
{
    let entries: Vec<String> =
        (0..calls.len()).map(|index| format!("\"{index}\":[[0],[null,0,{index}]]")).collect();
    let is_superjson = calls.iter().any(|call| call.transformer == Transformer::Superjson);
    let transformer = if is_superjson { Transformer::Superjson } else { Transformer::Plain };
    let head = line11(transformer, |line| {
        line.extend_from_slice(format!("{{{}}}", entries.join(",")).as_bytes());
    });
    let chunks = completed(outcomes).map(move |(index, outcome)| {
        let Call { path, transformer } = &calls[index];
        line11(*transformer, |line| {
            line.extend_from_slice(format!("[{index},0,[[").as_bytes());
            envelope::write_item(line, Some(path), Transformer::Plain, &outcome);
            line.extend_from_slice(b"]]]");
        })
    });
    body(stream::once(async { head }).chain(chunks))
}

fn line11(transformer: Transformer, write: impl FnOnce(&mut Vec<u8>)) -> Bytes {
    let (before, after): (&[u8], &[u8]) = match transformer {
        Transformer::Plain => (b"", b"\n"),
        Transformer::Superjson => (b"{\"json\":", b"}\n"),
    };
    let mut line = before.to_vec();
    write(&mut line);
    line.extend_from_slice(after);
    Bytes::from(line)
}

/// The same in the framing of version 10.
pub(super) fn lines10<F>(calls: Vec<Call>, outcomes: Vec<F>) -> Body
where
    F: Future<Output = Outcome> + Send + 'static,
{
    let items = completed(outcomes).enumerate().map(move |(sent, (index, outcome))| {
        let opening = if sent == 0 { '{' } else { ',' };
        let Call { path, transformer } = &calls[index];
        let mut item = Vec::new();
        envelope::write_item(&mut item, Some(path), *transformer, &outcome);
        let mut line = format!("{opening}\"{index}\":").into_bytes();
        push_ascii(&mut line, &item);
        line.push(b'\n');
        Bytes::from(line)
    });
    body(items.chain(stream::once(async { Bytes::from_static(b"}\n") })))
}

/// The outcomes of the calls, in the order in which they complete.
fn completed<F>(calls: Vec<F>) -> impl Stream<Item = (usize, Outcome)> + Send + 'static
where
    F: Future<Output = Outcome> + Send + 'static,
{
    calls
        .into_iter()
        .enumerate()
        .map(|(index, call)| async move { (index, call.await) })
        .collect::<FuturesUnordered<_>>()
}

fn body(lines: impl Stream<Item = Bytes> + Send + 'static) -> Body {
    Body::from_stream(lines.map(Ok::<_, Infallible>))
}

/// Writes JSON with every non-ASCII character escaped; these occur only within strings.
fn push_ascii(out: &mut Vec<u8>, json: &[u8]) {
    for char in String::from_utf8_lossy(json).chars() {
        if char.is_ascii() {
            out.push(char as u8);
            continue;
        }
        for unit in char.encode_utf16(&mut [0; 2]) {
            out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn non_ascii_characters_are_escaped_and_read_back_the_same() {
        let json = "\"aé€😀\\n\"";
        let mut escaped = Vec::new();
        push_ascii(&mut escaped, json.as_bytes());
        assert_eq!(escaped, b"\"a\\u00e9\\u20ac\\ud83d\\ude00\\n\"");
        let read = |bytes: &[u8]| serde_json::from_slice::<String>(bytes).unwrap();
        assert_eq!(read(&escaped), read(json.as_bytes()));
    }
}
