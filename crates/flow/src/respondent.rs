//! Links a response to a profile: found by userId, else by e-mail address, else created.
//!
//! These are the pure rules. Every backend applies them in the transaction that stores the
//! response:
//! - if the userId is known, it decides;
//! - an unknown userId joins the profile of an e-mail address that has no userId yet;
//! - a profile has one userId and at most 31 addresses; unknown identities are added while there is
//!   room, so that a stranger cannot fill a profile without end;
//! - an identity never moves from one profile to another.
//!
//! Deliberately absent: merging two profiles. Otherwise a client that sends the userId of one
//! person and the address of another would decide that they are the same.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::id::RespondentId;
use crate::submission::parts::{EMAIL, Identity, USER_ID};

/// The most identities of one profile: one userId, and addresses. A response with more is still
/// stored and linked; only the profile does not grow.
pub const IDENTITIES_PER_RESPONDENT_MAX: usize = 32;
/// One slot is reserved for the userId, so that addresses never prevent it from joining the
/// profile.
const ADDRESSES_PER_RESPONDENT_MAX: usize = IDENTITIES_PER_RESPONDENT_MAX - 1;

/// The types of identity by which a respondent can be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum IdentityType {
    #[serde(rename = "userId")]
    UserId,
    #[serde(rename = "traits.email")]
    Email,
}

impl IdentityType {
    pub const ALL: [Self; 2] = [Self::UserId, Self::Email];

    /// The name used in submissions.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UserId => USER_ID,
            Self::Email => EMAIL,
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == name)
    }
}

/// An identity that a profile has or may get: a userId, or an e-mail address in lower case.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ProfileIdentity {
    #[serde(rename = "type")]
    pub kind: IdentityType,
    pub value: String,
}

impl ProfileIdentity {
    /// Normalised for comparison: the ASCII case of an address is ignored.
    pub fn new(kind: IdentityType, value: &str) -> Self {
        let value = match kind {
            IdentityType::UserId => value.to_owned(),
            IdentityType::Email => value.to_ascii_lowercase(),
        };
        Self { kind, value }
    }
}

/// The identities that a submission claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// At least one, without duplicates; at most one userId, and it comes first.
    identities: Vec<ProfileIdentity>,
    /// The id of the profile, if one must be created.
    pub new_id: RespondentId,
}

impl Claim {
    /// `None` without an identity by which a respondent can be found.
    pub fn from_identities<'a>(
        identities: impl IntoIterator<Item = &'a Identity<'a>>,
    ) -> Option<Self> {
        let typed = |it: &Identity<'_>| {
            Some(ProfileIdentity::new(IdentityType::named(&it.kind)?, &it.value))
        };
        let mut known: Vec<ProfileIdentity> = Vec::new();
        for identity in identities.into_iter().filter_map(typed) {
            if !known.contains(&identity) {
                known.push(identity);
            }
        }
        known.sort_by_key(|identity| identity.kind);
        let new_id = RespondentId::from_uuid(uuid::Uuid::nil());
        (!known.is_empty()).then_some(Self { identities: known, new_id })
    }

    pub fn identities(&self) -> &[ProfileIdentity] {
        &self.identities
    }
}

/// The profile that has an identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holder {
    pub respondent: RespondentId,
    pub has_user_id: bool,
    /// The number of addresses of the profile. A backend may stop counting at
    /// [`IDENTITIES_PER_RESPONDENT_MAX`].
    pub addresses: usize,
}

/// The result of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    pub respondent: RespondentId,
    pub is_new: bool,
    /// Identities to add to the profile.
    pub added: Vec<ProfileIdentity>,
}

/// Decides a claim, given the profiles that have its identities.
pub fn link(claim: &Claim, holders: &HashMap<ProfileIdentity, Holder>) -> Link {
    let user_id = claim.identities.iter().find(|it| it.kind == IdentityType::UserId);
    let by_user_id = user_id.and_then(|it| holders.get(it));
    let mut by_email = claim
        .identities
        .iter()
        .filter(|it| it.kind == IdentityType::Email)
        .filter_map(|it| holders.get(it))
        .filter(|holder| user_id.is_none() || !holder.has_user_id);
    let found = by_user_id.or_else(|| by_email.next());
    let mut room =
        ADDRESSES_PER_RESPONDENT_MAX.saturating_sub(found.map_or(0, |holder| holder.addresses));
    let fits = |it: &&ProfileIdentity| match it.kind {
        IdentityType::UserId => true,
        IdentityType::Email => {
            let fits = room > 0;
            room = room.saturating_sub(1);
            fits
        }
    };
    let unknown = claim.identities.iter().filter(|it| !holders.contains_key(it));
    Link {
        respondent: found.map_or(claim.new_id, |holder| holder.respondent),
        is_new: found.is_none(),
        added: unknown.filter(fits).cloned().collect(),
    }
}

/// Records a link for later claims in the same write.
pub fn remember(holders: &mut HashMap<ProfileIdentity, Holder>, link: &Link) {
    if link.added.is_empty() {
        return;
    }
    let respondent = link.respondent;
    let user_ids = link.added.iter().filter(|it| it.kind == IdentityType::UserId).count();
    let before = holders.values().find(|it| it.respondent == respondent);
    let holder = Holder {
        respondent,
        has_user_id: user_ids > 0 || before.is_some_and(|it| it.has_user_id),
        addresses: before.map_or(0, |it| it.addresses) + link.added.len() - user_ids,
    };
    for same in holders.values_mut().filter(|it| it.respondent == respondent) {
        *same = holder;
    }
    holders.extend(link.added.iter().map(|identity| (identity.clone(), holder)));
}
