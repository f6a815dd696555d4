//! `consent`: a checkbox. The only answer is `accepted`; leaving it unticked is no answer.

use serde::Serialize;

use crate::question::field::Field;
use crate::question::input::Input;

use crate::counts::count_method::CountMethod;
use crate::definition::reader::ObjectReader;
use crate::issue::Code;
use crate::question::answer::{Problems, one};
use crate::question::rules::{Comparable, Rules};
use crate::text_map::Texts;

const ACCEPTED: &str = "accepted";
const WORDS: &[&str] = &[ACCEPTED];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Consent {}

impl Rules for Consent {
    const ICON: &str = "M12 3l8 3v6c0 5-4 8-8 9-4-1-8-4-8-9V6zM9 12l2 2 4-4";

    fn read(_reader: &mut ObjectReader<'_>) -> Self {
        Self {}
    }

    fn judge(&self, answer: &Texts<'_>, problems: &mut Problems<'_>) {
        if one(answer, problems).is_some_and(|word| !WORDS.contains(&word)) {
            problems.add(Code::UnknownOption, "takes only accepted");
        }
    }

    fn input(&self) -> Input<'_> {
        Input::Tick { value: ACCEPTED }
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
