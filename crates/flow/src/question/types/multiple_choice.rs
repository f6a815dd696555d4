//! `multipleChoice`: any of several options, each at most once, with at most one `other:<text>`.

use std::borrow::Cow;

use serde::Serialize;

use crate::question::field::{Field, FieldKind};
use crate::question::input::Input;

use crate::counts::count_method::CountMethod;
use crate::definition::limits::OPTIONS_MAX;
use crate::definition::reader::ObjectReader;
use crate::issue::Code;
use crate::question::answer::{Problems, within};
use crate::question::choice::{ChoiceFields, OTHER_PREFIX, Options};
use crate::question::rules::{Comparable, Label, Rules, Scoring};
use crate::text_map::Texts;

/// Every option, and one free-text answer.
const SELECTED_MAX: u32 = OPTIONS_MAX as u32 + 1;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct MultipleChoice {
    #[serde(flatten)]
    pub choice: Options,
    /// The minimum number of choices, if there is an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_selected: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_selected: Option<u32>,
}

impl Rules for MultipleChoice {
    const ICON: &str = "M4 4h16v16H4zM8 12l3 3 5-6";
    const NEEDED: &[&str] = &["options"];

    fn read(reader: &mut ObjectReader<'_>) -> Self {
        let choice = Options::read(reader, 1..=OPTIONS_MAX, ChoiceFields::PICTURED);
        let min_selected = reader.count("minSelected", 0..=SELECTED_MAX);
        let max_selected = reader.count("maxSelected", 1..=SELECTED_MAX);
        let most = choice.options.len() + usize::from(choice.allow_other);
        for (name, bound) in [("minSelected", min_selected), ("maxSelected", max_selected)] {
            if bound.is_some_and(|bound| bound as usize > most) {
                reader.fault(name, format!("must be at most {most}, the number of options"));
            }
        }
        if min_selected.zip(max_selected).is_some_and(|(min, max)| min > max) {
            reader.fault("minSelected", "must not be more than maxSelected");
        }
        Self { choice, min_selected, max_selected }
    }

    fn judge(&self, answer: &Texts<'_>, problems: &mut Problems<'_>) {
        let chosen = answer.as_slice();
        // Stops at the first unknown option; more would only repeat the message.
        let _ = chosen.iter().all(|chosen| self.choice.judge(chosen, problems));
        // More choices than options must repeat one; counting first makes a hostile answer cheap.
        if chosen.len() > self.choice.options.len() + 1 || repeats(chosen) {
            problems.add(Code::InvalidSelection, "takes each option at most once");
        }
        let few = self.min_selected.is_some_and(|min| chosen.len() < min as usize);
        let many = self.max_selected.is_some_and(|max| chosen.len() > max as usize);
        if few || many {
            let range = within(self.min_selected, self.max_selected);
            problems.add(Code::OutOfRange, format_args!("takes {range} options"));
        }
    }

    fn input(&self) -> Input<'_> {
        Input::SomeOf { options: &self.choice, min: self.min_selected, max: self.max_selected }
    }

    fn count_method(&self) -> CountMethod<'_> {
        CountMethod::Options { options: &self.choice.options, several: true }
    }

    fn comparable(&self) -> Comparable<'_> {
        Comparable::SomeOf { options: &self.choice.options, other: self.choice.allow_other }
    }

    fn scoring(&self) -> Scoring<'_> {
        Scoring::Options(&self.choice.options)
    }

    fn labels(&self) -> Vec<(&'static str, Label<'_>)> {
        vec![("options", Label::Each(&self.choice.options))]
    }

    fn fields() -> Vec<Field> {
        let selected = |min| FieldKind::Count { min, max: SELECTED_MAX, default: None };
        let mut fields = Options::fields(1..=OPTIONS_MAX, ChoiceFields::PICTURED);
        fields.push(Field::new("minSelected", "Minimum choices", selected(0)));
        fields.push(Field::new("maxSelected", "Maximum choices", selected(1)));
        fields
    }
}

/// Whether an option, or a free-text answer, occurs twice.
fn repeats(chosen: &[Cow<'_, str>]) -> bool {
    let other = |text: &str| text.starts_with(OTHER_PREFIX);
    chosen.iter().enumerate().any(|(at, text)| {
        chosen[..at].iter().any(|before| before == text || (other(before) && other(text)))
    })
}
