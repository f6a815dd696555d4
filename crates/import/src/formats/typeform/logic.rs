//! The rules of a form: jumps, and points for options.

use serde_json::Value;

use crate::condition::{Cond, Test};
use crate::draft::{Draft, ITEMS_MAX, Jump, JumpTarget};
use crate::fields::{Fields, scalar};
use crate::report::{EntryId, quoted};

pub(super) fn read(draft: &mut Draft, rules: &Value, place: &str) {
    let rules = Fields::new(rules);
    let source = rules.text("ref").unwrap_or_default();
    for (at, action) in rules.list("actions").iter().take(ITEMS_MAX).enumerate() {
        let place = format!("{place}/actions/{at}");
        let action = Fields::new(action);
        let name = action.text("action").unwrap_or_default();
        let element = format!("rule of {} ({name})", quoted(&source));
        let entry = draft.report.add(place, element);
        if rules.text("type").as_deref() == Some("hidden") {
            draft.report.lost(entry, "a rule about hidden fields: Sluice reads answers only");
        } else if let Err(reason) = rule(draft, &action, &name, &source, entry) {
            draft.report.lost(entry, reason);
        }
    }
}

fn rule(
    draft: &mut Draft,
    action: &Fields<'_>,
    name: &str,
    source: &str,
    entry: EntryId,
) -> Result<(), String> {
    let details = action.fields("details");
    let condition = action.get("condition");
    let when = (condition["op"] != "always").then(|| cond(condition));
    if name != "jump" {
        return points(draft, name, &details, when);
    }
    let to = details.fields("to").text("value").ok_or("it leads nowhere")?;
    let at = draft.position(source).ok_or("the question that it follows does not exist")?;
    // A rule of a group follows the last question of it.
    let section = draft.sections.iter().position(|section| section.key == source);
    let last = section.and_then(|it| draft.items.iter().rposition(|item| item.section == Some(it)));
    let at = last.unwrap_or(at);
    draft.items[at].jumps.push(Jump { entry, when, to: JumpTarget::Named(to) });
    Ok(())
}

/// Points for an option are its score.
fn points(
    draft: &mut Draft,
    name: &str,
    details: &Fields<'_>,
    when: Option<Cond>,
) -> Result<(), String> {
    let target = details.fields("target").text("value").unwrap_or_default();
    let points = details.fields("value").number("value");
    let sign = match (target.as_str(), name) {
        ("score", "add") => 1.0,
        ("score", "subtract") => -1.0,
        _ => {
            return Err("of calculations, only points of the score for an option are mapped".into());
        }
    };
    let points = points.ok_or("the number of points is not fixed")?;
    let choices = match when {
        Some(Cond::Answer { key, test: Test::Is(choice), .. }) => vec![(key, choice)],
        Some(Cond::Any(all)) => {
            let one = |cond| match cond {
                Cond::Answer { key, test: Test::Is(choice), .. } => Some((key, choice)),
                _ => None,
            };
            all.into_iter().map(one).collect::<Option<_>>().unwrap_or_default()
        }
        _ => Vec::new(),
    };
    if choices.is_empty() {
        return Err("points are mapped if they are for options of one question".to_owned());
    }
    match choices.iter().all(|(key, choice)| draft.add_score(key, choice, sign * points)) {
        true => Ok(()),
        false => Err("points are mapped for options of a choice only".to_owned()),
    }
}

fn cond(value: &Value) -> Cond {
    let op = value["op"].as_str().unwrap_or_default();
    let vars = value["vars"].as_array().map(Vec::as_slice).unwrap_or_default();
    match op {
        "and" => return Cond::All(vars.iter().map(cond).collect()),
        "or" => return Cond::Any(vars.iter().map(cond).collect()),
        _ => {}
    }
    let is_subject =
        |var: &&Value| matches!(var["type"].as_str(), Some("field" | "variable" | "hidden"));
    let Some(subject) = vars.iter().find(is_subject) else {
        return Cond::unsupported("the condition reads no question");
    };
    let operand = vars.iter().find(|var| !is_subject(var)).map(|var| &var["value"]);
    let operand = operand.and_then(scalar).unwrap_or_default();
    let key = subject["value"].as_str().unwrap_or_default();
    let about = |test: Test| match subject["type"].as_str() {
        Some("variable") if key == "score" => Cond::Score(test),
        Some("variable") => Cond::Unsupported(format!("it reads the variable {}", quoted(key))),
        _ => Cond::answer(key, test),
    };
    match op {
        "is" | "equal" | "on" => about(Test::Is(operand)),
        "is_not" | "not_equal" | "not_on" => about(Test::Is(operand)).not(),
        "lower_than" | "earlier_than" => about(Test::Less(operand)),
        "lower_equal_than" | "earlier_than_or_on" => about(Test::LessOrEqual(operand)),
        "greater_than" | "later_than" => about(Test::Greater(operand)),
        "greater_equal_than" | "later_than_or_on" => about(Test::GreaterOrEqual(operand)),
        "answered" => about(Test::Answered),
        op => Cond::Unsupported(format!("Sluice has no test {}", quoted(op))),
    }
}
