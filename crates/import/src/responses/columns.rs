//! What each column of a file is: an answer, a tag, the time, something to ignore.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;
use sluice_flow::definition::Definition;

/// What a column becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    /// The answer to the question with this id.
    Answer(String),
    /// An object of answers.
    Answers,
    Tag(String),
    /// An object of tags.
    Tags,
    Time,
    Id,
    Admission,
    /// An identity of this type.
    Identity(String),
    /// A list of identities.
    Identities,
    /// A field of the context, such as `page.path`.
    Context(String),
    Assignment,
    Ignored,
}

/// A column, and what it becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    /// In words; none if the column is unknown.
    pub becomes: Option<String>,
}

/// The columns that the caller decides about, and values that have other names.
#[derive(Debug, Clone, Default)]
pub struct Mapping {
    columns: BTreeMap<String, String>,
    values: BTreeMap<String, BTreeMap<String, String>>,
}

/// The targets that a mapping may name, besides `answer.ID`, `tag.NAME`, `identities.TYPE` and
/// `context.FIELD`.
const TARGETS: [(&str, Target); 5] = [
    ("submittedAt", Target::Time),
    ("id", Target::Id),
    ("respondentAnalyticsAdmission", Target::Admission),
    ("flowAssignmentId", Target::Assignment),
    ("ignore", Target::Ignored),
];

/// The columns of our exports. They put `answer.` before the id of a question with such a name.
const EXPORTED: [(&str, Target); 12] = [
    ("responseId", Target::Id),
    ("receivedAt", Target::Time),
    ("respondentAnalyticsAdmission", Target::Admission),
    ("identities.other", Target::Identities),
    ("answers.other", Target::Answers),
    ("tags.other", Target::Tags),
    ("flowAssignmentId", Target::Assignment),
    // What the server sets.
    ("flowVersionId", Target::Ignored),
    ("version", Target::Ignored),
    ("respondentId", Target::Ignored),
    ("identityVerified", Target::Ignored),
    ("score", Target::Ignored),
];

/// Names in exports of others and in our JSON, unless a question has this id.
const COMMON: [(&str, Target); 8] = [
    ("response_id", Target::Id),
    ("#", Target::Id),
    ("submittedAt", Target::Time),
    ("submitted_at", Target::Time),
    ("Timestamp", Target::Time),
    ("Submit Date (UTC)", Target::Time),
    ("identities", Target::Identities),
    ("flowId", Target::Ignored),
];

const CONTEXT: [&str; 5] = ["locale", "page.path", "page.referrer", "page.search", "userAgent"];

impl Mapping {
    /// Reads `{"columns": {NAME: TARGET}, "values": {QUESTION: {TEXT: ANSWER}}}`. The error lists
    /// every fault.
    pub fn read(value: &Value) -> Result<Self, String> {
        let mut mapping = Self::default();
        let mut faults = Vec::new();
        for (name, part) in value.as_object().into_iter().flatten() {
            match (name.as_str(), part.as_object()) {
                ("columns", Some(columns)) => {
                    for (column, target) in columns {
                        let target = target.as_str().unwrap_or_default();
                        if named(target).is_none() {
                            faults.push(format!("{column:?}: {target:?} is no target"));
                        }
                        mapping.columns.insert(column.clone(), target.to_owned());
                    }
                }
                ("values", Some(questions)) => {
                    for (question, texts) in questions {
                        let texts = texts.as_object().into_iter().flatten();
                        let texts = texts.filter_map(|(from, to)| {
                            Some((from.clone(), crate::fields::scalar(to)?))
                        });
                        mapping.values.insert(question.clone(), texts.collect());
                    }
                }
                _ => faults.push(format!("{name:?} is neither columns nor values")),
            }
        }
        if !value.is_object() {
            faults.push("must be an object with columns and values".to_owned());
        }
        if faults.is_empty() { Ok(mapping) } else { Err(faults.join("; ")) }
    }

    /// The values of a question that have other names, by its id or by the column.
    pub(super) fn values(&self, id: &str, column: &str) -> Option<&BTreeMap<String, String>> {
        self.values.get(id).or_else(|| self.values.get(column))
    }
}

