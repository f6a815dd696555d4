//! Turns a draft into a definition that passes every rule, and reports each change.
//!
//! Reading order: `settle` brings the fields of each type within the limits of Sluice; here ids are
//! assigned, and references by the names of the source become references by id; `texts` writes
//! texts and translations; [`crate::repair`] removes what still breaks a rule.

mod groups;
mod settle;
mod texts;

use std::collections::HashMap;

use serde_json::{Map, Value, json};
use sluice_flow::definition::DEFAULT_LOCALE;
use sluice_flow::definition::limits::{
    BUTTON_CHARS_MAX, DESCRIPTION_CHARS_MAX, HELP_CHARS_MAX, JUMPS_MAX, LABEL_CHARS_MAX,
    PROMPT_CHARS_MAX, QUESTIONS_MAX, TITLE_CHARS_MAX,
};
use sluice_flow::locale;

use self::texts::{TextContext, Texts};
use crate::condition::Cond;
use crate::draft::{Choice, Draft, Item, Jump, JumpTarget, Kind, Options, Scale};
use crate::ids::Ids;
use crate::report::{Report, quoted};
use crate::resolve::{ReadableQuestion, plain_number, resolve};
use crate::{Imported, repair};

/// The ids of a question that is part of the definition.
#[derive(Debug)]
pub(crate) struct Placed {
    id: String,
    /// Of its options or rows.
    options: Vec<String>,
    columns: Vec<String>,
}

pub(crate) fn assemble(mut draft: Draft) -> Result<Imported, String> {
    let mut report = std::mem::take(&mut draft.report);
    for (name, count) in draft.omitted.iter().filter(|(_, count)| **count > 0) {
        let elements = if *count == 1 { "element" } else { "elements" };
        let entry = report.add("", format!("{name} of {count} {elements}"));
        report.lost(entry, "hosted pages have their own texts and layout");
    }
    let items = std::mem::take(&mut draft.items);
    let items: Vec<Item> =
        items.into_iter().map(|item| settle::settle(item, &mut report)).collect();
    let language = language(&draft, &mut report);
    let placed = place(&items, &mut report);
    if placed.iter().all(Option::is_none) && draft.description.is_none() {
        return Err("has no question that Sluice has as well".to_owned());
    }
    let mut positions = HashMap::new();
    for (at, item) in items.iter().enumerate() {
        for key in &item.keys {
            positions.entry(key.as_str()).or_insert(at);
        }
    }
    let texts = Texts::new(&items, &placed, &positions, &draft.hidden, language.clone());
    let endings = ending_ids(&draft);
    let mut assembly = Assembly {
        draft: &draft,
        items: &items,
        placed: &placed,
        positions: &positions,
        endings,
        texts,
        report,
    };
    let mut whole = Map::new();
    whole.insert("defaultLocale".to_owned(), json!(language));
    assembly.screens(&mut whole);
    let questions: Vec<Value> = (0..items.len()).filter_map(|at| assembly.question(at)).collect();
    whole.insert("questions".to_owned(), json!(questions));
    assembly.sections(&mut whole);
    assembly.endings(&mut whole);
    let Assembly { texts, report, .. } = assembly;
    if !texts.translations.is_empty() {
        whole.insert("translations".to_owned(), Value::Object(texts.translations));
    }
    let entries = items.iter().zip(&placed).filter(|(_, placed)| placed.is_some());
    let entries = entries.map(|(item, _)| item.entry).collect();
    repair::repaired(Value::Object(whole), entries, report)
}

fn language(draft: &Draft, report: &mut Report) -> String {
    let Some(language) = &draft.language else { return DEFAULT_LOCALE.to_owned() };
    locale::repaired(language).unwrap_or_else(|| {
        let entry = report.add("", format!("language {}", quoted(language)));
        report.change(entry, format!("is no language tag; the texts count as {DEFAULT_LOCALE}"));
        DEFAULT_LOCALE.to_owned()
    })
}

