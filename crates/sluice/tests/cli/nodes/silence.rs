//! A database that accepts a connection and then hangs: the start must end, and report why.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::Site;
use super::support::{Server, assert_complains, run, sluice, text};

/// What docs/running.md promises for a start on a database that hangs.
const START_MAX: Duration = Duration::from_secs(30);

/// A proxy to the database that stops forwarding, without closing, after a number of packets from
/// it.
struct Wire {
    port: u16,
    passed: Arc<AtomicUsize>,
}

impl Wire {
    fn new(to: &str, packets: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let passed = Arc::new(AtomicUsize::new(0));
        let (count, to) = (Arc::clone(&passed), to.to_owned());
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (client, server) = (client.unwrap(), TcpStream::connect(&to).unwrap());
                let (mut reads, mut writes) =
                    (client.try_clone().unwrap(), server.try_clone().unwrap());
                std::thread::spawn(move || std::io::copy(&mut reads, &mut writes));
                let count = Arc::clone(&count);
                std::thread::spawn(move || hand_on(server, client, &count, packets));
            }
        });
        Self { port, passed }
    }

    fn url(&self, database: &str) -> String {
        format!("postgres://sluice@127.0.0.1:{}/{database}?sslmode=disable", self.port)
    }
}

fn hand_on(mut server: TcpStream, mut client: TcpStream, count: &AtomicUsize, packets: usize) {
    let mut packet = vec![0; 65536];
    while let Ok(bytes @ 1..) = server.read(&mut packet) {
        if count.fetch_add(1, Ordering::SeqCst) >= packets {
            std::thread::park();
        }
        if client.write_all(&packet[..bytes]).is_err() {
            return;
        }
    }
}

#[test]
fn a_start_on_a_database_that_hangs_fails_within_the_documented_time() {
    let site = Site::empty();
    let place = site.url().split(['@', '/']).nth(3).unwrap().to_owned();
    let folder = tempfile::tempdir().unwrap();
    let whole = Wire::new(&place, usize::MAX);
    let server = Server::start_with(folder.path(), "127.0.0.1:0", |command| {
        command.args(["--store", &whole.url(&site.database)])
    });
    let packets = whole.passed.load(Ordering::SeqCst);
    // And what this machine needs for a start that does not hang.
    let most = START_MAX + server.started_in;
    drop(server);
    std::thread::scope(|threads| {
        // Up to the creation of the demo; packets of other connections count, too, so not to the
        // very end.
        for eighths in 0..=5 {
            let (database, wire) =
                (site.cluster.create_database(), Wire::new(&place, packets * eighths / 8));
            let folder = &folder;
            threads.spawn(move || {
                let mut command = sluice();
                command.current_dir(folder.path()).args(["serve", "--listen", "127.0.0.1:0"]);
                command.args(["--log", "off", "--store", &wire.url(&database)]);
                let began = Instant::now();
                let output = command.output().unwrap();
                let took = began.elapsed();
                println!("{eighths}/8 of {packets}: {took:?}: {}", text(&output.stderr));
                assert_complains(&output, 1, &["sluice: "]);
                let output_text = text(&output.stderr);
                let reasons = ["no answer", "did not answer", "timeout", "Timeout"];
                assert!(reasons.iter().any(|reason| output_text.contains(reason)), "{output_text}");
                assert!(took < most, "{eighths}/8 of {packets}: {took:?}");
            });
        }
    });
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("--store=postgres://sluice@{}/x", silent.local_addr().unwrap());
    let began = Instant::now();
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--pg-connect-timeout", "1", &url];
    assert_complains(&run(folder.path(), &arguments), 1, &["no answer in time"]);
    assert!(began.elapsed() < most, "{:?}", began.elapsed());
}
