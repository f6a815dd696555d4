//! Notices of new responses, for users who have chosen them for a flow.
//!
//! A subscription has a cursor over the ids of responses and is checked again after a while; the
//! intake knows nothing of it. Several nodes may store a response after one with a later id, so
//! only what is older than a minute is read. A notice quotes answers and has no identity, whatever
//! the respondent agreed to.

use std::collections::HashSet;

use sluice_flow::definition::Definition;
use sluice_flow::id::{MailId, ResponseId, UserId, v7};
use sluice_flow::phrase::fill;
use sluice_flow::time::Timestamp;
use sluice_store::{
    At, FlowState, MailKind, MailRow, MailWrite, Order, ResponseQuery, ResponseRow, Scope,
    StoreResult, UserKey, Write,
};

use super::letter::{Letter, LetterPart};
use super::outbox::{Content, Outgoing, Plan};
use super::subscription::{NoticeFrequency, Subscription};
use super::words::{Words, chosen_language};
use crate::actor::Actor;
use crate::admin::{AdminError, AdminResult};
use crate::boxed;
use crate::conflict::retry_on_conflict;
use crate::core::Core;
use crate::export::AnswerLabels;
use crate::handle::FlowHandle;
use crate::ids::random_bits;
use crate::mail_queue::no_mail_server;

/// A response may become visible this long after one with a later id.
const SETTLES_SECONDS: i64 = 60;
/// The responses that one e-mail quotes: the newest ones.
const QUOTED_MAX: usize = 20;
/// The most characters of a quoted answer.
const ANSWER_CHARS_MAX: usize = 500;

/// The responses of a notice.
struct NewResponses {
    /// The newest ones, oldest first.
    quoted: Vec<ResponseRow>,
    count: u64,
}

impl FlowHandle {
    /// How often the caller gets notices of new responses; absent if they cannot get any: there is
    /// no mail server, or the caller is not a user.
    #[boxed]
    pub async fn notices(&self) -> AdminResult<Option<NoticeFrequency>> {
        let core = self.permit.core(Scope::Read)?;
        let Some(user) = self.user().filter(|_| core.sends_mail()) else { return Ok(None) };
        let rows = core.store.list_mails_to(user, Some(self.flow_id())).await?;
        let open = rows.iter().filter(|row| row.ended.is_none());
        let chosen = open.filter_map(Subscription::from_row).next_back();
        Ok(Some(chosen.map_or(NoticeFrequency::Off, |it| it.frequency)))
    }