/// Assigns ids to the questions of the definition.
fn place(items: &[Item], report: &mut Report) -> Vec<Option<Placed>> {
    let (mut ids, mut placed, mut count) = (Ids::default(), Vec::new(), 0);
    for item in items {
        let Some(kind) = &item.kind else {
            placed.push(None);
            continue;
        };
        count += 1;
        if count > QUESTIONS_MAX {
            report.lost(item.entry, format!("a flow has at most {QUESTIONS_MAX} questions"));
            placed.push(None);
            continue;
        }
        let name = item.keys.first().map(String::as_str).unwrap_or_default();
        // A text that the source shows elsewhere must not take the id of a question.
        let stem = if matches!(kind, Kind::Statement) { "text" } else { "q" };
        let id = ids.named(name, &format!("{stem}{count}"));
        report.became(item.entry, &id);
        let (options, columns): (&[Choice], &[Choice]) = match kind {
            Kind::Single { options, .. }
            | Kind::Multiple { options, .. }
            | Kind::Ranking(options) => (&options.choices, &[]),
            Kind::Matrix { rows, columns } => (rows, columns),
            _ => (&[], &[]),
        };
        placed.push(Some(Placed {
            id,
            options: choice_ids(options),
            columns: choice_ids(columns),
        }));
    }
    placed
}

fn choice_ids(choices: &[Choice]) -> Vec<String> {
    let mut ids = Ids::default();
    // The name of free-text answers in conditions.
    ids.reserve("other");
    let named = choices.iter().enumerate().map(|(at, choice)| {
        let name = choice.keys.first().map(String::as_str).unwrap_or_default();
        ids.choice(name, &format!("o{}", at + 1))
    });
    named.collect()
}

/// The names of the endings, each with its target; the default one is the end of the flow.
fn ending_ids(draft: &Draft) -> HashMap<String, String> {
    let mut ids = Ids::default();
    let named = draft.endings.iter().enumerate().map(|(at, ending)| {
        let target = match ending.is_default {
            true => "end".to_owned(),
            false => format!("end:{}", ids.named(&ending.key, &format!("e{}", at + 1))),
        };
        (ending.key.clone(), target)
    });
    named.collect()
}

struct Assembly<'d> {
    draft: &'d Draft,
    items: &'d [Item],
    placed: &'d [Option<Placed>],
    positions: &'d HashMap<&'d str, usize>,
    endings: HashMap<String, String>,
    texts: Texts<'d>,
    report: Report,
}

impl<'d> Assembly<'d> {
    /// Title, description and welcome screen.
    fn screens(&mut self, whole: &mut Map<String, Value>) {
        let draft = self.draft;
        let mut unlisted = Report::default();
        let entry = unlisted.add("", "");
        let start = TextContext { entry, before: 0, formatted: true };
        let title =
            self.texts.write(&mut unlisted, start, &["title"], &draft.title, TITLE_CHARS_MAX);
        let title = title.unwrap_or_else(|| "Untitled".to_owned());
        whole.insert("title".to_owned(), json!(title));
        if let Some(text) = &draft.description {
            let written = self.texts.write(
                &mut unlisted,
                start,
                &["description"],
                text,
                DESCRIPTION_CHARS_MAX,
            );
            whole.extend(written.map(|text| ("description".to_owned(), json!(text))));
        }
        let changes = unlisted.entries.pop().map(|it| it.changes).unwrap_or_default();
        if !changes.is_empty() {
            let entry = self.report.add("", "title and description");
            changes.into_iter().for_each(|change| self.report.change(entry, change));
        }
        let Some(welcome) = &draft.welcome else { return };
        let mut screen = Map::new();
        let context = TextContext { entry: welcome.entry, before: 0, formatted: true };
        for (name, text, max) in [
            ("title", &welcome.title, TITLE_CHARS_MAX),
            ("body", &welcome.body, DESCRIPTION_CHARS_MAX),
            ("buttonText", &welcome.button, BUTTON_CHARS_MAX),
        ] {
            let context = TextContext { formatted: name != "buttonText", ..context };
            let Some(text) = text else { continue };
            let written =
                self.texts.write(&mut self.report, context, &["welcome", name], text, max);
            screen.extend(written.map(|text| (name.to_owned(), json!(text))));
        }
        whole.insert("welcome".to_owned(), Value::Object(screen));
    }

