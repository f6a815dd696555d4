//! Metrics of the store: its connections, disk, log, workers, partitions and clock. Most are read
//! with each scrape.

use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;
use sluice_store::{DiskSpace, Partitions, StoreStatus, WorkerStatus};

use super::add;
use super::histogram::Histogram;

/// The commit that this was built from, if it was provided to the build.
const COMMIT: &str = match option_env!("SLUICE_COMMIT") {
    Some(commit) => commit,
    None => "unknown",
};

/// What a connection does, or how a worker is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StateLabel {
    state: &'static str,
}

/// Metrics that depend on the store; one that it does not have is not registered.
#[derive(Debug)]
pub(super) struct StoreMetrics {
    in_use: Gauge,
    idle: Gauge,
    waiting: Gauge,
    max: Gauge,
    log_syncs: Option<Histogram>,
    workers: Option<WorkerMetrics>,
    disk: Option<DiskMetrics>,
    partitions: Option<PartitionMetrics>,
    clock_offset: Option<Gauge<f64, AtomicU64>>,
}

#[derive(Debug)]
struct DiskMetrics {
    free: Gauge,
    reserve: Gauge,
    log: Gauge,
}

#[derive(Debug)]
struct WorkerMetrics {
    up: Gauge,
    away: Gauge,
    weak: Gauge,
}

#[derive(Debug)]
struct PartitionMetrics {
    months: Gauge,
    ahead: Gauge,
    default_rows: Gauge,
}

impl StoreMetrics {
    /// `has_disk`: whether this process stores data on a local disk; `has_clock`: whether it
    /// follows the clock of the database.
    pub(super) fn new(
        to: &mut Registry,
        status: &StoreStatus,
        has_disk: bool,
        has_clock: bool,
    ) -> Self {
        let build = vec![
            ("version", env!("CARGO_PKG_VERSION")),
            ("commit", COMMIT),
            ("store", status.kind),
        ];
        to.register("build", "This build of Sluice, and the kind of its store", Info::new(build));
        let what = "Open connections to the database, by state";
        let connections: Family<StateLabel, Gauge> = add(to, "pool_connections", what);
        let of = |state| connections.get_or_create(&StateLabel { state }).clone();
        let (in_use, idle) = (of("in_use"), of("idle"));
        let what = "Operations that wait for a connection to the database";
        let waiting = add(to, "pool_waiting", what);
        let max = add(to, "pool_connections_max", "Connections that the pool may open");
        let log_syncs = status.log_syncs.as_ref().map(|it| {
            let histogram = Histogram::for_nanos(it.bounds_nanos);
            to.register("log_sync_seconds", "Time of one sync of the log", histogram.clone());
            histogram
        });
        let what = "How far the clock of the database is ahead of this machine's";
        Self {
            in_use,
            idle,
            waiting,
            max,
            log_syncs,
            workers: status.workers.map(|_| WorkerMetrics::new(to)),
            disk: has_disk.then(|| DiskMetrics::new(to)),
            partitions: status.has_partitions.then(|| PartitionMetrics::new(to)),
            clock_offset: has_clock.then(|| add(to, "clock_offset_seconds", what)),
        }
    }

    pub(super) fn set_status(&self, status: &StoreStatus) {
        let pool = status.pool;
        for (gauge, value) in [
            (&self.in_use, pool.in_use),
            (&self.idle, pool.idle),
            (&self.waiting, pool.waiting),
            (&self.max, pool.max),
        ] {
            set(gauge, value);
        }
        if let (Some(metrics), Some(workers)) = (&self.workers, status.workers) {
            metrics.set(workers);
        }
        if let (Some(histogram), Some(syncs)) = (&self.log_syncs, &status.log_syncs) {
            histogram.set(&syncs.counts, syncs.sum_nanos);
        }
    }

    pub(super) fn set_disk_space(&self, space: DiskSpace) {
        if let Some(disk) = &self.disk {
            disk.free.set(signed(space.free_bytes));
            disk.reserve.set(signed(space.reserve_bytes));
            disk.log.set(signed(space.log_bytes));
        }
    }

    pub(super) fn set_partitions(&self, found: Partitions) {
        if let Some(partitions) = &self.partitions {
            partitions.months.set(signed(found.months));
            partitions.ahead.set(signed(found.ahead));
            partitions.default_rows.set(signed(found.default_rows));
        }
    }

    pub(super) fn set_clock_offset(&self, millis: i64) {
        if let Some(offset) = &self.clock_offset {
            offset.set(millis as f64 / 1_000.0);
        }
    }
}

impl DiskMetrics {
    fn new(to: &mut Registry) -> Self {
        let reserve = "Free space below which submissions are refused";
        Self {
            free: add(to, "disk_free_bytes", "Free space on the disk of the database"),
            reserve: add(to, "disk_reserve_bytes", reserve),
            log: add(to, "log_bytes", "Length of the write-ahead log of the database"),
        }
    }
}

impl WorkerMetrics {
    fn new(to: &mut Registry) -> Self {
        let what = "Workers of a distributed database, by state: up, away or weak";
        let workers: Family<StateLabel, Gauge> = add(to, "store_workers", what);
        let of = |state| workers.get_or_create(&StateLabel { state }).clone();
        Self { up: of("up"), away: of("away"), weak: of("weak") }
    }

    fn set(&self, WorkerStatus { up, away, weak }: WorkerStatus) {
        for (gauge, value) in [(&self.up, up), (&self.away, away), (&self.weak, weak)] {
            set(gauge, value);
        }
    }
}

impl PartitionMetrics {
    fn new(to: &mut Registry) -> Self {
        let ahead = "Months from the current one on that have a partition, up to the first without";
        let default_rows = "Responses in the default partition, counted up to 10000";
        Self {
            months: add(to, "partitions", "Partitions of responses, one for each month"),
            ahead: add(to, "partitions_ahead", ahead),
            default_rows: add(to, "partition_default_rows", default_rows),
        }
    }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn set(gauge: &Gauge, number: usize) {
    gauge.set(i64::try_from(number).unwrap_or(i64::MAX));
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;
    use sluice_store::PoolStatus;

    use super::*;

    /// The lines about workers of a store with this status.
    fn shown(workers: Option<WorkerStatus>) -> Vec<String> {
        let status = StoreStatus {
            kind: "postgres",
            has_partitions: true,
            pool: PoolStatus::default(),
            log_syncs: None,
            workers,
        };
        let mut registry = Registry::with_prefix("sluice");
        let metrics = StoreMetrics::new(&mut registry, &status, false, true);
        metrics.set_status(&status);
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        let lines = text.lines().filter(|line| line.starts_with("sluice_store_workers"));
        let mut lines: Vec<String> = lines.map(str::to_owned).collect();
        lines.sort();
        lines
    }

    #[test]
    fn only_a_distributed_store_shows_workers_each_in_one_state() {
        assert_eq!(shown(None), Vec::<String>::new());
        let workers = WorkerStatus { up: 5, away: 2, weak: 1 };
        let expected = [("away", 2), ("up", 5), ("weak", 1)]
            .map(|(state, count)| format!("sluice_store_workers{{state=\"{state}\"}} {count}"));
        assert_eq!(shown(Some(workers)), expected);
    }
}
