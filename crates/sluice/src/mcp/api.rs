//! Calls of the admin API, whose refusals become sentences that say what an assistant can do.
//!
//! No sentence has the token in it: neither the server's problems nor the failures of
//! [`crate::client`] do.

use std::fmt;

use reqwest::Method;
use serde_json::Value;

use super::error::ToolError;
use super::reply::random_word;
use crate::client::{CallError, Server, faults_of};
use crate::failure::Failure;

/// Faults that are listed in one message.
const FAULTS_LISTED_MAX: usize = 50;

const KEY_CHARS_MAX: usize = 255;

/// A parameter of a query.
pub(super) type Pair = (String, String);

pub(super) fn pair(name: &str, value: impl fmt::Display) -> Pair {
    (name.to_owned(), value.to_string())
}

pub(super) struct Api {
    server: Server,
}

impl Api {
    pub(super) fn new(server: Server) -> Self {
        Self { server }
    }

    /// The app of calls that name none, from the profile.
    pub(super) fn default_app(&self) -> Option<String> {
        self.server.app.map(|app| app.to_string())
    }

    pub(super) async fn get(&self, path: &str, query: &[Pair]) -> Result<Value, ToolError> {
        value_of_reply(self.server.exchange(Method::GET, path, query, None, None).await, "")
    }

    pub(super) async fn put(
        &self,
        path: &str,
        query: &[Pair],
        body: &Value,
    ) -> Result<Value, ToolError> {
        let reply = self.server.exchange(Method::PUT, path, query, Some(body), None).await;
        value_of_reply(
            reply,
            "It is unknown whether it was saved: read the flow with get_flow first.",
        )
    }

    /// A POST is sent a second time if the connection breaks; its key makes that safe.
    pub(super) async fn post(
        &self,
        path: &str,
        query: &[Pair],
        body: Option<&Value>,
        key: Option<String>,
    ) -> Result<Value, ToolError> {
        let key = match key {
            Some(key) if is_key(&key) => key,
            Some(_) => {
                return Err(ToolError::new(
                    "idempotencyKey must be the key that an earlier error named.",
                ));
            }
            None => format!("mcp-{}", random_word()?),
        };
        let send = || self.server.exchange(Method::POST, path, query, body, Some(&key));
        let mut reply = send().await;
        if matches!(reply, Err(CallError::Away(_))) {
            reply = send().await;
        }
        let unknown = format!(
            "It is unknown whether it was carried out. Repeat the call with the idempotencyKey \
             {key:?}: then it has one effect, however often it is sent."
        );
        value_of_reply(reply, &unknown)
    }
}

