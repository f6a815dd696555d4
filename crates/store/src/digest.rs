//! The digest of what a response says.
//!
//! It is kept with the response, so that a retry can be told from another submission. It is made here and not by whoever stores, because a row that loses its identities
//! to an erasure gets a new one in the same transaction.

use sluice_flow::respondent::Known;
use sluice_flow::submission::{identities_with_proof, without_respondent};

use crate::{Digest, ResponseRow};

impl ResponseRow {
    /// Of the app, the version and every column that came from the client; ids of ours are not in it, nor
    /// is whether a token proved the identities: a retry may come when the token has expired.
    pub fn digest_of_content(&self) -> Digest {
        let texts = [&self.identities, &self.tags, &self.context, &self.flow_assignment_id];
        let lengths = texts.iter().map(|text| text.as_ref().map_or(0, String::len)).sum::<usize>();
        // Gathered first: one long piece is hashed far quicker than many short ones.
        let mut whole = Vec::with_capacity(256 + self.answers.len() + lengths);
        let mut part = |bytes: &[u8]| {
            whole.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
            whole.extend_from_slice(bytes);
        };
        part(self.app_id.uuid().as_bytes());
        part(self.flow_version_id.uuid().as_bytes());
        // The second byte was the mark of a proof once; it stays, so that older digests are the same.
        part(&[self.admission as u8, 0]);
        part(self.answers.as_bytes());
        for text in texts {
            // An empty text is not an absent one.
            part(&[u8::from(text.is_some())]);
            part(text.as_deref().unwrap_or_default().as_bytes());
        }
        *blake3::hash(&whole).as_bytes()
    }

    /// The identities as JSON, each with whether a token proved it.
    pub fn identities_with_proof(&self) -> String {
        let stored = self.identities.as_deref().unwrap_or("[]");
        identities_with_proof(stored, self.identity_verified)
    }

    /// The same answers without anything that connects them with a person. The identities of the response and of
    /// the person's profile are cut out of its tags and context as well.
    #[must_use]
    pub fn unlinked(self, profile: &[Known]) -> Self {
        let [identities, tags, context] =
            [&self.identities, &self.tags, &self.context].map(Option::as_deref);
        let kept = without_respondent(identities, profile, tags, context);
        if !kept.unreadable.is_empty() {
            let (response, columns) = (self.response_id, kept.unreadable);
            tracing::error!(%response, ?columns, "stored JSON cannot be read and was erased");
        }
        let mut row = Self {
            tags: kept.tags,
            context: kept.context,
            identities: None,
            identity_verified: false,
            respondent_id: None,
            flow_assignment_id: None,
            ..self
        };
        row.digest = row.digest_of_content();
        row
    }

    /// The same response without the invitation that it came with.
    #[must_use]
    pub fn unassigned(self) -> Self {
        let mut row = Self { flow_assignment_id: None, ..self };
        row.digest = row.digest_of_content();
        row
    }
}
