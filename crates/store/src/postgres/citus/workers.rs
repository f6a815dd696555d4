//! The workers: whether each keeps what it acknowledges, which apps it has, and what is still being
//! written on them.
//!
//! A COMMIT of responses is the COMMIT of one worker, so durability depends on the settings of the
//! worker's session, which the settings of our sessions do not reach. Every worker is asked at
//! start, whenever a connection is opened, and periodically. While one of them has a weak setting,
//! all commits are refused: which worker a commit goes to is not known here.

use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use sluice_flow::id::AppId;
use tokio::time::timeout;
use tokio_postgres::{Client, Error};

use super::super::failure::RedactedError;
use super::shards::Shards;
use crate::{StoreError, StoreResult, WorkerStatus};

/// How often the workers are asked.
const INTERVAL: Duration = Duration::from_secs(10);
/// The same while one is unreachable or refused, so that it is checked soon after it is back.
const INTERVAL_AWAY: Duration = Duration::from_secs(1);

/// The answer of one worker.
struct Answer {
    /// Host and port.
    worker: String,
    /// Its `synchronous_commit`; `None` if it could not be asked.
    found: Option<String>,
}

/// A worker that could lose acknowledged rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct WeakWorker {
    pub(in super::super) worker: String,
    /// Its `synchronous_commit`.
    pub(in super::super) found: String,
}

impl std::fmt::Display for WeakWorker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { worker, found } = self;
        write!(
            f,
            "the worker {worker} has synchronous_commit={found}: nothing is stored until it is on"
        )
    }
}

/// What is known about the workers.
#[derive(Debug, Default)]
pub(in super::super) struct Workers {
    last: Mutex<LastAnswers>,
    shards: RwLock<Shards>,
}

/// What they answered last.
#[derive(Debug, Default)]
struct LastAnswers {
    weak: Option<WeakWorker>,
    away: Vec<String>,
    /// Whether there are workers and none could be asked.
    all_away: bool,
    status: WorkerStatus,
}

impl Workers {
    /// The number of the worker that has an app; `None` if it is not known.
    pub(in super::super) fn worker_of(&self, app: AppId) -> Option<u32> {
        self.shards.read().unwrap_or_else(PoisonError::into_inner).worker_of(app)
    }

    /// The worker because of which commits are refused.
    pub(in super::super) fn weak(&self) -> Option<WeakWorker> {
        self.lock().weak.clone()
    }

    /// How many there are in each state.
    pub(in super::super) fn status(&self) -> WorkerStatus {
        self.lock().status
    }

    /// Whether a response could be stored for some app.
    pub(in super::super) fn check(&self) -> StoreResult<()> {
        let last = self.lock();
        match &last.weak {
            Some(weak) => Err(StoreError::Failed(weak.to_string().into())),
            None if last.all_away => Err(StoreError::Failed("no worker can be reached".into())),
            None => Ok(()),
        }
    }

    fn place(&self, shards: Shards) {
        *self.shards.write().unwrap_or_else(PoisonError::into_inner) = shards;
    }

    /// Remembers the answers, and logs what has changed.
    fn note(&self, answers: &[Answer]) {
        let away = answers.iter().filter(|it| it.found.is_none()).map(|it| it.worker.clone());
        let away: Vec<String> = away.collect();
        let mut last = self.lock();
        // A weak worker that goes away may come back as it was.
        let still = last.weak.clone().filter(|weak| away.contains(&weak.worker));
        let weak = weak_of(answers).or(still);
        if last.weak != weak {
            match &weak {
                Some(weak) => tracing::error!(%weak, "acknowledged rows could be lost"),
                None => tracing::info!("every worker that answers is durable again"),
            }
        }
        for worker in away.iter().filter(|worker| !last.away.contains(worker)) {
            tracing::warn!(worker, "a worker cannot be reached; its apps are unavailable");
        }
        for worker in last.away.iter().filter(|worker| !away.contains(worker)) {
            tracing::info!(worker, "the worker can be reached again");
        }
        let all_away = !away.is_empty() && away.len() == answers.len();
        let status = status_of(answers, weak.as_ref());
        *last = LastAnswers { weak, away, all_away, status };
    }

    /// How long to wait before asking again.
    pub(in super::super) fn interval(&self) -> Duration {
        let last = self.lock();
        match last.weak.is_none() && last.away.is_empty() {
            true => INTERVAL,
            false => INTERVAL_AWAY,
        }
    }

