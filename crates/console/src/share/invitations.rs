//! Invitations of a flow: counts by state, the list with links, creating and revoking.

use std::sync::Arc;

use axum::extract::State;
use maud::{Markup, html};
use sluice_engine::rows::{InvitationCounts, Scope};
use sluice_engine::{
    AdminError, AdminResult, Duplicates, FlowHandle, Invitation, InvitationCursor, Missing,
    NewInvitation, invitation_files,
};
use sluice_flow::definition::Fault;
use sluice_flow::id::{AssignmentId, FlowId};
use sluice_flow::invitation::{InvitationState, Invitee};
use sluice_flow::time::{Day, Timestamp};

use super::invitation_email::status;
use super::{TypedForms, page};
use crate::Console;
use crate::parts::field::Field;
use crate::parts::{day, errors, number};
use crate::reply::{self, Reply};
use crate::request::{Fields, Form, PathParam, faults_of};
use crate::session::Visitor;

/// Invitations per page.
const PAGE: usize = 25;

/// The values typed into the form, shown again after an error.
#[derive(Debug, Clone, Default)]
pub(super) struct InvitationForm<'t> {
    pub(super) people: &'t str,
    pub(super) until: &'t str,
    /// Whether to send the links; none before the form was sent.
    pub(super) by_mail: Option<bool>,
    pub(super) faults: Vec<Fault>,
}

/// What the visitor may do with invitations, besides viewing them.
#[derive(Debug, Clone, Copy)]
pub(super) struct InvitationPermissions {
    pub(super) write: bool,
    pub(super) export: bool,
    /// Whether there is a mail server.
    pub(super) send: bool,
}

/// A page of the list, and the counts.
pub(super) struct Invitations {
    counts: InvitationCounts,
    state: Option<InvitationState>,
    items: Vec<Invitation>,
    next: Option<String>,
    is_first: bool,
}

impl Invitations {
    pub(super) async fn read(flow: &FlowHandle, query: &Fields) -> AdminResult<Self> {
        let state = query
            .get("state")
            .and_then(|word| InvitationState::ALL.into_iter().find(|it| state_name(*it) == word));
        let after = query.get("after").and_then(|text| text.parse::<InvitationCursor>().ok());
        let mut items = flow.list_invitations(state, after, PAGE + 1).await?;
        let counts = flow.count_invitations().await?;
        let has_more = items.len() > PAGE;
        items.truncate(PAGE);
        let items = flow.with_mail_status(items).await?;
        let next =
            items.last().filter(|_| has_more).map(|last| InvitationCursor::at(last).to_string());
        Ok(Self { counts, state, items, next, is_first: after.is_none() })
    }

    pub(super) fn card(
        &self,
        flow: FlowId,
        permissions: InvitationPermissions,
        is_published: bool,
        typed: &InvitationForm<'_>,
        email: &Markup,
    ) -> Markup {
        let all = self.all();
        let sends = permissions.send && is_published;
        html! {
            section.card aria-labelledby="invitations" {
                header {
                    h2 id="invitations" { "Invitations" }
                    @if all > 0 && permissions.export && permissions.write {
                        form method="post" action={ "/console/flows/" (flow) "/share/invitations.csv" } {
                            button.button.small type="submit" { "Download all links (CSV)" }
                        }
                    }
                }
                p.muted { "Each person gets a personal link that works once. You see who has answered, but not their answers." }
                @if !is_published && permissions.write { p.hint { "You can create links now; they work after you publish the flow." } }
                @if permissions.write { (form(flow, all == 0 || !typed.faults.is_empty(), sends, typed)) (email) }
                @if all > 0 { (self.states(flow)) (self.table(flow, permissions)) }
                @else if !permissions.write { p { "No invitations yet." } }
            }
        }
    }

    fn all(&self) -> u64 {
        let InvitationCounts { sent, opened, expired, revoked, completed } = self.counts;
        sent + opened + expired + revoked + completed
    }

