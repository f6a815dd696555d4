//! Stopping: requests in progress finish, and acknowledged responses are kept.

use crate::support;

use std::io::{Read as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use support::{Server, http, submission, submit};

const CLIENTS: usize = 8;

#[tokio::test(flavor = "multi_thread")]
async fn a_terminated_server_drains_exits_0_and_keeps_acknowledged_responses() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path());
    let (token, flow, version) = (server.token().unwrap(), server.id("fl_"), server.id("fv_"));
    let url = server.submit_url(&server.id("pk_"));
    let stored = Arc::new(AtomicUsize::new(0));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let (url, version, stored) = (url.clone(), version.clone(), Arc::clone(&stored));
            tokio::spawn(submit_until_refused(url, version, client, stored))
        })
        .collect();
    while stored.load(Ordering::Relaxed) <= CLIENTS {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    server.signal("-TERM");
    assert_eq!(server.wait(), Some(0));
    let mut acknowledged = Vec::new();
    for client in clients {
        acknowledged.extend(client.await.unwrap());
    }
    let server = Server::start(folder.path());
    let stored = server.stored(&token, &flow, None).await;
    for id in acknowledged {
        assert!(stored.contains_key(&id), "{id} was acknowledged and is gone");
    }
}

async fn submit_until_refused(
    url: String,
    version: String,
    client: usize,
    stored: Arc<AtomicUsize>,
) -> Vec<String> {
    let http = http();
    let mut acknowledged = Vec::new();
    for count in 0.. {
        let key = format!("{client}-{count}");
        match submit(&http, &url, &key, &submission(&version, &key)).await {
            Some(id) => {
                acknowledged.push(id);
                stored.fetch_add(1, Ordering::Relaxed);
            }
            None => break,
        }
    }
    acknowledged
}

#[test]
fn a_second_signal_ends_the_wait_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path());
    // A request whose body never ends keeps the server draining.
    let address = server.base.strip_prefix("http://").unwrap().to_owned();
    let mut stuck = std::net::TcpStream::connect(&address).unwrap();
    let path = format!("/api/v1/{}/trpc/response.submit", server.id("pk_"));
    write!(
        stuck,
        "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n\
         content-length: 100\r\nexpect: 100-continue\r\n\r\n"
    )
    .unwrap();
    let mut begun = [0; 12];
    stuck.read_exact(&mut begun).unwrap();
    assert_eq!(&begun, b"HTTP/1.1 100", "the server waits for the body");
    server.signal("-TERM");
    // It stops listening when it begins to drain.
    while std::net::TcpStream::connect(&address).is_ok() {
        std::thread::sleep(Duration::from_millis(10));
    }
    server.signal("-INT");
    assert_eq!(server.wait(), Some(130));
}
