//! Expressions of SurveyJS (`{age} >= 18 and {plan} anyof ['a', 'b']`) and of XLSForm
//! (`${age} >= 18 and selected(${plan}, 'a')`).
//!
//! Both are infix and differ in the marks of names and in a few operators, so one parser reads
//! both. Arithmetic and most functions have no counterpart in Sluice and are reported as such.

use crate::condition::{Cond, Test};
use crate::report::quoted;

/// Longer expressions, and those that nest deeper, are not read.
const CHARS_MAX: usize = 10_000;
const DEPTH_MAX: usize = 40;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Expr {
    Or(Vec<Expr>),
    And(Vec<Expr>),
    Not(Box<Expr>),
    Compare(&'static str, Box<Expr>, Box<Expr>),
    Name(String),
    Text(String),
    List(Vec<Expr>),
    Call(String, Vec<Expr>),
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Name(String),
    Text(String),
    Word(String),
    Mark(&'static str),
}

const MARKS: [&str; 21] = [
    "==", "!=", "<>", "<=", ">=", "&&", "||", "=", "<", ">", "!", "(", ")", "[", "]", ",", "+",
    "*", "/", "%", "^",
];

/// Marks of a text. Spreadsheets make straight quotes curly; one that is straight ends with its
/// like.
const QUOTES: [[char; 3]; 2] = [['\'', '‘', '’'], ['"', '“', '”']];

/// The condition that an expression stands for.
pub(crate) fn condition(text: &str) -> Cond {
    match parse(text) {
        Ok(expr) => to_condition(&expr),
        Err(reason) => Cond::Unsupported(format!("{}: {reason}", quoted(text))),
    }
}

pub(crate) fn parse(text: &str) -> Result<Expr, String> {
    if text.chars().count() > CHARS_MAX {
        return Err(format!("an expression has at most {CHARS_MAX} characters"));
    }
    let tokens = tokens(text)?;
    let mut parser = Parser { tokens: &tokens, depth: 0 };
    let expr = parser.or()?;
    match parser.tokens.first() {
        None => Ok(expr),
        Some(token) => Err(unexpected(token)),
    }
}

fn unexpected(token: &Token) -> String {
    match token {
        Token::Mark("+" | "*" | "/" | "%" | "^") => "Sluice does not calculate".to_owned(),
        Token::Mark(mark) => format!("{mark} is not understood here"),
        Token::Word(word) if matches!(word.as_str(), "-" | "div" | "mod") => {
            "Sluice does not calculate".to_owned()
        }
        Token::Name(text) | Token::Text(text) | Token::Word(text) => {
            format!("{} is not understood here", quoted(text))
        }
    }
}

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let after_name = rest.strip_prefix("${").or_else(|| rest.strip_prefix('{'));
        if let Some(inner) = after_name {
            let end = inner.find('}').ok_or("a brace is not closed")?;
            tokens.push(Token::Name(inner[..end].trim().to_owned()));
            rest = &inner[end + 1..];
        } else if let Some(quotes) = QUOTES.iter().find(|quotes| quotes.contains(&first)) {
            let inner = &rest[first.len_utf8()..];
            let straight = inner.find(first).filter(|_| first.is_ascii());
            let end = straight.or_else(|| inner.find(quotes)).ok_or("a quote is not closed")?;
            tokens.push(Token::Text(inner[..end].to_owned()));
            rest = &inner[end..];
            rest = &rest[rest.chars().next().map_or(0, char::len_utf8)..];
        } else if let Some(mark) = MARKS.iter().find(|mark| rest.starts_with(**mark)) {
            tokens.push(Token::Mark(mark));
            rest = &rest[mark.len()..];
        } else {
            let length = word_length(rest);
            let (word, left) = rest.split_at(length);
            tokens.push(match word {
                "." => Token::Name(".".to_owned()),
                word => Token::Word(word.to_owned()),
            });
            rest = left;
        }
        rest = rest.trim_start();
    }
    Ok(tokens)
}

