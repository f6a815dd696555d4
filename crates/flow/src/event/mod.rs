//! Events: what happened in an app, as its log and its webhooks report it.
//!
//! [`EventType`] is the table of types. [`payload`] builds what is sent ([`batch`]: several events
//! at once), [`filter`] decides which events a reader wants, [`delivery`] what a receiver's reply
//! means and when an event is sent again, and [`pace`] how fast. Two types have no row in the log:
//! `response.created` and `invitation.completed` follow from the stored response.

pub mod batch;
pub mod delivery;
pub mod filter;
pub mod pace;
pub mod payload;

use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Declares the types once: variant, name, and what it reports.
macro_rules! types {
    ($($variant:ident = $name:literal, $what:literal;)*) => {
        /// What happened.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum EventType {
            $(#[doc = $what] $variant,)*
        }

        impl EventType {
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name as stored and sent, such as `response.created`.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// What an event of this type reports, in a sentence.
            pub fn description(self) -> &'static str {
                match self {
                    $(Self::$variant => $what,)*
                }
            }
        }

        impl FromStr for EventType {
            type Err = UnknownType;

            fn from_str(name: &str) -> Result<Self, UnknownType> {
                match name {
                    $($name => Ok(Self::$variant),)*
                    _ => Err(UnknownType),
                }
            }
        }
    };
}

types! {
    ResponseCreated = "response.created", "A response was stored.";
    ResponseDeleted = "response.deleted", "A response was deleted, on its own or with the erasure of its respondent.";
    FlowPublished = "flow.published", "A version of a flow was published.";
    FlowClosed = "flow.closed", "A flow was closed by a person or a token.";
    FlowReopened = "flow.reopened", "A closed flow was opened again.";
    FlowArchived = "flow.archived", "A flow was archived.";
    FlowVersionRetired = "flow_version.retired", "A published version was retired.";
    RespondentErased = "respondent.erased", "A respondent was erased.";
    InvitationCompleted = "invitation.completed", "A linked response completed an invitation.";
    EndpointDisabled = "endpoint.disabled", "A webhook endpoint was disabled because its deliveries failed.";
    EndpointTest = "endpoint.test", "Someone sent a test event to an endpoint; it is not in the log.";
}

/// The text is not the name of an event type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is not an event type")]
pub struct UnknownType;

impl EventType {
    /// Whether events of this type are in the log, so that they can be selected.
    pub fn is_logged(self) -> bool {
        self != Self::EndpointTest
    }

    /// The types that can be selected.
    pub fn logged() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(|it| it.is_logged())
    }

    /// Whether events of this type follow from stored responses and have no row in the log.
    pub fn is_derived(self) -> bool {
        matches!(self, Self::ResponseCreated | Self::InvitationCompleted)
    }
}

impl Serialize for EventType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for EventType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        name.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_found_by_its_name_and_described() {
        for it in EventType::ALL {
            assert_eq!(it.as_str().parse(), Ok(*it));
            assert!(it.description().ends_with('.'), "{it:?}");
        }
        assert_eq!("response.updated".parse::<EventType>(), Err(UnknownType));
    }

    #[test]
    fn only_the_test_event_is_not_in_the_log() {
        let unlogged: Vec<_> = EventType::ALL.iter().filter(|it| !it.is_logged()).collect();
        assert_eq!(unlogged, [&EventType::EndpointTest]);
        assert_eq!(EventType::logged().count() + 1, EventType::ALL.len());
    }
}
