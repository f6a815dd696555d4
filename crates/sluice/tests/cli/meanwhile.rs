//! A proxy that lets another client make a change just before a certain request reaches the server:
//! what happens between two requests of one command.

use std::sync::Arc;

use reqwest::RequestBuilder;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;

/// The request of the other client, until it was sent.
type Change = Arc<Mutex<Option<RequestBuilder>>>;

/// Forwards to a server until the test ends, and returns its own address. Before the first request
/// that starts with `before`, the change is made.
pub(crate) async fn proxy(base: &str, before: &'static str, change: RequestBuilder) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let server = base.strip_prefix("http://").unwrap().to_owned();
    let change = Arc::new(Mutex::new(Some(change)));
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let server = TcpStream::connect(&server).await.unwrap();
            tokio::spawn(forward(client, server, before, Arc::clone(&change)));
        }
    });
    address
}

async fn forward(client: TcpStream, server: TcpStream, before: &'static str, change: Change) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    tokio::spawn(async move { copy(&mut from_server, &mut to_client).await });
    let mut buffer = vec![0; 64 * 1024];
    // A client waits for each reply, so a read starts with the first line of a request.
    while let Ok(read @ 1..) = from_client.read(&mut buffer).await {
        if buffer[..read].starts_with(before.as_bytes())
            && let Some(change) = change.lock().await.take()
        {
            assert!(change.send().await.unwrap().status().is_success());
        }
        if to_server.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}
