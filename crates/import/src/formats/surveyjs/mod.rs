//! SurveyJS: the JSON of a survey.
//!
//! Pages and panels are sections; the conditions of a page or panel become conditions of each of
//! its questions. Triggers that skip or complete are jumps after the last question that they read.

mod types;

use serde_json::Value;

use super::looks::{any, is_text, read_json};
use crate::condition::Cond;
use crate::draft::{Draft, Ending, ITEMS_MAX, Item, Jump, JumpTarget, Kind};
use crate::draft::{Section, Welcome};
use crate::expression::condition;
use crate::fields::{Fields, scalar};
use crate::report::quoted;
use crate::text::{Piece, Style, Text, split};

/// How deep panels may nest.
const DEPTH_MAX: usize = 16;
/// Properties that say how a survey looks, not what it asks.
const LOOK: &[&str] = &[
    "showProgressBar",
    "progressBarType",
    "showQuestionNumbers",
    "questionTitleLocation",
    "width",
    "logo",
    "logoPosition",
    "logoWidth",
    "logoHeight",
    "headerView",
    "widthMode",
    "cookieName",
    "showPrevButton",
    "goNextPageAutomatic",
    "checkErrorsMode",
    "questionErrorLocation",
    "size",
    "textUpdateMode",
    "colCount",
    "startWithNewLine",
    "state",
    "minWidth",
    "maxWidth",
    "fitToCanvas",
    "questionsOnPageMode",
    "placeholder",
    "placeHolder",
    "rows",
    "autoGrow",
    "titleLocation",
    "hideNumber",
    "indent",
    "showTitle",
    "showPageTitles",
    "showNavigationButtons",
    "pageNextText",
    "pagePrevText",
    "completeText",
    "requiredText",
    "requiredErrorText",
    "minErrorText",
    "maxErrorText",
    "showCompletedPage",
    "autoGrowComment",
    "allowResize",
    "otherText",
    "otherPlaceholder",
];

pub(super) fn looks(bytes: &[u8]) -> bool {
    let value = read_json(bytes);
    let is_element = |it: &Value| is_text(it, "type") && is_text(it, "name");
    let is_page = |it: &Value| any(it, "elements", is_element) || any(it, "questions", is_element);
    any(&value, "pages", is_page)
        || ["elements", "questions"].iter().any(|name| any(&value, name, is_element))
}

pub(super) fn read(bytes: &[u8]) -> Result<Draft, String> {
    let value = crate::json(bytes)?;
    let survey = Fields::new(&value);
    let lists = ["pages", "elements", "questions"];
    if !lists.iter().any(|name| value[name].as_array().is_some()) {
        return Err("is not a SurveyJS survey: it has neither pages nor elements".to_owned());
    }
    let mut reader = SurveyJsReader { draft: Draft::default(), conditions: Vec::new() };
    reader.draft.title = field(&survey, "title").unwrap_or_default();
    reader.draft.description = field(&survey, "description");
    reader.draft.language = survey.text("locale").filter(|tag| tag != "default");
    reader.draft.omit(&survey, LOOK);
    let starts = survey.flag("firstPageIsStarted") || survey.flag("firstPageIsStartPage");
    for (at, page) in survey.list("pages").iter().take(ITEMS_MAX).enumerate() {
        let place = format!("/pages/{at}");
        if starts && at == 0 {
            reader.start_page(&Fields::new(page), &survey, &place);
        } else {
            reader.panel(&Fields::new(page), &place, "page", None, 0);
        }
    }
    for name in ["elements", "questions"] {
        reader.elements(survey.list(name), &format!("/{name}"), None, 0);
    }
    reader.endings(&survey);
    for (at, trigger) in survey.list("triggers").iter().take(ITEMS_MAX).enumerate() {
        reader.trigger(&Fields::new(trigger), &format!("/triggers/{at}"));
    }
    for name in survey.unread() {
        let place = format!("/{name}");
        reader.draft.lost(&place, format!("setting {name}"), "Sluice has no counterpart");
    }
    Ok(reader.draft)
}

fn pieces(source: &str) -> Vec<Piece> {
    split(source, "{", "}", |inner| {
        let is_name = !inner.is_empty() && !inner.contains(['{', '}', '"']);
        is_name.then(|| Piece::Recall { key: inner.trim().to_owned(), fallback: String::new() })
    })
}

