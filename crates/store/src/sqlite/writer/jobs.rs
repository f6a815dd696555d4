//! The order of the writer's jobs. While a commit waits, at most one other job comes before it: each
//! takes a sync or more, and a submission must not wait for all of them on a slow disk. Nor do
//! commits that follow one another hold up the others.

use std::collections::VecDeque;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::mpsc::error::TryRecvError;

use super::Job;

/// The jobs of the writer thread, in the order in which it runs them.
pub(super) struct Jobs {
    queue: UnboundedReceiver<Job>,
    turns: Turns<Job>,
    /// Come after all others.
    closing: VecDeque<Job>,
}

impl Jobs {
    pub(super) fn new(queue: UnboundedReceiver<Job>) -> Self {
        Self { queue, turns: Turns::default(), closing: VecDeque::new() }
    }

    /// The next job if there is one.
    pub(super) fn try_next(&mut self) -> Result<Job, TryRecvError> {
        let why_empty = loop {
            match self.queue.try_recv() {
                Ok(job) => self.add(job),
                Err(why) => break why,
            }
        };
        self.turns.take().or_else(|| self.closing.pop_front()).ok_or(why_empty)
    }

    /// Waits for the next job. `None` if there will be none.
    pub(super) fn next(&mut self) -> Option<Job> {
        loop {
            match self.try_next() {
                Ok(job) => return Some(job),
                Err(TryRecvError::Disconnected) => return None,
                Err(TryRecvError::Empty) => {
                    let job = self.queue.blocking_recv()?;
                    self.add(job);
                }
            }
        }
    }

    /// Accepts no more jobs.
    pub(super) fn close(&mut self) {
        self.queue.close();
    }

    fn add(&mut self, job: Job) {
        match job {
            Job::Close(_) => self.closing.push_back(job),
            Job::Commit(..) => self.turns.commits.push_back(job),
            other => self.turns.others.push_back(other),
        }
    }
}

struct Turns<J> {
    commits: VecDeque<J>,
    others: VecDeque<J>,
    was_commit: bool,
}

impl<J> Default for Turns<J> {
    fn default() -> Self {
        Self { commits: VecDeque::new(), others: VecDeque::new(), was_commit: false }
    }
}

impl<J> Turns<J> {
    fn take(&mut self) -> Option<J> {
        let is_commit = match (self.commits.is_empty(), self.others.is_empty()) {
            (false, false) => !self.was_commit,
            (no_commit, _) => !no_commit,
        };
        self.was_commit = is_commit;
        if is_commit { self.commits.pop_front() } else { self.others.pop_front() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_and_other_jobs_take_turns() {
        for (commits, others, order) in [
            ("", "", ""),
            ("", "xyz", "xyz"),
            ("123", "", "123"),
            ("1", "xyz", "1xyz"),
            ("123", "x", "1x23"),
            ("12", "xyz", "1x2yz"),
        ] {
            let (commits, others) = (commits.chars().collect(), others.chars().collect());
            let mut turns = Turns { commits, others, was_commit: false };
            let taken: String = std::iter::from_fn(|| turns.take()).collect();
            assert_eq!(taken, order);
        }
    }

    #[test]
    fn a_commit_that_arrives_waits_for_one_other_job_only() {
        let mut turns = Turns { others: "xyz".chars().collect(), ..Turns::default() };
        assert_eq!(turns.take(), Some('x'));
        turns.commits.push_back('1');
        assert_eq!(turns.take(), Some('1'));
        turns.commits.push_back('2');
        assert_eq!(turns.take(), Some('y'), "commits do not hold up the others");
        assert_eq!(turns.take(), Some('2'));
    }
}
