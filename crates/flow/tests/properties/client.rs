//! A client that knows a version only by its served snapshot, and answers it.

use serde_json::{Map, Value, json};

/// How many characters beyond the minimum a generated text may have.
const TEXT_SPREAD: u64 = 20;
/// Longer texts are plain ASCII, so that they keep the limit in bytes too.
const WIDE_CHARS_MAX: u64 = 1000;

/// A submission to the version with this snapshot. `picks` decides for each question what is
/// answered; an optional question without a pick is left out.
pub(crate) fn submission(snapshot: &Value, picks: &[Option<u64>]) -> Value {
    let mut answers = Map::new();
    for (at, question) in questions(snapshot).iter().enumerate() {
        let pick = picks.get(at).copied().flatten();
        let required = question["required"] == true;
        let answer = pick.or(required.then_some(0)).and_then(|pick| answer(question, pick));
        if let Some(answer) = answer {
            answers.insert(id(question).to_owned(), answer);
        }
    }
    json!({
        "flowVersionId": snapshot["flowVersionId"],
        "flowVersionPayloadGeneration": snapshot["payloadGeneration"],
        "respondentAnalyticsAdmission": "admitted",
        "answers": answers,
        "identities": [
            {"type": "userId", "value": "user-1"}, {"type": "traits.email", "value": "ada@example.com"}
        ],
        "metadata": {"tags": {"plan": "pro", "regions": ["eu", "us"]}},
        "context": {
            "page": {"path": "/pricing", "referrer": "", "search": "?a=b"},
            "locale": snapshot["defaultLocale"],
            "userAgent": "Example/1.0",
        },
        "flowAssignmentId": "assignment-1",
    })
}

pub(crate) fn questions(snapshot: &Value) -> &[Value] {
    snapshot["questions"].as_array().map_or(&[], Vec::as_slice)
}

pub(crate) fn id(question: &Value) -> &str {
    question["id"].as_str().unwrap_or_default()
}

/// The ids in a list of options, rows or columns.
pub(crate) fn ids(choices: &Value) -> Vec<&str> {
    choices.as_array().into_iter().flatten().map(id).collect()
}

/// One of the answers that a question accepts; `None` if it takes none.
pub(crate) fn answer(question: &Value, pick: u64) -> Option<Value> {
    Some(match question["type"].as_str().unwrap_or_default() {
        "shortText" | "longText" => json!(text(length(question, 1, 16_384, pick))),
        "email" => json!(padded("@ab.example", length(question, 12, 60, pick))),
        "url" => {
            let path = text(length(question, 20, 2048, pick) - 20);
            json!(format!("https://example.com/{}", path.replace(|c: char| !c.is_ascii(), "x")))
        }
        "phone" => json!(
            "0123456789"
                .chars()
                .cycle()
                .take(chars(length(question, 3, 32, pick)))
                .collect::<String>()
        ),
        "number" => json!(number(question, pick)),
        "date" => json!(bound(question, "min").or(bound(question, "max")).unwrap_or("2024-02-29")),
        "singleChoice" | "dropdown" => json!(chosen(question, 1, pick)[0]),
        "multipleChoice" => {
            let most = question["maxSelected"].as_u64().unwrap_or(3);
            let fewest = question["minSelected"].as_u64().unwrap_or(1).max(1);
            let count = fewest + pick % (most.max(fewest) - fewest + 1);
            json!(chosen(question, chars(count), pick))
        }
        "ranking" => json!(rotated(ids(&question["options"]), pick)),
        "matrix" => {
            let columns = ids(&question["columns"]);
            let column = |at: usize| columns[(at + chars(pick)) % columns.len()];
            let rows = ids(&question["rows"]).into_iter().enumerate();
            json!(rows.map(|(at, row)| format!("{row}:{}", column(at))).collect::<Vec<_>>())
        }
        "rating" => json!((1 + pick % question["max"].as_u64().unwrap_or(5)).to_string()),
        "nps" => json!((pick % 11).to_string()),
        "yesNo" => json!(if pick.is_multiple_of(2) { "yes" } else { "no" }),
        "consent" => json!("accepted"),
        "statement" => return None,
        _ => example(question)?,
    })
}

/// The answer to a question of a type that is not handled above.
fn example(question: &Value) -> Option<Value> {
    let mut alone = question.clone();
    alone.as_object_mut()?.remove("visibleIf");
    let draft = json!({"title": "t", "questions": [alone]});
    let definition = sluice_flow::definition::check(&draft).ok()?;
    sluice_flow::example::answers(&definition).remove(id(question))
}

/// A length that the question accepts and that its format allows.
fn length(question: &Value, shortest: u64, longest: u64, pick: u64) -> u64 {
    let fewest = question["minLength"].as_u64().unwrap_or(0).max(shortest);
    let most = question["maxLength"].as_u64().unwrap_or(longest).min(longest);
    assert!(fewest <= most, "no answer fits {question}");
    fewest + pick % ((most - fewest).min(TEXT_SPREAD) + 1)
}

/// A text of this many characters, of one to three bytes each.
pub(crate) fn text(length: u64) -> String {
    let letters = if length > WIDE_CHARS_MAX { "abc" } else { "aé日\"" };
    letters.chars().cycle().take(chars(length)).collect()
}

fn padded(end: &str, length: u64) -> String {
    "a".repeat(chars(length) - end.len()) + end
}

/// A number at the question's bound, or any number without bounds.
fn number(question: &Value, pick: u64) -> String {
    let integer = question["integer"] == true;
    let (min, max) = (question["min"].as_f64(), question["max"].as_f64());
    match (min, max) {
        (Some(min), _) if integer => min.ceil().to_string(),
        (Some(min), Some(max)) if pick.is_multiple_of(2) => min.midpoint(max).to_string(),
        (Some(min), _) => min.to_string(),
        (None, Some(max)) if integer => max.floor().to_string(),
        (None, Some(max)) => max.to_string(),
        (None, None) => format!("-{pick}"),
    }
}

pub(crate) fn bound<'q>(question: &'q Value, name: &str) -> Option<&'q str> {
    question[name].as_str()
}

/// This many options, one of them free text if possible.
fn chosen(question: &Value, count: usize, pick: u64) -> Vec<String> {
    let mut chosen: Vec<String> =
        rotated(ids(&question["options"]), pick).into_iter().map(str::to_owned).collect();
    if question["allowOther"] == true {
        let own = format!("other:{}", text(1 + pick % 9));
        chosen.insert(chars(pick) % (chosen.len() + 1), own);
    }
    chosen.truncate(count);
    chosen
}

fn rotated(mut ids: Vec<&str>, pick: u64) -> Vec<&str> {
    let by = chars(pick) % ids.len();
    ids.rotate_left(by);
    ids
}

pub(crate) fn chars(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
