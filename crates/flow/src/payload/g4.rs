//! Payload generation 4: the fields set by the server, then the definition, in a fixed order.
//!
//! Questions, ending and translations have their stored form. If that form ever changes, this file
//! keeps the old one; the golden tests detect it.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Generation;
use crate::definition::{
    Ending, Kind, NamedEnding, RespondentAnalytics, Section, Translation, Welcome, is_true,
};
use crate::id::{FlowId, FlowVersionId};
use crate::question::Question;
use crate::snapshot::Snapshot;
use crate::time::Timestamp;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Payload<'s> {
    flow_version_id: FlowVersionId,
    flow_id: FlowId,
    payload_generation: &'static str,
    kind: Kind,
    number: u32,
    published_at: Timestamp,
    title: &'s str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'s str>,
    default_locale: &'s str,
    locales: Vec<&'s str>,
    respondent_analytics: RespondentAnalytics,
    #[serde(skip_serializing_if = "is_true")]
    auto_advance: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    welcome: Option<&'s Welcome>,
    questions: &'s [Question],
    #[serde(skip_serializing_if = "<[Section]>::is_empty")]
    sections: &'s [Section],
    ending: &'s Ending,
    #[serde(skip_serializing_if = "<[NamedEnding]>::is_empty")]
    endings: &'s [NamedEnding],
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    translations: &'s BTreeMap<String, Translation>,
}

#[expect(clippy::expect_used, reason = "texts, numbers and text keys always have a JSON form")]
pub(super) fn render(snapshot: &Snapshot) -> Vec<u8> {
    let (meta, definition) = (snapshot.meta(), snapshot.definition());
    let payload = Payload {
        flow_version_id: meta.flow_version_id,
        flow_id: meta.flow_id,
        payload_generation: Generation::G4.as_str(),
        kind: meta.kind,
        number: meta.number,
        published_at: meta.published_at,
        title: definition.title(),
        description: definition.description(),
        default_locale: definition.default_locale(),
        locales: definition.locales().collect(),
        respondent_analytics: definition.respondent_analytics(),
        auto_advance: definition.auto_advance(),
        welcome: definition.welcome(),
        questions: definition.questions(),
        sections: definition.sections(),
        ending: definition.ending(),
        endings: definition.endings(),
        translations: definition.translations(),
    };
    serde_json::to_vec(&payload).expect("a snapshot has a JSON form")
}