    /// Chips that filter the list.
    fn states(&self, flow: FlowId) -> Markup {
        let InvitationCounts { sent, opened, expired, revoked, completed } = self.counts;
        let count = |state| match state {
            InvitationState::Sent => sent,
            InvitationState::Opened => opened,
            InvitationState::Expired => expired,
            InvitationState::Revoked => revoked,
            InvitationState::Completed => completed,
        };
        let base = format!("/console/flows/{flow}/share");
        html! {
            div.chips role="group" aria-label="Invitation state" {
                a.chip href={ (base) "#invitations" } aria-current=[self.state.is_none().then_some("true")] { "All " span.number { (number(self.all())) } }
                @for state in InvitationState::ALL {
                    a.chip href={ (base) "?state=" (state_name(state)) "#invitations" } aria-current=[(self.state == Some(state)).then_some("true")] {
                        (state_label(state)) " " span.number { (number(count(state))) }
                    }
                }
            }
        }
    }

    fn table(&self, flow: FlowId, permissions: InvitationPermissions) -> Markup {
        let state =
            self.state.map(|state| format!("state={}&", state_name(state))).unwrap_or_default();
        let shows_mail = permissions.send || self.items.iter().any(|it| it.mail.is_some());
        let is_unsent = |it: &Invitation| it.mail.is_none() && is_open(it.state);
        let unsent = shows_mail && permissions.write && self.items.iter().any(is_unsent);
        html! {
            @if self.items.is_empty() { p.muted { "No invitations in this state." } }
            @else {
                @if unsent { p.note { "Links marked “Not sent” were created without an e-mail. Copy or download them and send them yourself." } }
                div.scroll tabindex="0" role="group" aria-label="Invitations" {
                    table.table.stacks {
                        thead { tr { th scope="col" { "Person" } th scope="col" { "State" } th scope="col" { "Created" } @if shows_mail { th scope="col" { "E-mail" } } th scope="col" { "Link" } } }
                        tbody { @for invitation in &self.items { (row(flow, permissions, invitation, shows_mail)) } }
                    }
                }
            }
            div.pager {
                @if !self.is_first { a.button.small href={ "/console/flows/" (flow) "/share?" (state) "#invitations" } { "First page" } }
                @if let Some(next) = &self.next { a.button.small href={ "/console/flows/" (flow) "/share?" (state) "after=" (next) "#invitations" } { "Next page" } }
            }
        }
    }
}

fn row(
    flow: FlowId,
    permissions: InvitationPermissions,
    invitation: &Invitation,
    shows_mail: bool,
) -> Markup {
    let Invitation { row, state, link, mail } = invitation;
    let (id, name) = (row.assignment_id, who(&row.invitee).unwrap_or_default());
    let is_open = is_open(*state);
    html! {
        tr {
            td data-label="Person" {
                div {
                    @match who(&row.invitee) { Some(who) => bdi { (who) }, None => span.muted { "Erased" } }
                    @if let Some(end) = row.times.expires_at.filter(|_| is_open) { p.hint { "until " (day(end)) } }
                }
            }
            td data-label="State" { span.state { span class={ "dot " (dot(*state)) } {} (state_label(*state)) } }
            td data-label="Created" { (day(row.created_at)) }
            @if shows_mail { td data-label="E-mail" { div { (status(mail.as_ref())) } } }
            td data-label="Link" {
                div.buttons {
                    // Anyone with the link can answer as that person, so it is shown only to
                    // visitors who could create another.
                    @if let Some(link) = link.as_ref().filter(|_| is_open && permissions.write) {
                        span.unseen id={ "link-" (id) } { (link) }
                        button.button.small type="button" data-copy={ "link-" (id) } { "Copy link" span.unseen { " of " (name) } }
                        form method="post" action={ "/console/flows/" (flow) "/share/invitations/" (id) "/revoke" }
                            data-confirm="Revoke this invitation? Its link stops working." {
                            button.button.small.danger type="submit" { "Revoke" span.unseen { " the invitation of " (name) } }
                        }
                    } @else { span.muted { "–" } }
                }
            }
        }
    }
}

/// Whether the link of an invitation works.
fn is_open(state: InvitationState) -> bool {
    matches!(state, InvitationState::Sent | InvitationState::Opened)
}