/// Letters, digits, `_`, `.`, and `-` at the start or between letters.
fn word_length(text: &str) -> usize {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | ':');
    let end = text.find(|c: char| !is_word(c)).unwrap_or(text.len());
    end.max(text.chars().next().map_or(0, char::len_utf8))
}

struct Parser<'t> {
    tokens: &'t [Token],
    depth: usize,
}

impl Parser<'_> {
    fn take_word(&mut self, names: &[&str]) -> bool {
        let found = match self.tokens.first() {
            Some(Token::Word(word)) => names.iter().any(|it| word.eq_ignore_ascii_case(it)),
            Some(Token::Mark(mark)) => names.contains(mark),
            _ => false,
        };
        if found {
            self.tokens = &self.tokens[1..];
        }
        found
    }

    fn or(&mut self) -> Result<Expr, String> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err("the expression is nested too deeply".to_owned());
        }
        let mut all = vec![self.and()?];
        while self.take_word(&["or", "||"]) {
            all.push(self.and()?);
        }
        self.depth -= 1;
        Ok(if all.len() == 1 { all.remove(0) } else { Expr::Or(all) })
    }

    fn and(&mut self) -> Result<Expr, String> {
        let mut all = vec![self.comparison()?];
        while self.take_word(&["and", "&&"]) {
            all.push(self.comparison()?);
        }
        Ok(if all.len() == 1 { all.remove(0) } else { Expr::And(all) })
    }

    fn comparison(&mut self) -> Result<Expr, String> {
        let is_call = matches!(self.tokens.get(1), Some(Token::Mark("(")));
        if self.take_word(&["!"]) || (!is_call && self.take_word(&["not"])) {
            self.depth += 1;
            if self.depth > DEPTH_MAX {
                return Err("the expression is nested too deeply".to_owned());
            }
            let inner = self.comparison()?;
            self.depth -= 1;
            return Ok(Expr::Not(Box::new(inner)));
        }
        let left = self.operand()?;
        let Some(operator) = self.operator() else { return Ok(left) };
        let right = match operator {
            "empty" | "notempty" => Expr::Text(String::new()),
            _ => self.operand()?,
        };
        Ok(Expr::Compare(operator, Box::new(left), Box::new(right)))
    }

    fn operator(&mut self) -> Option<&'static str> {
        const OPERATORS: [(&str, &[&str]); 13] = [
            ("=", &["=", "==", "equal"]),
            ("!=", &["!=", "<>", "notequal"]),
            ("<=", &["<=", "lessorequal"]),
            (">=", &[">=", "greaterorequal"]),
            ("<", &["<", "less"]),
            (">", &[">", "greater"]),
            ("contains", &["contains", "contain"]),
            ("notcontains", &["notcontains", "notcontain"]),
            ("anyof", &["anyof"]),
            ("allof", &["allof"]),
            ("noneof", &["noneof"]),
            ("empty", &["empty"]),
            ("notempty", &["notempty"]),
        ];
        OPERATORS.iter().find(|(_, names)| self.take_word(names)).map(|(operator, _)| *operator)
    }

    fn operand(&mut self) -> Result<Expr, String> {
        let (first, rest) = self.tokens.split_first().ok_or("the expression ends early")?;
        self.tokens = rest;
        match first {
            Token::Name(name) => Ok(Expr::Name(name.clone())),
            Token::Text(text) => Ok(Expr::Text(text.clone())),
            Token::Word(word) if matches!(self.tokens.first(), Some(Token::Mark("("))) => {
                self.tokens = &self.tokens[1..];
                Ok(Expr::Call(word.to_ascii_lowercase(), self.items(")")?))
            }
            Token::Word(word) => Ok(Expr::Text(word.clone())),
            Token::Mark("(") => {
                let inner = self.or()?;
                if self.take_word(&[")"]) { Ok(inner) } else { Err("a ( is not closed".to_owned()) }
            }
            Token::Mark("[") => Ok(Expr::List(self.items("]")?)),
            token => Err(unexpected(token)),
        }
    }

    /// Items up to a closing mark.
    fn items(&mut self, close: &'static str) -> Result<Vec<Expr>, String> {
        let mut items = Vec::new();
        loop {
            if self.take_word(&[close]) {
                return Ok(items);
            }
            items.push(self.or()?);
            if !self.take_word(&[","])
                && !matches!(self.tokens.first(), Some(Token::Mark(mark)) if *mark == close)
            {
                return Err(format!("{close} is missing"));
            }
        }
    }
}

