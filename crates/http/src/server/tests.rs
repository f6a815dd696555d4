//! Real HTTP/2 clients on an in-memory connection, in simulated time, which advances only while
//! every task waits.

use axum::Router;
use axum::body::Body;
use axum::extract::Path;
use axum::response::IntoResponse as _;
use axum::routing::get;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use h2::client::{Builder as Client, SendRequest};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::task::JoinHandle;
use tokio::time::{Instant, interval, sleep, timeout};
use tower::Service;

use super::activity::STREAM_BYTES_MIN;
use super::*;

/// Longer than anything here may take, in simulated time.
const LONG: Duration = Duration::from_secs(3600);
const BODY: &str = "a reply of some forty bytes, or about so";

struct Fixed(Router);

impl Site for Fixed {
    fn answer(
        &self,
        request: Request<Incoming>,
        _: IpAddr,
    ) -> BoxFuture<'static, Result<Response, Infallible>> {
        Box::pin(self.0.clone().call(request))
    }

    fn connection_refused(&self) {}

    fn stop(&self) {}
}

/// Several times what a client must read within the write stall timeout, in bytes.
const LONG_BODY: usize = 100_000;

/// A reply of [`LONG_BODY`] bytes, in parts of the given size.
async fn long(Path(part): Path<usize>) -> Body {
    let parts = (0..LONG_BODY / part).map(move |_| Ok::<_, Infallible>(vec![b'x'; part]));
    Body::from_stream(stream::iter(parts))
}

/// Sends `word` every two minutes, ten times.
async fn rarely() -> Body {
    Body::from_stream(stream::iter(0..10).then(async |_| {
        sleep(Duration::from_secs(120)).await;
        Ok::<_, Infallible>(Bytes::from_static(b"word "))
    }))
}

struct Connected {
    requests: SendRequest<Bytes>,
    /// Ends when the server closes the connection; an error unless it closes cleanly.
    client: JoinHandle<Result<(), h2::Error>>,
    /// Ends with the connection.
    server: JoinHandle<()>,
    stop: watch::Sender<bool>,
}

/// Replies after five seconds.
async fn soon() -> &'static str {
    sleep(Duration::from_secs(5)).await;
    BODY
}

/// A reply without an end, which a stopping server may cut off.
async fn endless() -> Response {
    let parts = stream::repeat_with(|| Ok::<_, Infallible>(vec![b'x'; 1000]));
    (axum::Extension(Interruptible), Body::from_stream(parts)).into_response()
}

fn new_server() -> Server {
    let router = Router::new()
        .route("/", get(async || BODY))
        .route("/rarely", get(rarely))
        .route("/endless", get(endless))
        .route("/soon", get(soon))
        .route("/long/{part}", get(long));
    let limits = Limits::default();
    Server {
        builder: builder(&limits),
        site: Arc::new(Fixed(router)),
        limits,
        stop: watch::Sender::new(false),
    }
}

async fn connect(window: u32) -> Connected {
    let server = new_server();
    let stop = server.stop.clone();
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    let connection = server.connection(ours, [203, 0, 113, 7].into());
    let server = tokio::spawn(async move {
        connection.await;
        drop(server);
    });
    let (requests, client) =
        Client::new().initial_window_size(window).handshake(theirs).await.unwrap();
    let client = tokio::spawn(client);
    Connected { requests, client, server, stop }
}

fn request_for(path: &str) -> Request<()> {
    Request::get(format!("http://x{path}")).body(()).unwrap()
}

async fn get_from(requests: &mut SendRequest<Bytes>, path: &str) -> h2::RecvStream {
    let (reply, _) = requests.send_request(request_for(path), true).unwrap();
    let reply = reply.await.unwrap();
    assert_eq!(reply.status(), 200);
    reply.into_body()
}

