//! The query parameters of a page: who answers, from where, with which tags.
//!
//! The name of a parameter is the path of the field in a submission (`metadata.tags.plan`, short
//! `tags.plan`), and the submission code checks the values, so the rules are the same. An invalid
//! parameter is ignored and named to the reader; it never causes a lost answer. Unknown names are
//! ignored, since other tools add parameters to links. Deliberately absent: setting `answers`.

use std::borrow::Cow;
use std::collections::BTreeSet;

use sluice_flow::issue::Step;
use sluice_flow::locale;
use sluice_flow::submission::{
    Admission, Context, IDENTITIES_MAX, Identity, Submission, TAGS_MAX, TextMap, Texts,
};
use sluice_http::query;

/// How often the rest is checked again after something was removed.
const CHECKS_MAX: usize = 4;

/// The checked parameters of a page's address.
#[derive(Debug, Clone, Default)]
pub(super) struct Parameters {
    /// The query as sent, for the address of the form.
    pub(super) query: String,
    pub(super) embed: bool,
    pub(super) theme: Option<&'static str>,
    pub(super) assignment: Option<String>,
    /// The names of the parameters that could not be used.
    pub(super) refused: BTreeSet<String>,
    tags: Vec<(String, Vec<String>)>,
    identities: Vec<(String, String)>,
    /// The fields of `context` in the order of [`CONTEXT`].
    context: [Option<String>; CONTEXT.len()],
}

const LOCALE: &str = "context.locale";
/// The fields of `context` that an address can set.
const CONTEXT: [&str; 5] = [
    LOCALE,
    "context.page.path",
    "context.page.referrer",
    "context.page.search",
    "context.userAgent",
];

impl Parameters {
    /// Reads a query. Identities are used only if the app does not verify identities.
    pub(super) fn read(query: Option<&str>, takes_identities: bool) -> Self {
        let mut read = Self { query: query.unwrap_or_default().to_owned(), ..Self::default() };
        for (name, value) in query::pairs(query.unwrap_or_default()) {
            read.take(&name, &value, takes_identities);
        }
        for _ in 0..CHECKS_MAX {
            let Err(paths) = read.checked() else { return read };
            read.leave_out(&paths);
        }
        // If something is still invalid, drop all of these.
        read.tags.clear();
        read.identities.clear();
        read.assignment = None;
        read
    }

    fn take(&mut self, name: &str, value: &str, takes_identities: bool) {
        let tag = name.strip_prefix("metadata.tags.").or_else(|| name.strip_prefix("tags."));
        if let Some(tag) = tag {
            match self.tags.iter().position(|(known, _)| known == tag) {
                Some(at) => self.tags[at].1.push(value.to_owned()),
                None if self.tags.len() < TAGS_MAX => {
                    self.tags.push((tag.to_owned(), vec![value.to_owned()]));
                }
                None => self.refuse(name),
            }
        } else if let Some(kind) = name.strip_prefix("identities.") {
            let known = self.identities.iter().any(|(one, text)| one == kind && text == value);
            if takes_identities && !known && self.identities.len() < IDENTITIES_MAX {
                self.identities.push((kind.to_owned(), value.to_owned()));
            } else if takes_identities && !known {
                self.refuse(name);
            }
        } else if name == LOCALE && locale::repaired(value).is_none() {
            self.refuse(name);
        } else if let Some(at) = CONTEXT.iter().position(|known| *known == name) {
            self.context[at].get_or_insert_with(|| value.to_owned());
        } else if name.starts_with("answers.") || name.starts_with("context.") {
            self.refuse(name);
        } else {
            match (name, value) {
                ("embed", "1") => self.embed = true,
                ("theme", "light") => self.theme = Some("light"),
                ("theme", "dark") => self.theme = Some("dark"),
                ("flowAssignmentId", _) if self.assignment.is_none() => {
                    self.assignment = Some(value.to_owned());
                }
                _ => {}
            }
        }
    }

    fn refuse(&mut self, name: &str) {
        self.refused.insert(name.to_owned());
    }

    /// The languages that the reader wants, in order of preference: the address's, then the
    /// browser's.
    pub(super) fn languages(&self, accepted: Option<&str>) -> Vec<String> {
        let own = self.context[0].as_deref().and_then(locale::repaired);
        own.into_iter().chain(accepted_languages(accepted.unwrap_or_default())).collect()
    }

