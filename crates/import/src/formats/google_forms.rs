//! Google Forms: the items of a form as the script in `docs/import/google-forms.md` writes them.
//!
//! A page break starts a page, which is a section. Navigation happens when a page is left, so the
//! rules of its questions are jumps of the last question of the page.

use serde_json::Value;

use super::looks::{any, is_text, read_json};
use crate::condition::{Cond, Test};
use crate::draft::{
    Choice, Draft, Ending, ITEMS_MAX, Item, Jump, JumpTarget, Kind, Options, Scale, Section,
};
use crate::fields::{Fields, scalar};
use crate::report::{EntryId, quoted};
use crate::text::Text;

pub(super) fn looks(bytes: &[u8]) -> bool {
    any(&read_json(bytes), "items", |it| is_text(it, "type") && is_text(it, "title"))
}

pub(super) fn read(bytes: &[u8]) -> Result<Draft, String> {
    let value = crate::json(bytes)?;
    let form = Fields::new(&value);
    if value["items"].as_array().is_none() {
        return Err("is not a form of the Google Forms script: it has no list of items".to_owned());
    }
    let title = form.text("title").unwrap_or_default();
    let draft = Draft {
        title: Text::plain(title),
        description: form.text("description").map(Text::plain),
        language: form.text("language"),
        ..Draft::default()
    };
    let mut reader = GoogleFormsReader {
        draft,
        section: None,
        is_quiz: form.flag("isQuiz"),
        waiting: Vec::new(),
    };
    reader.email(&form);
    for (at, item) in form.list("items").iter().take(ITEMS_MAX).enumerate() {
        reader.item(&Fields::new(item), &format!("/items/{at}"));
    }
    reader.leave_page();
    reader.ending(&form);
    form.skip(&["id", "editUrl", "publishedUrl", "isPublished"]);
    for name in form.unread() {
        let place = format!("/{name}");
        reader.draft.lost(&place, format!("setting {name}"), "Sluice has no counterpart");
    }
    Ok(reader.draft)
}

struct GoogleFormsReader {
    draft: Draft,
    section: Option<usize>,
    is_quiz: bool,
    /// Rules that apply when the page is left.
    waiting: Vec<Jump>,
}

impl GoogleFormsReader {
    fn email(&mut self, form: &Fields<'_>) {
        if !form.flag("collectsEmail") {
            return;
        }
        let entry = self.draft.report.add("/collectsEmail", "setting “Collect email addresses”");
        self.draft.report.change(entry, "is a question");
        let prompt = Text::plain("Your e-mail address");
        let mut item = Item::new(entry, "email", prompt).kind(Kind::text("email"));
        item.required = true;
        self.draft.push(item);
    }

    fn item(&mut self, item: &Fields<'_>, place: &str) {
        let kind = item.text("type").unwrap_or_default();
        let title = item.text("title").unwrap_or_default();
        let id = item.text("id").unwrap_or_default();
        item.skip(&["index"]);
        if kind == "PAGE_BREAK" {
            return self.page(item, place, &title, id);
        }
        let entry = self.draft.question(place, &kind, &title);
        let mut question = Item::new(entry, format!("q{id}"), Text::plain(title));
        question.keys.push(id);
        question.help = item.text("helpText").map(Text::plain);
        question.required = item.flag("isRequired");
        question.section = self.section;
        match self.kind_of(item, &kind, entry, &question.keys[0]) {
            Ok(kind) => {
                question.kind = Some(kind);
                self.draft.leftover(entry, item);
            }
            Err(reason) => self.draft.report.lost(entry, reason),
        }
        self.draft.push(question);
    }

    fn kind_of(
        &mut self,
        item: &Fields<'_>,
        kind: &str,
        entry: EntryId,
        key: &str,
    ) -> Result<Kind, String> {
        let mut change = |change: &str| self.draft.report.change(entry, change);
        Ok(match kind {
            "TEXT" => {
                item.skip(&["points"]);
                Kind::text("shortText")
            }
            "PARAGRAPH_TEXT" => Kind::text("longText"),
            "MULTIPLE_CHOICE" | "LIST" => {
                let options = self.options(item, entry, key);
                Kind::Single { options, dropdown: kind == "LIST" }
            }
            "CHECKBOX" => {
                Kind::Multiple { options: self.options(item, entry, key), min: None, max: None }
            }
            "SCALE" => scale(item, &mut change),
            "RATING" => {
                if item.text("ratingIcon").is_some_and(|icon| icon != "STAR") {
                    change("its marks are stars");
                }
                let max = item.count("ratingScaleLevel").unwrap_or(5);
                Kind::Rating(Scale { max, shape: "star", ..Scale::default() })
            }
            "GRID" => Kind::Matrix {
                rows: texts(item.list("rows")),
                columns: texts(item.list("columns")),
            },
            "CHECKBOX_GRID" => {
                change("takes one answer for each row");
                Kind::Matrix {
                    rows: texts(item.list("rows")),
                    columns: texts(item.list("columns")),
                }
            }
            "DATE" => {
                item.skip(&["includesYear"]);
                Kind::Date { min: None, max: None }
            }
            "DATETIME" => {
                change("takes a date without a time");
                item.skip(&["includesYear"]);
                Kind::Date { min: None, max: None }
            }
            "TIME" | "DURATION" => {
                change("is a short text");
                Kind::text("shortText")
            }
            "SECTION_HEADER" => Kind::Statement,
            "IMAGE" | "VIDEO" => return Err("pictures and videos are not mapped".to_owned()),
            "FILE_UPLOAD" => return Err("Sluice does not accept files".to_owned()),
            _ => return Err("Sluice has no such question type".to_owned()),
        })
    }