fn form(flow: FlowId, open: bool, sends: bool, typed: &InvitationForm<'_>) -> Markup {
    let people = Field {
        id: "people",
        label: "People to invite",
        hint: Some(
            "One e-mail address or user ID per line, or a CSV whose first line names its columns: userId, email, expiresAt. At most 1 MiB.",
        ),
        value: typed.people,
        lines: 5,
        mono: true,
        required: true,
        ..Field::default()
    };
    let until = Field {
        id: "until",
        label: "Links expire after (UTC)",
        hint: Some("Leave empty for links that do not expire."),
        value: typed.until,
        kind: "date",
        ..Field::default()
    };
    html! {
        details.more open[open] {
            summary { "Invite people" }
            form.form method="post" action={ "/console/flows/" (flow) "/share/invitations#invitations" } {
                (errors(&typed.faults, |pointer| Some(if pointer == "/until" { "until" } else { "people" }.to_owned())))
                (people.draw())
                div.field data-file hidden {
                    label for="file" { "Or choose a CSV file" }
                    input.input type="file" id="file" accept=".csv,text/csv,text/plain";
                }
                (until.draw())
                @if sends {
                    label.check { input type="checkbox" name="mail" value="yes" checked[typed.by_mail.unwrap_or(true)]; span { "Send each of them their link by e-mail" } }
                    p.hint { "Without it, the links are only created: nobody is notified until you send them yourself." }
                }
                label.check { input type="checkbox" name="again" value="yes"; span { "Also invite people who already have an open invitation" } }
                div.buttons { button.button.primary type="submit" { "Create invitations" } }
            }
        }
    }
}

/// Creates invitations for everyone in the form, or, if there are faults, for no one and shows
/// them.
pub(super) async fn invite(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
    Form(form): Form,
) -> Reply {
    let opened = console.engine.flow(&visitor.actor, Scope::Write, flow).await?;
    let (people, until) = (form.raw("people"), form.raw("until"));
    let duplicates = if form.has("again") { Duplicates::Allow } else { Duplicates::Skip };
    let by_mail = form.has("mail");
    let made = match asked_for(people, until) {
        Ok(new) => {
            let made = match by_mail {
                true => opened.invite_by_mail(&new, duplicates, false).await,
                false => opened.invite(&new, duplicates, false).await,
            };
            made.map(|made| (made.len(), new.len() - made.len()))
        }
        Err(faults) => Err(AdminError::Invalid(faults)),
    };
    match faults_of(made)? {
        Ok((made, left_out)) => {
            let word = match (made, left_out) {
                (0, _) => "invited-already".to_owned(),
                (_, 0) if by_mail => "invited-by-mail".to_owned(),
                (_, 0) => "invited".to_owned(),
                _ => format!("invited.{made}.{left_out}"),
            };
            Ok(reply::see_other(&format!("/console/flows/{flow}/share?done={word}#invitations")))
        }
        Err(faults) => {
            let typed = InvitationForm {
                people,
                until,
                by_mail: Some(by_mail),
                faults: faults.into_iter().map(by_line).collect(),
            };
            let typed = TypedForms { invitations: typed, ..TypedForms::default() };
            page(&console, &visitor, flow, &Fields::default(), typed).await
        }
    }
}

/// A fault with its line number in the message.
fn by_line(fault: Fault) -> Fault {
    let mut parts = fault.pointer.split('/').skip(1);
    let line = parts.next().and_then(|line| line.parse::<u64>().ok());
    match (line, parts.next()) {
        (Some(line), Some(field)) => Fault { pointer: format!("/line {line}, {field}"), ..fault },
        (Some(line), None) => Fault { pointer: format!("/line {line}"), ..fault },
        _ => fault,
    }
}

/// The people in the text: CSV if the first line names columns, otherwise one per line.
fn asked_for(people: &str, until: &str) -> Result<Vec<NewInvitation>, Vec<Fault>> {
    let wrong = |error| vec![Fault::new("/until", format!("{error}"))];
    let end = match until.trim() {
        "" => None,
        text => Some(text.parse::<Day>().map_err(wrong)?),
    };
    let end: Option<Timestamp> = end.map(|day| day.plus(1).starts_at());
    let head = people.lines().next().unwrap_or_default().to_ascii_lowercase();
    let names_columns = head
        .split([',', ';'])
        .map(str::trim)
        .any(|name| matches!(name, "userid" | "email" | "expiresat"));
    let mut new =
        if names_columns { invitation_files::read(people.as_bytes())? } else { by_lines(people) };
    if new.is_empty() {
        return Err(vec![Fault::new("/people", "must have one line per person")]);
    }
    for one in &mut new {
        one.expires_at = one.expires_at.or(end);
    }
    Ok(new)
}

