//! Changes to single quotas. Two authors who change different ones at the same time both succeed:
//! what a change does not name stays.

use serde_json::{Value, json};

use super::{Closing, QUOTAS_MAX, read_quotas};
use crate::definition::{Definition, Fault};

/// A change to one quota.
#[derive(Debug, Clone, PartialEq)]
pub enum QuotaChange {
    Add {
        when: Value,
        limit: u32,
    },
    /// Nothing happens if the quota was removed in the meantime.
    Limit {
        id: String,
        limit: u32,
    },
    Remove {
        id: String,
    },
}

impl Closing {
    /// These limits after the changes, or the faults of the quotas that are added.
    pub fn with_changes(
        mut self,
        changes: &[QuotaChange],
        definitions: &[&Definition],
    ) -> Result<Self, Vec<Fault>> {
        for change in changes {
            match change {
                QuotaChange::Limit { id, limit } => {
                    if let Some(quota) = self.quotas.iter_mut().find(|quota| quota.id == *id) {
                        quota.limit = *limit;
                    }
                }
                QuotaChange::Remove { id } => self.quotas.retain(|quota| quota.id != *id),
                QuotaChange::Add { when, limit } => self.add(when, *limit, definitions)?,
            }
        }
        Ok(self)
    }

    fn add(
        &mut self,
        when: &Value,
        limit: u32,
        definitions: &[&Definition],
    ) -> Result<(), Vec<Fault>> {
        let fault = |message: String| Fault::new("/newQuota", message);
        // The same may be sent again, if the reply was lost.
        if self.quotas.iter().any(|it| it.limit == limit && it.when == *when) {
            return Ok(());
        }
        if self.quotas.len() >= QUOTAS_MAX {
            return Err(vec![fault(format!("a flow has at most {QUOTAS_MAX} quotas"))]);
        }
        let new = json!([{"id": self.free_id(when), "when": when, "limit": limit}]);
        let added = read_quotas(&new, definitions)
            .map_err(|faults| faults.into_iter().map(|it| fault(it.message)).collect::<Vec<_>>())?;
        self.quotas.extend(added);
        Ok(())
    }

    /// An id that no other quota has: from the texts of its condition.
    fn free_id(&self, when: &Value) -> String {
        let is_allowed =
            |letter: &char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
        let base: String =
            texts(when).join("-").chars().filter(is_allowed).take(ID_BASE_CHARS).collect();
        let base = if base.is_empty() { "quota".to_owned() } else { base };
        let is_free = |id: &String| self.quotas.iter().all(|quota| quota.id != *id);
        let numbered = (2..).map(|number| format!("{base}-{number}"));
        std::iter::once(base.clone()).chain(numbered).find(is_free).unwrap_or_default()
    }
}

/// Leaves room for a number behind it.
const ID_BASE_CHARS: usize = 56;

