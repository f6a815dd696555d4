//! A stored response: its fields, its columns in both databases, and the digest of its content.
//!
//! A new field needs one line each in [`ResponseRow`], in [`COLUMNS`] and in [`response`], and a
//! migration for each backend. Select lists, inserts, updates and COPY are built
//! from [`COLUMNS`]. The compiler asks in [`ResponseRow::unlinked`] whether an erasure keeps it,
//! and in [`ResponseRow::digest_of_content`] whether a retry must have the same.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use sluice_flow::id::{AppId, FlowId, FlowVersionId, RespondentId, ResponseId};
use sluice_flow::respondent::ProfileIdentity;
use sluice_flow::submission::{Admission, identities_with_proof, without_respondent};
use uuid::Uuid;

use crate::codec::cells::ReadCells;
use crate::digest::{Digest, first_half};
use crate::{StoreError, StoreResult};

/// A stored response. Its id contains the time it was received. The JSON columns are stored as
/// given; an absent one means an empty value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResponseRow {
    pub app_id: AppId,
    pub flow_id: FlowId,
    pub flow_version_id: FlowVersionId,
    pub response_id: ResponseId,
    pub admission: Admission,
    /// JSON object.
    pub answers: String,
    /// JSON array of identities.
    pub identities: Option<String>,
    pub identity_verified: bool,
    pub respondent_id: Option<RespondentId>,
    /// JSON object of tags.
    pub tags: Option<String>,
    /// JSON object.
    pub context: Option<String>,
    pub flow_assignment_id: Option<String>,
    /// A decimal number, if its version has scores.
    pub score: Option<String>,
    #[serde(with = "crate::hex")]
    pub digest: Digest,
}

/// A column of the table `responses`.
#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) get: Get,
}

/// The type of a column, and how to read its value from a row. An `Id` is any 16 bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Get {
    Id(fn(&ResponseRow) -> Option<Uuid>),
    Flag(fn(&ResponseRow) -> bool),
    Text(fn(&ResponseRow) -> Option<&str>),
}

macro_rules! columns {
    ($first:ident: $first_type:ident($first_get:expr), $($name:ident: $type:ident($get:expr),)+) => {
        /// All columns except two that are not part of the row: `idempotency_key` and `counted`.
        pub(crate) const COLUMNS: &[Column] = &[
            Column { name: stringify!($first), get: Get::$first_type($first_get) },
            $(Column { name: stringify!($name), get: Get::$type($get) },)+
        ];

        /// The names of [`COLUMNS`], separated by commas.
        pub(crate) const RESPONSE: &str =
            concat!(stringify!($first), $(", ", stringify!($name)),+);
    };
}

columns! {
    app_id: Id(|row| Some(row.app_id.uuid())),
    flow_id: Id(|row| Some(row.flow_id.uuid())),
    flow_version_id: Id(|row| Some(row.flow_version_id.uuid())),
    response_id: Id(|row| Some(row.response_id.uuid())),
    admitted: Flag(|row| row.admission == Admission::Admitted),
    answers: Text(|row| Some(&row.answers)),
    identities: Text(|row| row.identities.as_deref()),
    identity_verified: Flag(|row| row.identity_verified),
    respondent_id: Id(|row| row.respondent_id.map(RespondentId::uuid)),
    tags: Text(|row| row.tags.as_deref()),
    context: Text(|row| row.context.as_deref()),
    flow_assignment_id: Text(|row| row.flow_assignment_id.as_deref()),
    score: Text(|row| row.score.as_deref()),
    digest: Id(|row| Some(Uuid::from_bytes(row.digest))),
}

/// [`RESPONSE`] without the texts that counts do not need.
pub(crate) static COUNTED: LazyLock<String> = LazyLock::new(|| {
    let left_out = ["identities", "context", "flow_assignment_id"];
    let names = COLUMNS.iter().map(|column| column.name);
    let names = names.map(|name| if left_out.contains(&name) { "NULL" } else { name });
    names.collect::<Vec<_>>().join(", ")
});

/// Reads the columns of [`RESPONSE`].
pub(crate) fn response<C: ReadCells>(cells: &mut C) -> Result<ResponseRow, C::Error> {
    Ok(ResponseRow {
        app_id: cells.id(AppId::from_uuid)?,
        flow_id: cells.id(FlowId::from_uuid)?,
        flow_version_id: cells.id(FlowVersionId::from_uuid)?,
        response_id: cells.id(ResponseId::from_uuid)?,
        admission: Admission::from_admitted(cells.flag()?),
        answers: cells.text()?,
        identities: cells.optional_text()?,
        identity_verified: cells.flag()?,
        respondent_id: cells.optional_id(RespondentId::from_uuid)?,
        tags: cells.optional_text()?,
        context: cells.optional_text()?,
        flow_assignment_id: cells.optional_text()?,
        score: cells.optional_text()?,
        digest: cells.id(Uuid::into_bytes)?,
    })
}

/// The columns that a rewrite replaces: all except the ids that place a response.
pub(crate) fn rewritten_columns() -> impl Iterator<Item = (usize, &'static str)> {
    let fixed = ["app_id", "flow_id", "flow_version_id", "response_id"];
    let names = COLUMNS.iter().map(|column| column.name).enumerate();
    names.filter(move |(_, name)| !fixed.contains(name))
}

/// The names of the columns that hold text of any length.
pub(crate) fn text_columns() -> impl Iterator<Item = &'static str> {
    COLUMNS.iter().filter(|column| matches!(column.get, Get::Text(_))).map(|column| column.name)
}

