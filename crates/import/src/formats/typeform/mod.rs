//! Typeform: a form as `GET /forms/{id}` of the Create API returns it.
//!
//! Logic is a list of rules per field: jumps, which are `next` here, and calculations, of which
//! points for an option are its score.

mod logic;

use serde_json::Value;

use super::looks::{any, is_text, read_json};
use crate::draft::{Choice, Draft, Ending, ITEMS_MAX, Item, Kind, Options, Scale};
use crate::draft::{Section, Welcome};
use crate::fields::{Fields, scalar};
use crate::report::quoted;
use crate::text::{Piece, Style, Text, split};

/// The screen that Typeform shows if a form defines none.
const DEFAULT_SCREEN: &str = "default_tys";
/// Properties of a field that say how it looks.
const LOOK: &[&str] = &[
    "hide_marks",
    "vertical_alignment",
    "structure",
    "separator",
    "supersized",
    "show_labels",
    "default_country_code",
    "button_text",
];

pub(super) fn looks(bytes: &[u8]) -> bool {
    any(&read_json(bytes), "fields", |it| is_text(it, "type") && is_text(it, "title"))
}

pub(super) fn read(bytes: &[u8]) -> Result<Draft, String> {
    let value = crate::json(bytes)?;
    let form = Fields::new(&value);
    if form.get("fields").as_array().is_none() {
        return Err("is not a Typeform: it has no list of fields".to_owned());
    }
    let mut draft =
        Draft { title: text(&form.text("title").unwrap_or_default()), ..Draft::default() };
    let hidden = form.list("hidden").iter().filter_map(scalar);
    draft.hidden = hidden.take(ITEMS_MAX).collect();
    for name in draft.hidden.clone() {
        let entry = draft.report.add("/hidden", format!("hidden field {}", quoted(&name)));
        draft.report.change(entry, format!("is the tag {name}: send it as ?tags.{name}=…"));
    }
    form.skip(&["id", "type", "_links", "created_at", "last_updated_at", "published_at", "self"]);
    welcome(&mut draft, form.list("welcome_screens"));
    fields(&mut draft, form.list("fields"), "/fields", None);
    endings(&mut draft, form.list("thankyou_screens"));
    settings(&mut draft, &form);
    for (at, rules) in form.list("logic").iter().take(ITEMS_MAX).enumerate() {
        logic::read(&mut draft, rules, &format!("/logic/{at}"));
    }
    for name in form.unread() {
        draft.lost(&format!("/{name}"), format!("setting {name}"), "Sluice has no counterpart");
    }
    Ok(draft)
}

/// Titles have `*bold*` and `_italic_`, and recall answers as `{{field:ref}}`.
fn text(source: &str) -> Text {
    let words = split(source, "{{", "}}", |inner| match inner.split_once(':') {
        Some(("field" | "hidden", key)) => {
            Some(Piece::Recall { key: key.to_owned(), fallback: String::new() })
        }
        Some(("var", "score")) => Some(Piece::Score),
        Some(("var", key)) => Some(Piece::Recall { key: key.to_owned(), fallback: String::new() }),
        _ => None,
    });
    let bold = |piece: Piece| match piece {
        Piece::Words(words) if !words.contains("**") => Piece::Words(words.replace('*', "**")),
        piece => piece,
    };
    Text::new(Style::Markdown, words.into_iter().map(bold).collect())
}

fn optional(fields: &Fields<'_>, name: &str) -> Option<Text> {
    fields.text(name).map(|it| text(&it))
}

fn welcome(draft: &mut Draft, screens: &[Value]) {
    for (at, screen) in screens.iter().take(ITEMS_MAX).enumerate() {
        let place = format!("/welcome_screens/{at}");
        let screen = Fields::new(screen);
        let title = screen.text("title").unwrap_or_default();
        if at > 0 {
            let element = format!("welcome screen {}", quoted(&title));
            draft.lost(&place, element, "a flow has one welcome screen");
            continue;
        }
        let entry = draft.report.add(place, format!("welcome screen {}", quoted(&title)));
        let properties = screen.fields("properties");
        screen.skip(&["ref", "id"]);
        draft.omit(&screen, &["layout"]);
        properties.skip(&["show_button"]);
        draft.welcome = Some(Welcome {
            entry,
            title: optional(&screen, "title"),
            body: optional(&properties, "description"),
            button: properties.text("button_text").map(Text::plain),
        });
        draft.leftover(entry, &screen);
        draft.leftover(entry, &properties);
    }
}

