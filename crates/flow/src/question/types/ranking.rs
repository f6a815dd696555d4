//! `ranking`: all options, put in order. The answer names every option once, best first.

use serde::Serialize;

use crate::question::field::{Field, FieldKind};
use crate::question::input::Input;

use crate::counts::count_method::CountMethod;
use crate::definition::limits::OPTIONS_MAX;
use crate::definition::reader::ObjectReader;
use crate::issue::Code;
use crate::question::answer::Problems;
use crate::question::choice::{Choice, ChoiceFields, OptionOrder, has, listed, read_choices};
use crate::question::rules::{Comparable, Label, Rules};
use crate::text_map::Texts;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct Ranking {
    pub options: Vec<Choice>,
    #[serde(skip_serializing_if = "OptionOrder::is_listed")]
    pub option_order: OptionOrder,
}

impl Rules for Ranking {
    const ICON: &str = "M10 6h10M10 12h10M10 18h10M4 8V4L3 5M3 16h3l-3 4h3";
    const NEEDED: &[&str] = &["options"];

    fn read(reader: &mut ObjectReader<'_>) -> Self {
        let fields = ChoiceFields::ORDERED;
        let options = read_choices(reader, "options", 2..=OPTIONS_MAX, fields);
        Self { options, option_order: OptionOrder::read(reader) }
    }

    fn judge(&self, answer: &Texts<'_>, problems: &mut Problems<'_>) {
        let ranked = answer.as_slice();
        if !ranked.iter().all(|id| has(&self.options, id)) {
            let options = listed(&self.options);
            problems.add(Code::UnknownOption, format_args!("ranks only its options: {options}"));
        } else if !self.options.iter().all(|option| ranked.iter().any(|id| *id == option.id))
            || ranked.len() != self.options.len()
        {
            let options = listed(&self.options);
            let rule = format_args!("takes every option exactly once: {options}");
            problems.add(Code::InvalidSelection, rule);
        }
    }

    fn input(&self) -> Input<'_> {
        Input::Order { options: &self.options, order: self.option_order }
    }

    fn count_method(&self) -> CountMethod<'_> {
        CountMethod::Ranking(&self.options)
    }

    fn comparable(&self) -> Comparable<'_> {
        Comparable::Presence
    }

    fn labels(&self) -> Vec<(&'static str, Label<'_>)> {
        vec![("options", Label::Each(&self.options))]
    }

    fn fields() -> Vec<Field> {
        let fields = ChoiceFields::ORDERED;
        let options = FieldKind::Choices { min: 2, max: OPTIONS_MAX, fields };
        vec![Field::new("options", "Options", options), OptionOrder::FIELD]
    }
}
