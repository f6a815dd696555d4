//! Formbricks: a survey as the Management API returns it, with `questions` or with `blocks`.
//!
//! Texts are objects by language (`default` first), may be HTML, and recall answers as
//! `#recall:id/fallback:text#`. Logic belongs to a question or a block and runs when it is left.

mod texts;

use serde_json::Value;

use self::texts::{text, with_default};
use super::looks::{any, read_json};
use crate::condition::{Cond, Test};
use crate::draft::{
    Choice, Draft, Ending, ITEMS_MAX, Item, Jump, JumpTarget, Kind, Options, Scale,
};
use crate::draft::{Section, Welcome};
use crate::fields::{Fields, scalar};
use crate::report::{EntryId, quoted};
use crate::text::Text;

/// The choice that is a free text.
const OTHER: &str = "other";
/// The choice that keeps its place.
const NONE: &str = "none";
/// Properties that only the server of a survey needs.
const TECHNICAL: &[&str] = &[
    "id",
    "createdAt",
    "updatedAt",
    "environmentId",
    "workspaceId",
    "createdBy",
    "status",
    "type",
];
/// Texts and settings that only say how a page looks.
const LOOK: &[&str] = &[
    "buttonLabel",
    "backButtonLabel",
    "placeholder",
    "otherOptionPlaceholder",
    "isColorCodingEnabled",
    "format",
    "timeToFinish",
    "showResponseCount",
];

pub(super) fn looks(bytes: &[u8]) -> bool {
    let value = read_json(bytes);
    let value = if value["data"].is_object() { &value["data"] } else { &value };
    any(value, "questions", |it| it.get("headline").is_some())
        || any(value, "blocks", |it| it["elements"].is_array())
}

pub(super) fn read(bytes: &[u8]) -> Result<Draft, String> {
    let value = with_default(crate::json(bytes)?);
    let value = if value["data"].is_object() { &value["data"] } else { &value };
    let survey = Fields::new(value);
    let has = |name: &str| value[name].as_array().is_some();
    if !has("questions") && !has("blocks") {
        return Err("is not a Formbricks survey: it has neither questions nor blocks".to_owned());
    }
    let mut draft =
        Draft { title: Text::plain(survey.text("name").unwrap_or_default()), ..Draft::default() };
    survey.skip(TECHNICAL);
    let languages = survey.list("languages").iter().map(Fields::new);
    let default = languages.into_iter().find(|language| language.flag("default"));
    let named = survey.text("defaultLanguage");
    draft.language = default.and_then(|it| it.fields("language").text("code")).or(named);
    hidden(&mut draft, &survey);
    welcome(&mut draft, &survey);
    endings(&mut draft, &survey);
    for (at, question) in survey.list("questions").iter().take(ITEMS_MAX).enumerate() {
        let fields = Fields::new(question);
        element(&mut draft, &fields, &format!("/questions/{at}"), None);
    }
    for (at, block) in survey.list("blocks").iter().take(ITEMS_MAX).enumerate() {
        self::block(&mut draft, &Fields::new(block), &format!("/blocks/{at}"));
    }
    for name in survey.unread() {
        let place = format!("/{name}");
        draft.lost(&place, format!("setting {name}"), "Sluice has no counterpart in a definition");
    }
    Ok(draft)
}

fn field(fields: &Fields<'_>, name: &str) -> Option<Text> {
    text(fields.get(name))
}

fn shown(text: Option<&Text>) -> String {
    quoted(&text.map(Text::shown).unwrap_or_default())
}

fn hidden(draft: &mut Draft, survey: &Fields<'_>) {
    let fields = survey.fields("hiddenFields");
    draft.hidden = fields.list("fieldIds").iter().filter_map(scalar).take(ITEMS_MAX).collect();
    for name in draft.hidden.clone() {
        let entry = draft.report.add("/hiddenFields", format!("hidden field {}", quoted(&name)));
        draft.report.change(entry, format!("is the tag {name}: send it as ?tags.{name}=…"));
    }
    for variable in survey.list("variables").iter().take(ITEMS_MAX).map(Fields::new) {
        let name = variable.text("name").unwrap_or_default();
        let element = format!("variable {}", quoted(&name));
        draft.lost("/variables", element, "Sluice has no variables");
    }
}

