//! HTTP/2 clients that do not read the reply to their request.

use crate::use_cases::UseCases as _;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use http::Request;
use sluice_engine::NewToken;
use sluice_store::Scope;
use sluice_web::Limits;
use tokio::net::TcpStream;

use crate::server::Running;
use crate::support::{actor, submission};

const PATIENCE: Duration = Duration::from_secs(60);
/// More than the pages and chunks that an export buffers, so that it cannot end unread.
const RESPONSES: usize = 8_000;

#[tokio::test(flavor = "multi_thread")]
async fn exports_that_are_not_read_free_their_slots() {
    let limits = Limits { write_stall_timeout: Duration::from_secs(4), ..Limits::default() };
    let running = Running::start(limits).await;
    let (flow, version) = running.site.published().await;
    let input = submission(version);
    for _ in 0..RESPONSES / 500 {
        for reply in join_all((0..500).map(|_| running.site.submit(&input))).await {
            reply.assert_accepted();
        }
    }
    let new = NewToken {
        name: "export".into(),
        scopes: vec![Scope::Export],
        app_id: None,
        expires_at: None,
    };
    let (_, secret) = running.site.engine.create_token(&actor(), new).await.unwrap();
    let request = || {
        Request::get(format!("http://x/api/admin/v1/flows/{flow}/export?format=jsonl"))
            .header("authorization", format!("Bearer {}", secret.0))
            .body(())
            .unwrap()
    };
    let socket = TcpStream::connect(running.address).await.unwrap();
    let (mut requests, connection) = h2::client::Builder::new()
        .initial_window_size(0)
        .handshake::<_, Bytes>(socket)
        .await
        .unwrap();
    let connection = tokio::spawn(connection);
    let mut held = Vec::new();
    for status in [200, 200, 409] {
        let reply = requests.send_request(request(), true).unwrap().0.await.unwrap();
        assert_eq!(reply.status(), status);
        held.push(reply);
    }
    tokio::time::timeout(PATIENCE, connection)
        .await
        .expect("the connection must end")
        .unwrap()
        .ok();

    let again = async {
        loop {
            let socket = TcpStream::connect(running.address).await.unwrap();
            let (mut requests, connection) = h2::client::handshake::<_>(socket).await.unwrap();
            let connection = tokio::spawn(connection);
            let reply = requests.send_request(request(), true).unwrap().0.await.unwrap();
            connection.abort();
            if reply.status() == 200 {
                break;
            }
        }
    };
    assert!(tokio::time::timeout(PATIENCE, again).await.is_ok(), "no slot is free");
}
