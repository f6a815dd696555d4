//! The most that this machine's HTTP stack could do: parse the body, discard it, answer a constant.
//!
//! `bench/run` measures the service beside it, because a rate alone says more about the machine than
//! about the code. Deliberately absent: all that a submission is about.

use std::io::Write;

use axum::routing::post;
use axum::{Json, Router};
use http::HeaderName;
use http::header::CONTENT_TYPE;
use serde_json::Value;

const REPLY: &str =
    r#"{"result":{"data":{"success":true,"responseId":"rs_0000000000000000000000"}}}"#;

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let app = Router::new().route("/api/v1/{key}/trpc/response.submit", post(submit));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    writeln!(std::io::stdout(), "Limit listening on http://{}", listener.local_addr()?)?;
    axum::serve(listener, app).await
}

async fn submit(_: Json<Value>) -> ([(HeaderName, &'static str); 1], &'static str) {
    ([(CONTENT_TYPE, "application/json")], REPLY)
}