    fn question(&mut self, at: usize) -> Option<Value> {
        let (items, placed) = (self.items, self.placed);
        let item = &items[at];
        let Some(own) = &placed[at] else {
            for jump in &item.jumps {
                self.report.lost(jump.entry, "the question that it follows is not mapped");
            }
            return None;
        };
        let mut question = Map::new();
        question.insert("id".to_owned(), json!(own.id));
        let context = TextContext { entry: item.entry, before: at, formatted: true };
        let path = ["questions", &own.id, "prompt"];
        let prompt =
            self.texts.write(&mut self.report, context, &path, &item.prompt, PROMPT_CHARS_MAX);
        let prompt = prompt.unwrap_or_else(|| {
            self.report.change(item.entry, "has no text; its name is shown instead");
            own.id.clone()
        });
        question.insert("prompt".to_owned(), json!(prompt));
        if let Some(help) = &item.help {
            let path = ["questions", &own.id, "help"];
            let help = self.texts.write(&mut self.report, context, &path, help, HELP_CHARS_MAX);
            question.extend(help.map(|help| ("help".to_owned(), json!(help))));
        }
        if item.required {
            question.insert("required".to_owned(), json!(true));
        }
        if let Some(kind) = &item.kind {
            self.own_fields(&mut question, kind, own, context);
        }
        if !item.visible_if.is_empty() {
            match self.resolved(&Cond::All(item.visible_if.clone()), at) {
                Ok(condition) => {
                    question.insert("visibleIf".to_owned(), condition);
                }
                Err(reason) => self.report.change(
                    item.entry,
                    format!("is always shown; its condition is not mapped: {reason}"),
                ),
            }
        }
        let jumps = self.jumps(&item.jumps, at);
        if !jumps.is_empty() {
            question.insert("next".to_owned(), json!(jumps));
        }
        Some(Value::Object(question))
    }

    /// The fields of its type.
    fn own_fields(
        &mut self,
        question: &mut Map<String, Value>,
        kind: &Kind,
        own: &Placed,
        context: TextContext,
    ) {
        let name = match kind {
            Kind::Text { name, min, max } => {
                question.extend(min.map(|min| ("minLength".to_owned(), json!(min))));
                question.extend(max.map(|max| ("maxLength".to_owned(), json!(max))));
                name
            }
            Kind::Number { min, max, integer } => {
                question.extend(min.map(|min| ("min".to_owned(), plain_number(min))));
                question.extend(max.map(|max| ("max".to_owned(), plain_number(max))));
                question.extend(integer.then(|| ("integer".to_owned(), json!(true))));
                "number"
            }
            Kind::Date { min, max } => {
                question.extend(min.as_ref().map(|min| ("min".to_owned(), json!(min))));
                question.extend(max.as_ref().map(|max| ("max".to_owned(), json!(max))));
                "date"
            }
            Kind::Single { options, dropdown } => {
                self.options(question, options, own, context);
                if *dropdown { "dropdown" } else { "singleChoice" }
            }
            Kind::Multiple { options, min, max } => {
                self.options(question, options, own, context);
                question.extend(min.map(|min| ("minSelected".to_owned(), json!(min))));
                question.extend(max.map(|max| ("maxSelected".to_owned(), json!(max))));
                "multipleChoice"
            }
            Kind::Ranking(options) => {
                self.options(question, options, own, context);
                "ranking"
            }
            Kind::Matrix { rows, columns } => {
                let rows = self.choices("rows", rows, &own.options, own, context);
                let columns = self.choices("columns", columns, &own.columns, own, context);
                question.insert("rows".to_owned(), rows);
                question.insert("columns".to_owned(), columns);
                "matrix"
            }
            Kind::Rating(scale) => {
                question.insert("max".to_owned(), json!(scale.max));
                question.insert("shape".to_owned(), json!(scale.shape));
                self.ends(question, scale, own, context);
                "rating"
            }
            Kind::Nps(scale) => {
                self.ends(question, scale, own, context);
                "nps"
            }
            Kind::YesNo => "yesNo",
            Kind::Consent => "consent",
            Kind::Statement => "statement",
        };
        question.insert("type".to_owned(), json!(name));
    }

