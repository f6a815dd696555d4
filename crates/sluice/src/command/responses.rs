//! `sluice responses tail`: polls for responses that come after the last one seen.
//!
//! Responses are listed in the order of their ids, which is nearly the order in which they are
//! stored: with several nodes or connections, a response may become visible after a later id was
//! printed. So every few seconds the list is read again from the last settled id, and responses
//! that were not printed yet are printed ([`Printed`]). Each id is printed once; a late one is out
//! of order.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::target;
use crate::args::{Since, TailArgs, TailFormat};
use crate::client::{CallError, Server, field};
use crate::failure::{Exit, Failure, Outcome};
use crate::output::{self, quoted};

/// Page size of one call.
const PAGE_ITEMS: usize = 500;
/// How long a response may become visible after a later id was printed; any later its write would
/// have exceeded its deadline.
const OVERLAP: Duration = Duration::from_secs(10);
/// How often to check for late responses.
const REREAD_EVERY: Duration = Duration::from_secs(3);
/// Between two attempts to reconnect.
const RECONNECT_PAUSE: Duration = Duration::from_millis(500);

pub(crate) async fn tail(args: TailArgs) -> Outcome {
    tokio::select! {
        outcome = follow(args) => outcome,
        _ = tokio::signal::ctrl_c() => Ok(Exit::Done),
    }
}