fn welcome(draft: &mut Draft, survey: &Fields<'_>) {
    let card = survey.fields("welcomeCard");
    if !card.flag("enabled") {
        return;
    }
    let title = field(&card, "headline");
    let entry = draft.report.add("/welcomeCard", format!("welcome card {}", shown(title.as_ref())));
    let body = field(&card, "html").or_else(|| field(&card, "subheader"));
    draft.welcome = Some(Welcome { entry, title, body, button: field(&card, "buttonLabel") });
    draft.omit(&card, &["timeToFinish", "showResponseCount"]);
    draft.leftover(entry, &card);
}

fn endings(draft: &mut Draft, survey: &Fields<'_>) {
    let old = survey.get("thankYouCard");
    let all = survey.list("endings").iter().take(ITEMS_MAX);
    let old = (old["enabled"] == true && survey.list("endings").is_empty()).then_some(old);
    for (at, ending) in all.chain(old).enumerate() {
        let ending = Fields::new(ending);
        let title = field(&ending, "headline");
        let label = title.clone().or_else(|| field(&ending, "label"));
        let element = format!("ending {}", shown(label.as_ref()));
        let entry = draft.report.add(format!("/endings/{at}"), element);
        ending.skip(&["type", "label", "enabled"]);
        let key = ending.text("id").unwrap_or_else(|| "end".to_owned());
        let redirect = ending.text("url");
        if redirect.is_none() && ending.has("buttonLink") {
            draft.report.change(entry, "the button with its link is not mapped");
        }
        ending.skip(&["buttonLabel", "buttonLink"]);
        draft.endings.push(Ending {
            entry,
            key,
            title,
            body: field(&ending, "subheader"),
            redirect,
            when: None,
            is_default: at == 0,
        });
        draft.leftover(entry, &ending);
    }
}

/// The elements of a block share a page; its logic follows the last of them.
fn block(draft: &mut Draft, block: &Fields<'_>, place: &str) {
    let name = block.text("name").unwrap_or_default();
    let entry = draft.report.add(place, format!("block {}", quoted(&name)));
    let key = block.text("id").unwrap_or_default();
    draft.mark(entry, key.clone());
    draft.sections.push(Section { entry, key, title: None });
    let section = Some(draft.sections.len() - 1);
    let first = draft.items.len();
    for (at, element) in block.list("elements").iter().take(ITEMS_MAX).enumerate() {
        let place = format!("{place}/elements/{at}");
        self::element(draft, &Fields::new(element), &place, section);
    }
    let last = (first..draft.items.len()).rev().find(|at| draft.items[*at].kind.is_some());
    logic(draft, block, place, last.or_else(|| draft.items.len().checked_sub(1)));
    block.skip(&["isDraft"]);
    draft.omit(block, LOOK);
    draft.leftover(entry, block);
}

fn element(draft: &mut Draft, element: &Fields<'_>, place: &str, section: Option<usize>) {
    let kind = element.text("type").unwrap_or_default();
    let headline = field(element, "headline");
    let title = headline.as_ref().map(Text::shown).unwrap_or_default();
    let entry = draft.question(place, &kind, &title);
    let key = element.text("id").unwrap_or_default();
    let mut item = Item::new(entry, key, headline.unwrap_or_default());
    item.help = field(element, "subheader").or_else(|| field(element, "html"));
    item.required = element.flag("required");
    item.section = section;
    element.skip(&["isDraft", "insightsEnabled"]);
    draft.omit(element, LOOK);
    if matches!(kind.as_str(), "address" | "contactInfo") {
        parts(draft, element, item, &kind);
    } else {
        match kind_of(draft, element, &kind, &mut item) {
            Ok(kind) => item.kind = Some(kind),
            Err(reason) => draft.report.lost(entry, reason),
        }
        draft.push(item);
    }
    let last = draft.items.len().checked_sub(1);
    logic(draft, element, place, last);
    draft.leftover(entry, element);
}

