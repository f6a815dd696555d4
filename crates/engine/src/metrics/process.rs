//! Metrics of the process, under the names that every Prometheus client uses. Read from `/proc`
//! with each scrape; on systems without it there are none.

use std::time::{SystemTime, UNIX_EPOCH};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// Linux reports times of processes in these units, whatever the frequency of its own timer is.
const TICKS_PER_SECOND: f64 = 100.0;
const KIB: u64 = 1024;

/// The fields of `/proc/self/stat` after the name, counted from the state.
const USER_TICKS: usize = 11;
const SYSTEM_TICKS: usize = 12;
const THREADS: usize = 17;
const START_TICKS: usize = 19;

#[derive(Debug)]
pub(super) struct ProcessCollector {
    /// Seconds since the epoch. Absent if the system does not report it.
    started: Option<f64>,
}

impl ProcessCollector {
    pub(super) fn new() -> Self {
        Self { started: started() }
    }
}

impl Collector for ProcessCollector {
    fn encode(&self, mut to: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        if let Some(Times { cpu_seconds, threads }) = times(&read("/proc/self/stat")) {
            counter(&mut to, "process_cpu_seconds", "Processor time used", cpu_seconds)?;
            gauge(&mut to, "process_threads", "Threads of the process", threads)?;
        }
        let status = read("/proc/self/status");
        if let Some(bytes) = kibibytes(&status, "VmRSS:") {
            gauge(&mut to, "process_resident_memory_bytes", "Memory in use", bytes as f64)?;
        }
        if let Some(bytes) = kibibytes(&status, "VmSize:") {
            gauge(&mut to, "process_virtual_memory_bytes", "Address space in use", bytes as f64)?;
        }
        if let Ok(open) = std::fs::read_dir("/proc/self/fd") {
            // The folder that is being read is one of them.
            let open = open.count().saturating_sub(1);
            gauge(&mut to, "process_open_fds", "Open files and connections", open as f64)?;
        }
        if let Some(max) = max_open_files(&read("/proc/self/limits")) {
            gauge(&mut to, "process_max_fds", "Maximum number of open files", max)?;
        }
        if let Some(started) = self.started {
            let what = "When the process started, in seconds since 1970";
            gauge(&mut to, "process_start_time_seconds", what, started)?;
        }
        Ok(())
    }
}

fn gauge(
    to: &mut DescriptorEncoder<'_>,
    name: &str,
    what: &str,
    value: f64,
) -> Result<(), std::fmt::Error> {
    let metric = ConstGauge::new(value);
    metric.encode(to.encode_descriptor(name, what, None, metric.metric_type())?)
}

fn counter(
    to: &mut DescriptorEncoder<'_>,
    name: &str,
    what: &str,
    value: f64,
) -> Result<(), std::fmt::Error> {
    let metric = ConstCounter::new(value);
    metric.encode(to.encode_descriptor(name, what, None, metric.metric_type())?)
}

/// A file that may be absent.
fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

#[derive(Debug, PartialEq)]
struct Times {
    cpu_seconds: f64,
    threads: f64,
}

/// The fields after the name, which may contain spaces and brackets itself.
fn fields(stat: &str) -> Option<Vec<f64>> {
    let (_, rest) = stat.rsplit_once(')')?;
    // The state is a letter.
    Some(rest.split_whitespace().map(|field| field.parse().unwrap_or(0.0)).collect())
}

fn times(stat: &str) -> Option<Times> {
    let fields = fields(stat)?;
    let ticks = fields.get(USER_TICKS)? + fields.get(SYSTEM_TICKS)?;
    Some(Times { cpu_seconds: ticks / TICKS_PER_SECOND, threads: *fields.get(THREADS)? })
}

/// The time between the start of the process and now is counted since the boot, so that a clock
/// that was set in between does not matter.
fn started() -> Option<f64> {
    let uptime: f64 = read("/proc/uptime").split_whitespace().next()?.parse().ok()?;
    let since_boot = fields(&read("/proc/self/stat"))?.get(START_TICKS)? / TICKS_PER_SECOND;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs_f64();
    Some(now - (uptime - since_boot).max(0.0))
}

fn kibibytes(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|number| number * KIB)
}

fn max_open_files(limits: &str) -> Option<f64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_the_kernel_are_read() {
        let stat = "7 (a) b (c)) S 1 7 7 0 -1 4 1 0 0 0 250 50 0 0 20 0 9 0 5000 1 2";
        assert_eq!(times(stat), Some(Times { cpu_seconds: 3.0, threads: 9.0 }));
        assert_eq!(fields(stat).unwrap()[START_TICKS], 5000.0);
        assert_eq!(times(""), None);
        let status = "Name:\tsluice\nVmSize:\t   2048 kB\nVmRSS:\t     100 kB\n";
        assert_eq!(kibibytes(status, "VmRSS:"), Some(102_400));
        assert_eq!(kibibytes(status, "VmSwap:"), None);
        let limits = "Max processes  5 5 processes\nMax open files            1024  4096  files\n";
        assert_eq!(max_open_files(limits), Some(1024.0));
        assert_eq!(max_open_files("Max open files  unlimited unlimited files"), None);
    }
}
