//! `statement`: something to read. It takes no answer.

use serde::Serialize;
use serde_json::{Value, json};

use super::answer::Problems;
use super::rules::{Comparable, Rules};
use crate::counts::counted::Counted;
use crate::definition::reader::Reader;
use crate::issue::Code;
use crate::text_map::Texts;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Statement {}

impl Rules for Statement {
    const ANSWERABLE: bool = false;

    fn read(_reader: &mut Reader<'_>) -> Self {
        Self {}
    }

    fn judge(&self, _answer: &Texts<'_>, problems: &mut Problems<'_>) {
        problems.add(Code::NotAnswerable, "is a statement and takes no answer");
    }

    fn counted(&self) -> Counted<'_> {
        Counted::Never
    }

    fn comparable(&self) -> Comparable<'_> {
        Comparable::Never
    }

    fn schema() -> Value {
        json!({})
    }
}
