//! Texts of pages and e-mails: placeholders, and the plural forms of a language.
//!
//! The plural categories are those of Unicode CLDR for whole numbers, with the same names as
//! `Intl.PluralRules` in scripts. A category without a form uses `other`.

use serde_json::{Map, Value};

use crate::locale;

/// A text with its placeholders replaced: `{name}` becomes the value with this name. Inserted
/// values are not expanded again.
pub fn fill(text: &str, values: &[(&str, &str)]) -> String {
    let mut filled = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        let (name, after) = after.split_once('}').unwrap_or((after, ""));
        filled.extend(values.iter().find(|(key, _)| *key == name).map(|(_, value)| *value));
        rest = after;
    }
    filled.push_str(rest);
    filled
}

/// A count with its English unit: 1 response, 2 responses.
pub fn counted(count: u64, unit: &str) -> String {
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

/// A text with one form per category.
#[derive(Debug, Clone, Copy)]
pub struct Forms {
    pub zero: Option<&'static str>,
    pub one: Option<&'static str>,
    pub two: Option<&'static str>,
    pub few: Option<&'static str>,
    pub many: Option<&'static str>,
    pub other: &'static str,
}

/// The plural category of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Category {
    Zero,
    One,
    Two,
    Few,
    Many,
    Other,
}

impl Forms {
    /// One form for every number.
    pub const fn same(other: &'static str) -> Self {
        Self { zero: None, one: None, two: None, few: None, many: None, other }
    }

    /// A form for one, and another for the rest.
    pub const fn one(one: &'static str, other: &'static str) -> Self {
        Self { one: Some(one), ..Self::same(other) }
    }

    /// The forms by the names of their categories, for the script.
    pub fn to_json(self) -> Value {
        let forms = [
            ("zero", self.zero),
            ("one", self.one),
            ("two", self.two),
            ("few", self.few),
            ("many", self.many),
            ("other", Some(self.other)),
        ];
        let named = forms.into_iter().filter_map(|(name, form)| Some((name.into(), form?.into())));
        named.collect::<Map<_, _>>().into()
    }

    /// The form for a number in a language.
    pub fn select(&self, language: &str, number: u64) -> &'static str {
        let form = match category(locale::language(language), number) {
            Category::Zero => self.zero,
            Category::One => self.one,
            Category::Two => self.two,
            Category::Few => self.few,
            Category::Many => self.many,
            Category::Other => None,
        };
        form.unwrap_or(self.other)
    }
}

/// The rules of CLDR for whole numbers, without the category of millions in Romance languages,
/// which have no separate form here.
fn category(language: &str, number: u64) -> Category {
    let (tens, units) = (number % 100, number % 10);
    match (language, number) {
        ("ja" | "zh", _) => Category::Other,
        ("ar", 0) => Category::Zero,
        ("ar", 2) => Category::Two,
        ("fr" | "pt", 0) | (_, 1) => Category::One,
        ("ar", _) if (3..=10).contains(&tens) => Category::Few,
        ("ar", _) if tens >= 11 => Category::Many,
        ("pl", _) if (2..=4).contains(&units) && !(12..=14).contains(&tens) => Category::Few,
        ("pl", _) => Category::Many,
        _ => Category::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Forms = Forms {
        zero: Some("zero"),
        one: Some("one"),
        two: Some("two"),
        few: Some("few"),
        many: Some("many"),
        other: "other",
    };

    #[test]
    fn numbers_have_the_categories_of_their_language() {
        for (language, numbers) in [
            ("en", [(0, "other"), (1, "one"), (2, "other"), (21, "other"), (100, "other")]),
            ("fr", [(0, "one"), (1, "one"), (2, "other"), (21, "other"), (100, "other")]),
            ("pt", [(0, "one"), (1, "one"), (2, "other"), (11, "other"), (101, "other")]),
            ("tr", [(0, "other"), (1, "one"), (2, "other"), (11, "other"), (101, "other")]),
            ("pl", [(0, "many"), (1, "one"), (3, "few"), (13, "many"), (24, "few")]),
            ("pl", [(5, "many"), (21, "many"), (22, "few"), (112, "many"), (1002, "few")]),
            ("ar", [(0, "zero"), (1, "one"), (2, "two"), (3, "few"), (10, "few")]),
            ("ar", [(11, "many"), (99, "many"), (100, "other"), (103, "few"), (111, "many")]),
            ("ja", [(0, "other"), (1, "other"), (2, "other"), (5, "other"), (11, "other")]),
            ("zh", [(0, "other"), (1, "other"), (2, "other"), (5, "other"), (11, "other")]),
        ] {
            for (number, form) in numbers {
                assert_eq!(ALL.select(language, number), form, "{language} {number}");
            }
        }
    }

    #[test]
    fn a_count_of_one_has_no_plural() {
        for (count, text) in [(0, "0 responses"), (1, "1 response"), (2, "2 responses")] {
            assert_eq!(counted(count, "response"), text);
        }
    }

    #[test]
    fn inserted_values_are_not_expanded() {
        let values = [("n", "{all}"), ("all", "5")];
        assert_eq!(fill("Question {n} of {all}", &values), "Question {all} of 5");
        assert_eq!(fill("plain", &values), "plain");
        assert_eq!(fill("{unknown}!", &values), "!");
        assert_eq!(fill("a {x} b {y}", &[("x", "{y}"), ("y", "2")]), "a {y} b 2");
    }

    #[test]
    fn a_category_without_a_form_uses_the_form_of_other_numbers() {
        assert_eq!(Forms::same("x").select("pl", 3), "x");
        assert_eq!(Forms::one("one", "x").select("ar", 0), "x");
    }
}