    /// Whether they name the respondent.
    pub(super) fn has_identities(&self) -> bool {
        !self.identities.is_empty()
    }

    /// Whether the address gives nothing that is stored, except what is removed without consent.
    pub(super) fn is_plain(&self) -> bool {
        let mut pairs = query::pairs(&self.query);
        pairs.all(|(name, _)| {
            matches!(&*name, "embed" | "theme" | LOCALE) || name.starts_with("identities.")
        })
    }

    /// The values of a tag.
    pub(super) fn tag(&self, name: &str) -> Option<&[String]> {
        let found = self.tags.iter().find(|(known, _)| known == name);
        found.map(|(_, values)| values.as_slice())
    }

    /// Fills these into a submission, replacing existing values.
    pub(super) fn fill<'s>(&'s self, submission: &mut Submission<'s>) {
        let texts = |values: &'s [String]| match values {
            [one] => Texts::One(one.into()),
            several => Texts::Many(several.iter().map(Cow::from).collect()),
        };
        let tags = self.tags.iter().map(|(name, values)| (name.into(), texts(values)));
        submission.tags = tags.collect();
        let identity = |(kind, value): &'s (String, String)| Identity {
            kind: kind.into(),
            value: value.into(),
        };
        submission.identities = self.identities.iter().map(identity).collect();
        submission.flow_assignment_id = self.assignment.as_ref().map(Cow::from);
        let Context { locale, page, user_agent } = &mut submission.context;
        let mut filled = page.take().unwrap_or_default();
        let places =
            [locale, &mut filled.path, &mut filled.referrer, &mut filled.search, user_agent];
        for (place, text) in places.into_iter().zip(&self.context) {
            if let Some(text) = text {
                *place = Some(text.into());
            }
        }
        *page = Some(filled);
    }

    /// Checks the parameters with the rules of a submission; returns the paths of invalid fields.
    fn checked(&self) -> Result<(), Vec<Vec<Step>>> {
        let mut probe = empty();
        self.fill(&mut probe);
        let checked = probe.checked().map(drop);
        checked.map_err(|issues| issues.into_iter().map(|issue| issue.path).collect())
    }

    fn leave_out(&mut self, paths: &[Vec<Step>]) {
        let mut identities = BTreeSet::new();
        for path in paths {
            let keys: Vec<&str> = path.iter().map_while(key).collect();
            match (keys.as_slice(), path.get(1)) {
                (["metadata", "tags", name, ..], _) => {
                    self.refused.insert(format!("tags.{name}"));
                    self.tags.retain(|(known, _)| known != name);
                }
                (["identities"], Some(Step::Index(index))) => {
                    identities.insert(*index);
                }
                (["flowAssignmentId"], _) => {
                    self.refuse("flowAssignmentId");
                    self.assignment = None;
                }
                _ => {}
            }
        }
        for index in identities.into_iter().rev() {
            if index < self.identities.len() {
                let (kind, _) = self.identities.remove(index);
                self.refused.insert(format!("identities.{kind}"));
            }
        }
    }
}

/// An empty submission, for the parameters to fill.
fn empty() -> Submission<'static> {
    Submission {
        flow_version_id: Cow::Borrowed(""),
        admission: Admission::Admitted,
        answers: TextMap::default(),
        identities: Vec::new(),
        tags: TextMap::default(),
        context: Context::default(),
        flow_assignment_id: None,
        idempotency_key: None,
    }
}

fn key(step: &Step) -> Option<&str> {
    match step {
        Step::Key(key) => Some(key),
        Step::Index(_) => None,
    }
}

