//! Notices of new responses, for users who have chosen them for a flow.
//!
//! A subscription has a cursor over the ids of responses and is looked at again after a while; the
//! intake knows nothing of it. Several nodes may store a response after one with a later id, so
//! only what is older than a minute is read. A notice quotes answers and has no identity, whatever
//! the respondent agreed to.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use sluice_flow::definition::Definition;
use sluice_flow::id::{MailId, ResponseId, UserId, v7};
use sluice_flow::time::Timestamp;
use sluice_store::{
    At, FlowState, MailKind, MailRow, MailWrite, ResponseQuery, ResponseRow, Scope, StoreResult,
    UserKey, Write,
};

use super::letter::{Letter, Part};
use super::outbox::{Content, Outgoing, Plan};
use super::words::Words;
use crate::actor::Actor;
use crate::admin::{AdminError, AdminResult};
use crate::conflict::retry_on_conflict;
use crate::core::Core;
use crate::export::AnswerLabels;
use crate::handle::FlowHandle;
use crate::ids::random_bits;
use crate::mail_queue::no_mail_server;

/// A response may become visible this long after one with a later id.
const SETTLES_SECONDS: i64 = 60;
/// How often a subscription to each response is looked at, in seconds.
const SOON_SECONDS: i64 = 60;
/// The hour of the day at which a digest is sent, in UTC.
const DIGEST_HOUR: i64 = 7;
/// The responses that one e-mail quotes, and the most that it counts.
const QUOTED_MAX: usize = 20;
const COUNTED_MAX: usize = 1_000;
/// The most characters of a quoted answer.
const ANSWER_CHARS_MAX: usize = 500;

/// How often a user gets notices of the new responses of a flow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NoticeFrequency {
    #[default]
    Off,
    /// Within minutes, several together.
    Soon,
    /// Once a day.
    Daily,
}

impl NoticeFrequency {
    pub const ALL: [Self; 3] = [Self::Off, Self::Soon, Self::Daily];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Soon => "soon",
            Self::Daily => "daily",
        }
    }

    /// When a subscription is looked at next.
    fn next_at(self, now: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Off => None,
            Self::Soon => Some(now.plus_seconds(SOON_SECONDS)),
            Self::Daily => {
                let today = now.day().starts_at().plus_seconds(DIGEST_HOUR * 60 * 60);
                let tomorrow = now.day().plus(1).starts_at().plus_seconds(DIGEST_HOUR * 60 * 60);
                Some(if now < today { today } else { tomorrow })
            }
        }
    }
}

/// The `detail` of the row.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Subscription {
    frequency: NoticeFrequency,
    /// Everything up to this id was sent.
    after: ResponseId,
}

impl Subscription {
    fn of(row: &MailRow) -> Option<Self> {
        serde_json::from_str(row.detail.as_deref()?).ok()
    }

    fn to_detail(self) -> Option<String> {
        serde_json::to_string(&self).ok()
    }
}

impl FlowHandle {
    /// How often the caller gets notices of new responses; absent if they cannot get any: there is
    /// no mail server, or the caller is not a user.
    pub async fn notices(&self) -> AdminResult<Option<NoticeFrequency>> {
        let core = self.permit.core(Scope::Read)?;
        let Some(user) = self.user().filter(|_| core.sends_mail()) else { return Ok(None) };
        let rows = core.store.list_mails_to(user, Some(self.flow_id())).await?;
        let open = rows.iter().filter(|row| row.ended.is_none());
        let chosen = open.filter_map(Subscription::of).next_back();
        Ok(Some(chosen.map_or(NoticeFrequency::Off, |it| it.frequency)))
    }

    /// Chooses how often the caller gets notices, from now on.
    pub async fn set_notices(&self, frequency: NoticeFrequency) -> AdminResult<()> {
        let core = self.permit.core(Scope::Read)?;
        if !core.sends_mail() {
            return Err(no_mail_server());
        }
        let Some(user) = self.user() else {
            let detail = "notices are sent to users; sign in with your e-mail address";
            return Err(AdminError::conflict("not_a_user", detail));
        };
        retry_on_conflict(|_| async move {
            let expected = core.store.people_revision().await?;
            let before = core.store.list_mails_to(user, Some(self.flow_id())).await?;
            let removed = before.iter().map(|row| MailWrite::Remove(row.app_id, row.mail_id));
            let mut writes: Vec<_> = removed.map(Write::Mail).collect();
            if frequency != NoticeFrequency::Off {
                let new = self.subscribed(core, user, frequency);
                writes.push(Write::Mail(MailWrite::Add(vec![new])));
            }
            Ok(core.apply(At::People { expected }, writes).await?)
        })
        .await
    }

    fn subscribed(&self, core: &Core, user: UserId, frequency: NoticeFrequency) -> MailRow {
        let now = core.now();
        let after = ResponseId::from_uuid(v7(now, 0, 0));
        MailRow {
            app_id: Some(self.app_id()),
            flow_id: Some(self.flow_id()),
            user_id: Some(user),
            detail: Subscription { frequency, after }.to_detail(),
            next_at: frequency.next_at(now),
            ..MailRow::new(MailId::from_random(random_bits()), MailKind::Notice, now)
        }
    }
}

