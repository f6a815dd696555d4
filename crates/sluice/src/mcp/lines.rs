//! The transport: one JSON-RPC message per line.
//!
//! Replaces the library's transport, which does not reply to a line that is not JSON. This one
//! replies with an error and continues reading. Two kinds of lines get no reply: a wrong
//! notification, as JSON-RPC demands, and a wrong response, so that two programs cannot answer each
//! other's errors without end. An error without a known request has no `id`, as the Model Context
//! Protocol demands; JSON-RPC itself would have `null`.

use std::io;
use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::{JsonRpcMessage, RequestId};
use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

/// The longest line that is read, as in the library's transport.
const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Some shells on Windows write it before the first line.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

type Outgoing = TxJsonRpcMessage<RoleServer>;
type Incoming = RxJsonRpcMessage<RoleServer>;

/// Reads and writes messages. Receiving may be cancelled at any time: what was read of a line stays
/// in `line`, and a reply is written by a task.
#[derive(Debug)]
pub(super) struct Lines<R, W> {
    read: BufReader<R>,
    line: Vec<u8>,
    line_bytes_max: usize,
    /// The rest of the current line is skipped.
    is_skipping: bool,
    write: Arc<Mutex<W>>,
    /// The reply to a line that was no message.
    replying: Option<JoinHandle<io::Result<()>>>,
}

impl<R: AsyncRead + Unpin, W> Lines<R, W> {
    pub(super) fn new((read, write): (R, W)) -> Self {
        Self {
            read: BufReader::new(read),
            line: Vec::new(),
            line_bytes_max: LINE_BYTES_MAX,
            is_skipping: false,
            write: Arc::new(Mutex::new(write)),
            replying: None,
        }
    }

    /// The next line; `None` at the end of the input.
    async fn read_line(&mut self) -> io::Result<Option<Received>> {
        let room = (self.line_bytes_max - self.line.len()) as u64;
        (&mut self.read).take(room).read_until(b'\n', &mut self.line).await?;
        let has_ended = self.line.last() == Some(&b'\n');
        if !has_ended && self.line.len() < self.line_bytes_max {
            return Ok(None);
        }
        let received = match (self.is_skipping, has_ended) {
            (false, true) => parse(&self.line),
            (false, false) => Received::Refused(too_long(self.line_bytes_max), None),
            (true, _) => Received::Skipped,
        };
        self.is_skipping = !has_ended;
        self.line.clear();
        Ok(Some(received))
    }
}

/// What a line was.
#[derive(Debug)]
enum Received {
    Message(Box<Incoming>),
    /// The error to reply with, and the request that it is about, if that is known.
    Refused(ErrorData, Option<RequestId>),
    Skipped,
}

fn parse(line: &[u8]) -> Received {
    let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
    if line.trim_ascii().is_empty() {
        return Received::Skipped;
    }
    if let Ok(message) = serde_json::from_slice(line) {
        return Received::Message(Box::new(message));
    }
    let Ok(value) = serde_json::from_slice::<Value>(line) else {
        return Received::Refused(ErrorData::parse_error("this line is not JSON", None), None);
    };
    let has = |name: &str| value.get(name).is_some();
    let is_notification = value.get("method").is_some_and(Value::is_string) && !has("id");
    let is_response = !has("method") && (has("result") || has("error"));
    if is_notification || is_response {
        return Received::Skipped;
    }
    let id = value.get("id").and_then(|id| serde_json::from_value::<RequestId>(id.clone()).ok());
    let error = ErrorData::invalid_request("this line is not a JSON-RPC 2.0 request", None);
    Received::Refused(error, id)
}

fn too_long(bytes_max: usize) -> ErrorData {
    ErrorData::invalid_request(format!("a line has at most {bytes_max} bytes"), None)
}

