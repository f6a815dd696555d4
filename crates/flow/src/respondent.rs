//! Who a response is linked to: a profile found by userId, else by e-mail address, else made.
//!
//! The rules are here, pure, and every backend carries out what they say in the transaction that
//! stores the response:
//! - the userId decides where it is known;
//! - an unknown userId joins the profile of an e-mail address that has no userId yet;
//! - a profile has one userId and at most 31 addresses; what is known of nobody yet is added while
//!   there is room, so that a stranger cannot fill a profile without end;
//! - what belongs to one profile is never moved to another.
//!
//! Deliberately absent: merging two profiles. A client that sends the userId of one person and the
//! address of another would otherwise decide that they are the same.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::id::RespondentId;
use crate::submission::parts::{EMAIL, Identity, USER_ID};

/// The identities of one profile: one userId, and addresses for the rest. A response that brings
/// more is stored and linked all the same; only the profile does not grow.
pub const IDENTITIES_PER_RESPONDENT_MAX: usize = 32;
/// The place of the userId stays free, so that addresses never prevent it from joining the profile.
const ADDRESSES_PER_RESPONDENT_MAX: usize = IDENTITIES_PER_RESPONDENT_MAX - 1;

/// What a respondent can be found by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum IdentityType {
    #[serde(rename = "userId")]
    UserId,
    #[serde(rename = "traits.email")]
    Email,
}

impl IdentityType {
    pub const ALL: [Self; 2] = [Self::UserId, Self::Email];

    /// As submissions name it.
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

/// A userId, or an e-mail address in lower case.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Known {
    #[serde(rename = "type")]
    pub of: IdentityType,
    pub value: String,
}

impl Known {
    /// In the form in which it is compared: the ASCII case of an address does not matter.
    pub fn new(of: IdentityType, value: &str) -> Self {
        let value = match of {
            IdentityType::UserId => value.to_owned(),
            IdentityType::Email => value.to_ascii_lowercase(),
        };
        Self { of, value }
    }
}

/// What a submission says of who sent it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// At least one, each once; at most one userId, and it comes first.
    identities: Vec<Known>,
    /// The id of the profile, should one have to be made.
    pub new_id: RespondentId,
}

impl Claim {
    /// None where nothing was sent that a respondent can be found by.
    pub fn of<'a>(identities: impl IntoIterator<Item = &'a Identity<'a>>) -> Option<Self> {
        let typed = |it: &Identity<'_>| Some(Known::new(IdentityType::named(&it.kind)?, &it.value));
        let mut known: Vec<Known> = Vec::new();
        for identity in identities.into_iter().filter_map(typed) {
            if !known.contains(&identity) {
                known.push(identity);
            }
        }
        known.sort_by_key(|identity| identity.of);
        let new_id = RespondentId::from_uuid(uuid::Uuid::nil());
        (!known.is_empty()).then_some(Self { identities: known, new_id })
    }

    pub fn identities(&self) -> &[Known] {
        &self.identities
    }
}

/// The profile that something is known of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holder {
    pub respondent: RespondentId,
    pub has_user_id: bool,
    /// How many addresses the profile has. A backend may stop counting at
    /// [`IDENTITIES_PER_RESPONDENT_MAX`].
    pub addresses: usize,
}

/// What comes of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    pub respondent: RespondentId,
    pub is_new: bool,
    /// What is to be known of the profile from now on.
    pub added: Vec<Known>,
}

/// Decides a claim on what is known of whom.
pub fn link(claim: &Claim, holders: &HashMap<Known, Holder>) -> Link {
    let user_id = claim.identities.iter().find(|it| it.of == IdentityType::UserId);
    let by_user_id = user_id.and_then(|it| holders.get(it));
    let mut by_email = claim
        .identities
        .iter()
        .filter(|it| it.of == IdentityType::Email)
        .filter_map(|it| holders.get(it))
        .filter(|holder| user_id.is_none() || !holder.has_user_id);
    let found = by_user_id.or_else(|| by_email.next());
    let mut room =
        ADDRESSES_PER_RESPONDENT_MAX.saturating_sub(found.map_or(0, |holder| holder.addresses));
    let fits = |it: &&Known| match it.of {
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

/// Takes a link into account for the claims that come after it in the same write.
pub fn remember(holders: &mut HashMap<Known, Holder>, link: &Link) {
    if link.added.is_empty() {
        return;
    }
    let respondent = link.respondent;
    let user_ids = link.added.iter().filter(|it| it.of == IdentityType::UserId).count();
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