/// A text, or texts by language.
fn text(value: &Value, style: Style) -> Option<Text> {
    let all = match value {
        Value::Object(all) => all,
        value => {
            let text = Text::new(style, pieces(&scalar(value)?));
            return (!text.is_empty()).then_some(text);
        }
    };
    let default = all.get("default").and_then(Value::as_str);
    let default = default.or_else(|| all.values().find_map(Value::as_str)).unwrap_or_default();
    let mut text = Text::new(style, pieces(default));
    let others = all.iter().filter(|(tag, _)| *tag != "default");
    let others = others.filter_map(|(tag, text)| Some((tag.clone(), pieces(text.as_str()?))));
    text.translations = others.collect();
    (!text.is_empty()).then_some(text)
}

fn field(fields: &Fields<'_>, name: &str) -> Option<Text> {
    text(fields.get(name), Style::Plain)
}

/// The expression of a trigger that names a question, an operator and a value, as old surveys do.
fn old_expression(trigger: &Fields<'_>) -> Option<String> {
    let name = trigger.text("name")?;
    let operator = trigger.text("operator").unwrap_or_else(|| "equal".to_owned());
    let value = scalar(trigger.get("value")).map(|value| format!(" '{value}'"));
    Some(format!("{{{name}}} {operator}{}", value.unwrap_or_default()))
}

struct SurveyJsReader {
    draft: Draft,
    /// Of the page and panels around the current element.
    conditions: Vec<Cond>,
}

impl SurveyJsReader {
    /// A page before the survey has no questions: it is the welcome screen.
    fn start_page(&mut self, page: &Fields<'_>, survey: &Fields<'_>, place: &str) {
        let title = field(page, "title");
        let shown = title.as_ref().map(Text::shown).unwrap_or_default();
        let entry = self.draft.report.add(place, format!("start page {}", quoted(&shown)));
        let mut body = field(page, "description").unwrap_or_default();
        for element in page.list("elements").iter().take(ITEMS_MAX) {
            if element["type"] == "html" {
                body = text(&element["html"], Style::Html).unwrap_or_default();
            } else {
                self.draft.report.change(entry, "its questions are not mapped");
            }
        }
        let button = field(survey, "startSurveyText");
        let body = (!body.is_empty()).then_some(body);
        page.skip(&["name"]);
        self.draft.welcome = Some(Welcome { entry, title, body, button });
        self.draft.leftover(entry, page);
    }

    fn panel(
        &mut self,
        panel: &Fields<'_>,
        place: &str,
        kind: &str,
        outer: Option<usize>,
        depth: usize,
    ) {
        let name = panel.text("name").unwrap_or_default();
        let title = field(panel, "title");
        let entry = self.draft.report.add(place, format!("{kind} {}", quoted(&name)));
        self.draft.omit(panel, LOOK);
        panel.skip(&["type"]);
        if depth > DEPTH_MAX {
            return self.draft.report.lost(entry, "panels nest too deeply");
        }
        if panel.get("visible") == false {
            return self.draft.report.lost(entry, "it is hidden");
        }
        self.draft.mark(entry, name.clone());
        let section = outer.unwrap_or_else(|| {
            self.draft.sections.push(Section { entry, key: name, title: title.clone() });
            self.draft.sections.len() - 1
        });
        let condition = panel.text("visibleIf").map(|text| condition(&text));
        let had = condition.is_some();
        self.conditions.extend(condition);
        let intro = match (outer, title) {
            (Some(_), Some(title)) => Some(title),
            _ => None,
        };
        let intro =
            intro.unwrap_or_default().joined(field(panel, "description").unwrap_or_default());
        if !intro.is_empty() {
            self.draft.report.change(entry, "its text is a statement");
            let mut item = Item::new(entry, "", intro).kind(Kind::Statement);
            item.section = Some(section);
            item.visible_if.clone_from(&self.conditions);
            self.draft.push(item);
        }
        for name in ["elements", "questions"] {
            let inner = format!("{place}/{name}");
            self.elements(panel.list(name), &inner, Some(section), depth + 1);
        }
        if had {
            self.conditions.pop();
        }
        self.draft.leftover(entry, panel);
    }

    fn elements(&mut self, list: &[Value], place: &str, section: Option<usize>, depth: usize) {
        for (at, element) in list.iter().take(ITEMS_MAX).enumerate() {
            let place = format!("{place}/{at}");
            let element = Fields::new(element);
            match element.text("type").unwrap_or_default().as_str() {
                "panel" => self.panel(&element, &place, "panel", section, depth + 1),
                kind => self.question(&element, kind, &place, section),
            }
        }
    }