fn kind_of(
    draft: &mut Draft,
    element: &Fields<'_>,
    kind: &str,
    item: &mut Item,
) -> Result<Kind, String> {
    let entry = item.entry;
    let mut change = |change: &str| draft.report.change(entry, change);
    let scale = || Scale {
        low: field(element, "lowerLabel"),
        high: field(element, "upperLabel"),
        ..Scale::default()
    };
    Ok(match kind {
        "openText" => open_text(element),
        "multipleChoiceSingle" => {
            let dropdown = element.text("displayType").as_deref() == Some("dropdown");
            Kind::Single { options: options(element), dropdown }
        }
        "multipleChoiceMulti" => Kind::Multiple { options: options(element), min: None, max: None },
        "ranking" => Kind::Ranking(options(element)),
        "pictureSelection" => {
            change("images are not mapped: upload them to the app; the options are numbered");
            let options = Options { choices: pictures(element), ..Options::default() };
            match element.flag("allowMulti") {
                true => Kind::Multiple { options, min: None, max: None },
                false => Kind::Single { options, dropdown: false },
            }
        }
        "nps" => Kind::Nps(scale()),
        "rating" => {
            let shape = match element.text("scale").as_deref() {
                Some("star") => "star",
                Some("smiley") => "emoji",
                _ => "number",
            };
            Kind::Rating(Scale { max: element.count("range").unwrap_or(5), shape, ..scale() })
        }
        "consent" => {
            if let Some(label) = field(element, "label") {
                let headline = std::mem::replace(&mut item.prompt, label);
                item.help = Some(headline.joined(item.help.take().unwrap_or_default()));
                change("its label is the text, and its headline the help");
            }
            Kind::Consent
        }
        "cta" => {
            if element.has("buttonUrl") || element.flag("buttonExternal") {
                change("the button with its link is not mapped");
            }
            element.skip(&["buttonUrl", "buttonExternal", "ctaButtonLabel", "dismissButtonLabel"]);
            Kind::Statement
        }
        "date" => Kind::Date { min: None, max: None },
        "matrix" => {
            if !matches!(element.text("shuffleOption").as_deref(), None | Some("none")) {
                change("rows are shown in their order");
            }
            Kind::Matrix {
                rows: choices(element.list("rows")),
                columns: choices(element.list("columns")),
            }
        }
        "fileUpload" => return Err("Sluice does not accept files".to_owned()),
        _ => return Err("Sluice has no such question type".to_owned()),
    })
}

fn open_text(element: &Fields<'_>) -> Kind {
    let limit = element.fields("charLimit");
    let limit = |name: &str| limit.count(name).filter(|_| limit.flag("enabled"));
    let (min, max) = (limit("min"), limit("max"));
    match (element.text("inputType").as_deref(), element.flag("longAnswer")) {
        (Some("email"), _) => Kind::text("email"),
        (Some("url"), _) => Kind::text("url"),
        (Some("phone"), _) => Kind::text("phone"),
        (Some("number"), _) => Kind::Number { min: None, max: None, integer: false },
        (_, false) => Kind::Text { name: "shortText", min, max },
        (_, true) => Kind::Text { name: "longText", min, max },
    }
}

/// Choices, rows or columns: objects with an id, or only texts.
fn choices(list: &[Value]) -> Vec<Choice> {
    let choice = |value: &Value| {
        let label = match value.get("label") {
            Some(label) => text(label),
            None => text(value),
        };
        let label = label.unwrap_or_default();
        let names = [Some(label.shown()), value["id"].as_str().map(str::to_owned)];
        Choice { keys: names.into_iter().flatten().collect(), label, ..Choice::default() }
    };
    list.iter().map(choice).collect()
}