fn fields(draft: &mut Draft, list: &[Value], place: &str, section: Option<usize>) {
    for (at, field) in list.iter().take(ITEMS_MAX).enumerate() {
        let place = format!("{place}/{at}");
        let field = Fields::new(field);
        let kind = field.text("type").unwrap_or_default();
        match kind.as_str() {
            "group" | "inline_group" | "contact_info" | "address" => {
                group(draft, &field, &kind, &place, section);
            }
            _ => question(draft, &field, &kind, &place, section),
        }
    }
}

fn group(draft: &mut Draft, field: &Fields<'_>, kind: &str, place: &str, outer: Option<usize>) {
    let title = field.text("title").unwrap_or_default();
    let entry = draft.report.add(place, format!("group {} ({kind})", quoted(&title)));
    let properties = field.fields("properties");
    let key = field.text("ref").or_else(|| field.text("id")).unwrap_or_default();
    field.skip(&["id", "ref"]);
    draft.omit(field, &["layout"]);
    draft.omit(&properties, &["button_text"]);
    properties.skip(&["show_button"]);
    draft.mark(entry, key.clone());
    let section = match outer {
        Some(outer) => {
            draft.report.change(entry, "is part of the section around it");
            outer
        }
        None => {
            draft.sections.push(Section { entry, key, title: optional(field, "title") });
            draft.sections.len() - 1
        }
    };
    if let Some(description) = optional(&properties, "description") {
        draft.report.change(entry, "its description is a statement");
        let mut item = Item::new(entry, "", description).kind(Kind::Statement);
        item.section = Some(section);
        draft.push(item);
    }
    let required = Fields::new(field.get("validations")).flag("required");
    let first = draft.items.len();
    let inner = format!("{place}/properties/fields");
    fields(draft, properties.list("fields"), &inner, Some(section));
    if draft.items.len() == first {
        draft.report.lost(entry, "it has no questions");
    }
    if required {
        draft.report.change(entry, "its questions are required as they say themselves");
    }
    draft.leftover(entry, field);
    draft.leftover(entry, &properties);
}

fn question(
    draft: &mut Draft,
    field: &Fields<'_>,
    kind: &str,
    place: &str,
    section: Option<usize>,
) {
    let title = field.text("title").unwrap_or_default();
    let entry = draft.question(place, kind, &title);
    let properties = field.fields("properties");
    let validations = field.fields("validations");
    let key = field.text("ref").or_else(|| field.text("id")).unwrap_or_default();
    let mut item = Item::new(entry, key, text(&title));
    item.keys.extend(field.text("id"));
    field.skip(&["ref", "id"]);
    draft.omit(field, &["layout"]);
    draft.omit(&properties, LOOK);
    item.help = optional(&properties, "description");
    item.required = validations.flag("required");
    item.section = section;
    match kind_of(kind, &properties, &validations) {
        Ok((kind, changes)) => {
            item.kind = Some(kind);
            changes.into_iter().for_each(|change| draft.report.change(entry, change));
            draft.leftover(entry, field);
            draft.leftover(entry, &properties);
            draft.leftover(entry, &validations);
        }
        Err(reason) => draft.report.lost(entry, reason),
    }
    draft.push(item);
}

type Mapped = Result<(Kind, Vec<String>), String>;

