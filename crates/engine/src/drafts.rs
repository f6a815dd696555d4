//! Drafts: the editable definition of a flow.
//!
//! A draft may break any rule: it is stored as sent, and its faults are returned with it. Only
//! publishing requires that there are none.
//!
//! Several people, or several tabs, may edit at once. An editor sends the [`tag`](Editing::tag) of
//! the state that it started from, and learns if something else was saved since; nothing is merged
//! or overwritten silently. A save without a tag, which the admin API allows, replaces the current
//! draft.

use std::sync::Arc;

use serde_json::{Value, json};
use sluice_flow::definition::{self, Definition, Fault};
use sluice_flow::id::FlowVersionId;
use sluice_store::{AuditQuery, AuditRow, Change, FlowRow, FlowState, Scope, VersionRow, Write};

use crate::admin::{AdminError, AdminResult, Missing};
use crate::audit_action::AuditAction;
use crate::boxed;
use crate::core::Core;
use crate::definitions::stored_json;
use crate::fault::{faultless, name_faults, object_fault};
use crate::flows::new_draft;
use crate::handle::FlowHandle;
use crate::shown_images::missing_images;

/// The error code for changing a draft that was changed since the author saw it.
pub(crate) const DRAFT_CHANGED: &str = "draft_changed";
/// The number of hexadecimal digits of the hash that form a tag.
const TAG_DIGITS: usize = 24;
/// An editor saves every few seconds; saves within this time share one entry in the audit log.
const ONE_ENTRY_MILLIS: i64 = 10 * 60 * 1000;
/// The number of the app's latest audit entries that are searched for the flow's last one.
const AUDIT_ENTRIES_SEARCHED: usize = 20;

/// A draft, and the faults that prevent publishing it.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    pub flow_version_id: FlowVersionId,
    pub definition: Value,
    pub faults: Vec<Fault>,
    /// Identifies exactly this draft.
    pub tag: String,
}

/// What an editor starts from: the draft, or the published version if there is no draft.
#[derive(Debug, Clone, PartialEq)]
pub struct Editing {
    pub state: FlowState,
    pub definition: Value,
    pub faults: Vec<Fault>,
    /// Identifies exactly this state.
    pub tag: String,
    /// The currently published definition.
    pub published: Option<Arc<Definition>>,
}

/// The outcome of saving a draft with the tag of the state that it started from.
#[derive(Debug, Clone, PartialEq)]
pub enum Saved {
    /// Stored; `tag` identifies it from now on.
    Saved { tag: String, faults: Vec<Fault> },
    /// Something else, returned here, was saved in the meantime; nothing was stored.
    Overtaken(Box<Editing>),
}

impl FlowHandle {
    #[boxed]
    pub async fn draft(&self) -> AdminResult<Draft> {
        self.permit.core(Scope::Read)?;
        let draft = self.draft.as_ref().ok_or(AdminError::NotFound(Missing::Draft))?;
        let definition = stored_json(draft)?;
        let faults = self.all_faults(&definition).await?;
        let tag = tag(&draft.definition);
        Ok(Draft { flow_version_id: draft.flow_version_id, definition, faults, tag })
    }

    /// Replaces the draft, or creates one if the last was published.
    #[boxed]
    pub async fn put_draft(&self, definition: Value) -> AdminResult<Draft> {
        faultless(object_fault("", &definition))?;
        let text = definition.to_string();
        let saving = |core: &Core, state: &FlowState| Ok(self.saving(core, state, &text));
        let id = self.change(Scope::Write, saving).await?;
        let faults = self.all_faults(&definition).await?;
        Ok(Draft { flow_version_id: id, definition, faults, tag: tag(&text) })
    }

    /// The same if the current state has this tag, which the author has seen; otherwise a conflict.
    #[boxed]
    pub async fn put_draft_seen(&self, definition: Value, tag: &str) -> AdminResult<Draft> {
        let changed = || {
            let detail = "someone saved something else meanwhile: read the draft again, then save";
            AdminError::conflict(DRAFT_CHANGED, detail)
        };
        let Saved::Saved { tag, .. } = self.save_draft(&definition, tag).await? else {
            return Err(changed());
        };
        // It may be gone or replaced already: the reply has what was sent, or nothing.
        match self.read_again().await?.draft().await {
            Ok(draft) if draft.tag == tag => Ok(draft),
            Ok(_) | Err(AdminError::NotFound(Missing::Draft)) => Err(changed()),
            Err(error) => Err(error),
        }
    }

    /// The faults of a definition, images that the app does not have included.
    async fn all_faults(&self, definition: &Value) -> AdminResult<Vec<Fault>> {
        let core = self.permit.core(Scope::Read)?;
        match definition::check_new(definition) {
            Ok(definition) => Ok(missing_images(&*core.store, self.app_id(), &definition).await?),
            Err(faults) => Ok(faults),
        }
    }

    /// The state to edit.
    #[boxed]
    pub async fn editing(&self) -> AdminResult<Editing> {
        let editing = Editing::new(self.permit.core(Scope::Read)?, FlowState::clone(self))?;
        let faults = self.all_faults(&editing.definition).await?;
        Ok(Editing { faults, ..editing })
    }