    fn options(&mut self, item: &Fields<'_>, entry: EntryId, key: &str) -> Options {
        let list: Vec<Fields<'_>> =
            item.list("choices").iter().take(ITEMS_MAX).map(Fields::new).collect();
        let mut options = Options { other: item.flag("hasOtherOption"), ..Options::default() };
        let right = list.iter().filter(|choice| choice.flag("isCorrect")).count();
        let points = item.number("points").filter(|points| self.is_quiz && *points > 0.0);
        for choice in &list {
            let value = choice.text("value").unwrap_or_default();
            let mut mapped = Choice::new(value.clone(), Text::plain(value.clone()));
            if let Some(points) = points.filter(|_| right > 0) {
                let share = points / right as f64;
                mapped.score = Some(if choice.flag("isCorrect") { share } else { 0.0 });
            }
            options.choices.push(mapped);
            self.navigation(choice, entry, Some(Cond::answer(key, Test::Is(value))));
        }
        if right > 1 && points.is_some() {
            let change = "each right option adds its share; Google gives points for all together";
            self.draft.report.change(entry, change);
        }
        options
    }

    /// A choice or a page break that leads somewhere.
    fn navigation(&mut self, source: &Fields<'_>, entry: EntryId, when: Option<Cond>) {
        let to = match source.text("navigation").as_deref() {
            Some("SUBMIT") => JumpTarget::End,
            Some("RESTART") => {
                let change = "“Restart” is not mapped: jumps only lead forward";
                return self.draft.report.change(entry, change);
            }
            Some("GO_TO_PAGE") => JumpTarget::Named(source.text("goToPage").unwrap_or_default()),
            _ => return,
        };
        let value = source.text("value").unwrap_or_default();
        let element = match &when {
            Some(_) => format!("navigation of {}", quoted(&value)),
            None => "navigation after the page".to_owned(),
        };
        let entry = self.draft.report.add("", element);
        self.waiting.push(Jump { entry, when, to });
    }

    fn page(&mut self, item: &Fields<'_>, place: &str, title: &str, id: String) {
        let entry = self.draft.report.add(place, format!("page {}", quoted(title)));
        // The break says where the page before it leads.
        self.navigation(item, entry, None);
        self.leave_page();
        self.draft.mark(entry, id.clone());
        let title = (!title.is_empty()).then(|| Text::plain(title));
        self.draft.sections.push(Section { entry, key: format!("page{id}"), title });
        self.section = Some(self.draft.sections.len() - 1);
        if let Some(help) = item.text("helpText") {
            self.draft.report.change(entry, "its description is a statement");
            let mut text = Item::new(entry, "", Text::plain(help)).kind(Kind::Statement);
            text.section = self.section;
            self.draft.push(text);
        }
        self.draft.leftover(entry, item);
    }

    fn leave_page(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        let last = self.draft.items.iter().rposition(|item| item.kind.is_some());
        match last {
            Some(last) => self.draft.items[last].jumps.extend(waiting),
            None => {
                for jump in waiting {
                    self.draft.report.lost(jump.entry, "there is no question before it");
                }
            }
        }
    }

    fn ending(&mut self, form: &Fields<'_>) {
        let Some(message) = form.text("confirmationMessage") else { return };
        let entry = self.draft.report.add("/confirmationMessage", "confirmation message");
        self.draft.endings.push(Ending {
            entry,
            key: String::new(),
            title: None,
            body: Some(Text::plain(message)),
            redirect: None,
            when: None,
            is_default: true,
        });
    }
}

fn scale(item: &Fields<'_>, change: &mut impl FnMut(&str)) -> Kind {
    let low = item.number("lowerBound").unwrap_or(1.0);
    let high = item.number("upperBound").unwrap_or(5.0);
    let label = |name: &str| item.text(name).map(Text::plain);
    let mut scale = Scale {
        low: label("leftLabel"),
        high: label("rightLabel"),
        shape: "number",
        ..Scale::default()
    };
    if low == 0.0 && high == 10.0 {
        change("is a net promoter score, the scale of Sluice from 0 to 10");
        return Kind::Nps(scale);
    }
    scale.max = (high - low + 1.0).clamp(0.0, 100.0) as u32;
    scale.shift = 1.0 - low;
    if scale.shift != 0.0 {
        change("starts at 1");
    }
    Kind::Rating(scale)
}

fn texts(list: &[Value]) -> Vec<Choice> {
    list.iter()
        .filter_map(scalar)
        .map(|text| Choice::new(text.clone(), Text::plain(text)))
        .collect()
}