fn by_lines(people: &str) -> Vec<NewInvitation> {
    let lines = people.lines().zip(1..).map(|(line, number)| (line.trim(), number));
    let one = |(text, number): (&str, u64)| {
        let invitee = if text.contains('@') {
            Invitee { email: Some(text.to_owned()), ..Invitee::default() }
        } else {
            Invitee { user_id: Some(text.to_owned()), ..Invitee::default() }
        };
        NewInvitation { invitee, expires_at: None, line: Some(number) }
    };
    lines.filter(|(text, _)| !text.is_empty()).map(one).collect()
}

pub(super) async fn revoke(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
    PathParam(invitation): PathParam<AssignmentId>,
) -> Reply {
    let found = console.engine.invitation(&visitor.actor, Scope::Write, invitation).await?;
    if found.shown()?.row.flow_id != flow {
        return Err(AdminError::NotFound(Missing::Invitation).into());
    }
    found.revoke().await?;
    Ok(reply::see_other(&format!("/console/flows/{flow}/share?done=revoked#invitations")))
}

/// Every invitation with its link, to be sent out. The audit log records it, so it is a POST.
pub(super) async fn file(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
) -> Reply {
    let all = console
        .engine
        .flow(&visitor.actor, Scope::Export, flow)
        .await?
        .export_invitations()
        .await?;
    Ok(reply::table_file("invitations.csv", invitation_files::write(&all)))
}

fn who(invitee: &Invitee) -> Option<String> {
    let both: Vec<&str> =
        [&invitee.email, &invitee.user_id].into_iter().flatten().map(String::as_str).collect();
    (!both.is_empty()).then(|| both.join(" · "))
}

/// The state's name in the address.
fn state_name(state: InvitationState) -> &'static str {
    match state {
        InvitationState::Sent => "sent",
        InvitationState::Opened => "opened",
        InvitationState::Expired => "expired",
        InvitationState::Revoked => "revoked",
        InvitationState::Completed => "completed",
    }
}

fn state_label(state: InvitationState) -> &'static str {
    match state {
        InvitationState::Sent => "Not opened yet",
        InvitationState::Opened => "Opened",
        InvitationState::Expired => "Expired",
        InvitationState::Revoked => "Revoked",
        InvitationState::Completed => "Answered",
    }
}

fn dot(state: InvitationState) -> &'static str {
    match state {
        InvitationState::Sent => "draft",
        InvitationState::Opened => "scheduled",
        InvitationState::Completed => "open",
        InvitationState::Expired | InvitationState::Revoked => "archived",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_are_read_one_per_line_or_as_csv() {
        let lines = asked_for("ada@mail.example\n\n 7 \r\n", "").unwrap();
        assert_eq!(lines[0].invitee.email.as_deref(), Some("ada@mail.example"));
        assert_eq!((lines[1].invitee.user_id.as_deref(), lines[1].line), (Some("7"), Some(3)));
        let csv = asked_for("email;userId\nada@mail.example;7\n", "").unwrap();
        assert_eq!((csv.len(), csv[0].invitee.user_id.as_deref()), (1, Some("7")));
        assert!(asked_for(" \n", "").is_err() && asked_for("email\n", "").is_err());
    }

    #[test]
    fn a_link_expires_with_its_day_unless_the_file_says_otherwise() {
        let one = asked_for(
            "email,expiresAt\na@b.example,\nc@d.example,2027-01-01T00:00:00Z",
            "2026-12-01",
        )
        .unwrap();
        let end = |at: usize| one[at].expires_at.unwrap().to_string();
        assert_eq!(
            (end(0).as_str(), end(1).as_str()),
            ("2026-12-02T00:00:00.000Z", "2027-01-01T00:00:00.000Z")
        );
        assert!(asked_for("a@b.example", "tomorrow").is_err());
    }
}
