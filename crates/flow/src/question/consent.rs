//! `consent`: a box to tick. The only answer is `accepted`; not ticking it is no answer.

use serde::Serialize;
use serde_json::{Value, json};

use super::answer::{Problems, one};
use super::rules::{Comparable, Rules};
use crate::counts::counted::Counted;
use crate::definition::reader::Reader;
use crate::issue::Code;
use crate::text_map::Texts;

const WORDS: &[&str] = &["accepted"];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Consent {}

impl Rules for Consent {
    fn read(_reader: &mut Reader<'_>) -> Self {
        Self {}
    }

    fn judge(&self, answer: &Texts<'_>, problems: &mut Problems<'_>) {
        if one(answer, problems).is_some_and(|word| !WORDS.contains(&word)) {
            problems.add(Code::UnknownOption, "takes only accepted");
        }
    }

    fn counted(&self) -> Counted<'_> {
        Counted::Words(WORDS)
    }

    fn comparable(&self) -> Comparable<'_> {
        Comparable::Words(WORDS)
    }

    fn schema() -> Value {
        json!({})
    }
}
