//! Changing a report: its title, questions, texts, password and expiry. Its link and its filters
//! stay the same.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use maud::html;
use sluice_engine::rows::Scope;
use sluice_engine::{AdminError, FlowHandle, Report, ReportPatch, ReportState};
use sluice_flow::definition::Fault;
use sluice_flow::id::{FlowId, ReportId};

use super::query::{ResultsQuery, page_path};
use super::report_form::{ReportForm, expiry, field_of, last_day};
use super::reports::words;
use crate::Console;
use crate::frame::{Frame, NavItem, Tab, Width};
use crate::parts::errors;
use crate::reply::{self, Kind, Refused, Reply};
use crate::request::{Fields, Form, PathParam, faults_of};
use crate::session::Visitor;
use crate::sidebar::Sidebar;

pub(super) async fn show(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
    PathParam(report): PathParam<ReportId>,
) -> Reply {
    let around = Sidebar::flow(&console, &visitor, flow).await?;
    console.engine.flow(&visitor.actor, Scope::Export, flow).await?;
    let report = found(&around.1, report).await?;
    page(&visitor, &around, Kind::Shown, &report, &fields_of(&report), &[]).await
}

pub(super) async fn save(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
    PathParam(report): PathParam<ReportId>,
    Form(form): Form,
) -> Reply {
    let around = Sidebar::flow(&console, &visitor, flow).await?;
    let opened = console.engine.flow(&visitor.actor, Scope::Export, flow).await?;
    let report = found(&around.1, report).await?;
    let changed = match patch(&form, &report) {
        Ok(patch) => opened.change_report(report.report_id, &patch).await,
        Err(fault) => Err(AdminError::Invalid(vec![fault])),
    };
    match faults_of(changed)? {
        Ok(_) => {
            Ok(reply::see_other(&format!("{}?done=saved#reports", page_path(flow, "reports"))))
        }
        Err(faults) => page(&visitor, &around, Kind::Unfinished, &report, &form, &faults).await,
    }
}

/// A report that can still be changed.
async fn found(state: &FlowHandle, id: ReportId) -> Result<Report, Refused> {
    let found = state.list_reports().await?.into_iter().find(|it| it.report_id == id);
    found.filter(|it| it.state != ReportState::Revoked).ok_or(Refused::NoSuchPage)
}

/// What the form shows at first.
fn fields_of(report: &Report) -> Fields {
    let field = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let mut fields = vec![field("title", &report.title)];
    fields.extend(report.questions.iter().map(|id| field("show", id)));
    fields.extend(report.shows_texts.then(|| field("texts", "yes")));
    fields.push(field("until", &last_day(report.expires_at)));
    Fields(fields)
}

fn patch(form: &Fields, report: &Report) -> Result<ReportPatch, Fault> {
    // A password is used as typed, spaces included.
    let typed = Some(form.raw("password")).filter(|it| !it.is_empty()).map(str::to_owned);
    let password = match (typed, form.has("open")) {
        (Some(_), true) => {
            let message = "must be empty if the current one is removed";
            return Err(Fault::new("/password", message));
        }
        (Some(password), false) => Some(Some(password)),
        (None, is_removed) => is_removed.then_some(None),
    };
    // An expiry within a day, which only the API can set, is kept if the day stays the same.
    let is_kept = form.raw("until") == last_day(report.expires_at);
    let expires_at = if is_kept { None } else { Some(expiry(form.get("until"))?) };
    Ok(ReportPatch {
        title: Some(form.raw("title").to_owned()),
        questions: Some(form.all("show").map(str::to_owned).collect()),
        filters: None,
        shows_texts: Some(form.has("texts")),
        password,
        expires_at,
    })
}

async fn page(
    visitor: &Visitor,
    (sidebar, state): &(Sidebar, FlowHandle),
    kind: Kind,
    report: &Report,
    fields: &Fields,
    faults: &[Fault],
) -> Result<Response, Refused> {
    let flow = state.flow_id();
    let history = state.asked().await?;
    let query = ResultsQuery::from_fields(&Fields(report.filters.clone()));
    let form = ReportForm { history: &history, fields, faults, has_password: report.has_password };
    let list = page_path(flow, "reports");
    let content = html! {
        p.crumbs { a href={ (list) "#reports" } { "Back to the reports" } }
        section.card aria-labelledby="edit-report" {
            h2 id="edit-report" { "Edit report" }
            p.muted { "The link stays the same. Readers see the changes when they open or reload the report; after a new password they must enter it." }
            (errors(faults, field_of))
            form.form method="post" action={ (list) "/" (report.report_id) } {
                p { strong { "Filters: " } (words(&history, &query)) " " span.hint { "To share other filters, create another report." } }
                (form.draw())
                div.buttons {
                    button.button.primary type="submit" { "Save changes" }
                    a.button href={ (list) "#reports" } { "Cancel" }
                }
            }
        }
    };
    let title = format!("Edit report · {}", state.flow.name);
    let frame = Frame::new(visitor, sidebar, NavItem::Flow(state, Tab::Results), &title);
    Ok(frame.width(Width::Narrow).page(kind, content))
}

#[cfg(test)]
mod tests {
    use sluice_flow::time::Timestamp;

    use super::*;

    fn report(expires_at: Option<Timestamp>) -> Report {
        Report {
            report_id: "rep_0000000000000000000000".parse().unwrap(),
            flow_id: "fl_0000000000000000000000".parse().unwrap(),
            title: "Results".to_owned(),
            questions: vec!["nps".to_owned(), "why".to_owned()],
            filters: Vec::new(),
            shows_texts: true,
            has_password: true,
            created_by: String::new(),
            created_at: Timestamp::from_millis(0),
            expires_at,
            revoked_at: None,
            state: ReportState::Active,
        }
    }

    #[test]
    fn a_form_that_is_sent_unchanged_changes_nothing() {
        for expires_at in [None, Some(Timestamp::from_millis(1_800_000_000_000))] {
            let report = report(expires_at);
            let patch = patch(&fields_of(&report), &report).unwrap();
            let same = ReportPatch {
                title: Some(report.title),
                questions: Some(report.questions),
                shows_texts: Some(true),
                ..ReportPatch::default()
            };
            assert_eq!(patch, same);
        }
    }

    #[test]
    fn a_password_is_kept_replaced_or_removed() {
        let read = |form: &str| patch(&Fields::parse(form), &report(None));
        let password = |form: &str| read(form).unwrap().password;
        assert_eq!(password("password="), None);
        assert_eq!(password("password=+new+one+"), Some(Some(" new one ".to_owned())));
        assert_eq!(password("password=&open=yes"), Some(None));
        assert_eq!(read("password=x&open=yes").unwrap_err().pointer, "/password");
    }

    #[test]
    fn an_expiry_is_set_and_removed() {
        let end = Timestamp::from_millis(1_800_000_000_000);
        let read = |form: &str, report: &Report| patch(&Fields::parse(form), report);
        let set = read("until=2027-12-31", &report(Some(end))).unwrap().expires_at;
        assert_eq!(set.unwrap().unwrap().to_string(), "2028-01-01T00:00:00.000Z");
        assert_eq!(read("until=", &report(Some(end))).unwrap().expires_at, Some(None));
        assert_eq!(read("until=x", &report(None)).unwrap_err().pointer, "/until");
    }
}
