//! The upper bound of this machine's HTTP stack: parses the body, discards it, answers a constant.
//!
//! `bench/run` measures the service beside it, because a rate alone describes the machine more than
//! the code. A batch is answered with one constant per call, and `GET /bare/{bytes}` with that
//! number of bytes. Deliberately absent: everything that a submission or a read does.

use std::io::Write;

use axum::Router;
use axum::extract::Path;
use axum::routing::{get, post};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderName, StatusCode};
use serde_json::Value;

const REPLY: &str =
    r#"{"result":{"data":{"success":true,"responseId":"rs_0000000000000000000000"}}}"#;
/// The longest body of a bare GET.
const BARE_BYTES_MAX: usize = 1 << 20;
static BARE: [u8; BARE_BYTES_MAX] = [b' '; BARE_BYTES_MAX];

type Answer<B> = ([(HeaderName, &'static str); 1], B);

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let app = Router::new()
        .route("/api/v1/{key}/trpc/response.submit", post(submit))
        .route("/api/v1/{key}/trpc/{procedures}", post(submit_batch))
        .route("/bare/{bytes}", get(bare));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    writeln!(std::io::stdout(), "Limit listening on http://{}", listener.local_addr()?)?;
    axum::serve(listener, app).await
}

async fn submit(body: Bytes) -> Result<Answer<&'static str>, StatusCode> {
    parse(&body)?;
    Ok(json(REPLY))
}

async fn submit_batch(
    Path((_, procedures)): Path<(String, String)>,
    body: Bytes,
) -> Result<Answer<String>, StatusCode> {
    parse(&body)?;
    let replies: Vec<&str> = procedures.split(',').map(|_| REPLY).collect();
    Ok(json(format!("[{}]", replies.join(","))))
}

fn parse(body: &[u8]) -> Result<Value, StatusCode> {
    serde_json::from_slice(body).map_err(|_| StatusCode::BAD_REQUEST)
}

async fn bare(Path(bytes): Path<usize>) -> Answer<Bytes> {
    json(Bytes::from_static(&BARE[..bytes.min(BARE_BYTES_MAX)]))
}

fn json<B>(body: B) -> Answer<B> {
    ([(CONTENT_TYPE, "application/json")], body)
}
