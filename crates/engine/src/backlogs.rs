//! Reads what only the database knows, for the metrics: waiting e-mails and partitions.
//!
//! Not with each scrape, so that a database that hangs does not hide the other metrics. Webhooks
//! have their own ([`crate::webhooks`]).

use std::sync::Arc;
use std::time::Duration;

use crate::core::Core;

/// How often they are read.
const INTERVAL: Duration = Duration::from_secs(15);

/// Reads them immediately, and then at intervals. If the store does not answer, the last values
/// stay; that is reported elsewhere.
pub(crate) async fn follow(core: Arc<Core>) {
    loop {
        if let Ok(Some(partitions)) = core.store.partitions().await {
            core.metrics.set_partitions(partitions);
        }
        if core.sends_mail()
            && let Ok(backlog) = core.store.mail_backlog(core.now()).await
        {
            core.metrics.mails.set_backlog(backlog, core.now());
        }
        tokio::time::sleep(INTERVAL).await;
    }
}