    /// Chooses how often the caller gets notices, from now on, and their language.
    #[boxed]
    pub async fn set_notices(
        &self,
        frequency: NoticeFrequency,
        language: Option<&str>,
    ) -> AdminResult<()> {
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
                let new = self.subscribed(core, user, frequency, language);
                writes.push(Write::Mail(MailWrite::Add(vec![new])));
            }
            Ok(core.apply(At::People { expected }, writes).await?)
        })
        .await
    }

    fn subscribed(
        &self,
        core: &Core,
        user: UserId,
        frequency: NoticeFrequency,
        language: Option<&str>,
    ) -> MailRow {
        let now = core.now();
        let after = ResponseId::from_uuid(v7(now, 0, 0));
        let language = language.map(|wanted| chosen_language(wanted).to_owned());
        let chosen = Subscription { frequency, after, is_brief: false, language };
        MailRow {
            app_id: Some(self.app_id()),
            flow_id: Some(self.flow_id()),
            user_id: Some(user),
            detail: chosen.to_detail(),
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
        let Some(chosen) = Subscription::from_row(row) else { return Ok(Plan::Remove) };
        let user = self.store.find_user(&UserKey::Id(user)).await?;
        let may_read = |user: &sluice_store::User| {
            user.row.disabled_at.is_none() && Actor::from_user(user).may(Scope::Read, app)
        };
        let Some(user) = user.filter(may_read) else { return Ok(Plan::Remove) };
        let Some(flow) = self.store.find_flow(flow).await? else { return Ok(Plan::Remove) };
        let now = self.now();
        let settled = ResponseId::from_uuid(v7(now.plus_seconds(-SETTLES_SECONDS), 0, 0));
        let new = self.new_responses(&flow, chosen.after, settled.made_at()).await?;
        let next_at = chosen.frequency.next_at(now);
        let Some(last) = new.quoted.last() else {
            let waiting = MailRow { next_at, attempts: 0, ..row.clone() };
            return Ok(Plan::Settle(Box::new(waiting)));
        };
        let letter = self.notice_letter(row, &flow, &new, &chosen).await?;
        let sent_up_to = Subscription { after: last.response_id, is_brief: false, ..chosen };
        let detail = sent_up_to.to_detail();
        let (sent, sent_at) = (row.sent + 1, Some(now));
        let after =
            MailRow { detail, sent, sent_at, next_at, attempts: 0, reply: None, ..row.clone() };
        let outgoing = Outgoing {
            to: user.row.email,
            content: Content::Letter(letter),
            unsubscribe: Some(self.unsubscribe_url(row.mail_id)),
            after,
        };
        Ok(Plan::Send(Box::new(outgoing)))
    }

    /// The responses of a flow after one of them that were stored before a time: how many, and the
    /// newest ones, however many there are.
    async fn new_responses(
        &self,
        flow: &FlowState,
        after: ResponseId,
        to: Timestamp,
    ) -> StoreResult<NewResponses> {
        let mut query = ResponseQuery::new(flow.flow.app_id, flow.flow.flow_id, QUOTED_MAX);
        (query.from, query.to) = (Some(after.made_at()), Some(to));
        query.order = Order::Desc;
        let mut quoted = self.store.list_responses(&query).await?.rows;
        quoted.retain(|row| row.response_id > after);
        quoted.reverse();
        let mut count = 0;
        if !quoted.is_empty() {
            (query.order, query.after) = (Order::Asc, Some(after));
            while query.after.is_some() {
                let part = self.store.count_responses(&query).await?;
                count += part.responses;
                query.after = part.next;
            }
        }
        Ok(NewResponses { count: count.max(quoted.len() as u64), quoted })
    }

    async fn notice_letter(
        &self,
        row: &MailRow,
        flow: &FlowState,
        new: &NewResponses,
        chosen: &Subscription,
    ) -> StoreResult<Letter> {
        let (base, id, name) = (&self.admin_url, flow.flow.flow_id, &flow.flow.name);
        let words = Words::for_language(chosen.language.as_deref().unwrap_or("en"));
        let subject = words.notice_subject(new.count, name);
        let mut parts = Vec::new();
        let quoted = if chosen.is_brief { &[] } else { new.quoted.as_slice() };
        for response in quoted {
            let received = response.response_id.made_at();
            let heading = fill(words.notice_response, &[("time", &received.to_string())]);
            parts.push(LetterPart::Heading(heading));
            let version = self.store.find_version(response.flow_version_id).await?;
            let version = version.and_then(|it| self.definitions.readable(&it.version));
            if let Some(definition) = version {
                parts.extend(answers_of(&definition, response));
            }
            let url = format!("{base}/console/flows/{id}/responses/{}", response.response_id);
            parts.push(LetterPart::Link { label: words.notice_open.to_owned(), url });
        }
        let others = new.count - quoted.len() as u64;
        if others > 0 && !chosen.is_brief {
            parts.push(LetterPart::Text(words.notice_more(others)));
        }
        let url = format!("{base}/console/flows/{id}/responses");
        parts.push(LetterPart::Button { label: words.notice_all.to_owned(), url });
        let leave = LetterPart::Link {
            label: words.notice_stop.to_owned(),
            url: self.unsubscribe_url(row.mail_id),
        };
        let footer = vec![LetterPart::Text(words.notice_reason.to_owned()), leave];
        Ok(Letter { words, subject, parts, footer })
    }
}

/// The answers of a response, each with its question.
fn answers_of(definition: &Definition, response: &ResponseRow) -> Vec<LetterPart> {
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
        parts.push(LetterPart::Quote { label: question.prompt.clone(), text: shown });
    }
    parts
}