impl ResponseRow {
    /// The digest that distinguishes a retry from a different submission: over the app, the version
    /// and every field that the client sent. It excludes ids made by the server, and whether a
    /// token proved the identities: a retry may arrive after the token has expired.
    ///
    /// It is computed in this crate because an erasure, which removes identities, replaces it in
    /// the same transaction.
    pub fn digest_of_content(&self) -> Digest {
        // Named one by one, so that the compiler asks about a new field.
        let Self {
            app_id,
            flow_id: _,
            flow_version_id,
            response_id: _,
            admission,
            answers,
            identities,
            identity_verified: _,
            respondent_id: _,
            tags,
            context,
            flow_assignment_id,
            score,
            digest: _,
        } = self;
        let texts = [identities, tags, context, flow_assignment_id];
        let lengths = texts.iter().map(|text| text.as_ref().map_or(0, String::len)).sum::<usize>();
        // Collected first: hashing one long buffer is much faster than many short ones.
        let mut whole = Vec::with_capacity(256 + answers.len() + lengths);
        let mut part = |bytes: &[u8]| {
            whole.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
            whole.extend_from_slice(bytes);
        };
        part(app_id.uuid().as_bytes());
        part(flow_version_id.uuid().as_bytes());
        part(&[*admission as u8]);
        part(answers.as_bytes());
        for text in texts {
            // Distinguishes an empty text from an absent one.
            part(&[u8::from(text.is_some())]);
            part(text.as_deref().unwrap_or_default().as_bytes());
        }
        // It follows from the answers, so that a retry has the same.
        if let Some(score) = score {
            part(score.as_bytes());
        }
        first_half(blake3::hash(&whole))
    }

    /// Whether the content still is what the digest was made of. If not, the row was damaged where
    /// it is stored, or changed by hand.
    pub fn is_intact(&self) -> bool {
        self.digest == self.digest_of_content()
    }

    /// The error for a row that is not intact.
    pub fn check_intact(&self) -> StoreResult<()> {
        match self.is_intact() {
            true => Ok(()),
            false => Err(StoreError::Damaged(format!(
                "the response {} of the flow {} does not match its digest",
                self.response_id, self.flow_id
            ))),
        }
    }

    /// Replaces the digest after a change of the content. That of a damaged row is kept, so that
    /// the damage is still found.
    fn replace_digest(&mut self, was_intact: bool) {
        match was_intact {
            true => self.digest = self.digest_of_content(),
            false => {
                let (response, flow) = (self.response_id, self.flow_id);
                tracing::error!(%flow, %response, "a response does not match its digest: it is damaged");
            }
        }
    }

    /// The identities as JSON, each with whether a token proved it.
    pub fn identities_with_proof(&self) -> String {
        let stored = self.identities.as_deref().unwrap_or("[]");
        identities_with_proof(stored, self.identity_verified)
    }

    /// The same answers without anything that links them to a person. The identities of the
    /// response and of the person's profile are also cut out of its tags and context.
    #[must_use]
    pub fn unlinked(self, profile: &[ProfileIdentity]) -> Self {
        let was_intact = self.is_intact();
        let [identities, tags, context] =
            [&self.identities, &self.tags, &self.context].map(Option::as_deref);
        let kept = without_respondent(identities, profile, tags, context);
        if !kept.unreadable.is_empty() {
            let (response, columns) = (self.response_id, kept.unreadable);
            tracing::error!(%response, ?columns, "stored JSON cannot be read and was erased");
        }
        // Every field is named, so that a new one is not kept by accident.
        let mut row = Self {
            app_id: self.app_id,
            flow_id: self.flow_id,
            flow_version_id: self.flow_version_id,
            response_id: self.response_id,
            admission: self.admission,
            answers: self.answers,
            identities: None,
            identity_verified: false,
            respondent_id: None,
            tags: kept.tags,
            context: kept.context,
            flow_assignment_id: None,
            score: self.score,
            digest: self.digest,
        };
        row.replace_digest(was_intact);
        row
    }

    /// The same response without the invitation that it came with.
    #[must_use]
    pub fn unassigned(self) -> Self {
        let was_intact = self.is_intact();
        let mut row = Self { flow_assignment_id: None, ..self };
        row.replace_digest(was_intact);
        row
    }

    /// Appends every field to `out`; two rows are equal exactly if their bytes are.
    pub fn write_bytes(&self, out: &mut Vec<u8>) {
        for column in COLUMNS {
            match column.get {
                Get::Id(get) => write_field(out, get(self).as_ref().map(|id| &id.as_bytes()[..])),
                Get::Flag(get) => out.push(u8::from(get(self))),
                Get::Text(get) => write_field(out, get(self).map(str::as_bytes)),
            }
        }
    }

    /// The total length of its texts, in bytes.
    pub fn texts_len(&self) -> usize {
        let texts = COLUMNS.iter().filter_map(|column| match column.get {
            Get::Text(get) => get(self),
            Get::Id(_) | Get::Flag(_) => None,
        });
        texts.map(str::len).sum()
    }
}

/// An absent field is encoded as length 0, a present one as its length plus one.
fn write_field(out: &mut Vec<u8>, bytes: Option<&[u8]>) {
    let length = bytes.map_or(0, |bytes| bytes.len() as u64 + 1);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(bytes.unwrap_or_default());
}