fn kind_of(kind: &str, properties: &Fields<'_>, validations: &Fields<'_>) -> Mapped {
    let mut changes = Vec::new();
    let length = validations.count("max_length");
    let kind = match kind {
        "short_text" => Kind::Text { name: "shortText", min: None, max: length },
        "long_text" => Kind::Text { name: "longText", min: None, max: length },
        "email" => Kind::text("email"),
        "website" => Kind::text("url"),
        "phone_number" => Kind::text("phone"),
        "number" => {
            let (min, max) = (validations.number("min_value"), validations.number("max_value"));
            Kind::Number { min, max, integer: false }
        }
        "date" => Kind::Date { min: None, max: None },
        "yes_no" => Kind::YesNo,
        "legal" => {
            changes.push("“I don't accept” is an unanswered question".to_owned());
            Kind::Consent
        }
        "statement" => Kind::Statement,
        "multiple_choice" | "picture_choice" | "dropdown" | "ranking" => {
            return Ok((choice(kind, properties, validations, &mut changes), changes));
        }
        "rating" | "opinion_scale" | "nps" => scale(kind, properties, &mut changes),
        "matrix" => matrix(properties, &mut changes),
        "file_upload" => return Err("Sluice does not accept files".to_owned()),
        "payment" => return Err("Sluice does not accept payments".to_owned()),
        _ => return Err("Sluice has no such question type".to_owned()),
    };
    Ok((kind, changes))
}

fn choices(list: &[Value], changes: &mut Vec<String>) -> Vec<Choice> {
    let mut has_image = false;
    let all = list.iter().map(|choice| {
        let fields = Fields::new(choice);
        let label = fields.text("label").unwrap_or_default();
        // An id made of the label says more than one made of a random reference.
        let names = [Some(label.clone()), fields.text("ref"), fields.text("id")];
        has_image |= fields.has("attachment");
        Choice {
            keys: names.into_iter().flatten().collect(),
            label: Text::plain(label),
            ..Choice::default()
        }
    });
    let all: Vec<Choice> = all.collect();
    if has_image {
        changes.push("images of options are not mapped: upload them to the app".to_owned());
    }
    all
}

fn choice(
    kind: &str,
    properties: &Fields<'_>,
    validations: &Fields<'_>,
    changes: &mut Vec<String>,
) -> Kind {
    let mut options = Options {
        choices: choices(properties.list("choices"), changes),
        other: properties.flag("allow_other_choice"),
        random: properties.flag("randomize"),
    };
    if properties.flag("alphabetical_order") {
        options.choices.sort_by_key(|choice| choice.label.shown().to_lowercase());
    }
    let several = properties.flag("allow_multiple_selection");
    match kind {
        "ranking" => Kind::Ranking(options),
        "dropdown" => Kind::Single { options, dropdown: true },
        _ if several => {
            let count = |name| validations.count(name);
            let (min, max) = (count("min_selection"), count("max_selection"));
            Kind::Multiple { options, min, max }
        }
        _ => Kind::Single { options, dropdown: false },
    }
}

fn scale(kind: &str, properties: &Fields<'_>, changes: &mut Vec<String>) -> Kind {
    let labels = properties.fields("labels");
    let label = |name: &str| labels.text(name).map(Text::plain);
    if labels.has("center") {
        changes.push("the label in the middle is not mapped".to_owned());
    }
    let steps = properties.count("steps");
    let from_one = properties.flag("start_at_one");
    let shape = properties.text("shape").unwrap_or_else(|| "star".to_owned());
    let mut scale = Scale { low: label("left"), high: label("right"), ..Scale::default() };
    if kind == "nps" {
        return Kind::Nps(scale);
    }
    if kind == "rating" {
        scale.max = steps.unwrap_or(5);
        scale.shape = "star";
        if shape != "star" {
            changes.push(format!("the shape {} is a star", quoted(&shape)));
        }
        return Kind::Rating(scale);
    }
    scale.shape = "number";
    scale.max = steps.unwrap_or(11);
    match (from_one, scale.max) {
        (false, 11) => {
            changes.push("is a net promoter score, the scale of Sluice from 0 to 10".to_owned());
            Kind::Nps(scale)
        }
        (false, 0..=10) => {
            changes.push(format!("runs from 1 to {} instead of from 0", scale.max));
            scale.shift = 1.0;
            Kind::Rating(scale)
        }
        (true, 0..=10) => Kind::Rating(scale),
        (_, steps) => {
            changes.push("is a number: a rating has at most 10 steps".to_owned());
            let min = if from_one { 1.0 } else { 0.0 };
            Kind::Number { min: Some(min), max: Some(min + f64::from(steps) - 1.0), integer: true }
        }
    }
}

