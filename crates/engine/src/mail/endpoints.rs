//! The e-mail to the users who administer an app when one of its webhook endpoints was disabled.

use serde::{Deserialize, Serialize};
use sluice_flow::id::{AppId, EndpointId, MailId, UserId};
use sluice_flow::phrase::fill;
use sluice_flow::time::Timestamp;
use sluice_store::{MailKind, MailRow, MailWrite, Page, Scope, StoreResult, User, UserKey, Write};

use super::letter::{Letter, LetterPart};
use super::outbox::{Content, Outgoing, Plan};
use super::subscription::language_of;
use super::words::Words;
use crate::actor::Actor;
use crate::core::Core;
use crate::ids::random_bits;
use crate::mail_queue::PasswordDetail;

/// The maximum number of recipients.
const RECIPIENTS_MAX: usize = 50;
/// The e-mails that are read to find a user's language.
const LANGUAGE_ROWS: usize = 20;
/// Users that are read at a time.
const PAGE: usize = 500;

/// The `detail` of the row.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct DisabledEndpoint {
    user_id: UserId,
    endpoint_id: EndpointId,
    reason: String,
    /// When it was disabled: it may have been enabled and disabled again before this is sent.
    disabled_at: Timestamp,
}

/// Whether a user can enable the endpoint again.
fn looks_after(user: &User, app: AppId) -> bool {
    user.row.disabled_at.is_none() && Actor::from_user(user).may(Scope::Admin, app)
}

impl Core {
    /// The e-mails about an endpoint that is disabled; none without a mail server.
    pub(crate) async fn queued_disabled(
        &self,
        app: AppId,
        endpoint_id: EndpointId,
        reason: &str,
        disabled_at: Timestamp,
    ) -> StoreResult<Option<Write>> {
        if !self.sends_mail() {
            return Ok(None);
        }
        let mut rows = Vec::new();
        let mut page = Page { after: None, limit: PAGE };
        while rows.len() < RECIPIENTS_MAX {
            let users = self.store.list_users(Some(app), page).await?;
            let Some(last) = users.last().map(|user| user.row.user_id) else { break };
            page.after = Some(last);
            let room = RECIPIENTS_MAX - rows.len();
            for user in users.iter().filter(|user| looks_after(user, app)).take(room) {
                let (user_id, reason) = (user.row.user_id, reason.to_owned());
                let detail = DisabledEndpoint { user_id, endpoint_id, reason, disabled_at };
                let id = MailId::from_random(random_bits());
                rows.push(MailRow {
                    app_id: Some(app),
                    detail: serde_json::to_string(&detail).ok(),
                    ..MailRow::new(id, MailKind::Endpoint, self.now())
                });
            }
        }
        Ok((!rows.is_empty()).then_some(Write::Mail(MailWrite::Add(rows))))
    }

    /// Nothing is sent if the endpoint was enabled or deleted since, even if it was disabled again,
    /// or if the user no longer administers the app.
    pub(super) async fn plan_disabled(&self, row: &MailRow) -> StoreResult<Plan> {
        let detail = row.detail.as_deref().and_then(|it| serde_json::from_str(it).ok());
        let (Some(app), Some(about)) = (row.app_id, detail) else { return Ok(Plan::Remove) };
        let about: DisabledEndpoint = about;
        let user = self.store.find_user(&UserKey::Id(about.user_id)).await?;
        let Some(user) = user.filter(|user| looks_after(user, app)) else {
            return Ok(Plan::Remove);
        };
        let endpoints = self.store.list_endpoints(app).await?;
        let found = endpoints.into_iter().find(|it| it.endpoint_id == about.endpoint_id);
        let Some(endpoint) = found.filter(|it| it.disabled_at == Some(about.disabled_at)) else {
            return Ok(Plan::Remove);
        };
        let Some(app) = self.store.find_app(app).await? else { return Ok(Plan::Remove) };
        let host = url::Url::parse(&endpoint.url).ok();
        let host = host.as_ref().and_then(url::Url::host_str).unwrap_or_default();
        let words = Words::for_language(&self.language_of(&user).await?);
        let letter = self.disabled_letter(words, &about, (app.row.app_id, &app.row.name), host);
        let (sent, sent_at) = (row.sent + 1, Some(self.now()));
        let after =
            MailRow { sent, sent_at, next_at: None, attempts: 0, reply: None, ..row.clone() };
        let (to, content) = (user.row.email, Content::Letter(letter));
        Ok(Plan::Send(Box::new(Outgoing { to, content, unsubscribe: None, after })))
    }

    /// The language of the newest e-mail that a user has asked for, in their browser; English if
    /// there is none.
    async fn language_of(&self, user: &User) -> StoreResult<String> {
        let rows = self.store.list_newest_mails_to(user.row.user_id, LANGUAGE_ROWS).await?;
        let chosen = rows.iter().find_map(|row| match row.kind {
            MailKind::Notice => language_of(row),
            MailKind::Password => PasswordDetail::from_row(row).language,
            MailKind::Invitation | MailKind::Endpoint => None,
        });
        Ok(chosen.unwrap_or_else(|| Words::english().language.to_owned()))
    }

    fn disabled_letter(
        &self,
        words: &'static Words,
        about: &DisabledEndpoint,
        (app, name): (AppId, &str),
        host: &str,
    ) -> Letter {
        let why = match about.reason.as_str() {
            "gone" => words.endpoint_gone,
            _ => words.endpoint_failing,
        };
        let id = about.endpoint_id;
        let url = format!("{}/console/apps/{app}/settings/webhooks/{id}", self.admin_url);
        Letter {
            words,
            subject: fill(words.endpoint_subject, &[("name", name)]),
            parts: vec![
                LetterPart::Text(fill(words.endpoint_disabled, &[("host", host)])),
                LetterPart::Text(why.to_owned()),
                LetterPart::Text(words.endpoint_next.to_owned()),
                LetterPart::Button { label: words.endpoint_open.to_owned(), url },
            ],
            footer: vec![LetterPart::Text(words.endpoint_reason.to_owned())],
        }
    }
}
