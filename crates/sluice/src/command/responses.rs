//! `sluice responses tail`: asks for what came after the last response seen, again and again.
//!
//! Responses are listed in the order of their ids, which a server gives in the order it stores them;
//! so the id of the last one printed is all there is to remember, and nothing is printed twice.

use std::time::Duration;

use serde_json::Value;

use crate::args::{Since, TailArgs, TailFormat};
use crate::client::{CallError, Server, field};
use crate::failure::{Exit, Failure, Outcome};
use crate::output::{self, quoted};

/// Responses asked for in one call.
const PAGE_ITEMS: usize = 500;
/// Between two tries to reach a server that is away.
const RECONNECT_PAUSE: Duration = Duration::from_millis(500);

pub(crate) async fn tail(args: TailArgs) -> Outcome {
    tokio::select! {
        outcome = follow(args) => outcome,
        _ = tokio::signal::ctrl_c() => Ok(Exit::Done),
    }
}

async fn follow(args: TailArgs) -> Outcome {
    let server = Server::new(args.server.clone())?;
    let mut place = Place::find(&server, &args).await?;
    let mut left = args.limit.unwrap_or(u64::MAX);
    let mut away = false;
    while left > 0 {
        let page = match place.next(&server, left).await {
            Ok(page) => page,
            Err(CallError::Away(failure)) => {
                if !away {
                    output::note(format_args!("{failure}\nreconnecting …"));
                }
                away = true;
                tokio::time::sleep(RECONNECT_PAUSE).await;
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        if std::mem::take(&mut away) {
            output::note("connected again");
        }
        for response in &page {
            if output::print(&shown(response, args.format)).is_err() {
                // Whoever read this has gone, as `head` does.
                return Ok(Exit::Done);
            }
        }
        left -= page.len() as u64;
        if page.is_empty() {
            tokio::time::sleep(args.interval).await;
        }
    }
    Ok(Exit::Done)
}

/// How far the responses of a flow have been printed.
struct Place {
    path: String,
    /// Where to start, as long as nothing has been seen.
    from: Option<String>,
    last: Option<String>,
}

impl Place {
    /// The start. A server that is away now is a mistake to tell, not one to wait for.
    async fn find(server: &Server, args: &TailArgs) -> Result<Self, Failure> {
        let path = format!("/flows/{}/responses", args.flow);
        let mut place = Self { path, from: None, last: None };
        match args.since {
            Since::All => {}
            Since::At(time) => place.from = Some(time.to_string()),
            Since::Now => {
                // The server's newest rather than this machine's clock, which may differ.
                let query = [("limit", "1".to_owned()), ("order", "desc".to_owned())];
                let newest = server.get(&place.path, &query).await?;
                place.last = newest["items"][0]["responseId"].as_str().map(str::to_owned);
            }
        }
        Ok(place)
    }

    /// What came since, at most so many.
    async fn next(&mut self, server: &Server, most: u64) -> Result<Vec<Value>, CallError> {
        let mut query = vec![("limit", most.min(PAGE_ITEMS as u64).to_string())];
        query.extend(self.from.clone().map(|from| ("from", from)));
        query.extend(self.last.clone().map(|last| ("after", last)));
        let mut page = server.get(&self.path, &query).await?;
        let Value::Array(items) = page["items"].take() else { return Ok(Vec::new()) };
        if let Some(last) = items.last() {
            self.last = Some(field(last, "responseId").to_owned());
        }
        Ok(items)
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