    fn lock(&self) -> MutexGuard<'_, LastAnswers> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The first worker on which a COMMIT may return before its sync.
fn weak_of(answers: &[Answer]) -> Option<WeakWorker> {
    answers.iter().find_map(|Answer { worker, found }| {
        let found = found.as_ref().filter(|found| !is_durable(found))?;
        Some(WeakWorker { worker: worker.clone(), found: found.clone() })
    })
}

/// `remote_apply` is stricter.
fn is_durable(found: &str) -> bool {
    matches!(found, "on" | "remote_apply")
}

/// `refused` is the worker because of which commits are refused. It counts as weak while it is
/// away.
fn status_of(answers: &[Answer], refused: Option<&WeakWorker>) -> WorkerStatus {
    let mut status = WorkerStatus::default();
    for Answer { worker, found } in answers {
        match found.as_deref() {
            Some(found) if is_durable(found) => status.up += 1,
            Some(_) => status.weak += 1,
            None if refused.is_some_and(|refused| refused.worker == *worker) => status.weak += 1,
            None => status.away += 1,
        }
    }
    status
}

/// Asks every worker for its settings, and the coordinator for their shards.
pub(in super::super) async fn ask(client: &Client, workers: &Workers) -> Result<(), Error> {
    workers.place(Shards::read(client).await?);
    workers.note(&settings(client).await?);
    Ok(())
}

/// Asks every worker in a session like those that commit there: same user, same database.
async fn settings(client: &Client) -> Result<Vec<Answer>, Error> {
    let sql = "SELECT nodename || ':' || nodeport, success, result FROM \
         run_command_on_workers('SELECT current_setting(''synchronous_commit'')') ORDER BY 1";
    let rows = client.query(sql, &[]).await?;
    let answer = |row: &tokio_postgres::Row| {
        let found: Option<String> = row.try_get(2)?;
        Ok(Answer { worker: row.try_get(0)?, found: found.filter(|_| row.get(1)) })
    };
    rows.iter().map(answer).collect()
}

/// Sets up a new session, and checks the workers that it will commit on. The error is a text for
/// the log.
pub(in super::super) async fn set_up(
    client: &Client,
    workers: &Workers,
    deadline: Duration,
) -> Result<(), String> {
    // A worker that does not answer must not block the session for longer than we wait for it. SET
    // LOCAL reaches the workers. A session has one connection to each worker, however many shards a
    // statement reads: so connections are bounded, and a write may follow such a statement.
    let settings = format!(
        "SET citus.node_connection_timeout = '{}ms'; SET citus.propagate_set_commands = 'local'; \
         SET citus.multi_shard_modify_mode = 'sequential'; \
         SET citus.max_adaptive_executor_pool_size = 1",
        deadline.as_millis()
    );
    let asked = async {
        client.batch_execute(&settings).await?;
        ask(client, workers).await
    };
    match timeout(deadline * 2, asked).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(RedactedError::new(&error).to_string()),
        Err(_) => Err("the coordinator did not answer in time".to_owned()),
    }
}

/// The oldest write in progress: a session with a transaction id, on any node, or a prepared
/// transaction.
const OPEN_HERE: &str = "SELECT (extract(epoch FROM least( \
     (SELECT min(xact_start) FROM pg_stat_activity \
     WHERE datname = current_database() AND backend_xid IS NOT NULL), \
     (SELECT min(prepared) FROM pg_prepared_xacts WHERE database = current_database()))) \
     * 1000)::bigint - 60000";

/// Reads a time, in milliseconds, before the oldest transaction began that may still write anywhere
/// in the cluster. A session of the coordinator has no transaction id if it writes on a worker
/// only, so the workers are asked too. NULL if there is no such transaction; 0 if a worker does not
/// answer.
pub(in super::super) fn open_since() -> String {
    format!(
        "SELECT min(CASE WHEN success THEN nullif(result, '')::bigint ELSE 0 END) FROM \
         (SELECT true AS success, ({OPEN_HERE})::text AS result UNION ALL \
         SELECT success, result FROM run_command_on_workers($${OPEN_HERE}$$)) AS answers"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(found: &[Option<&str>]) -> Vec<Answer> {
        let answer = |(number, found): (usize, &Option<&str>)| Answer {
            worker: format!("worker{number}:5432"),
            found: found.map(str::to_owned),
        };
        found.iter().enumerate().map(answer).collect()
    }

    #[test]
    fn a_weak_worker_is_refused_by_name_until_it_is_durable() {
        let workers = Workers::default();
        for weak in ["off", "local", "remote_write"] {
            workers.note(&answers(&[Some("on"), Some(weak)]));
            let refused = workers.check().unwrap_err();
            let reason = std::error::Error::source(&refused).map(ToString::to_string);
            let expected = format!("worker1:5432 has synchronous_commit={weak}");
            assert!(reason.is_some_and(|it| it.contains(&expected)), "{refused:?}");
            assert_eq!(workers.interval(), INTERVAL_AWAY);
        }
        workers.note(&answers(&[Some("on"), Some("remote_apply")]));
        assert!(workers.check().is_ok() && workers.weak().is_none());
        assert_eq!(workers.interval(), INTERVAL);
    }

    #[test]
    fn an_unreachable_worker_leaves_the_others_in_service() {
        let workers = Workers::default();
        workers.note(&answers(&[Some("on"), None]));
        assert!(workers.check().is_ok());
        assert_eq!(workers.interval(), INTERVAL_AWAY);
        workers.note(&answers(&[None, None]));
        assert!(workers.check().is_err());
        workers.note(&answers(&[None, Some("off")]));
        assert!(workers.weak().is_some());
    }

    #[test]
    fn each_worker_is_counted_once_and_a_weak_one_also_while_it_is_away() {
        let workers = Workers::default();
        assert_eq!(workers.status(), WorkerStatus::default());
        let durable = Some("on");
        for (found, up, away, weak) in [
            ([durable, Some("remote_apply"), durable], 3, 0, 0),
            ([durable, None, durable], 2, 1, 0),
            ([durable, None, Some("off")], 1, 1, 1),
            ([None, None, None], 0, 2, 1),
            ([None, Some("local"), None], 0, 2, 1),
            ([durable, durable, None], 2, 1, 0),
        ] {
            workers.note(&answers(&found));
            assert_eq!(workers.status(), WorkerStatus { up, away, weak }, "{found:?}");
        }
    }
}
