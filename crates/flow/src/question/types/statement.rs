//! `statement`: a text to read. It takes no answer.

use serde::Serialize;

use crate::question::field::Field;
use crate::question::input::Input;

use crate::counts::count_method::CountMethod;
use crate::definition::reader::ObjectReader;
use crate::issue::Code;
use crate::question::answer::Problems;
use crate::question::rules::{Comparable, Rules};
use crate::text_map::Texts;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Statement {}

impl Rules for Statement {
    const ICON: &str = "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 11v5M12 8h.01";
    const ANSWERABLE: bool = false;

    fn read(_reader: &mut ObjectReader<'_>) -> Self {
        Self {}
    }

    fn judge(&self, _answer: &Texts<'_>, problems: &mut Problems<'_>) {
        problems.add(Code::NotAnswerable, "is a statement and takes no answer");
    }

    fn input(&self) -> Input<'_> {
        Input::Nothing
    }

    fn count_method(&self) -> CountMethod<'_> {
        CountMethod::Never
    }

    fn comparable(&self) -> Comparable<'_> {
        Comparable::Never
    }

    fn fields() -> Vec<Field> {
        Vec::new()
    }
}