/// The parser has limited how deep the expression nests.
fn to_condition(expr: &Expr) -> Cond {
    let each = |all: &[Expr]| all.iter().map(to_condition).collect();
    match expr {
        Expr::Or(all) => Cond::Any(each(all)),
        Expr::And(all) => Cond::All(each(all)),
        Expr::Not(inner) => to_condition(inner).not(),
        Expr::Compare(operator, left, right) => comparison(operator, left, right),
        Expr::Name(name) => named(name, Test::Is("true".to_owned())),
        Expr::Call(name, arguments) => match (name.as_str(), arguments.as_slice()) {
            ("selected", [Expr::Name(name), Expr::Text(text)]) => {
                named(name, Test::Is(text.clone()))
            }
            ("not", [inner]) => to_condition(inner).not(),
            _ => Cond::Unsupported(format!("Sluice has no function {name}()")),
        },
        Expr::Text(text) => Cond::Unsupported(format!("{} is no comparison", quoted(text))),
        Expr::List(_) => Cond::unsupported("a list is no comparison"),
    }
}

/// A name with a point is a row of a matrix.
fn named(name: &str, test: Test) -> Cond {
    match name.split_once('.') {
        Some((key, row)) if !key.is_empty() && !row.is_empty() => {
            Cond::Answer { key: key.to_owned(), row: Some(row.to_owned()), test }
        }
        _ => Cond::answer(name, test),
    }
}

fn comparison(operator: &'static str, left: &Expr, right: &Expr) -> Cond {
    let (name, other, operator) = match (left, right) {
        (Expr::Name(_), Expr::Name(_)) => {
            return Cond::unsupported("Sluice cannot compare two answers with one another");
        }
        (Expr::Name(name), other) => (name, other, operator),
        (other, Expr::Name(name)) => (name, other, flipped(operator)),
        (Expr::Call(name, _), _) | (_, Expr::Call(name, _)) => {
            return Cond::Unsupported(format!("Sluice has no function {name}()"));
        }
        _ => return Cond::unsupported("the comparison reads no question"),
    };
    let texts = match values(other) {
        Ok(texts) => texts,
        Err(reason) => return Cond::Unsupported(reason),
    };
    let one = texts.first().cloned().unwrap_or_default();
    let is_list = matches!(other, Expr::List(_));
    match operator {
        "=" | "!=" if is_list => Cond::unsupported("Sluice cannot compare with a whole list"),
        "empty" => named(name, Test::Answered).not(),
        "notempty" => named(name, Test::Answered),
        "=" if one.is_empty() => named(name, Test::Answered).not(),
        "!=" if one.is_empty() => named(name, Test::Answered),
        "=" => named(name, Test::Is(one)),
        "!=" => named(name, Test::Is(one)).not(),
        "contains" => named(name, Test::Contains(texts)),
        "notcontains" => named(name, Test::Contains(texts)).not(),
        "<" => named(name, Test::Less(one)),
        "<=" => named(name, Test::LessOrEqual(one)),
        ">" => named(name, Test::Greater(one)),
        ">=" => named(name, Test::GreaterOrEqual(one)),
        "anyof" => named(name, Test::OneOf(texts)),
        "allof" => named(name, Test::AllOf(texts)),
        _ => named(name, Test::OneOf(texts)).not(),
    }
}

