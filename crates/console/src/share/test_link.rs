//! The test link of a flow: its answers are marked as tests and never counted.

use std::sync::Arc;

use axum::extract::State;
use maud::{Markup, html};
use sluice_engine::rows::Scope;
use sluice_engine::{AdminError, AdminResult, FlowHandle, TestLink};
use sluice_flow::id::FlowId;

use crate::Console;
use crate::parts::time;
use crate::reply::{self, Reply};
use crate::request::PathParam;
use crate::session::Visitor;

/// Leads to the page of a new test link.
pub(super) async fn open(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
) -> Reply {
    let opened = console.engine.flow(&visitor.actor, Scope::Write, flow).await?;
    Ok(reply::see_other(&path(flow, &opened.test_link()?)))
}

/// Revokes all test links of the flow; the page then shows a new one.
pub(super) async fn revoke(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
) -> Reply {
    let opened = console.engine.flow(&visitor.actor, Scope::Write, flow).await?;
    opened.revoke_test_links().await?;
    let address = format!("/console/flows/{flow}/share?done=test-links-revoked#test-link-title");
    Ok(reply::see_other(&address))
}

fn path(flow: FlowId, link: &TestLink) -> String {
    format!("/f/{flow}/test/{}", link.token)
}

/// A card with a new link; without a master key there is none.
pub(super) fn card(base: &str, flow: &FlowHandle) -> AdminResult<Markup> {
    let link = match flow.test_link() {
        Ok(link) => link,
        Err(AdminError::Conflict { .. }) => return Ok(html! {}),
        Err(error) => return Err(error),
    };
    let flow = flow.flow_id();
    let address = format!("{base}{}", path(flow, &link));
    Ok(html! {
        section.card aria-labelledby="test-link-title" {
            header { h2 id="test-link-title" { "Test link" } }
            div.stack {
                div.field {
                    label for="test-link" { "Answers from this link are tests and never counted" }
                    p.hint id="test-link-hint" {
                        "It shows the draft, or the published version if there are no changes. It works until " (time(link.expires_at)) "." }
                    div.copy-line {
                        input.input.mono id="test-link" value=(address) readonly aria-describedby="test-link-hint";
                        button.button type="button" data-copy="test-link" { "Copy" }
                        a.button href=(address) target="_blank" rel="noopener" { "Try it" }
                    }
                }
                form.buttons method="post" action={ "/console/flows/" (flow) "/share/test-links/revoke" } {
                    a.button href={ "/console/flows/" (flow) "/responses/tests" } { "Test responses" }
                    button.button type="submit" { "Revoke all test links" }
                }
            }
        }
    })
}