/// The target with this name in a mapping.
fn named(name: &str) -> Option<Target> {
    let split = name.split_once('.').filter(|(_, rest)| !rest.is_empty());
    match split {
        Some(("answer", id)) => Some(Target::Answer(id.to_owned())),
        Some(("tag", tag)) => Some(Target::Tag(tag.to_owned())),
        Some(("identities", kind)) => Some(Target::Identity(kind.to_owned())),
        Some(("context", field)) if CONTEXT.contains(&field) => {
            Some(Target::Context(field.to_owned()))
        }
        _ => TARGETS.iter().find(|(own, _)| *own == name).map(|(_, target)| target.clone()),
    }
}

#[derive(Debug)]
pub(super) struct Columns {
    targets: HashMap<String, Target>,
    all: Vec<Column>,
}

impl Columns {
    pub(super) fn new(definition: &Definition, names: &[String], mapping: &Mapping) -> Self {
        let (mut targets, mut all) = (HashMap::new(), Vec::new());
        for name in names.iter().filter(|name| !name.is_empty()) {
            let target = match mapping.columns.get(name) {
                Some(target) => named(target).filter(|target| exists(definition, target)),
                None => recognised(definition, name),
            };
            let becomes = target.as_ref().map(target_label);
            all.push(Column { name: name.clone(), becomes });
            targets.extend(target.map(|target| (name.clone(), target)));
        }
        Self { targets, all }
    }

    pub(super) fn target(&self, name: &str) -> Option<&Target> {
        self.targets.get(name)
    }

    pub(super) fn all(&self) -> &[Column] {
        &self.all
    }
}

fn exists(definition: &Definition, target: &Target) -> bool {
    match target {
        Target::Answer(id) => definition.question(id).is_some(),
        _ => true,
    }
}

fn recognised(definition: &Definition, name: &str) -> Option<Target> {
    let among = |known: &[(&str, Target)]| {
        known.iter().find(|(known, _)| *known == name).map(|(_, target)| target.clone())
    };
    let by_id = || definition.question(name).map(|it| Target::Answer(it.id.clone()));
    among(&EXPORTED).or_else(by_id).or_else(|| among(&COMMON)).or_else(|| {
        let split = name.split_once('.').filter(|(_, rest)| !rest.is_empty());
        match split {
            Some(("tag", tag)) => Some(Target::Tag(tag.to_owned())),
            Some(("identities", kind)) => Some(Target::Identity(kind.to_owned())),
            Some(("context", field)) if CONTEXT.contains(&field) => {
                Some(Target::Context(field.to_owned()))
            }
            Some(("answer", question)) => by_text(definition, question),
            _ => by_text(definition, name),
        }
    })
}

/// The question with this id or text. Texts are compared without case, formatting and extra spaces.
fn by_text(definition: &Definition, name: &str) -> Option<Target> {
    if definition.question(name).is_some() {
        return Some(Target::Answer(name.to_owned()));
    }
    // Our exports add the id if two questions have the same text.
    let of_id = name.strip_suffix(']').and_then(|rest| rest.rsplit_once(" [")).map(|(_, id)| id);
    if let Some(id) = of_id.filter(|id| definition.question(id).is_some()) {
        return Some(Target::Answer(id.to_owned()));
    }
    let wanted = folded(name);
    let mut same = definition.questions().iter().filter(|it| folded(&it.prompt) == wanted);
    let first = same.next()?;
    // Two questions with this text: the caller must decide.
    same.next().is_none().then(|| Target::Answer(first.id.clone()))
}

fn folded(text: &str) -> String {
    let plain: String = text.chars().filter(|c| !matches!(c, '*' | '_' | '\\')).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

fn target_label(target: &Target) -> String {
    match target {
        Target::Answer(id) => format!("answer.{id}"),
        Target::Answers => "answers by question id".to_owned(),
        Target::Tag(tag) => format!("tag.{tag}"),
        Target::Tags => "tags by name".to_owned(),
        Target::Time => format!("tag.{}", super::TIME_TAG),
        Target::Id => format!("tag.{}, and the key of the row", super::ID_TAG),
        Target::Admission => "respondentAnalyticsAdmission".to_owned(),
        Target::Identity(kind) => format!("identities.{kind}"),
        Target::Identities => "identities".to_owned(),
        Target::Context(field) => format!("context.{field}"),
        Target::Assignment => "flowAssignmentId".to_owned(),
        Target::Ignored => "ignored".to_owned(),
    }
}
