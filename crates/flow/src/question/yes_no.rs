//! `yesNo`: a question that is answered `yes` or `no`.

use serde::Serialize;
use serde_json::{Value, json};

use super::answer::{Problems, one};
use super::rules::{Comparable, Rules};
use crate::counts::counted::Counted;
use crate::definition::reader::Reader;
use crate::issue::Code;
use crate::text_map::Texts;

const WORDS: &[&str] = &["yes", "no"];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct YesNo {}

impl Rules for YesNo {
    fn read(_reader: &mut Reader<'_>) -> Self {
        Self {}
    }

    fn judge(&self, answer: &Texts<'_>, problems: &mut Problems<'_>) {
        if one(answer, problems).is_some_and(|word| !WORDS.contains(&word)) {
            problems.add(Code::UnknownOption, "takes yes or no");
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
