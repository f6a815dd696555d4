//! `singleChoice`: one of several options, all visible.

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
pub struct SingleChoice {
    pub choice: Options,
}

impl Rules for SingleChoice {
    const ICON: &str = "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 14a2 2 0 1 0 0-4 2 2 0 0 0 0 4z";
    const NEEDED: &[&str] = &["options"];

    fn read(reader: &mut ObjectReader<'_>) -> Self {
        Self { choice: Options::read(reader, 1..=OPTIONS_MAX, ChoiceFields::PICTURED) }
    }

    fn judge(&self, answer: &Texts<'_>, problems: &mut Problems<'_>) {
        if let Some(chosen) = one(answer, problems) {
            self.choice.judge(chosen, problems);
        }
    }

    fn input(&self) -> Input<'_> {
        Input::OneOf { options: &self.choice, dropdown: false }
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
        Options::fields(1..=OPTIONS_MAX, ChoiceFields::PICTURED)
    }
}