/// The tags of an `Accept-Language` header by weight; equal weights keep their order.
fn accepted_languages(header: &str) -> Vec<String> {
    let mut weighed: Vec<(f32, String)> = header
        .split(',')
        .filter_map(|item| {
            let mut parts = item.split(';').map(str::trim);
            let tag = locale::canonical(parts.next().unwrap_or_default())?;
            let weight = parts.find_map(|part| part.strip_prefix("q=")).map(str::parse);
            match weight {
                None => Some((1.0, tag)),
                Some(Ok(weight)) if weight > 0.0 && weight <= 1.0 => Some((weight, tag)),
                Some(_) => None,
            }
        })
        .collect();
    weighed.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    weighed.into_iter().map(|(_, tag)| tag).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Checks what a query sets, and which of its parameters are refused.
    #[track_caller]
    fn check(query: &str, filled: Value, refused: &[&str]) {
        let parameters = Parameters::read(Some(query), true);
        let mut submission = empty();
        parameters.fill(&mut submission);
        let submission = submission.checked().unwrap();
        let mut found = json!({});
        let read = |json: String| json.parse::<Value>().unwrap();
        if let Some(tags) = submission.tags_json() {
            found["metadata"]["tags"] = read(tags);
        }
        if let Some(identities) = submission.identities_json() {
            found["identities"] = read(identities);
        }
        if let Some(context) = submission.context_json() {
            found["context"] = read(context);
        }
        if let Some(id) = &submission.flow_assignment_id {
            found["flowAssignmentId"] = json!(id);
        }
        assert_eq!(found, filled, "{query}");
        assert_eq!(parameters.refused, refused.iter().map(|name| (*name).to_owned()).collect());
    }

    #[test]
    fn a_name_is_the_path_of_its_field() {
        check(
            "metadata.tags.plan=pro&tags.seats=7&tags.plan=old&context.locale=de_at&utm_source=x",
            json!({"metadata": {"tags": {"plan": ["pro", "old"], "seats": "7"}}, "context": {"locale": "de-AT"}}),
            &[],
        );
        check(
            "identities.userId=u+7&identities.traits.email=ada%40example.com&flowAssignmentId=mine",
            json!({
                "identities": [
                    {"type": "userId", "value": "u 7"},
                    {"type": "traits.email", "value": "ada@example.com"},
                ],
                "flowAssignmentId": "mine",
            }),
            &[],
        );
        check(
            "context.page.path=/pricing&context.page.search=?a=b",
            json!({"context": {"page": {"path": "/pricing", "search": "?a=b"}}}),
            &[],
        );
    }

    #[test]
    fn an_invalid_parameter_is_ignored_and_named() {
        let long = "x".repeat(501);
        check(
            &format!("tags.a={long}&tags.b=1&tags.=2"),
            json!({"metadata": {"tags": {"b": "1"}}}),
            &["tags.", "tags.a"],
        );
        check(
            "context.locale=not+a+tag&tags.b=1",
            json!({"metadata": {"tags": {"b": "1"}}}),
            &["context.locale"],
        );
        check("context.page.search=a", json!({"context": {"page": {"search": "?a"}}}), &[]);
        check("context.page.path=/%00a", json!({"context": {"page": {"path": "/a"}}}), &[]);
        check("context.locale=en_US.UTF-8", json!({"context": {"locale": "en-US"}}), &[]);
        check("tags.a=%00", json!({}), &["tags.a"]);
        check(
            "identities.userId=1&identities.userId=2&identities.anonymousId=3&identities.a+b=4\
             &identities.traits.email=no",
            json!({"identities": [
                {"type": "userId", "value": "1"}, {"type": "anonymousId", "value": "3"},
            ]}),
            &["identities.a b", "identities.traits.email", "identities.userId"],
        );
        check(&format!("flowAssignmentId={}", "x".repeat(256)), json!({}), &["flowAssignmentId"]);
        check("answers.nps=9", json!({}), &["answers.nps"]);
    }

    #[test]
    fn tags_beyond_the_maximum_are_refused() {
        let query: String = (0..60).map(|n| format!("tags.t{n:02}=1&")).collect();
        let parameters = Parameters::read(Some(&query), true);
        assert_eq!(parameters.tags.len(), TAGS_MAX);
        assert_eq!(parameters.refused.len(), 10);
    }

    #[test]
    fn identities_are_used_only_if_the_app_does_not_verify_them() {
        let parameters = Parameters::read(Some("identities.userId=7"), false);
        assert!(!parameters.has_identities() && parameters.refused.is_empty());
    }

    #[test]
    fn languages_are_sorted_by_weight_after_the_one_in_the_address() {
        for (query, header, languages) in [
            ("", "de, en;q=0.8, fr;q=0.9", vec!["de", "fr", "en"]),
            ("context.locale=ar", "de", vec!["ar", "de"]),
            ("", "*, en;q=0, de;q=x, fr-ca", vec!["fr-CA"]),
            ("", "", vec![]),
        ] {
            let parameters = Parameters::read(Some(query), true);
            assert_eq!(parameters.languages(Some(header)), languages, "{query} {header}");
        }
    }
}
