//! Drafts: what is being written of a flow.
//!
//! A draft may break every rule while it is being written: it is kept as sent, and its faults are
//! told with it. Only a publish insists.
//!
//! Several people, or several tabs, may write at once. Whoever edits says which state they started from, by
//! its [`tag`](Editing::tag), and is told where another has been saved since; nothing is merged or overwritten
//! in silence. Whoever saves without a tag, as the admin API does, replaces what is there.

use serde_json::{Value, json};
use sluice_flow::definition::{self, Definition, Fault};
use sluice_flow::id::{FlowId, FlowVersionId};
use sluice_store::{Change, FlowState, Scope, StoreError, VersionRow, Write};

use crate::actor::Actor;
use crate::admin::{AdminError, AdminResult, Missing};
use crate::apps::faultless;
use crate::engine::Engine;
use crate::flows::object_fault;

/// How much of a hash names a state, in hexadecimal digits.
const TAG_DIGITS: usize = 24;

/// A draft, and what still keeps it from being published.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    pub flow_version_id: FlowVersionId,
    pub definition: Value,
    pub faults: Vec<Fault>,
}

/// What an editor starts from: the draft, or what is published where there is none.
#[derive(Debug, Clone, PartialEq)]
pub struct Editing {
    pub state: FlowState,
    pub definition: Value,
    pub faults: Vec<Fault>,
    /// Names this very state.
    pub tag: String,
    /// What is published now.
    pub published: Option<Definition>,
}

/// What became of a draft that was saved by somebody who knows what they started from.
#[derive(Debug, Clone, PartialEq)]
pub enum Saved {
    /// It is stored; the tag names it from now on.
    Saved { tag: String, faults: Vec<Fault> },
    /// Something else was saved meanwhile; this is it, and nothing was stored.
    Overtaken(Box<Editing>),
}

impl Engine {
    pub async fn get_draft(&self, actor: &Actor, flow: FlowId) -> AdminResult<Draft> {
        let state = self.flow_for(actor, Scope::Read, flow).await?;
        let draft = state.draft.ok_or(AdminError::NotFound(Missing::Draft))?;
        let definition = read(&draft)?;
        Ok(draft_of(draft.flow_version_id, definition))
    }

    /// Replaces the draft, or opens a new one where the last was published.
    pub async fn put_draft(
        &self,
        actor: &Actor,
        flow: FlowId,
        definition: Value,
    ) -> AdminResult<Draft> {
        faultless(object_fault("", &definition))?;
        let text = definition.to_string();
        let id = self
            .change_flow(actor, Scope::Write, flow, |engine, state| {
                Ok(engine.saving(actor, state, &text))
            })
            .await?;
        Ok(draft_of(id, definition))
    }

    /// What there is to edit of a flow.
    pub async fn editing(&self, actor: &Actor, flow: FlowId) -> AdminResult<Editing> {
        Editing::of(self.flow_for(actor, Scope::Read, flow).await?)
    }

    /// Saves a draft for somebody who started from the state with this tag.
    ///
    /// What is stored already is not stored again, so that a reply that was lost can be asked for anew.
    pub async fn save_draft(
        &self,
        actor: &Actor,
        flow: FlowId,
        definition: &Value,
        started_from: &str,
    ) -> AdminResult<Saved> {
        faultless(object_fault("", definition))?;
        let text = definition.to_string();
        let overtaken = self
            .change_flow(actor, Scope::Write, flow, |engine, state| {
                let unchanged = Change::new(Vec::new);
                if state.draft.as_ref().is_some_and(|draft| draft.definition == text) {
                    return Ok((unchanged, None));
                }
                if tag_of(state) != started_from {
                    return Ok((unchanged, Some(Editing::of(state.clone())?)));
                }
                Ok((engine.saving(actor, state, &text).0, None))
            })
            .await?;
        Ok(match overtaken {
            Some(editing) => Saved::Overtaken(Box::new(editing)),
            None => Saved::Saved { tag: tag(&text), faults: faults_of(definition) },
        })
    }

    /// The rows of saving a draft, and its id.
    fn saving(&self, actor: &Actor, state: &FlowState, text: &str) -> (Change, FlowVersionId) {
        let draft = match &state.draft {
            Some(draft) => {
                VersionRow { definition: text.to_owned(), updated_at: self.now(), ..draft.clone() }
            }
            None => self.new_draft(&state.flow, text.to_owned()),
        };
        let (id, flow) = (draft.flow_version_id, state.flow.flow_id);
        let app = Some(state.flow.app_id);
        let audit = self.audit(actor, app, "draft.saved", id, &json!({"flowId": flow}));
        let rows = vec![Write::Version(draft), Write::Audit(audit)];
        (Change::new(move || rows), id)
    }
}

impl Editing {
    fn of(state: FlowState) -> AdminResult<Self> {
        let tag = tag_of(&state);
        let row = state.draft.as_ref().or(state.current.as_ref());
        let definition = match row {
            Some(row) => read(row)?,
            None => json!({"title": state.flow.name, "questions": []}),
        };
        let published = match &state.current {
            Some(current) => definition::check(&read(current)?).ok(),
            None => None,
        };
        let faults = faults_of(&definition);
        Ok(Self { state, definition, faults, tag, published })
    }
}

/// The tag of what there is to edit of a flow.
pub(crate) fn tag_of(state: &FlowState) -> String {
    match (&state.draft, &state.current) {
        (Some(draft), _) => tag(&draft.definition),
        // What is published says nothing new when it is published again.
        (None, Some(current)) => tag(&current.definition),
        (None, None) => tag(""),
    }
}

fn tag(text: &str) -> String {
    let hash = blake3::hash(text.as_bytes()).to_hex();
    hash[..TAG_DIGITS].to_owned()
}

fn read(row: &VersionRow) -> AdminResult<Value> {
    let value = serde_json::from_str(&row.definition);
    let corrupt = |error| StoreError::Corrupt(format!("version {}: {error}", row.flow_version_id));
    Ok(value.map_err(corrupt)?)
}

fn faults_of(definition: &Value) -> Vec<Fault> {
    definition::check(definition).err().unwrap_or_default()
}

fn draft_of(flow_version_id: FlowVersionId, definition: Value) -> Draft {
    let faults = faults_of(&definition);
    Draft { flow_version_id, definition, faults }
}
