//! The order of the writer's jobs. While a commit waits, at most one other job comes before it:
//! each takes a sync or more, and a submission must not wait for all of them on a slow disk. Nor do
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
        let why_empty = self.receive();
        self.turns.take().or_else(|| self.closing.pop_front()).ok_or(why_empty)
    }

    /// Whether a commit waits.
    pub(super) fn has_commit(&mut self) -> bool {
        self.receive();
        !self.turns.commits.is_empty()
    }

    /// The next job is a commit, if one waits; but at most one more than otherwise, since a
    /// checkpoint may follow every commit.
    pub(super) fn commit_first(&mut self) {
        if !std::mem::replace(&mut self.turns.was_favoured, true) {
            self.turns.was_commit = false;
        }
    }

    /// A job other than a commit, if one waits. It has had its turn.
    pub(super) fn take_other(&mut self) -> Option<Job> {
        self.receive();
        let other = self.turns.others.pop_front()?;
        self.turns.was_commit = false;
        self.turns.was_favoured = false;
        Some(other)
    }

    /// Takes what has arrived; returns why there is no more.
    fn receive(&mut self) -> TryRecvError {
        loop {
            match self.queue.try_recv() {
                Ok(job) => self.add(job),
                Err(why) => return why,
            }
        }
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
    /// A commit came first since the last other job.
    was_favoured: bool,
}

impl<J> Default for Turns<J> {
    fn default() -> Self {
        let (commits, others) = (VecDeque::new(), VecDeque::new());
        Self { commits, others, was_commit: false, was_favoured: false }
    }
}

impl<J> Turns<J> {
    fn take(&mut self) -> Option<J> {
        let is_commit = match (self.commits.is_empty(), self.others.is_empty()) {
            (false, false) => !self.was_commit,
            (no_commit, _) => !no_commit,
        };
        self.was_commit = is_commit;
        self.was_favoured &= is_commit;
        if is_commit { self.commits.pop_front() } else { self.others.pop_front() }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::super::log_gate::LogGate;
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
            let mut turns = Turns { commits, others, ..Turns::default() };
            let taken: String = std::iter::from_fn(|| turns.take()).collect();
            assert_eq!(taken, order);
        }
    }

    fn commit() -> Job {
        let entered = Arc::new(LogGate::default()).enter(0);
        Job::Commit(Vec::new(), Box::new(|_| panic!("it is not run")), entered)
    }

    #[test]
    fn after_a_checkpoint_one_commit_comes_first() {
        let (queue, jobs) = tokio::sync::mpsc::unbounded_channel();
        let mut jobs = Jobs::new(jobs);
        assert!(!jobs.has_commit());
        for _ in 0..4 {
            let commit = commit();
            assert!(queue.send(commit).is_ok());
            assert!(queue.send(Job::CheckFiles(tokio::sync::oneshot::channel().0)).is_ok());
        }
        assert!(jobs.has_commit());
        let mut order = String::new();
        while let Ok(job) = jobs.try_next() {
            let is_commit = matches!(job, Job::Commit(..));
            order.push(if is_commit { '1' } else { 'x' });
            // As if a checkpoint came after every commit.
            if is_commit {
                jobs.commit_first();
            }
        }
        assert_eq!(order, "11x11xxx");
    }

    #[test]
    fn another_job_that_was_taken_leaves_the_next_turn_to_a_commit() {
        let (queue, jobs) = tokio::sync::mpsc::unbounded_channel();
        let mut jobs = Jobs::new(jobs);
        assert!(jobs.take_other().is_none());
        for job in [commit(), commit()] {
            assert!(queue.send(job).is_ok());
        }
        for _ in 0..2 {
            assert!(queue.send(Job::CheckFiles(tokio::sync::oneshot::channel().0)).is_ok());
        }
        assert!(matches!(jobs.try_next(), Ok(Job::Commit(..))));
        assert!(matches!(jobs.take_other(), Some(Job::CheckFiles(_))));
        assert!(matches!(jobs.try_next(), Ok(Job::Commit(..))));
        assert!(matches!(jobs.try_next(), Ok(Job::CheckFiles(_))));
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
