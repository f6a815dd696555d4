//! Several servers start for the first time, concurrently, on one empty database.

use std::io::Read as _;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use super::Site;
use super::support::sluice;

/// Several real processes; the output of each goes to a separate file.
const PROCESSES: usize = 4;
const START_MAX: Duration = Duration::from_secs(300);

struct Started(Vec<Child>);

impl Drop for Started {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ended = child.kill();
            let _waited = child.wait();
        }
    }
}

#[test]
fn of_several_concurrent_first_starts_one_creates_the_demo_and_one_the_token() {
    let site = Site::empty();
    let folder = tempfile::tempdir().unwrap();
    let file = |number: usize| folder.path().join(format!("printed-{number}"));
    let mut started = Started(Vec::new());
    for number in 0..PROCESSES {
        let mut command = sluice();
        command.current_dir(folder.path()).args(["serve", "--listen", "127.0.0.1:0"]);
        command.args(["--store", &site.url()]).stderr(Stdio::null());
        started
            .0
            .push(command.stdout(std::fs::File::create(file(number)).unwrap()).spawn().unwrap());
    }
    let begin = Instant::now();
    let printed = loop {
        let printed: Vec<String> = (0..PROCESSES)
            .map(|number| {
                let mut text = String::new();
                std::fs::File::open(file(number)).unwrap().read_to_string(&mut text).unwrap();
                text
            })
            .collect();
        let is_whole = |text: &String| {
            text.contains("sluice responses tail") || text.contains("sluice app list")
        };
        if printed.iter().all(is_whole) {
            break printed.concat();
        }
        for child in &mut started.0 {
            assert_eq!(child.try_wait().unwrap(), None, "a start failed");
        }
        assert!(begin.elapsed() < START_MAX, "{printed:?}");
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(printed.matches("Admin token, shown this once").count(), 1, "{printed}");
    assert_eq!(printed.matches("A demo app").count(), 1, "{printed}");
    for (table, rows) in [("apps", "1"), ("api_keys", "1"), ("flows", "1"), ("tokens", "1")] {
        let count = format!("SELECT count(*) FROM {table}");
        assert_eq!(site.cluster.psql(&site.database, &count), [rows], "{table}");
    }
}