    /// Saves a draft for an editor that started from the state with this tag.
    ///
    /// A definition that is already stored is not stored again, so a client can repeat a save after
    /// losing the reply. The flow is renamed with its title, unless it has another name.
    /// Consecutive saves within a few minutes, with nothing else in between,
    /// share one entry in the audit log.
    #[boxed]
    pub async fn save_draft(&self, definition: &Value, started_from: &str) -> AdminResult<Saved> {
        faultless(object_fault("", definition))?;
        let text = definition.to_string();
        let last = self.last_save().await?;
        let overtaken = self
            .change(Scope::Write, |core, state| {
                let unchanged = Vec::new().into();
                if state.draft.as_ref().is_some_and(|draft| draft.definition == text) {
                    return Ok((unchanged, None));
                }
                if tag_of(state) != started_from {
                    return Ok((unchanged, Some(Editing::new(core, state.clone())?)));
                }
                let draft = state.draft.as_ref().map(|draft| draft.flow_version_id);
                let row = draft_row(core, state, &text);
                let entry = self.saved_entry(state, row.flow_version_id);
                let mut rows = vec![Write::Version(row)];
                if draft.is_none() || draft != last {
                    rows.push(entry);
                }
                rows.extend(renamed(state, definition).map(Write::Flow));
                Ok((rows.into(), None))
            })
            .await?;
        Ok(match overtaken {
            Some(editing) => Saved::Overtaken(Box::new(editing)),
            None => Saved::Saved { tag: tag(&text), faults: self.all_faults(definition).await? },
        })
    }

    /// Resets the draft to the published version, if the author has seen the draft with this tag.
    #[boxed]
    pub async fn discard_draft(&self, seen: &str) -> AdminResult<()> {
        let Some(published) = &self.current else {
            return Err(AdminError::conflict(
                "nothing_published",
                "no version is published, so there is nothing to go back to",
            ));
        };
        match self.save_draft(&stored_json(published)?, seen).await? {
            Saved::Saved { .. } => Ok(()),
            Saved::Overtaken(_) => Err(AdminError::conflict(
                DRAFT_CHANGED,
                "the draft was changed meanwhile: review it, then discard it",
            )),
        }
    }

    /// The draft that the actor saved a short while ago, if nothing else happened to the flow
    /// since.
    async fn last_save(&self) -> AdminResult<Option<FlowVersionId>> {
        let core = self.permit.core(Scope::Write)?;
        let app_id = Some(self.app_id());
        let query = AuditQuery { app_id, after: None, limit: AUDIT_ENTRIES_SEARCHED };
        let entries = core.store.list_audit(&query).await?;
        let draft = self.draft.as_ref().map(|draft| draft.flow_version_id);
        let (flow, subject) = (self.flow_id().to_string(), draft.map(|draft| draft.to_string()));
        let of_flow = |row: &&AuditRow| {
            row.subject == flow
                || Some(&row.subject) == subject.as_ref()
                || row.detail.contains(&flow)
        };
        let Some(last) = entries.iter().find(of_flow) else { return Ok(None) };
        let age = core.now().as_millis() - last.audit_id.made_at().as_millis();
        let saved = AuditAction::DraftSaved.as_str();
        let is_own = last.action == saved && last.actor == self.permit.actor().name;
        let is_same = is_own && Some(&last.subject) == subject.as_ref();
        Ok(draft.filter(|_| is_same && age < ONE_ENTRY_MILLIS))
    }

    /// The rows that save a draft, and the draft's id.
    fn saving(&self, core: &Core, state: &FlowState, text: &str) -> (Change, FlowVersionId) {
        let draft = draft_row(core, state, text);
        let id = draft.flow_version_id;
        let rows = vec![Write::Version(draft), self.saved_entry(state, id)];
        (rows.into(), id)
    }

    fn saved_entry(&self, state: &FlowState, draft: FlowVersionId) -> Write {
        let detail = json!({"flowId": state.flow.flow_id});
        Write::Audit(self.permit.audit(AuditAction::DraftSaved, draft, &detail))
    }
}

/// The flow under its new title. A flow is named by its title until it gets another name.
fn renamed(state: &FlowState, definition: &Value) -> Option<FlowRow> {
    let before = state.draft.as_ref().or(state.current.as_ref())?;
    let before = title_of(&stored_json(before).ok()?)?;
    let title = title_of(definition)?;
    let is_named_by_title = state.flow.name == before && title != before;
    let is_name = name_faults("", &title).is_none();
    (is_named_by_title && is_name).then(|| FlowRow { name: title, ..state.flow.clone() })
}

fn title_of(definition: &Value) -> Option<String> {
    Some(definition["title"].as_str()?.trim().to_owned())
}

fn draft_row(core: &Core, state: &FlowState, text: &str) -> VersionRow {
    match &state.draft {
        Some(draft) => {
            VersionRow { definition: text.to_owned(), updated_at: core.now(), ..draft.clone() }
        }
        None => new_draft(core, &state.flow, text.to_owned()),
    }
}

impl Editing {
    fn new(core: &Core, state: FlowState) -> AdminResult<Self> {
        let tag = tag_of(&state);
        let row = state.draft.as_ref().or(state.current.as_ref());
        let definition = match row {
            Some(row) => stored_json(row)?,
            None => json!({"title": state.flow.name, "questions": []}),
        };
        let published = state.current.as_ref().and_then(|row| core.definitions.readable(row));
        let faults = faults_of(&definition);
        Ok(Self { state, definition, faults, tag, published })
    }
}

/// The tag of what an editor of the flow starts from ([`Editing::tag`]).
pub fn draft_tag(state: &FlowState) -> String {
    tag_of(state)
}

/// The tag of the flow's editable state.
pub(crate) fn tag_of(state: &FlowState) -> String {
    match (&state.draft, &state.current) {
        (Some(draft), _) => tag(&draft.definition),
        // Publishing the published definition again changes nothing.
        (None, Some(current)) => tag(&current.definition),
        (None, None) => tag(""),
    }
}

fn tag(text: &str) -> String {
    let hash = blake3::hash(text.as_bytes()).to_hex();
    hash[..TAG_DIGITS].to_owned()
}

fn faults_of(definition: &Value) -> Vec<Fault> {
    definition::check_new(definition).err().unwrap_or_default()
}