async fn write_line<W: AsyncWrite + Unpin>(
    write: Arc<Mutex<W>>,
    message: Outgoing,
) -> io::Result<()> {
    let mut line = serde_json::to_vec(&message)?;
    line.push(b'\n');
    let mut write = write.lock().await;
    write.write_all(&line).await?;
    write.flush().await
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(&mut self, message: Outgoing) -> impl Future<Output = io::Result<()>> + Send + 'static {
        write_line(Arc::clone(&self.write), message)
    }

    async fn receive(&mut self) -> Option<Incoming> {
        loop {
            if let Some(replying) = &mut self.replying {
                let written = replying.await;
                self.replying = None;
                written.ok()?.ok()?;
            }
            match self.read_line().await.ok()?? {
                Received::Message(message) => return Some(*message),
                Received::Refused(error, id) => {
                    let (write, reply) =
                        (Arc::clone(&self.write), JsonRpcMessage::error(error, id));
                    self.replying = Some(tokio::spawn(write_line(write, reply)));
                }
                Received::Skipped => {}
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.write.lock().await.shutdown().await
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{duplex, split};

    use super::*;

    const PING: &str = r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#;

    /// The replies to these lines, after which a request is still read.
    async fn replies(lines: &str, line_bytes_max: usize) -> Vec<Value> {
        let (client, server) = duplex(64 * 1024);
        let (mut replies, mut requests) = split(client);
        let mut transport = Lines { line_bytes_max, ..Lines::new(split(server)) };
        requests.write_all(format!("{lines}\n{PING}\n").as_bytes()).await.unwrap();
        requests.shutdown().await.unwrap();
        let message = serde_json::to_value(transport.receive().await.unwrap()).unwrap();
        assert_eq!(message["id"], 9);
        assert_eq!(message["method"], "ping");
        assert!(transport.receive().await.is_none());
        transport.close().await.unwrap();
        let mut text = String::new();
        replies.read_to_string(&mut text).await.unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[tokio::test]
    async fn a_line_that_is_no_message_gets_an_error_and_reading_goes_on() {
        for (line, code, id) in [
            ("this is not JSON", -32_700, None),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping""#, -32_700, None),
            ("5 x", -32_700, None),
            ("5", -32_600, None),
            ("null", -32_600, None),
            ("[]", -32_600, None),
            ("{}", -32_600, None),
            (r#"{"id":4,"method":"ping"}"#, -32_600, Some(4)),
            (r#"{"jsonrpc":"2.0","id":4,"method":7}"#, -32_600, Some(4)),
            (r#"{"jsonrpc":"2.0","id":null,"method":7}"#, -32_600, None),
        ] {
            let replies = replies(line, LINE_BYTES_MAX).await;
            let [reply] = &replies[..] else { panic!("{line}: {replies:?}") };
            assert_eq!(reply["jsonrpc"], "2.0");
            assert_eq!(reply["error"]["code"], code, "{line}");
            assert_eq!(reply.get("id"), id.map(Value::from).as_ref(), "{line}");
        }
    }

    #[test]
    fn wrong_notifications_wrong_responses_and_empty_lines_get_no_reply() {
        for line in [
            "\n",
            "\r\n",
            r#"{"method":"initialized"}"#,
            r#"{"jsonrpc":"2.0","method":"textDocument/didOpen","params":5}"#,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}"#,
            r#"{"jsonrpc":"2.0","error":"Parse error"}"#,
            r#"{"jsonrpc":"2.0","id":{},"result":{}}"#,
        ] {
            let received = parse(line.as_bytes());
            assert!(!matches!(received, Received::Refused(..)), "{line}: {received:?}");
        }
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_gets_one_error_and_is_skipped() {
        for length in [64, 65, 200] {
            let replies = replies(&"x".repeat(length), 64).await;
            let codes: Vec<&Value> = replies.iter().map(|it| &it["error"]["code"]).collect();
            assert_eq!(codes, [-32_600], "{length}");
        }
        let codes = replies(&"x".repeat(63), 64).await;
        assert_eq!(codes[0]["error"]["code"], -32_700);
    }
}