/// Every text of a condition, in order.
fn texts(when: &Value) -> Vec<&str> {
    match when {
        Value::String(text) => vec![text],
        Value::Array(parts) => parts.iter().flat_map(texts).collect(),
        Value::Object(parts) => parts.values().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

/// The condition that holds if a response has these answers: any of those to one question, and one
/// of each question. Each answer is given by its own condition.
pub fn all_of_questions(answers: &[Value]) -> Option<Value> {
    let mut by_question: Vec<(&Value, Vec<&Value>)> = Vec::new();
    for answer in answers {
        let question = answer.get("question")?;
        match by_question.iter_mut().find(|(asked, _)| *asked == question) {
            Some((_, of_question)) => of_question.push(answer),
            None => by_question.push((question, vec![answer])),
        }
    }
    let mut tests: Vec<Value> =
        by_question.into_iter().map(|(question, answers)| any_of(question, &answers)).collect();
    match tests.len() {
        0 | 1 => tests.pop(),
        _ => Some(json!({"all": tests})),
    }
}

fn any_of(question: &Value, answers: &[&Value]) -> Value {
    let equal: Option<Vec<&Value>> = answers.iter().map(|answer| answer.get("equals")).collect();
    match (answers, equal) {
        ([one], _) => (*one).clone(),
        (_, Some(values)) => json!({"question": question, "in": values}),
        (_, None) => json!({"any": answers}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::closing::Quota;
    use crate::definition::check;

    fn survey() -> Definition {
        let options = json!([{"id": "f", "label": "F"}, {"id": "m", "label": "M"}]);
        check(&json!({"title": "Panel", "questions": [
            {"id": "sex", "type": "singleChoice", "prompt": "?", "options": options},
            {"id": "use", "type": "multipleChoice", "prompt": "?", "options": options}
        ]}))
        .unwrap()
    }

    fn sex(id: &str) -> Value {
        json!({"question": "sex", "equals": id})
    }

    fn quota(id: &str, when: Value, limit: u32) -> Quota {
        Quota { id: id.to_owned(), when, limit }
    }

    #[test]
    fn a_change_of_one_quota_leaves_the_others() {
        let closing = Closing {
            close_after: Some(9),
            quotas: vec![quota("a", sex("f"), 1), quota("b", sex("m"), 2)],
        };
        let changes = [
            QuotaChange::Limit { id: "a".into(), limit: 5 },
            QuotaChange::Limit { id: "gone".into(), limit: 7 },
            QuotaChange::Remove { id: "b".into() },
            QuotaChange::Add { when: sex("m"), limit: 3 },
            QuotaChange::Add { when: sex("m"), limit: 4 },
        ];
        let changed = closing.with_changes(&changes, &[&survey()]).unwrap();
        let expected =
            [quota("a", sex("f"), 5), quota("m-sex", sex("m"), 3), quota("m-sex-2", sex("m"), 4)];
        assert_eq!(
            (changed.close_after, changed.quotas.as_slice()),
            (Some(9), expected.as_slice())
        );
    }

    #[test]
    fn a_new_quota_must_fit_the_questions_and_the_number_of_quotas() {
        let check = |quotas: Vec<Quota>, when: Value, expected: &str| {
            let closing = Closing { close_after: None, quotas };
            let add = [QuotaChange::Add { when, limit: 1 }];
            let faults = closing.with_changes(&add, &[&survey()]).unwrap_err();
            assert_eq!(
                (faults[0].pointer.as_str(), faults[0].message.as_str()),
                ("/newQuota", expected)
            );
        };
        check(vec![], json!({"question": "x", "equals": "f"}), "must be the id of a question");
        check(vec![quota("a", sex("f"), 2); 50], sex("f"), "a flow has at most 50 quotas");
    }

    #[test]
    fn a_quota_that_is_sent_again_is_added_once() {
        let add = [QuotaChange::Add { when: sex("f"), limit: 1 }];
        let once = Closing::default().with_changes(&add, &[&survey()]).unwrap();
        let twice = once.clone().with_changes(&add, &[&survey()]).unwrap();
        assert_eq!((twice.quotas.len(), &twice), (1, &once));
    }

    #[test]
    fn answers_to_one_question_are_alternatives_and_questions_are_joined() {
        let uses = |id: &str| json!({"question": "use", "includes": id});
        for (answers, expected) in [
            (vec![], None),
            (vec![json!({"answered": true})], None),
            (vec![sex("f")], Some(sex("f"))),
            (vec![sex("f"), sex("m")], Some(json!({"question": "sex", "in": ["f", "m"]}))),
            (vec![uses("f"), uses("m")], Some(json!({"any": [uses("f"), uses("m")]}))),
            (
                vec![sex("f"), uses("f"), sex("m")],
                Some(json!({"all": [{"question": "sex", "in": ["f", "m"]}, uses("f")]})),
            ),
        ] {
            assert_eq!(all_of_questions(&answers), expected, "{answers:?}");
            if let Some(when) = expected {
                let closing = Closing::default();
                let add = [QuotaChange::Add { when, limit: 1 }];
                assert!(closing.with_changes(&add, &[&survey()]).is_ok(), "{answers:?}");
            }
        }
    }
}
