//! A definition on its way: what all formats have in common, under the names of the source.
//!
//! References (conditions, jumps, recalled answers) are by these names and may be wrong; only
//! [`crate::assemble`] resolves them.

use std::collections::BTreeMap;

use crate::condition::Cond;
use crate::fields::Fields;
use crate::report::{EntryId, Report, quoted};
use crate::text::Text;

/// The most questions and marks that are read, and rules of logic.
pub(crate) const ITEMS_MAX: usize = 2_000;

#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub(crate) title: Text,
    pub(crate) description: Option<Text>,
    /// The language of the texts, as the source writes it.
    pub(crate) language: Option<String>,
    pub(crate) welcome: Option<Welcome>,
    pub(crate) items: Vec<Item>,
    pub(crate) sections: Vec<Section>,
    pub(crate) endings: Vec<Ending>,
    /// Names of hidden fields, which are tags in Sluice.
    pub(crate) hidden: Vec<String>,
    /// How many elements have a property that only says how a page looks.
    pub(crate) omitted: BTreeMap<&'static str, usize>,
    pub(crate) report: Report,
}

#[derive(Debug)]
pub(crate) struct Welcome {
    pub(crate) entry: EntryId,
    pub(crate) title: Option<Text>,
    pub(crate) body: Option<Text>,
    pub(crate) button: Option<Text>,
}

#[derive(Debug)]
pub(crate) struct Section {
    pub(crate) entry: EntryId,
    pub(crate) key: String,
    pub(crate) title: Option<Text>,
}

#[derive(Debug)]
pub(crate) struct Ending {
    pub(crate) entry: EntryId,
    pub(crate) key: String,
    pub(crate) title: Option<Text>,
    pub(crate) body: Option<Text>,
    pub(crate) redirect: Option<String>,
    pub(crate) when: Option<Cond>,
    /// Whether it is shown when no other ending applies.
    pub(crate) is_default: bool,
}

/// A question, or a place between questions that jumps may lead to.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) entry: EntryId,
    /// Its names in the source; the id is made of the first.
    pub(crate) keys: Vec<String>,
    /// None for a mark, or for a question that is not mapped.
    pub(crate) kind: Option<Kind>,
    pub(crate) prompt: Text,
    pub(crate) help: Option<Text>,
    pub(crate) required: bool,
    pub(crate) visible_if: Vec<Cond>,
    pub(crate) jumps: Vec<Jump>,
    /// The index of its section.
    pub(crate) section: Option<usize>,
}

impl Item {
    pub(crate) fn new(entry: EntryId, key: impl Into<String>, prompt: Text) -> Self {
        Self {
            entry,
            keys: vec![key.into()],
            kind: None,
            prompt,
            help: None,
            required: false,
            visible_if: Vec::new(),
            jumps: Vec::new(),
            section: None,
        }
    }

    pub(crate) fn kind(mut self, kind: Kind) -> Self {
        self.kind = Some(kind);
        self
    }
}

#[derive(Debug)]
pub(crate) struct Jump {
    /// The rule that it comes from.
    pub(crate) entry: EntryId,
    pub(crate) when: Option<Cond>,
    pub(crate) to: JumpTarget,
}