#[tokio::test(start_paused = true)]
async fn replies_behind_a_closed_window_end_their_connection() {
    // The window is closed from the start, or after part of the reply was sent.
    for window in [0, 10] {
        let Connected { mut requests, server, .. } = connect(window).await;
        let started = Instant::now();
        let mut held = Vec::new();
        for _ in 0..50 {
            held.push(get_from(&mut requests, "/").await);
        }
        timeout(LONG, server).await.expect("the connection must end").unwrap();
        let took = started.elapsed();
        assert!(took >= Limits::default().write_stall_timeout, "cut after {took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn one_stalled_stream_ends_the_connection_even_if_others_move() {
    let Connected { mut requests, server, .. } = connect(0).await;
    let stalled = get_from(&mut requests, "/").await;
    let others = async {
        // The client drops each of these, until the connection is closed.
        while let Ok((reply, _)) = requests.send_request(request_for("/"), true) {
            drop(reply.await);
            sleep(Duration::from_secs(1)).await;
        }
    };
    tokio::select! {
        ended = timeout(LONG, server) => ended.expect("the connection must end").unwrap(),
        () = others => {}
    }
    drop(stalled);
}

/// Reads one window of bytes in the given time, then opens the window again. Returns the bytes
/// read.
async fn read_slowly(path: &str, window: u32, time: Duration) -> (usize, Connected) {
    let mut connected = connect(window).await;
    let mut body = get_from(&mut connected.requests, path).await;
    let mut read = 0;
    while let Some(Ok(data)) = body.data().await {
        read += data.len();
        sleep(time * u32::try_from(data.len()).unwrap() / window).await;
        if body.flow_control().release_capacity(data.len()).is_err() {
            break;
        }
    }
    (read, connected)
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_slowly_but_steadily_gets_the_whole_reply() {
    // 600 bytes a second, of a reply in large parts and in small parts.
    for (path, window, seconds) in
        [("/long/50000", 600, 1), ("/long/100", 600, 1), ("/long/1000", 6000, 10)]
    {
        let started = Instant::now();
        let (read, connected) = read_slowly(path, window, Duration::from_secs(seconds)).await;
        assert_eq!(read, LONG_BODY, "{path}");
        assert!(started.elapsed() > Limits::default().write_stall_timeout * 5);
        assert!(!connected.server.is_finished());
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_opens_its_window_by_a_few_bytes_at_a_time_is_disconnected() {
    // One byte every 12 seconds, a whole part of the reply each time, and 400 bytes a second.
    for (path, window, seconds) in
        [("/long/50000", 1, 12), ("/long/100", 100, 12), ("/long/1000", 400, 1)]
    {
        let started = Instant::now();
        let (read, connected) = read_slowly(path, window, Duration::from_secs(seconds)).await;
        assert!(read < STREAM_BYTES_MIN, "{path}: {read} bytes");
        timeout(LONG, connected.server).await.expect("the connection must end").unwrap();
        let (took, allowed) = (started.elapsed(), Limits::default().write_stall_timeout);
        assert!(took >= allowed && took <= allowed * 2, "{path}: cut after {took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_is_closed_cleanly() {
    for requests_before in [0, 3] {
        let Connected { mut requests, client, server, .. } = connect(65_535).await;
        for _ in 0..requests_before {
            let mut body = get_from(&mut requests, "/").await;
            assert_eq!(body.data().await.unwrap().unwrap(), BODY);
        }
        let started = Instant::now();
        let ended = timeout(LONG, client).await.expect("the connection must end").unwrap();
        assert!(ended.is_ok(), "expected a GOAWAY without an error: {ended:?}");
        assert!(started.elapsed() >= Limits::default().idle_timeout - Duration::from_secs(1));
        server.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_waits_for_the_server_is_neither_stalled_nor_idle() {
    let Connected { mut requests, server, .. } = connect(65_535).await;
    let mut body = get_from(&mut requests, "/rarely").await;
    let mut read = Vec::new();
    while let Some(data) = body.data().await {
        let data = data.unwrap();
        body.flow_control().release_capacity(data.len()).unwrap();
        read.extend_from_slice(&data);
    }
    assert_eq!(read, b"word ".repeat(10));
    assert!(!server.is_finished());
}

/// Far below the drain timeout.
const AT_ONCE: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn a_stop_does_not_wait_for_a_reply_that_it_may_cut_off() {
    // HTTP/1, unread and read; the socket is full long before the stop.
    for is_read in [false, true] {
        let server = new_server();
        let stop = server.stop.clone();
        let (ours, mut theirs) = tokio::io::duplex(16 * 1024);
        let connection = tokio::spawn(server.connection(ours, [203, 0, 113, 7].into()));
        theirs.write_all(b"GET /endless HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        let mut start = [0; 12];
        theirs.read_exact(&mut start).await.unwrap();
        assert_eq!(&start, b"HTTP/1.1 200");
        let reader = is_read.then(|| {
            tokio::spawn(async move {
                let mut part = [0; 4096];
                while let Ok(1..) = theirs.read(&mut part).await {
                    sleep(Duration::from_millis(10)).await;
                }
            })
        });
        sleep(Duration::from_secs(1)).await;
        stop.send_replace(true);
        timeout(AT_ONCE, connection).await.expect("the connection must end").unwrap();
        if let Some(reader) = reader {
            timeout(AT_ONCE, reader).await.expect("the reader must notice").unwrap();
        }
    }
    // HTTP/2, behind a closed window.
    let Connected { mut requests, server, stop, .. } = connect(0).await;
    let held = get_from(&mut requests, "/endless").await;
    stop.send_replace(true);
    timeout(AT_ONCE, server).await.expect("the connection must end").unwrap();
    drop(held);
}

#[tokio::test(start_paused = true)]
async fn a_request_on_its_way_when_the_server_stops_gets_a_reply_that_closes_the_connection() {
    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n";
    for requests_before in [0, 2] {
        let server = new_server();
        let stop = server.stop.clone();
        let (ours, mut theirs) = tokio::io::duplex(16 * 1024);
        let connection = tokio::spawn(server.connection(ours, [203, 0, 113, 7].into()));
        for _ in 0..requests_before {
            theirs.write_all(REQUEST).await.unwrap();
            let mut reply = Vec::new();
            while !reply.ends_with(BODY.as_bytes()) {
                reply.push(theirs.read_u8().await.unwrap());
            }
            assert!(!String::from_utf8(reply).unwrap().contains("connection: close"));
        }
        stop.send_replace(true);
        sleep(STOP_GRACE / 2).await;
        theirs.write_all(REQUEST).await.unwrap();
        let mut reply = Vec::new();
        theirs.read_to_end(&mut reply).await.unwrap();
        let reply = String::from_utf8(reply).unwrap();
        assert!(reply.starts_with("HTTP/1.1 200"), "{reply:?}");
        assert!(reply.contains("connection: close") && reply.ends_with(BODY));
        timeout(AT_ONCE, connection).await.expect("the connection must end").unwrap();
    }
    // One without a request is closed after the grace.
    let server = new_server();
    let stop = server.stop.clone();
    let (ours, mut theirs) = tokio::io::duplex(1024);
    let connection = tokio::spawn(server.connection(ours, [203, 0, 113, 7].into()));
    stop.send_replace(true);
    assert_eq!(theirs.read(&mut [0; 16]).await.unwrap(), 0);
    timeout(AT_ONCE, connection).await.expect("the connection must end").unwrap();
}

#[tokio::test]
async fn a_client_in_the_backlog_of_a_stopping_server_gets_its_reply() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut clients = Vec::new();
    for _ in 0..3 {
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        clients.push(client);
    }
    let site = new_server().site;
    serve(listener, site, &Limits::default(), &[], std::future::ready(())).await.unwrap();
    for mut client in clients {
        let mut reply = String::new();
        client.read_to_string(&mut reply).await.unwrap();
        assert!(reply.starts_with("HTTP/1.1 200"), "{reply:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_waits_for_other_replies_of_the_same_connection() {
    // Each stream has a separate window, so that the first does not fill the connection's.
    let Connected { mut requests, server, stop, .. } = connect(1_000).await;
    let held = get_from(&mut requests, "/endless").await;
    let (soon, _) = requests.send_request(request_for("/soon"), true).unwrap();
    sleep(Duration::from_secs(1)).await;
    stop.send_replace(true);
    let mut body = soon.await.expect("the reply must arrive").into_body();
    assert_eq!(body.data().await.unwrap().unwrap(), BODY);
    drop(body);
    timeout(AT_ONCE, server).await.expect("the connection must end").unwrap();
    drop(held);
}

/// On a real socket: the system buffers megabytes of a reply, so the server cannot see each read of
/// its client.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_client_that_reads_at_the_documented_rate_is_not_taken_for_stalled() {
    // Long, so that the test is not taken for stalled on a busy machine either.
    let stall = Duration::from_secs(4);
    let mut server = new_server();
    server.limits.write_stall_timeout = stall;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (accepted, peer) = listener.accept().await.unwrap();
    set_up(&accepted);
    let connection = tokio::spawn(server.tcp_connection(accepted, peer.ip()));
    client.write_all(b"GET /endless HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    // Let every buffer fill up, then read [`SLOW_BYTES`] in each stall timeout, in small parts.
    sleep(stall / 2).await;
    const PARTS: u32 = 10;
    let mut part = vec![0; SLOW_BYTES / PARTS as usize];
    // Reads that are late are made up for.
    let mut reads = interval(stall / PARTS);
    for _ in 0..2 * PARTS {
        reads.tick().await;
        client.read_exact(&mut part).await.expect("the connection must stay open");
    }
    assert!(!connection.is_finished());
    // A client that has stopped reading is disconnected.
    timeout(10 * stall, connection).await.expect("the connection must end").unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_begin_its_handshake_does_not_delay_a_stop() {
    let server = Arc::new(new_server());
    let tls = crate::tls::tests::without_certificate();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    // Nothing at all, and the beginning of a handshake.
    for sent in [&b""[..], b"\x16\x03"] {
        for (stops, expected) in [(true, STOP_GRACE), (false, server.limits.header_read_timeout)] {
            let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
            let (accepted, peer) = listener.accept().await.unwrap();
            client.write_all(sent).await.unwrap();
            let began = Instant::now();
            let connection = server.tls_connection(&tls, accepted, peer.ip());
            server.stop.send_replace(stops);
            connection.await;
            assert_eq!(began.elapsed(), expected, "{sent:?}, {stops}");
        }
    }
}
