//! Announcements of changes: one connection that listens, opened again whenever it is lost.
//!
//! A hint only. While there is no connection nothing is lost, since every waiter also polls the
//! feed from time to time; and once there is one again, that is worth a look as well.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use super::link::Connector;

/// The channel that a public change is announced on, within its transaction.
pub(super) const CHANNEL: &str = "sluice_changes";

/// Between two tries to connect: it doubles from the first to the last.
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

/// Whether it listened at all before it ended.
async fn listen_once(connector: &Connector, changed: &Arc<Notify>) -> bool {
    let heard = Arc::clone(changed);
    let opened = connector.open(Arc::new(move || heard.notify_one())).await;
    let Ok((client, driver)) = opened else { return false };
    if client.batch_execute(&format!("LISTEN {CHANNEL}")).await.is_err() {
        return false;
    }
    changed.notify_one();
    // The client is kept until the connection has ended by itself.
    let _ended = driver.await;
    drop(client);
    true
}