fn flipped(operator: &'static str) -> &'static str {
    match operator {
        "<" => ">",
        "<=" => ">=",
        ">" => "<",
        ">=" => "<=",
        same => same,
    }
}

fn values(expr: &Expr) -> Result<Vec<String>, String> {
    match expr {
        Expr::Text(text) => Ok(vec![text.clone()]),
        Expr::Call(name, arguments) if arguments.is_empty() && is_truth(name) => {
            Ok(vec![name.clone()])
        }
        Expr::Call(name, arguments) => match arguments.as_slice() {
            [Expr::Text(text)] if matches!(name.as_str(), "date" | "number" | "int") => {
                Ok(vec![text.clone()])
            }
            _ => Err(format!("Sluice has no function {name}()")),
        },
        Expr::List(items) => {
            let items = items.iter().map(values).collect::<Result<Vec<_>, _>>()?;
            Ok(items.into_iter().flatten().collect())
        }
        _ => Err("Sluice compares an answer with a fixed value".to_owned()),
    }
}

fn is_truth(name: &str) -> bool {
    matches!(name, "true" | "false")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(format!("{:?}", condition(text)), expected, "{text}");
    }

    #[test]
    fn both_languages_become_conditions() {
        let is = |key: &str, text: &str| format!("{:?}", Cond::answer(key, Test::Is(text.into())));
        check("{plan} = 'pro'", &is("plan", "pro"));
        check("${plan} = \"pro\"", &is("plan", "pro"));
        check("'pro' == {plan}", &is("plan", "pro"));
        check("selected(${plan}, 'pro')", &is("plan", "pro"));
        check("{n} < 7", "Answer { key: \"n\", row: None, test: Less(\"7\") }");
        check("7 > {n}", "Answer { key: \"n\", row: None, test: Less(\"7\") }");
        check("{n} >= -2", "Answer { key: \"n\", row: None, test: GreaterOrEqual(\"-2\") }");
        check("{a} empty", "Not(Answer { key: \"a\", row: None, test: Answered })");
        check("${a} != ''", "Answer { key: \"a\", row: None, test: Answered }");
        check("{m.food} = 'bad'", "Answer { key: \"m\", row: Some(\"food\"), test: Is(\"bad\") }");
        check(
            "{a} anyof ['x', 'y']",
            "Answer { key: \"a\", row: None, test: OneOf([\"x\", \"y\"]) }",
        );
        check(
            "{a} notcontains ['x', 'y']",
            "Not(Answer { key: \"a\", row: None, test: Contains([\"x\", \"y\"]) })",
        );
        check("not(${a} = 1)", &format!("Not({})", is("a", "1")));
        check("!{a}", &format!("Not({})", is("a", "true")));
        check(
            "({a} = 1 or {b} = 2) and {c} = true",
            &format!("All([Any([{}, {}]), {}])", is("a", "1"), is("b", "2"), is("c", "true")),
        );
    }

    #[test]
    fn curly_quotes_are_quotes() {
        let expected = format!("{:?}", Cond::answer("a", Test::Is("other".into())));
        for text in ["‘other’", "“other”", "’other’", "”other”", "'other’", "“other\""]
        {
            check(&format!("${{a}} = {text}"), &expected);
        }
        let expected = format!("{:?}", Cond::answer("a", Test::Is("don’t know".into())));
        check("{a} = 'don’t know'", &expected);
    }

    #[test]
    fn what_sluice_has_not_is_named() {
        for (text, reason) in [
            ("{a} + 1 > 2", "calculate"),
            ("{a} > {b}", "one another"),
            ("count-selected(${a}) > 2", "count-selected()"),
            ("iif({a} = 1, 2, 3) = 2", "iif()"),
            ("{a", "not closed"),
            ("", "ends early"),
            ("{a} = ", "ends early"),
            (&"(".repeat(5000), "too deeply"),
            (&"!".repeat(5000), "too deeply"),
        ] {
            let Cond::Unsupported(said) = condition(text) else { panic!("{text}") };
            assert!(said.contains(reason), "{text}: {said}");
        }
    }
}
