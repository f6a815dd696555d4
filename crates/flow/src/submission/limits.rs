//! Every limit of a submission in one table, for its documentation.

use super::context::{PAGE_CHARS_MAX, USER_AGENT_CHARS_MAX};
use super::identities::{
    EMAIL_CHARS_MAX, IDENTITIES_MAX, OTHER_VALUE_CHARS_MAX, TYPE_CHARS_MAX, USER_ID_CHARS_MAX,
};
use super::key::IDEMPOTENCY_KEY_CHARS_MAX;
use super::node::DEPTH_MAX;
use super::rules::ASSIGNMENT_ID_CHARS_MAX;
use super::texts::{
    ANSWER_ITEMS_MAX, ANSWERS_MAX, TAG_ITEMS_MAX, TAG_NAME_CHARS_MAX, TAG_VALUE_CHARS_MAX, TAGS_MAX,
};
use crate::definition::limits::{ANSWER_CHARS_MAX, OTHER_CHARS_MAX};

/// What is limited, in the words of `docs/api.md`, and the limit.
pub const LIMITS: &[(&str, usize)] = &[
    ("nesting, levels", DEPTH_MAX),
    ("`answers`", ANSWERS_MAX),
    ("an answer, characters", ANSWER_CHARS_MAX as usize),
    ("the text after `other:`, characters", OTHER_CHARS_MAX),
    ("items of an answer", ANSWER_ITEMS_MAX),
    ("`identities`", IDENTITIES_MAX),
    ("a `userId`, characters", USER_ID_CHARS_MAX),
    ("a `traits.email`, characters", EMAIL_CHARS_MAX),
    ("the type of an identity, characters", TYPE_CHARS_MAX),
    ("the value of another identity, characters", OTHER_VALUE_CHARS_MAX),
    ("`metadata.tags`", TAGS_MAX),
    ("the name of a tag, characters", TAG_NAME_CHARS_MAX),
    ("the value of a tag, characters", TAG_VALUE_CHARS_MAX),
    ("items of a tag", TAG_ITEMS_MAX),
    ("each of `context.page`, characters", PAGE_CHARS_MAX),
    ("`context.userAgent`, characters", USER_AGENT_CHARS_MAX),
    ("`flowAssignmentId`, characters", ASSIGNMENT_ID_CHARS_MAX),
    ("`idempotencyKey`, characters", IDEMPOTENCY_KEY_CHARS_MAX),
];
