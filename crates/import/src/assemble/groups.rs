//! Sections and endings.

use serde_json::{Map, Value, json};
use sluice_flow::definition::limits::{ENDING_BODY_CHARS_MAX, ENDINGS_MAX, TITLE_CHARS_MAX};

use super::Assembly;
use super::texts::TextContext;
use crate::ids::Ids;
use crate::text::Text;

impl Assembly<'_> {
    pub(super) fn sections(&mut self, whole: &mut Map<String, Value>) {
        let (mut ids, mut all) = (Ids::default(), Vec::new());
        for (number, section) in self.draft.sections.iter().enumerate() {
            let members: Vec<(usize, &str)> = (self.items.iter().zip(self.placed).enumerate())
                .filter(|(_, (item, _))| item.section == Some(number))
                .filter_map(|(at, (_, placed))| Some((at, placed.as_ref()?.id.as_str())))
                .collect();
            let Some(&(first, _)) = members.first() else { continue };
            if members.len() == 1 && section.title.is_none() {
                continue;
            }
            let id = ids.named(&section.key, &format!("s{}", number + 1));
            let questions: Vec<&str> = members.iter().map(|(_, id)| *id).collect();
            let mut value = json!({"id": id, "questions": questions});
            if let Some(title) = &section.title {
                let context = TextContext { entry: section.entry, before: first, formatted: true };
                let path = ["sections", &id, "title"];
                let title =
                    self.texts.write(&mut self.report, context, &path, title, TITLE_CHARS_MAX);
                if let Some(title) = title {
                    value["title"] = json!(title);
                }
            }
            self.report.became(section.entry, &id);
            all.push(value);
        }
        if !all.is_empty() {
            whole.insert("sections".to_owned(), Value::Array(all));
        }
    }

    pub(super) fn endings(&mut self, whole: &mut Map<String, Value>) {
        let mut all = Vec::new();
        let draft = self.draft;
        for ending in &draft.endings {
            let target = self.endings.get(&ending.key).cloned().unwrap_or_default();
            let id = target.strip_prefix("end:").map(str::to_owned);
            if id.is_some() && all.len() >= ENDINGS_MAX {
                let reason = format!("a flow has at most {ENDINGS_MAX} endings");
                self.report.lost(ending.entry, reason);
                continue;
            }
            let mut value = Map::new();
            let before = self.items.len();
            let context = TextContext { entry: ending.entry, before, formatted: true };
            for (name, text, max) in [
                ("title", &ending.title, TITLE_CHARS_MAX),
                ("body", &ending.body, ENDING_BODY_CHARS_MAX),
            ] {
                let Some(text): Option<&Text> = text.as_ref() else { continue };
                let path: Vec<&str> = match &id {
                    Some(id) => vec!["endings", id, name],
                    None => vec!["ending", name],
                };
                let text = self.texts.write(&mut self.report, context, &path, text, max);
                value.extend(text.map(|text| (name.to_owned(), json!(text))));
            }
            if let Some(address) = &ending.redirect {
                value.insert("redirectUrl".to_owned(), json!(address));
            }
            if let Some(when) = &ending.when {
                match self.resolved(when, before) {
                    Ok(when) => {
                        value.insert("when".to_owned(), when);
                    }
                    Err(reason) => {
                        self.report
                            .lost(ending.entry, format!("its condition is not mapped: {reason}"));
                        continue;
                    }
                }
            }
            match id {
                Some(id) => {
                    self.report.became(ending.entry, &id);
                    value.insert("id".to_owned(), json!(id));
                    all.push(Value::Object(value));
                }
                None => {
                    whole.insert("ending".to_owned(), Value::Object(value));
                }
            }
        }
        if !all.is_empty() {
            whole.insert("endings".to_owned(), Value::Array(all));
        }
    }
}