impl Core {
    pub(super) async fn plan_notice(&self, row: &MailRow) -> StoreResult<Plan> {
        let (Some(app), Some(flow), Some(user)) = (row.app_id, row.flow_id, row.user_id) else {
            return Ok(Plan::Remove);
        };
        let Some(chosen) = Subscription::of(row) else { return Ok(Plan::Remove) };
        let user = self.store.find_user(&UserKey::Id(user)).await?;
        let may_read = |user: &sluice_store::User| {
            user.row.disabled_at.is_none() && Actor::of_user(user).may(Scope::Read, app)
        };
        let Some(user) = user.filter(may_read) else { return Ok(Plan::Remove) };
        let Some(flow) = self.store.find_flow(flow).await? else { return Ok(Plan::Remove) };
        let now = self.now();
        let settled = ResponseId::from_uuid(v7(now.plus_seconds(-SETTLES_SECONDS), 0, 0));
        let mut query = ResponseQuery::new(app, flow.flow.flow_id, COUNTED_MAX);
        (query.after, query.to) = (Some(chosen.after), Some(settled.made_at()));
        let page = self.store.list_responses(&query).await?;
        let rows: Vec<ResponseRow> =
            page.rows.into_iter().filter(|row| row.response_id < settled).collect();
        let next_at = chosen.frequency.next_at(now);
        let Some(last) = rows.last() else {
            let waiting = MailRow { next_at, attempts: 0, ..row.clone() };
            return Ok(Plan::Settle(Box::new(waiting)));
        };
        let detail = Subscription { after: last.response_id, ..chosen }.to_detail();
        let (sent, sent_at) = (row.sent + 1, Some(now));
        let after =
            MailRow { detail, sent, sent_at, next_at, attempts: 0, reply: None, ..row.clone() };
        let letter = self.notice_letter(row, &flow, &rows).await?;
        let outgoing = Outgoing {
            to: user.row.email,
            content: Content::Letter(letter),
            unsubscribe: Some(self.unsubscribe_url(row.mail_id)),
            after: Some(after),
        };
        Ok(Plan::Send(Box::new(outgoing)))
    }

    async fn notice_letter(
        &self,
        row: &MailRow,
        flow: &FlowState,
        rows: &[ResponseRow],
    ) -> StoreResult<Letter> {
        let (base, id, name) = (&self.public_url, flow.flow.flow_id, &flow.flow.name);
        let subject = match rows.len() {
            1 => format!("New response: {name}"),
            COUNTED_MAX => format!("More than {COUNTED_MAX} new responses: {name}"),
            count => format!("{count} new responses: {name}"),
        };
        let mut parts = Vec::new();
        for response in rows.iter().take(QUOTED_MAX) {
            let received = response.response_id.made_at();
            parts.push(Part::Heading(format!("Response of {received}")));
            let version = self.store.find_version(response.flow_version_id).await?;
            let version = version.and_then(|it| self.definitions.readable(&it.version));
            if let Some(definition) = version {
                parts.extend(quoted(&definition, response));
            }
            let url = format!("{base}/console/flows/{id}/responses/{}", response.response_id);
            parts.push(Part::Link { label: "Open the response".to_owned(), url });
        }
        if rows.len() > QUOTED_MAX {
            parts.push(Part::Text(format!("… and {} more", rows.len() - QUOTED_MAX)));
        }
        let url = format!("{base}/console/flows/{id}/responses");
        parts.push(Part::Button { label: "Open all responses".to_owned(), url });
        let why = "You receive this e-mail because you chose notices of this flow.";
        let leave = Part::Link {
            label: "Stop these notices".to_owned(),
            url: self.unsubscribe_url(row.mail_id),
        };
        let footer = vec![Part::Text(why.to_owned()), leave];
        Ok(Letter { words: Words::english(), subject, parts, footer })
    }
}

/// The answers of a response, each with its question.
fn quoted(definition: &Definition, response: &ResponseRow) -> Vec<Part> {
    let answers: serde_json::Value = serde_json::from_str(&response.answers).unwrap_or_default();
    let mut parts = Vec::new();
    for question in definition.questions() {
        let texts: Vec<&str> = match answers.get(&question.id) {
            Some(serde_json::Value::String(text)) => vec![text],
            Some(serde_json::Value::Array(all)) => {
                all.iter().filter_map(|it| it.as_str()).collect()
            }
            _ => continue,
        };
        let labels = AnswerLabels::new(&question.question_type, &HashSet::new());
        let labelled = texts.into_iter().map(|text| match &labels {
            Some(labels) => labels.label(text).into_owned(),
            None => text.to_owned(),
        });
        let text = labelled.collect::<Vec<_>>().join("\n");
        let mut shown: String = text.chars().take(ANSWER_CHARS_MAX).collect();
        if shown.len() < text.len() {
            shown.push('…');
        }
        parts.push(Part::Quote { label: question.prompt.clone(), text: shown });
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_due_at_the_next_seven_o_clock() {
        for (now, due) in [
            ("2026-11-17T06:59:59.999Z", "2026-11-17T07:00:00.000Z"),
            ("2026-11-17T07:00:00.000Z", "2026-11-18T07:00:00.000Z"),
            ("2026-12-31T23:00:00.000Z", "2027-01-01T07:00:00.000Z"),
        ] {
            let next = NoticeFrequency::Daily.next_at(now.parse().unwrap()).unwrap();
            assert_eq!(next.to_string(), due, "{now}");
        }
    }
}
