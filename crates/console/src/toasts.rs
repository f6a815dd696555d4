//! The messages after an action, shown as toasts: by the name in the address, some with a button
//! that undoes the action. No other text is ever shown, and only what this browser has just done
//! can be undone: a link that someone made up shows a message at most.

use std::borrow::Cow;

use maud::{Markup, html};
use sluice_flow::id::FlowId;

/// A message, and the form that undoes what it reports.
pub(super) struct Toast {
    text: Cow<'static, str>,
    undo: Option<Markup>,
}

/// An action on a flow with the name of its message, as the browser keeps it.
pub(super) fn action(flow: FlowId, word: &str) -> String {
    format!("{flow}.{word}")
}

impl Toast {
    /// The toast with this name. `flow` is the flow of the page, `did` the last [`action`] of the
    /// browser.
    pub(super) fn named(word: &str, flow: Option<FlowId>, did: Option<&str>) -> Option<Self> {
        let (name, detail) = word.split_once('.').unwrap_or((word, ""));
        let flow = if name == "archived" { detail.parse().ok() } else { flow };
        let flow = flow.filter(|flow| did == Some(action(*flow, word).as_str()));
        let undo = match (name, flow) {
            ("archived", Some(flow)) => Some(undo(flow, "restore", html! {})),
            ("closed", Some(flow)) => Some(reopen(flow, detail)),
            ("reopened", Some(flow)) => Some(undo(flow, "close", html! {})),
            _ => None,
        };
        let text = match name {
            "invited" if !detail.is_empty() => invited(detail)?,
            "archived" | "closed" => sentence(name)?.into(),
            _ => sentence(word)?.into(),
        };
        Some(Self { text, undo })
    }

    pub(super) fn render(&self) -> Markup {
        html! {
            div.toast.flash role="status" {
                p { (self.text) }
                @if let Some(undo) = &self.undo { (undo) }
            }
        }
    }
}

/// Opens the flow again until the end that it had, in milliseconds.
fn reopen(flow: FlowId, until: &str) -> Markup {
    let until: Option<i64> = until.parse().ok();
    undo(
        flow,
        "reopen",
        html! { @if let Some(until) = until { input type="hidden" name="until" value=(until); } },
    )
}

fn undo(flow: FlowId, action: &str, fields: Markup) -> Markup {
    html! {
        form method="post" action={ "/console/flows/" (flow) "/" (action) } {
            (fields)
            button.button.small type="submit" { "Undo" }
        }
    }
}

fn sentence(word: &str) -> Option<&'static str> {
    Some(match word {
        "saved" | "saved-view" => "Saved.",
        "published" => "Published. New visitors now get this version.",
        "created" => "Created.",
        "duplicated" => "Duplicated. This is the copy; it is not published yet.",
        "archived" => "Archived. Its responses and results are kept.",
        "restored" => "Restored. The flow is as it was before.",
        "closed" => "Closed. The flow accepts no more responses.",
        "reopened" => "Reopened. The flow accepts responses again.",
        "design-reset" => "Reset. This flow now uses the app’s design.",
        "discarded" => "Changes discarded. The draft matches the published version.",
        "retired" => "Retired. The version is closed; its responses are kept.",
        "deleted" => "Deleted.",
        "image-stored" => "Uploaded.",
        "image-known" => "This app already has this image.",
        "tests-deleted" => "All test responses are deleted.",
        "ended" => "Revoked.",
        "erased" => "Erased permanently.",
        "erasing" => {
            "The erasure has started. It takes a while; the server continues in the background."
        }
        "added" => "Added.",
        "password" => "Your password was changed. All other browsers are signed out.",
        "invited" => "Invited. Each person has a personal link.",
        "invited-already" => "No one was invited: all of them already have an open invitation.",
        "test-links-revoked" => {
            "Revoked. Earlier test links no longer work; this page has a new one."
        }
        "path-saved" => "The short path works now.",
        "path-removed" => "The short path was removed.",
        "revoked" => "Revoked. The link no longer works.",
        "link-mailed" => "A link to set a password is on its way by e-mail.",
        "invited-by-mail" => "Invited. The e-mails are on their way.",
        "notices-saved" => "Saved. You get the next notification by e-mail.",
        "notices-off" => "Saved. You get no more notifications for this flow.",
        "resumed" => "E-mails and webhooks are sent from now on.",
        "test-delivered" => "The test event was delivered.",
        "test-failed" => "The test event was not delivered. This is what came back.",
        "endpoint-enabled" => "Enabled. The endpoint continues where it left off.",
        "endpoint-disabled" => "Disabled. Events stay in the log until you enable it again.",
        "redelivering" => "The event is being sent again.",
        "redelivering-failed" => "Failed deliveries are being sent again.",
        "replaying" => "Events are being sent again.",
        "welcome" => "Your password is set, and you are signed in.",
        _ => return None,
    })
}

/// How many were invited, and how many were skipped: `3.2`.
fn invited(counts: &str) -> Option<Cow<'static, str>> {
    let (made, left) = counts.split_once('.')?;
    let (made, left) = (made.parse::<u32>().ok()?, left.parse::<u32>().ok()?);
    let people = |count: u32| match count {
        1 => "1 person".to_owned(),
        _ => format!("{count} people"),
    };
    Some(
        format!(
            "{} invited. {} skipped: already invited, or on an earlier line.",
            people(made),
            people(left)
        )
        .into(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_names_have_a_text_and_details_are_checked() {
        for (word, text) in [
            ("saved", Some("Saved.")),
            ("invited.3.1", Some("3 people invited.")),
            ("invited.3.<b>", None),
            ("saved.x", None),
            ("archived.<b>", Some("Archived.")),
            ("anything", None),
        ] {
            let found = Toast::named(word, None, None).map(|it| it.render().into_string());
            assert_eq!(found.is_some(), text.is_some(), "{word}");
            assert!(found.is_none_or(|it| it.contains(text.unwrap()) && !it.contains("<b>")));
        }
    }

    #[test]
    fn only_the_last_action_of_this_browser_can_be_undone() {
        let flow: FlowId = "fl_01KA2VgdPrWYDVgYy3wLpB".parse().unwrap();
        let other: FlowId = "fl_01KA2VgdPrWYDVgYy3wLpC".parse().unwrap();
        let archived = format!("archived.{flow}");
        for word in [archived.as_str(), "closed", "closed.1700000000000", "reopened"] {
            let done = action(flow, word);
            let elsewhere = action(other, word);
            for (did, is_offered) in [
                (Some(done.as_str()), true),
                (Some(elsewhere.as_str()), false),
                (Some("closed.1"), false),
                (Some(word), false),
                (None, false),
            ] {
                let shown = Toast::named(word, Some(flow), did).unwrap().render().into_string();
                assert_eq!(shown.contains("Undo"), is_offered, "{word}, {did:?}");
            }
        }
    }
}