#[derive(Debug, Clone)]
pub(crate) enum JumpTarget {
    /// A question, a mark or an ending, by its name.
    Named(String),
    End,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Choice {
    /// Its names in the source: values that conditions compare with.
    pub(crate) keys: Vec<String>,
    pub(crate) label: Text,
    pub(crate) score: Option<f64>,
    pub(crate) fixed: bool,
}

impl Choice {
    pub(crate) fn new(key: impl Into<String>, label: Text) -> Self {
        Self { keys: vec![key.into()], label, ..Self::default() }
    }
}

/// Options with what the choice types share.
#[derive(Debug, Clone, Default)]
pub(crate) struct Options {
    pub(crate) choices: Vec<Choice>,
    pub(crate) other: bool,
    pub(crate) random: bool,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Scale {
    pub(crate) max: u32,
    pub(crate) shape: &'static str,
    pub(crate) low: Option<Text>,
    pub(crate) high: Option<Text>,
    /// What is added to a value of the source to get that of Sluice.
    pub(crate) shift: f64,
}

/// A question type of Sluice with its own fields.
#[derive(Debug, Clone)]
pub(crate) enum Kind {
    /// `shortText`, `longText`, `email`, `url` or `phone`.
    Text {
        name: &'static str,
        min: Option<u32>,
        max: Option<u32>,
    },
    Number {
        min: Option<f64>,
        max: Option<f64>,
        integer: bool,
    },
    Date {
        min: Option<String>,
        max: Option<String>,
    },
    Single {
        options: Options,
        dropdown: bool,
    },
    Multiple {
        options: Options,
        min: Option<u32>,
        max: Option<u32>,
    },
    Ranking(Options),
    Matrix {
        rows: Vec<Choice>,
        columns: Vec<Choice>,
    },
    Rating(Scale),
    Nps(Scale),
    YesNo,
    Consent,
    Statement,
}

impl Kind {
    pub(crate) fn text(name: &'static str) -> Self {
        Self::Text { name, min: None, max: None }
    }

    pub(crate) fn options_mut(&mut self) -> Option<&mut Options> {
        match self {
            Self::Single { options, .. } | Self::Multiple { options, .. } => Some(options),
            _ => None,
        }
    }
}

impl Draft {
    /// The entry of a question.
    pub(crate) fn question(&mut self, place: &str, kind: &str, text: &str) -> EntryId {
        let kind: String = kind.chars().take(40).collect();
        self.report.add(place, format!("question {} ({kind})", quoted(text)))
    }

    /// A setting or another element that Sluice does not have.
    pub(crate) fn lost(&mut self, place: &str, element: impl Into<String>, reason: &str) {
        let entry = self.report.add(place, element);
        self.report.lost(entry, reason);
    }

    /// Reports the properties of an element that were not read.
    pub(crate) fn leftover(&mut self, entry: EntryId, fields: &Fields<'_>) {
        if let Some(change) = fields.leftover() {
            self.report.change(entry, change);
        }
    }

    /// Leaves out properties that say how a page looks. They are reported once, not per element.
    pub(crate) fn omit(&mut self, fields: &Fields<'_>, names: &[&'static str]) {
        let unread = fields.unread();
        for name in names.iter().filter(|name| unread.contains(name)) {
            *self.omitted.entry(name).or_default() += 1;
        }
        fields.skip(names);
    }

    /// Adds a question or a mark.
    pub(crate) fn push(&mut self, item: Item) {
        if self.items.len() < ITEMS_MAX {
            self.items.push(item);
        } else {
            self.report.lost(item.entry, format!("an import reads at most {ITEMS_MAX} elements"));
        }
    }

    /// A name that jumps may lead to: the next question that is added.
    pub(crate) fn mark(&mut self, entry: EntryId, key: impl Into<String>) {
        self.push(Item::new(entry, key, Text::default()));
    }

    /// The index of a question or mark. The first with a name has it.
    pub(crate) fn position(&self, key: &str) -> Option<usize> {
        self.items.iter().position(|item| item.keys.iter().any(|it| it == key))
    }

    /// Adds points to an option; whether there is one with this name.
    pub(crate) fn add_score(&mut self, question: &str, choice: &str, points: f64) -> bool {
        let Some(at) = self.position(question) else { return false };
        let options = self.items[at].kind.as_mut().and_then(Kind::options_mut);
        let choices = options.map(|options| options.choices.iter_mut()).into_iter().flatten();
        let mut named = choices.filter(|it| it.keys.iter().any(|key| key == choice));
        let Some(choice) = named.next() else { return false };
        choice.score = Some(choice.score.unwrap_or_default() + points);
        true
    }
}
