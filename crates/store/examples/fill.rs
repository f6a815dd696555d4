//! Makes a database of made-up records, to measure with.
//!
//! `cargo run --release -p sluice-store --example fill -- FILE RESPONSES`

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "an example says what failed by failing"
)]

use std::path::Path;

use sluice_store::Store as _;
use sluice_store::conformance::filling;
use sluice_store::sqlite::{Options, SqliteStore};

/// Records that are written in one transaction.
const BATCH_RECORDS: usize = 5_000;

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().expect("the file to make");
    let responses = arguments.next().expect("how many responses").parse().unwrap();
    let store = SqliteStore::open(Path::new(&file), Options::default()).unwrap();
    let mut records = filling::records(responses);
    loop {
        let batch: Vec<_> = records.by_ref().take(BATCH_RECORDS).collect();
        if batch.is_empty() {
            break;
        }
        store.write_in(batch).await.unwrap();
    }
    store.close().await;
}