fn is_key(text: &str) -> bool {
    (1..=KEY_CHARS_MAX).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

fn value_of_reply(
    reply: Result<(u16, Value), CallError>,
    unknown: &str,
) -> Result<Value, ToolError> {
    match reply {
        Ok((200..300, value)) => Ok(value),
        Ok((status, problem)) => Err(refusal(status, &problem)),
        Err(CallError::Away(failure)) => {
            Err(ToolError::new(format!("{failure}\n{unknown}").trim_end()))
        }
        Err(error) => {
            let failure = Failure::from(error).to_string();
            let quoted = failure.lines().map(|line| line.trim().to_owned()).collect();
            Err(ToolError::new("The call failed.").quoting(quoted))
        }
    }
}

/// A problem of the API as a sentence, and what to do about it.
fn refusal(status: u16, problem: &Value) -> ToolError {
    let text = |name: &str| problem[name].as_str().unwrap_or_default();
    let detail = if text("detail").is_empty() { text("title") } else { text("detail") };
    let faults = faults_of(problem);
    let remedy = match (status, text("code")) {
        (401, _) => {
            "The server refuses the token. Ask the user to give `sluice mcp` a valid admin token \
             (SLUICE_TOKEN, or --profile) and to start it again."
        }
        (403, _) => {
            "The token may not do this. Ask the user for a token with more scopes if it is wanted; \
             no other tool can do it with this token."
        }
        (404, _) => "list_apps and list_flows show what this token can see.",
        (409, "draft_changed") => {
            "Nothing was changed. Read the flow with get_flow, make your changes in the definition \
             that it has now, and send the new draftTag."
        }
        (409, "nothing_to_publish") => "Save a draft with update_draft first.",
        (409, "too_many_answers") => "Choose fewer days with filter.from and filter.to.",
        (409, "too_many_computations") | (429, _) => "Wait a moment, then try again.",
        (500.., _) => "Try again later; the server's log has the details.",
        _ if !faults.is_empty() => "Nothing was changed. Correct these places and try again:",
        _ => "",
    };
    let mut quoted = vec![detail.to_owned()];
    let listed = faults.iter().take(FAULTS_LISTED_MAX);
    quoted.extend(listed.map(|fault| format!("{}: {}", fault.pointer, fault.message)));
    if let Some(more) = faults.len().checked_sub(FAULTS_LISTED_MAX).filter(|more| *more > 0) {
        quoted.push(format!("and {more} more"));
    }
    quoted.retain(|line| !line.is_empty());
    let message = format!("The server refused the call ({status}). {remedy}").trim().to_owned();
    ToolError::new(message).with_code(text("code")).quoting(quoted)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_refusal_says_what_to_do() {
        for (status, problem, parts) in [
            (401, json!({"title": "Unauthorized"}), ["Unauthorized", "SLUICE_TOKEN"]),
            (403, json!({"detail": "Lacks write."}), ["Lacks write.", "more scopes"]),
            (404, json!({"detail": "No such flow."}), ["No such flow.", "list_flows"]),
            (409, json!({"detail": "x", "code": "draft_changed"}), ["get_flow", "new draftTag"]),
            (503, json!({"title": "Overloaded"}), ["Overloaded", "log"]),
            (
                422,
                json!({"detail": "Faults.", "errors": [{"pointer": "/a", "message": "is wrong"}]}),
                ["Correct these places", "/a: is wrong"],
            ),
        ] {
            let refused = refusal(status, &problem);
            let [quoted, said] = [refused.quoted().join("\n"), refused.to_string()];
            let shown = format!("{said}\n{quoted}");
            assert!(parts.iter().all(|part| shown.contains(part)), "{shown}");
            let of_server = ["title", "detail"].map(|name| problem[name].as_str());
            for text in of_server.into_iter().flatten() {
                assert!(quoted.contains(text) && !said.contains(text), "{shown}");
            }
        }
    }

    #[test]
    fn a_key_is_a_word_that_fits_into_a_header() {
        for (text, fits) in [("mcp-1f", true), ("", false), ("a b", false), ("a\r\nx: y", false)] {
            assert_eq!(is_key(text), fits, "{text:?}");
        }
    }

    #[test]
    fn a_long_list_of_faults_is_cut() {
        let faults: Vec<Value> = (0..FAULTS_LISTED_MAX + 7)
            .map(|at| json!({"pointer": format!("/{at}"), "message": "m"}))
            .collect();
        let refused = refusal(422, &json!({"detail": "d", "errors": faults}));
        let shown = refused.quoted().join("\n");
        assert!(shown.starts_with("d\n/0: m\n"), "{shown}");
        assert!(shown.ends_with("\n/49: m\nand 7 more"), "{shown}");
    }

    #[test]
    fn an_unknown_outcome_is_named() {
        let away = || Err(CallError::Away(Failure::new("the connection broke", "try again")));
        let shown = value_of_reply(away(), "It is unknown.").unwrap_err().to_string();
        assert_eq!(shown, "the connection broke\n  try again\nIt is unknown.");
        assert!(value_of_reply(away(), "").unwrap_err().to_string().ends_with("try again"));
    }
}