/// The rows are fields; each repeats the columns as its choices.
fn matrix(properties: &Fields<'_>, changes: &mut Vec<String>) -> Kind {
    let (mut rows, mut columns) = (Vec::new(), Vec::new());
    for row in properties.list("fields") {
        let row = Fields::new(row);
        let label = row.text("title").unwrap_or_default();
        let names = [Some(label.clone()), row.text("ref"), row.text("id")];
        let keys = names.into_iter().flatten().collect();
        rows.push(Choice { keys, label: Text::plain(label), ..Choice::default() });
        let inner = row.fields("properties");
        if columns.is_empty() {
            columns = choices(inner.list("choices"), changes);
        }
        if inner.flag("allow_multiple_selection") {
            changes.push("takes one answer for each row".to_owned());
        }
    }
    Kind::Matrix { rows, columns }
}

fn endings(draft: &mut Draft, screens: &[Value]) {
    let screens: Vec<Fields<'_>> = screens.iter().take(ITEMS_MAX).map(Fields::new).collect();
    let is_own = |screen: &Fields<'_>| screen.text("ref").as_deref() != Some(DEFAULT_SCREEN);
    let default = screens.iter().position(is_own).unwrap_or_default();
    for (at, screen) in screens.iter().enumerate() {
        let place = format!("/thankyou_screens/{at}");
        let title = screen.text("title").unwrap_or_default();
        let key = screen.text("ref").or_else(|| screen.text("id")).unwrap_or_default();
        let entry = draft.report.add(place, format!("ending {}", quoted(&title)));
        let properties = screen.fields("properties");
        screen.skip(&["id", "ref"]);
        draft.omit(screen, &["layout"]);
        let is_redirect = screen.text("type").as_deref() == Some("url_redirect");
        let mode = properties.text("button_mode").unwrap_or_default();
        let mut redirect = properties.text("redirect_url");
        if redirect.is_some() && !is_redirect {
            if matches!(mode.as_str(), "redirect" | "default_redirect") {
                draft.report.change(entry, "redirects at once, not by a button");
            } else {
                redirect = None;
            }
        }
        if properties.flag("show_button") && redirect.is_none() && is_own(screen) {
            draft.report.change(entry, "the button is not mapped");
        }
        properties.skip(&["button_text"]);
        draft.endings.push(Ending {
            entry,
            key,
            title: optional(screen, "title").filter(|_| !is_redirect),
            body: optional(&properties, "description"),
            redirect,
            when: None,
            is_default: at == default,
        });
        draft.leftover(entry, screen);
        draft.leftover(entry, &properties);
    }
}

fn settings(draft: &mut Draft, form: &Fields<'_>) {
    let settings = form.fields("settings");
    draft.language = settings.text("language").or_else(|| form.text("language"));
    form.skip(&["language"]);
    if let Some(address) = settings.text("redirect_after_submit_url") {
        let entry = draft.report.add("/settings/redirect_after_submit_url", "redirect");
        match draft.endings.iter_mut().find(|ending| ending.is_default) {
            Some(Ending { redirect: Some(_), .. }) => {
                draft.report.lost(entry, "the ending redirects elsewhere");
            }
            Some(ending) => ending.redirect = Some(address),
            None => draft.endings.push(Ending {
                entry,
                key: String::new(),
                title: None,
                body: None,
                redirect: Some(address),
                when: None,
                is_default: true,
            }),
        }
    }
    draft.omit(&settings, &["progress_bar", "show_progress_bar", "show_typeform_branding"]);
    settings.skip(&["is_public"]);
    for name in settings.unread() {
        let place = format!("/settings/{name}");
        draft.lost(&place, format!("setting {name}"), "Sluice has no counterpart in a definition");
    }
    for (name, reason) in [
        ("theme", "the design of a flow is set in the console"),
        ("workspace", "choose the app with --app"),
    ] {
        if form.has(name) {
            form.skip(&[name]);
            draft.lost(&format!("/{name}"), name, reason);
        }
    }
    // The score starts at 0 in Sluice as well.
    form.skip(&["variables"]);
}
