//! A user's subscription to the new responses of a flow: how often, and its cursor.

use serde::{Deserialize, Serialize};
use sluice_flow::id::{ResponseId, v7};
use sluice_flow::time::Timestamp;
use sluice_store::{MailEnd, MailRow};

/// How often a subscription to each response is checked, in seconds.
const SOON_SECONDS: i64 = 60;
/// The hour of the day at which a digest is sent, in UTC.
const DIGEST_HOUR: i64 = 7;

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

    /// When a subscription is checked next.
    pub(super) fn next_at(self, now: Timestamp) -> Option<Timestamp> {
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
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Subscription {
    pub(super) frequency: NoticeFrequency,
    /// Everything up to this id was sent.
    pub(super) after: ResponseId,
    /// The next e-mail quotes no answers: one that did was refused.
    #[serde(default)]
    pub(super) is_brief: bool,
    /// The language of the browser in which it was chosen, as a tag.
    #[serde(default)]
    pub(super) language: Option<String>,
}

impl Subscription {
    pub(super) fn from_row(row: &MailRow) -> Option<Self> {
        serde_json::from_str(row.detail.as_deref()?).ok()
    }

    pub(super) fn to_detail(&self) -> Option<String> {
        serde_json::to_string(self).ok()
    }
}

/// Whether the next notice of a subscription quotes no answers.
pub(super) fn is_brief(row: &MailRow) -> bool {
    Subscription::from_row(row).is_some_and(|it| it.is_brief)
}

/// The `detail` of a subscription whose next notice quotes no answers.
pub(super) fn made_brief(row: &MailRow) -> Option<String> {
    Subscription::from_row(row)
        .map_or(row.detail.clone(), |it| Subscription { is_brief: true, ..it }.to_detail())
}

/// The language of a subscription, as a tag.
pub(super) fn language_of(row: &MailRow) -> Option<String> {
    Subscription::from_row(row)?.language
}

/// A subscription that continues with responses stored since a time.
pub(super) fn skipped(row: MailRow, since: Timestamp, now: Timestamp) -> MailRow {
    let Some(chosen) = Subscription::from_row(&row) else {
        return MailRow { next_at: None, ended: Some(MailEnd::Stopped), ..row };
    };
    let next_at = chosen.frequency.next_at(now);
    let after = chosen.after.max(ResponseId::from_uuid(v7(since, 0, 0)));
    let detail = Subscription { after, is_brief: false, ..chosen }.to_detail();
    MailRow { detail, next_at, attempts: 0, reply: None, ..row }
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
