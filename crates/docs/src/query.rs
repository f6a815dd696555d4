//! The words of a query as they occur in texts: without endings, without words that every text has,
//! and with the documentation's names for terms of other products.

pub(crate) const QUERY_CHARS_MAX: usize = 200;

/// A word of a query.
#[derive(Debug)]
pub(crate) struct Term {
    /// The word itself, and other names; all words of one must occur.
    forms: Vec<Vec<String>>,
    pub(crate) weight: f64,
}

impl Term {
    fn new(word: &str) -> Self {
        let others = OTHER_NAMES.iter().filter(|(name, _)| *name == word);
        let texts = std::iter::once(word).chain(others.map(|(_, other)| *other));
        let forms = texts.map(|text| tokens(text).iter().map(|it| stem(it).to_owned()).collect());
        let is_common = COMMON.contains(&word);
        Self { forms: forms.collect(), weight: if is_common { 0.3 } else { 1.0 } }
    }

    /// How often it occurs in a text.
    pub(crate) fn count(&self, tokens: &[String]) -> usize {
        let of = |prefix: &String| tokens.iter().filter(|token| fits(token, prefix)).count();
        let of_form = |form: &Vec<String>| form.iter().map(of).min().unwrap_or(0);
        self.forms.iter().map(of_form).max().unwrap_or(0)
    }

    /// What to mark in an excerpt.
    pub(crate) fn prefixes(&self) -> impl Iterator<Item = String> {
        self.forms.iter().flatten().cloned()
    }
}

/// A short word must be the whole one, or its plural: `ci` is not `cities`.
pub(crate) fn fits(token: &str, prefix: &str) -> bool {
    match token.strip_prefix(prefix) {
        Some(rest) => prefix.chars().count() > SHORT_CHARS_MAX || matches!(rest, "" | "s"),
        None => false,
    }
}

pub(crate) fn terms(query: &str) -> Vec<Term> {
    let query: String = query.chars().take(QUERY_CHARS_MAX).collect();
    let mut query = query.to_lowercase();
    for (phrase, word) in PHRASES {
        query = query.replace(phrase, word);
    }
    let all = tokens(&query);
    let telling: Vec<&String> = all.iter().filter(|it| !IGNORED.contains(&it.as_str())).collect();
    let words = if telling.is_empty() { all.iter().collect() } else { telling };
    words.into_iter().map(|word| Term::new(word)).collect()
}

/// The words of a text in lower case.
pub(crate) fn tokens(text: &str) -> Vec<String> {
    let text = text.to_lowercase().replace("e-mail", "email").replace("pop-up", "popup");
    let words = text.split(|it: char| !it.is_alphanumeric()).filter(|it| !it.is_empty());
    words.map(str::to_owned).collect()
}

const SHORT_CHARS_MAX: usize = 3;
const STEM_CHARS_MIN: usize = 4;
const ENDINGS: [&str; 13] =
    ["ations", "ation", "ings", "ing", "ions", "ion", "ies", "ed", "es", "al", "e", "s", "y"];

/// The word without an ending, by which its other forms start.
fn stem(word: &str) -> &str {
    let without = ENDINGS.iter().filter_map(|ending| word.strip_suffix(ending));
    let mut long = without.filter(|stem| stem.chars().count() >= STEM_CHARS_MIN);
    long.next().unwrap_or(word)
}

/// Words that say nothing about what is looked for.
const IGNORED: [&str; 36] = [
    "a", "about", "all", "an", "and", "are", "by", "can", "do", "does", "for", "from", "get",
    "have", "how", "i", "in", "is", "it", "my", "of", "on", "or", "our", "s", "the", "to", "up",
    "use", "way", "we", "what", "where", "with", "you", "your",
];

/// Words that nearly every page has.
const COMMON: [&str; 8] =
    ["flow", "flows", "question", "questions", "response", "responses", "survey", "people"];

const PHRASES: [(&str, &str); 8] = [
    ("single sign-on", "sso"),
    ("single sign on", "sso"),
    ("two-factor", "2fa"),
    ("two factor", "2fa"),
    ("high availability", "nodes"),
    ("skip logic", "logic"),
    ("conditional", "logic"),
    ("conversion rate", "funnel"),
];

/// What readers type, and what the documentation calls it.
const OTHER_NAMES: [(&str, &str); 40] = [
    ("2fa", "second factor"),
    ("analytics", "results"),
    ("branching", "logic"),
    ("branding", "design"),
    ("color", "colour"),
    ("colors", "colours"),
    ("conversion", "funnel"),
    ("csat", "rating"),
    ("customer", "respondent"),
    ("dashboard", "results"),
    ("delete", "erase"),
    ("domain", "public url"),
    ("excel", "export"),
    ("form", "flow"),
    ("gdpr", "erase"),
    ("helm", "kubernetes"),
    ("https", "tls"),
    ("i18n", "translations"),
    ("k8s", "kubernetes"),
    ("kafka", "nats"),
    ("localization", "translations"),
    ("lost", "lose"),
    ("mail", "email"),
    ("mfa", "second factor"),
    ("monitoring", "metrics"),
    ("notification", "notice"),
    ("permissions", "roles"),
    ("port", "listen address"),
    ("sbom", "bill of materials"),
    ("spreadsheet", "export"),
    ("ssl", "tls"),
    ("sso", "openid connect"),
    ("survey", "flow"),
    ("theme", "design"),
    ("user", "respondent"),
    ("utm", "tags"),
    ("validate", "judge"),
    ("website", "page"),
    ("widget", "pop-up"),
    ("zapier", "webhook"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_found_in_its_other_forms_and_a_short_one_only_whole() {
        let fits = |word: &str, text: &str| Term::new(word).count(&tokens(text));
        assert_eq!(fits("translate", "Translations are translated"), 2);
        assert_eq!(fits("installation", "installing"), 1);
        assert_eq!(fits("invite", "Invitations"), 1);
        assert_eq!(fits("email", "An e-mail"), 1);
        assert_eq!(fits("ci", "cities"), 0);
        assert_eq!(fits("api", "APIs"), 1);
        assert_eq!(fits("sso", "Connect with OpenID"), 1);
        assert_eq!(fits("sso", "Connect"), 0, "both words of the other name");
    }

    #[test]
    fn words_that_say_nothing_are_ignored_unless_there_are_no_others() {
        assert_eq!(terms("how do I restore a backup").len(), 2);
        assert_eq!(terms("what is it").len(), 3);
        assert!(terms(" - ").is_empty());
        assert_eq!(terms(&"x ".repeat(1000)).len(), QUERY_CHARS_MAX / 2);
    }
}
