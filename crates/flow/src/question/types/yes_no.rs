//! `yesNo`: a question that is answered `yes` or `no`.

use serde::Serialize;

use crate::question::field::Field;
use crate::question::input::Input;

use crate::counts::count_method::CountMethod;
use crate::definition::reader::ObjectReader;
use crate::issue::Code;
use crate::question::answer::{Problems, one};
use crate::question::rules::{Comparable, Rules};
use crate::text_map::Texts;

const WORDS: &[&str] = &["yes", "no"];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct YesNo {}

impl Rules for YesNo {
    const ICON: &str = "M3 12l4 4 6-8M16 8l5 8M21 8l-5 8";

    fn read(_reader: &mut ObjectReader<'_>) -> Self {
        Self {}
    }

    fn judge(&self, answer: &Texts<'_>, problems: &mut Problems<'_>) {
        if one(answer, problems).is_some_and(|word| !WORDS.contains(&word)) {
            problems.add(Code::UnknownOption, "takes yes or no");
        }
    }

    fn input(&self) -> Input<'_> {
        Input::YesNo
    }

    fn count_method(&self) -> CountMethod<'_> {
        CountMethod::Words(WORDS)
    }

    fn comparable(&self) -> Comparable<'_> {
        Comparable::Words(WORDS)
    }

    fn fields() -> Vec<Field> {
        Vec::new()
    }
}
