//! Announcements of changes: one listening connection, reopened whenever it is lost.
//!
//! Only a hint. While there is no connection nothing is lost, since every waiter also polls the
//! feed; and a new connection counts as an announcement as well.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use super::link::Connector;

/// The channel on which a public change is announced, within its transaction.
pub(super) const CHANNEL: &str = "sluice_changes";

/// The pause between two connection attempts, doubling from the minimum to the maximum.
const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// Listens until the task is aborted.
pub(super) async fn listen(connector: Connector, changed: Arc<Notify>) {
    let mut pause = PAUSE_MIN;
    loop {
        if listen_once(&connector, &changed).await {
            pause = PAUSE_MIN;
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

/// Returns whether it listened at all before the connection ended.
async fn listen_once(connector: &Connector, changed: &Arc<Notify>) -> bool {
    let heard = Arc::clone(changed);
    let opened = connector.open(Arc::new(move || heard.notify_one())).await;
    let Ok((client, driver)) = opened else { return false };
    if client.batch_execute(&format!("LISTEN {CHANNEL}")).await.is_err() {
        return false;
    }
    changed.notify_one();
    // Keeps the client until the connection has ended.
    let _ended = driver.await;
    drop(client);
    true
}
