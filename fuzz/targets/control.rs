//! The control: the property of `submission` with a planted fault in the reader. A fuzzer that does
//! not find it within seconds notices nothing, and `fuzz/run` fails.

use sluice_flow::submission::{ParseError, Submission};

#[cfg(test)]
pub(super) const NAME: &str = "control";

pub(super) fn run(data: &[u8]) {
    super::submission::check(data, forgetting);
}

/// Forgets an answer if there are several.
fn forgetting<'a>(
    parsed: Result<Submission<'a>, ParseError>,
) -> Result<Submission<'a>, ParseError> {
    let mut submission = parsed?;
    let first = submission.answers.names().next().map(str::to_owned);
    if let Some(name) = first.filter(|_| submission.answers.len() > 1) {
        submission.answers.remove(&name);
    }
    Ok(submission)
}
