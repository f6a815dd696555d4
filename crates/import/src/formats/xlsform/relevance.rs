//! The column `relevant`: when a question or group is shown.

use std::collections::HashMap;

use crate::condition::Cond;
use crate::expression::condition;

#[derive(Debug)]
pub(super) enum Relevance {
    Always,
    Never,
    If(Cond),
}

/// How often each name is in the survey.
pub(super) type Names = HashMap<String, usize>;

pub(super) fn relevance(cell: Option<&str>, names: &Names) -> Relevance {
    let Some(cell) = cell else { return Relevance::Always };
    match cell.to_lowercase().replace(' ', "").as_str() {
        "true()" | "true" | "yes" => Relevance::Always,
        "false()" | "false" | "no" => Relevance::Never,
        _ => Relevance::If(condition(&with_names(cell, names))),
    }
}

/// The expression with `${name}` for each path like `../group/name`. A path stays if several
/// questions have the name, because only its groups say which of them is meant.
fn with_names(text: &str, names: &Names) -> String {
    let is_path = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    let (mut made, mut rest) = (String::new(), text);
    while let Some(at) = rest.find("../") {
        let (before, path) = rest.split_at(at);
        let end = path.find(|c: char| !is_path(c)).unwrap_or(path.len());
        let (path, after) = path.split_at(end);
        let name = path.rsplit('/').next().unwrap_or_default();
        made.push_str(before);
        match names.get(name) {
            Some(1) => made.push_str(&format!("${{{name}}}")),
            _ => made.push_str(path),
        }
        rest = after;
    }
    made + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_the_question_that_alone_has_its_name() {
        let names = Names::from([("a".to_owned(), 1), ("b".to_owned(), 2)]);
        for (text, expected) in [
            ("selected(../a, 'x')", "selected(${a}, 'x')"),
            ("../../group/a='x' and ${b}=1", "${a}='x' and ${b}=1"),
            ("../b = 1", "../b = 1"),
            ("../group/c = 1", "../group/c = 1"),
            ("${a} = 1", "${a} = 1"),
        ] {
            assert_eq!(with_names(text, &names), expected);
        }
    }

    #[test]
    fn a_constant_is_no_condition() {
        for (text, expected) in [("true()", "Always"), ("FALSE", "Never"), ("false( )", "Never")] {
            assert_eq!(format!("{:?}", relevance(Some(text), &Names::new())), expected);
        }
        assert!(matches!(relevance(None, &Names::new()), Relevance::Always));
    }
}