fn options(element: &Fields<'_>) -> Options {
    let list = element.list("choices");
    let own = |value: &&Value| value["id"] != OTHER;
    let own: Vec<Value> = list.iter().filter(own).cloned().collect();
    let mut choices = choices(&own);
    let shuffle = element.text("shuffleOption").unwrap_or_default();
    for choice in &mut choices {
        choice.fixed = choice.keys.iter().any(|key| key == NONE);
    }
    if shuffle == "exceptLast"
        && own.len() == list.len()
        && let Some(last) = choices.last_mut()
    {
        last.fixed = true;
    }
    let random = matches!(shuffle.as_str(), "all" | "exceptLast");
    Options { choices, other: own.len() < list.len(), random }
}

fn pictures(element: &Fields<'_>) -> Vec<Choice> {
    let numbered = element.list("choices").iter().enumerate().map(|(at, choice)| {
        let label = format!("Picture {}", at + 1);
        let names = [Some(label.clone()), choice["id"].as_str().map(str::to_owned)];
        Choice {
            keys: names.into_iter().flatten().collect(),
            label: Text::plain(label),
            ..Choice::default()
        }
    });
    numbered.collect()
}

/// An address or a contact: one question for each part that is shown.
fn parts(draft: &mut Draft, element: &Fields<'_>, whole: Item, kind: &str) {
    const PARTS: [(&str, &str, &str); 11] = [
        ("addressLine1", "shortText", "Address line 1"),
        ("addressLine2", "shortText", "Address line 2"),
        ("city", "shortText", "City"),
        ("state", "shortText", "State"),
        ("zip", "shortText", "Postal code"),
        ("country", "shortText", "Country"),
        ("firstName", "shortText", "First name"),
        ("lastName", "shortText", "Last name"),
        ("email", "email", "E-mail address"),
        ("phone", "phone", "Telephone number"),
        ("company", "shortText", "Company"),
    ];
    let entry = whole.entry;
    draft.report.change(entry, format!("each part of the {kind} is a question"));
    let section = whole.section.unwrap_or_else(|| {
        let key = whole.keys.first().cloned().unwrap_or_default();
        draft.sections.push(Section { entry, key, title: None });
        draft.sections.len() - 1
    });
    let mut intro = Item { kind: Some(Kind::Statement), section: Some(section), ..whole };
    intro.required = false;
    let key = intro.keys.first().cloned().unwrap_or_default();
    draft.push(intro);
    for (name, kind, label) in PARTS {
        let part = element.fields(name);
        if !part.flag("show") {
            continue;
        }
        let prompt = field(&part, "placeholder").unwrap_or_else(|| Text::plain(label));
        let mut item = Item::new(entry, format!("{key}_{name}"), prompt).kind(Kind::text(kind));
        item.required = part.flag("required");
        item.section = Some(section);
        draft.push(item);
    }
}

/// The rules of a question or block, as jumps of its last question.
fn logic(draft: &mut Draft, owner: &Fields<'_>, place: &str, at: Option<usize>) {
    for (number, rule) in owner.list("logic").iter().take(ITEMS_MAX).enumerate() {
        let place = format!("{place}/logic/{number}");
        let rule = Fields::new(rule);
        if let Some(target) = rule.text("destination") {
            let entry = draft.report.add(place, format!("rule to {}", quoted(&target)));
            let key = owner.text("id").unwrap_or_default();
            jump(draft, at, entry, Some(simple(&rule, &key)), &target);
            continue;
        }
        let when = cond(rule.get("conditions"));
        for action in rule.list("actions").iter().take(ITEMS_MAX).map(Fields::new) {
            let objective = action.text("objective").unwrap_or_default();
            let target = action.text("target").unwrap_or_default();
            let entry = draft.report.add(place.clone(), format!("rule ({objective})"));
            match objective.as_str() {
                "jumpToQuestion" | "jumpToBlock" => {
                    jump(draft, at, entry, Some(when.clone()), &target);
                }
                "calculate" => draft.report.lost(entry, "Sluice has no variables"),
                _ => draft.report.lost(entry, "Sluice has no such action"),
            }
        }
    }
    if let Some(target) = owner.text("logicFallback") {
        let element = format!("jump to {} if no rule applies", quoted(&target));
        let entry = draft.report.add(format!("{place}/logicFallback"), element);
        jump(draft, at, entry, None, &target);
    }
}

