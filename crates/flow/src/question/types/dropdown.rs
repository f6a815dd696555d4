//! `dropdown`: one of several options in a drop-down list. It differs from `singleChoice` only in
//! its control.

use serde::Serialize;

use crate::question::field::Field;
use crate::question::input::Input;

use crate::counts::count_method::CountMethod;
use crate::definition::limits::OPTIONS_MAX;
use crate::definition::reader::ObjectReader;
use crate::question::answer::{Problems, one};
use crate::question::choice::{ChoiceFields, Options};
use crate::question::rules::{Comparable, Label, Rules, Scoring};
use crate::text_map::Texts;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
#[non_exhaustive]
pub struct Dropdown {
    pub choice: Options,
}

impl Rules for Dropdown {
    const ICON: &str = "M3 7h18v10H3zM14 11l2 2 2-2";
    const NEEDED: &[&str] = &["options"];

    fn read(reader: &mut ObjectReader<'_>) -> Self {
        Self { choice: Options::read(reader, 1..=OPTIONS_MAX, ChoiceFields::CHOSEN) }
    }

    fn judge(&self, answer: &Texts<'_>, problems: &mut Problems<'_>) {
        if let Some(chosen) = one(answer, problems) {
            self.choice.judge(chosen, problems);
        }
    }

    fn input(&self) -> Input<'_> {
        Input::OneOf { options: &self.choice, dropdown: true }
    }

    fn count_method(&self) -> CountMethod<'_> {
        CountMethod::Options { options: &self.choice.options, several: false }
    }

    fn comparable(&self) -> Comparable<'_> {
        Comparable::OneOf { options: &self.choice.options, other: self.choice.allow_other }
    }

    fn scoring(&self) -> Scoring<'_> {
        Scoring::Options(&self.choice.options)
    }

    fn labels(&self) -> Vec<(&'static str, Label<'_>)> {
        vec![("options", Label::Each(&self.choice.options))]
    }

    fn fields() -> Vec<Field> {
        Options::fields(1..=OPTIONS_MAX, ChoiceFields::CHOSEN)
    }
}