    fn question(&mut self, element: &Fields<'_>, kind: &str, place: &str, section: Option<usize>) {
        let name = element.text("name").unwrap_or_default();
        let title = field(element, "title").unwrap_or_else(|| Text::plain(name.clone()));
        let entry = self.draft.question(place, kind, &title.shown());
        let mut item = Item::new(entry, name, title);
        item.keys.extend(element.text("valueName"));
        item.help = field(element, "description");
        item.required = element.flag("isRequired");
        item.section = section;
        item.visible_if.clone_from(&self.conditions);
        item.visible_if.extend(element.text("visibleIf").map(|text| condition(&text)));
        if element.get("visible") == false && item.visible_if.is_empty() {
            self.draft.report.lost(entry, "it is hidden");
            return self.draft.push(item);
        }
        if kind == "multipletext" {
            return self.multiple_text(element, item);
        }
        match self.kind_of(element, kind, &mut item) {
            Ok(kind) => {
                item.kind = Some(kind);
                self.validators(element, &mut item);
                self.draft.omit(element, LOOK);
                self.draft.leftover(entry, element);
            }
            Err(reason) => self.draft.report.lost(entry, reason),
        }
        self.draft.push(item);
    }

    /// Several texts in one question are several questions.
    fn multiple_text(&mut self, element: &Fields<'_>, whole: Item) {
        let entry = whole.entry;
        self.draft.report.change(entry, "each of its texts is a question");
        let key = whole.keys.first().cloned().unwrap_or_default();
        for (at, part) in element.list("items").iter().take(ITEMS_MAX).enumerate() {
            let part = Fields::new(part);
            let name = part.text("name").unwrap_or_else(|| (at + 1).to_string());
            let title = field(&part, "title").unwrap_or_else(|| Text::plain(name.clone()));
            let mut item = Item::new(entry, format!("{key}.{name}"), title);
            item.help = whole.help.clone().filter(|_| at == 0);
            item.required = whole.required || part.flag("isRequired");
            item.section = whole.section;
            item.visible_if.clone_from(&whole.visible_if);
            match self.text_kind(&part, entry) {
                Ok(kind) => {
                    item.kind = Some(kind);
                    self.validators(&part, &mut item);
                }
                Err(reason) => self.draft.report.change(entry, reason),
            }
            self.draft.omit(&part, LOOK);
            self.draft.leftover(entry, &part);
            self.draft.push(item);
        }
        self.draft.omit(element, LOOK);
        self.draft.leftover(entry, element);
    }

    fn endings(&mut self, survey: &Fields<'_>) {
        let body = text(survey.get("completedHtml"), Style::Html);
        let redirect = survey.text("navigateToUrl");
        if body.is_some() || redirect.is_some() {
            let entry = self.draft.report.add("/completedHtml", "completed page");
            let (key, title) = (String::new(), None);
            self.draft.endings.push(Ending {
                entry,
                key,
                title,
                body,
                redirect,
                when: None,
                is_default: true,
            });
        }
        for (list, name) in
            [("completedHtmlOnCondition", "html"), ("navigateToUrlOnCondition", "url")]
        {
            for (at, item) in survey.list(list).iter().take(ITEMS_MAX).enumerate() {
                let item = Fields::new(item);
                let expression = item.text("expression").unwrap_or_default();
                let element = format!("completed page if {}", quoted(&expression));
                let entry = self.draft.report.add(format!("/{list}/{at}"), element);
                let body = text(item.get("html"), Style::Html);
                self.draft.endings.push(Ending {
                    entry,
                    key: format!("{name}{}", at + 1),
                    title: None,
                    body,
                    redirect: item.text("url"),
                    when: Some(condition(&expression)),
                    is_default: false,
                });
            }
        }
    }

    fn trigger(&mut self, trigger: &Fields<'_>, place: &str) {
        let kind = trigger.text("type").unwrap_or_default();
        let expression = trigger.text("expression").or_else(|| old_expression(trigger));
        let expression = expression.unwrap_or_default();
        let element = format!("trigger {} ({kind})", quoted(&expression));
        let entry = self.draft.report.add(place, element);
        let to = match kind.trim_end_matches("trigger") {
            "complete" => JumpTarget::End,
            "skip" => JumpTarget::Named(trigger.text("gotoName").unwrap_or_default()),
            _ => return self.draft.report.lost(entry, "Sluice does not set answers"),
        };
        let when = condition(&expression);
        if let Cond::Unsupported(reason) = when {
            return self.draft.report.lost(entry, reason);
        }
        let read = when.keys().into_iter().filter_map(|key| self.draft.position(key)).max();
        match read.and_then(|at| self.draft.items.get_mut(at)) {
            Some(item) => item.jumps.push(Jump { entry, when: Some(when), to }),
            None => self.draft.report.lost(entry, "its condition reads no question"),
        }
    }
}