fn jump(draft: &mut Draft, at: Option<usize>, entry: EntryId, when: Option<Cond>, target: &str) {
    let to = match target {
        "end" => JumpTarget::End,
        target => JumpTarget::Named(target.to_owned()),
    };
    match at.and_then(|at| draft.items.get_mut(at)) {
        Some(item) => item.jumps.push(Jump { entry, when, to }),
        None => draft.report.lost(entry, "there is no question before it"),
    }
}

/// The rules of older surveys: one comparison with the question's own answer.
fn simple(rule: &Fields<'_>, key: &str) -> Cond {
    let value = rule.get("value");
    let operator = rule.text("condition").unwrap_or_default();
    let operator = match operator.as_str() {
        "submitted" => "isSubmitted",
        "skipped" => "isSkipped",
        "accepted" => "isAccepted",
        "notEquals" => "doesNotEqual",
        "lessThan" => "isLessThan",
        "lessEqual" => "isLessThanOrEqual",
        "greaterThan" => "isGreaterThan",
        "greaterEqual" => "isGreaterThanOrEqual",
        "includesAll" => "includesAllOf",
        "includesOne" => "includesOneOf",
        other => other,
    };
    test(key, operator, value)
}

fn cond(value: &Value) -> Cond {
    if let Some(connector) = value["connector"].as_str() {
        let all = value["conditions"].as_array().into_iter().flatten().map(cond).collect();
        return if connector == "or" { Cond::Any(all) } else { Cond::All(all) };
    }
    let left = &value["leftOperand"];
    let key = left["value"].as_str().unwrap_or_default();
    match left["type"].as_str() {
        Some("question" | "element") => {}
        Some(kind) => {
            return Cond::Unsupported(format!("it reads a {kind}; conditions read answers only"));
        }
        None => return Cond::unsupported("the condition reads no question"),
    }
    let right = &value["rightOperand"];
    if matches!(right["type"].as_str(), Some(kind) if kind != "static") {
        return Cond::unsupported("Sluice compares an answer with a fixed value");
    }
    test(key, value["operator"].as_str().unwrap_or_default(), &right["value"])
}

fn test(key: &str, operator: &str, value: &Value) -> Cond {
    // The row of a matrix follows the id of its question.
    let (key, row) = match key.split_once('.') {
        Some((key, row)) => (key, Some(row.to_owned())),
        None => (key, None),
    };
    let is = |test: Test| Cond::Answer { key: key.to_owned(), row: row.clone(), test };
    let one = || scalar(value).or_else(|| scalar(value.get(0)?)).unwrap_or_default();
    let all = || -> Vec<String> {
        let list = value.as_array().map(Vec::as_slice).unwrap_or(std::slice::from_ref(value));
        list.iter().filter_map(scalar).collect()
    };
    match operator {
        "equals" => is(Test::Is(one())),
        "doesNotEqual" => is(Test::Is(one())).not(),
        "equalsOneOf" | "includesOneOf" => is(Test::OneOf(all())),
        "includesAllOf" => is(Test::AllOf(all())),
        "doesNotIncludeOneOf" | "doesNotIncludeAllOf" => is(Test::OneOf(all())).not(),
        "isSubmitted" | "isClicked" | "isCompletelySubmitted" | "isSet" | "isNotEmpty" => {
            is(Test::Answered)
        }
        "isSkipped" | "isEmpty" | "isNotSet" => is(Test::Answered).not(),
        "isAccepted" => is(Test::Answered),
        "isLessThan" | "isBefore" => is(Test::Less(one())),
        "isLessThanOrEqual" => is(Test::LessOrEqual(one())),
        "isGreaterThan" | "isAfter" => is(Test::Greater(one())),
        "isGreaterThanOrEqual" => is(Test::GreaterOrEqual(one())),
        operator => Cond::Unsupported(format!("Sluice has no test {}", quoted(operator))),
    }
}