    fn options(
        &mut self,
        question: &mut Map<String, Value>,
        options: &Options,
        own: &Placed,
        context: TextContext,
    ) {
        let choices = self.choices("options", &options.choices, &own.options, own, context);
        question.insert("options".to_owned(), choices);
        question.extend(options.other.then(|| ("allowOther".to_owned(), json!(true))));
        question.extend(options.random.then(|| ("optionOrder".to_owned(), json!("random"))));
    }

    fn choices(
        &mut self,
        name: &str,
        choices: &[Choice],
        ids: &[String],
        own: &Placed,
        context: TextContext,
    ) -> Value {
        let context = TextContext { formatted: false, ..context };
        let mut all = Vec::with_capacity(choices.len());
        for (choice, id) in choices.iter().zip(ids) {
            let path = ["questions", &own.id, name, id];
            let label =
                self.texts.write(&mut self.report, context, &path, &choice.label, LABEL_CHARS_MAX);
            let mut value = json!({"id": id, "label": label.unwrap_or_else(|| id.clone())});
            if let Some(score) = choice.score {
                value["score"] = plain_number(score);
            }
            if choice.fixed {
                value["fixed"] = json!(true);
            }
            all.push(value);
        }
        Value::Array(all)
    }

    fn ends(
        &mut self,
        question: &mut Map<String, Value>,
        scale: &Scale,
        own: &Placed,
        context: TextContext,
    ) {
        let context = TextContext { formatted: false, ..context };
        for (name, text) in [("lowLabel", &scale.low), ("highLabel", &scale.high)] {
            let Some(text) = text else { continue };
            let path = ["questions", &own.id, name];
            let label = self.texts.write(&mut self.report, context, &path, text, LABEL_CHARS_MAX);
            question.extend(label.map(|label| (name.to_owned(), json!(label))));
        }
    }

    /// A condition that may read the questions before this index.
    fn resolved(&self, cond: &Cond, before: usize) -> Result<Value, String> {
        resolve(cond, &|key: &str| {
            let shown = quoted(key);
            if self.draft.hidden.iter().any(|it| it == key) {
                return Err(format!(
                    "it reads the hidden field {shown}; conditions read answers only"
                ));
            }
            let at = self.positions.get(key).copied();
            let at = at.ok_or_else(|| format!("it reads {shown}, which is no question"))?;
            let (Some(own), Some(kind)) = (&self.placed[at], &self.items[at].kind) else {
                return Err(format!("it reads {shown}, which is not mapped"));
            };
            if at >= before {
                return Err(format!("it reads {shown}, which comes later"));
            }
            Ok(ReadableQuestion { id: &own.id, kind, options: &own.options, columns: &own.columns })
        })
    }

    fn jumps(&mut self, jumps: &[Jump], at: usize) -> Vec<Value> {
        let mut all: Vec<Value> = Vec::new();
        for jump in jumps {
            match self.jump(jump, at) {
                Err(reason) => self.report.lost(jump.entry, reason),
                Ok(_) if all.last().is_some_and(|before| before.get("when").is_none()) => {
                    self.report
                        .lost(jump.entry, "is never reached: a rule before it always applies");
                }
                Ok(_) if all.len() >= JUMPS_MAX => {
                    let reason = format!("a question has at most {JUMPS_MAX} jumps");
                    self.report.lost(jump.entry, reason);
                }
                Ok(jump) => all.push(jump),
            }
        }
        all
    }

    fn jump(&self, jump: &Jump, at: usize) -> Result<Value, String> {
        let mut value = json!({"to": self.target(&jump.to, at)?});
        if let Some(when) = &jump.when {
            value["when"] = self.resolved(when, at + 1)?;
        }
        Ok(value)
    }

    fn target(&self, goal: &JumpTarget, at: usize) -> Result<String, String> {
        let JumpTarget::Named(key) = goal else { return Ok("end".to_owned()) };
        if let Some(target) = self.endings.get(key) {
            return Ok(target.clone());
        }
        let named = self.positions.get(key.as_str()).copied();
        let named =
            named.ok_or_else(|| format!("it leads to {}, which does not exist", quoted(key)))?;
        if named <= at {
            return Err("it leads back, and jumps of Sluice only lead forward".to_owned());
        }
        let next = self.placed[named..].iter().flatten().next();
        Ok(next.map_or_else(|| "end".to_owned(), |next| next.id.clone()))
    }
}