async fn follow(args: TailArgs) -> Outcome {
    let server = Server::new(args.of.server.clone())?;
    let flow = target::flow_id(&server, &args.flow, args.of.app).await?;
    let mut cursor = TailCursor::find(&server, &flow, args.since).await?;
    let mut left = args.limit.unwrap_or(u64::MAX);
    let (mut away, mut waits, mut reached) = (false, false, false);
    while left > 0 {
        let page = match cursor.next(&server).await {
            Ok(page) => page,
            // The server was never reached: report that instead of waiting for a restart.
            Err(CallError::Away(failure)) if !reached => return Err(failure),
            Err(CallError::Away(failure) | CallError::Later(failure)) => {
                if !away {
                    output::note(format_args!("{failure}\nreconnecting …"));
                }
                away = true;
                tokio::time::sleep(RECONNECT_PAUSE).await;
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        reached = true;
        if std::mem::take(&mut away) {
            output::note("connected again");
        }
        for response in page.fresh.iter().take(usize::try_from(left).unwrap_or(usize::MAX)) {
            if output::print(&shown(response, args.format)).is_err() {
                // The reader closed the pipe, as `head` does.
                return Ok(Exit::Done);
            }
        }
        left = left.saturating_sub(page.fresh.len() as u64);
        if page.is_last && left > 0 {
            // Printed once: without it, a flow without new responses looks like a command that
            // hangs.
            if !std::mem::replace(&mut waits, true) {
                output::note("waiting for responses; Ctrl-C ends this");
            }
            tokio::time::sleep(args.interval).await;
        }
    }
    Ok(Exit::Done)
}

/// A page of the list: its items that have not been printed, and whether it is the last for now.
struct TailPage {
    fresh: Vec<Value>,
    is_last: bool,
}

/// How much of a flow's responses has been printed.
struct TailCursor {
    path: String,
    /// The start time, used until the first response is seen.
    from: Option<String>,
    printed: PrintedResponses,
}

impl TailCursor {
    /// Finds the start. If the server is unreachable now, that is an error and not waited for.
    async fn find(server: &Server, flow: &str, since: Since) -> Result<Self, Failure> {
        let path = format!("/flows/{flow}/responses");
        let mut cursor = Self { path, from: None, printed: PrintedResponses::new(Instant::now()) };
        match since {
            Since::All => {}
            Since::At(time) => cursor.from = Some(time.to_string()),
            Since::Now => {
                // Uses the server's newest responses instead of this machine's clock, which may
                // differ. They count as printed; a response that later appears between them does
                // not.
                let query = [("limit", PAGE_ITEMS.to_string()), ("order", "desc".to_owned())];
                let mut newest = server.get(&cursor.path, &query).await?;
                let Value::Array(mut items) = newest["items"].take() else { return Ok(cursor) };
                items.reverse();
                if items.len() == PAGE_ITEMS {
                    cursor.printed.settled = Some(field(&items[0], "responseId").to_owned());
                }
                cursor.printed.fresh(items, true, Instant::now());
            }
        }
        Ok(cursor)
    }

    async fn next(&mut self, server: &Server) -> Result<TailPage, CallError> {
        let mut query = vec![("limit", PAGE_ITEMS.to_string())];
        query.extend(self.from.clone().map(|from| ("from", from)));
        query.extend(self.printed.after(Instant::now()).map(|after| ("after", after)));
        let mut page = server.get(&self.path, &query).await?;
        let Value::Array(items) = page["items"].take() else {
            return Ok(TailPage { fresh: Vec::new(), is_last: true });
        };
        // A page may be short without being the last; only `next` shows it.
        let is_last = page["next"].is_null();
        Ok(TailPage { fresh: self.printed.fresh(items, is_last, Instant::now()), is_last })
    }
}

/// Which responses were printed, remembered while others may still appear among them.
struct PrintedResponses {
    /// No new response appears up to this id.
    settled: Option<String>,
    /// The ids printed after `settled`, and when.
    recent: BTreeMap<String, Instant>,
    /// The last id read: the next page starts after it.
    read: Option<String>,
    /// Whether that page was the last when it was read.
    at_end: bool,
    reread_at: Instant,
}

impl PrintedResponses {
    fn new(now: Instant) -> Self {
        let (settled, recent, read) = (None, BTreeMap::new(), None);
        Self { settled, recent, read, at_end: false, reread_at: now + REREAD_EVERY }
    }

    /// Where the next page starts: after the last one or, from time to time, after `settled`.
    fn after(&mut self, now: Instant) -> Option<String> {
        while let Some(entry) = self.recent.first_entry()
            && now.duration_since(*entry.get()) >= OVERLAP
        {
            self.settled = Some(entry.remove_entry().0);
        }
        if self.at_end && now >= self.reread_at {
            self.reread_at = now + REREAD_EVERY;
            self.read.clone_from(&self.settled);
        }
        self.read.clone()
    }

    /// Takes a page that was read, and returns its items that have not been printed.
    fn fresh(&mut self, items: Vec<Value>, is_last: bool, now: Instant) -> Vec<Value> {
        self.at_end = is_last;
        if let Some(last) = items.last() {
            self.read = Some(field(last, "responseId").to_owned());
        }
        let mut fresh = items;
        fresh.retain(|item| {
            let id = field(item, "responseId");
            let is_new = !self.recent.contains_key(id);
            if is_new {
                self.recent.insert(id.to_owned(), now);
            }
            is_new
        });
        fresh
    }
}

fn shown(response: &Value, format: TailFormat) -> String {
    if format == TailFormat::Json {
        return format!("{response}\n");
    }
    let mut line = format!("{}  {}", field(response, "receivedAt"), field(response, "responseId"));
    for (question, answer) in response["answers"].as_object().into_iter().flatten() {
        let answer = match answer {
            Value::String(text) => quoted(text),
            Value::Array(texts) => {
                let texts: Vec<String> =
                    texts.iter().filter_map(Value::as_str).map(quoted).collect();
                format!("[{}]", texts.join(" "))
            }
            other => other.to_string(),
        };
        line.push_str(&format!("  {}={answer}", quoted(question)));
    }
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Reads a list to its end as `follow` does; returns the numbers that were printed.
    fn read(printed: &mut PrintedResponses, stored: &[u32], page: usize, now: Instant) -> Vec<u32> {
        let mut fresh = Vec::new();
        loop {
            let after = printed.after(now).map_or(0, |id| id[3..].parse().unwrap());
            let beyond = stored.iter().filter(|number| **number > after).take(page);
            let items: Vec<Value> =
                beyond.map(|number| json!({"responseId": format!("rs_{number:04}")})).collect();
            let is_last = items.len() < page;
            let new = printed.fresh(items, is_last, now);
            fresh.extend(
                new.iter().map(|item| field(item, "responseId")[3..].parse::<u32>().unwrap()),
            );
            if is_last {
                return fresh;
            }
        }
    }

    #[test]
    fn a_response_that_is_stored_after_a_later_id_is_printed_once() {
        let begin = Instant::now();
        let at = |seconds: u64| begin + Duration::from_secs(seconds);
        for page in [1, 2, 3, 100] {
            let mut printed = PrintedResponses::new(begin);
            let mut check = |seconds, stored: &[u32], expected: &[u32]| {
                let got = read(&mut printed, stored, page, at(seconds));
                assert_eq!(got, expected, "pages of {page}, at {seconds} s");
            };
            check(0, &[], &[]);
            check(1, &[10, 30], &[10, 30]);
            check(2, &[10, 20, 30, 40], &[40]);
            check(4, &[5, 10, 20, 30, 40], &[5, 20]);
            check(5, &[5, 10, 20, 30, 40, 50], &[50]);
            check(8, &[5, 10, 15, 20, 30, 40, 45, 50, 60], &[15, 45, 60]);
            check(12, &[5, 10, 15, 20, 25, 30, 40, 45, 50, 60], &[25]);
            check(30, &[5, 10, 15, 20, 25, 30, 40, 45, 50, 60], &[]);
            check(40, &[5, 10, 15, 20, 25, 30, 40, 45, 50, 60, 70], &[70]);
            assert!(printed.recent.len() <= 1, "settled ids are dropped");
        }
    }

    #[test]
    fn a_response_is_one_line_whatever_it_says() {
        let response = json!({
            "receivedAt": "2026-11-15T02:00:00.000Z", "responseId": "rs_1",
            "answers": {"nps": "9", "use": ["api", "other:a\nb"], "why": "so \u{1b}[2Jgood"},
        });
        assert_eq!(
            shown(&response, TailFormat::Text),
            "2026-11-15T02:00:00.000Z  rs_1  nps=9  use=[api \"other:a\\nb\"]  \
             why=\"so \\u{1b}[2Jgood\"\n"
        );
        assert_eq!(shown(&response, TailFormat::Json).lines().count(), 1);
    }
}
