//! The limit on open files: every connection is one.
//!
//! Systems start processes with a low limit (often 1,024) that a process may raise itself, up to a
//! hard limit that only an administrator can raise.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files besides connections: the store, its log, listeners, outgoing requests.
const RESERVE_FILES: u64 = 256;

/// Raises the limit as high as the system allows, and warns if it is lower than the connections
/// need.
pub(crate) fn raise(connections_max: usize) {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current == maximum {
        return warn_if_short(current, connections_max);
    }
    match setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        Ok(()) => tracing::debug!(from = current, to = maximum, "limit on open files raised"),
        Err(error) => tracing::warn!(%error, "cannot raise the limit on open files"),
    }
    warn_if_short(getrlimit(Resource::Nofile).current, connections_max);
}

/// An absent limit means unlimited.
fn warn_if_short(limit: Option<u64>, connections_max: usize) {
    if let Some(limit) = limit.filter(|limit| is_short(*limit, connections_max)) {
        tracing::warn!(
            limit,
            connections_max,
            "the limit on open files is lower than the connections need: raise it (LimitNOFILE= of \
             systemd, ulimit -n), or lower --max-connections"
        );
    }
}

fn is_short(limit: u64, connections_max: usize) -> bool {
    limit < (connections_max as u64).saturating_add(RESERVE_FILES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_raised_to_the_hard_limit() {
        raise(1);
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        assert_eq!(current, maximum);
    }

    #[test]
    fn connections_need_a_file_each_and_a_reserve() {
        for (limit, connections, short) in
            [(1024, 20_000, true), (20_255, 20_000, true), (20_256, 20_000, false)]
        {
            assert_eq!(is_short(limit, connections), short, "{limit}");
        }
    }
}
