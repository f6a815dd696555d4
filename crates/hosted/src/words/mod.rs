//! The texts of the page itself: its buttons, notices, errors and states. One file per language.
//!
//! An author's texts come from the flow; these surround them, in the same language if there is a
//! file for it, otherwise in English. `{name}` in a text is a placeholder ([`fill`]).

mod ar;
mod de;
mod en;
mod es;
mod fr;

use sluice_flow::locale;

/// The heading of a page and the text below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TitledText {
    pub(super) title: &'static str,
    pub(super) text: &'static str,
}

/// All texts of the page, in one language.
#[derive(Debug)]
pub(super) struct Words {
    pub(super) language: &'static str,
    pub(super) form: FormTexts,
    pub(super) rule: RuleTexts,
    pub(super) notice: NoticeTexts,
    pub(super) state: StateTexts,
    pub(super) script: ScriptTexts,
}

/// Texts in the form.
#[derive(Debug)]
pub(super) struct FormTexts {
    pub(super) next: &'static str,
    pub(super) back: &'static str,
    pub(super) send: &'static str,
    /// With `{n}` and `{all}`.
    pub(super) of: &'static str,
    pub(super) optional: &'static str,
    pub(super) choose: &'static str,
    pub(super) other: &'static str,
    pub(super) own_answer: &'static str,
    pub(super) yes: &'static str,
    pub(super) no: &'static str,
    pub(super) agree: &'static str,
    /// With `{label}`.
    pub(super) position: &'static str,
    /// Whether answers may be linked to the respondent: the question, the checkbox, and what it
    /// means.
    pub(super) consent: TitledText,
    pub(super) consent_box: &'static str,
    /// The label of the honeypot field, which people do not see.
    pub(super) honeypot: &'static str,
    pub(super) end: TitledText,
}

/// What an answer must be; shown if it is not.
#[derive(Debug)]
pub(super) struct RuleTexts {
    /// Above the list of errors.
    pub(super) problem: &'static str,
    pub(super) required: &'static str,
    pub(super) every_row: &'static str,
    pub(super) email: &'static str,
    pub(super) url: &'static str,
    pub(super) phone: &'static str,
    pub(super) number: &'static str,
    pub(super) whole_number: &'static str,
    pub(super) date: &'static str,
    /// With `{range}`, like the next one.
    pub(super) length: &'static str,
    pub(super) selected: &'static str,
    pub(super) option: &'static str,
    pub(super) ranking: &'static str,
    pub(super) other: &'static str,
    pub(super) too_long: &'static str,
    /// With `{min}` and `{max}`, or only one of them.
    pub(super) between: &'static str,
    pub(super) at_least: &'static str,
    pub(super) at_most: &'static str,
}

/// Notices above the form.
#[derive(Debug)]
pub(super) struct NoticeTexts {
    /// With `{names}`.
    pub(super) parameters: &'static str,
    pub(super) changed: &'static str,
    pub(super) robot: &'static str,
    pub(super) limited: &'static str,
    pub(super) unavailable: &'static str,
    /// The app has reached its daily storage quota.
    pub(super) full: &'static str,
}

/// Texts that replace the form.
#[derive(Debug)]
pub(super) struct StateTexts {
    pub(super) missing: TitledText,
    pub(super) scheduled: TitledText,
    pub(super) closed: TitledText,
    pub(super) answered: TitledText,
    pub(super) invitation_used: TitledText,
    pub(super) invitation_expired: TitledText,
    pub(super) invitation_revoked: TitledText,
    pub(super) token_missing: TitledText,
    pub(super) token_refused: TitledText,
    pub(super) token_needs_script: &'static str,
    pub(super) failed: TitledText,
    pub(super) too_large: TitledText,
    pub(super) stored: TitledText,
    pub(super) linked: &'static str,
    pub(super) unlinked: &'static str,
    /// Replaces the last three in an author's preview.
    pub(super) preview: &'static str,
    pub(super) go_on: &'static str,
    pub(super) try_again: &'static str,
    pub(super) new_form: &'static str,
}

/// Texts that the script shows; it gets them with the form.
#[derive(Debug)]
pub(super) struct ScriptTexts {
    pub(super) sending: &'static str,
    pub(super) offline: &'static str,
    pub(super) retry: &'static str,
    pub(super) kept: &'static str,
    pub(super) again: &'static str,
    pub(super) up: &'static str,
    pub(super) down: &'static str,
    pub(super) order: &'static str,
    pub(super) left: &'static str,
    pub(super) failed: &'static str,
}

const ALL: [&Words; 5] = [&en::WORDS, &de::WORDS, &fr::WORDS, &es::WORDS, &ar::WORDS];

impl Words {
    /// The texts for a page in this language.
    pub(super) fn for_language(tag: &str) -> &'static Self {
        let language = locale::language(tag);
        ALL.into_iter().find(|words| words.language == language).unwrap_or(&en::WORDS)
    }

    /// The texts for a reader of these languages, if there is no flow.
    pub(super) fn for_reader(wanted: &[String]) -> &'static Self {
        let available = ALL.map(|words| words.language);
        let best = wanted.iter().find_map(|tag| locale::best(&available, tag));
        Self::for_language(best.unwrap_or_default())
    }

    /// The texts that the script needs, as JSON with the names that it uses.
    pub(super) fn for_script(&self) -> String {
        let (form, rule, script) = (&self.form, &self.rule, &self.script);
        serde_json::json!({
            "of": form.of, "back": form.back, "next": form.next, "send": form.send,
            "required": rule.required, "rows": rule.every_row, "problem": rule.problem,
            "sending": script.sending, "offline": script.offline, "retry": script.retry,
            "kept": script.kept, "again": script.again, "up": script.up, "down": script.down,
            "order": script.order, "left": script.left, "failed": script.failed,
        })
        .to_string()
    }
}

/// A text with its placeholders replaced. Inserted values are not expanded again.
pub(super) fn fill(text: &str, values: &[(&str, &str)]) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inserted_values_are_not_expanded() {
        let values = [("n", "{all}"), ("all", "5")];
        assert_eq!(fill("Question {n} of {all}", &values), "Question {all} of 5");
        assert_eq!(fill("plain", &values), "plain");
        assert_eq!(fill("{unknown}!", &values), "!");
    }

    #[test]
    fn a_reader_gets_texts_in_their_language_or_english() {
        for (wanted, language) in [
            (vec!["de-AT"], "de"),
            (vec!["nl", "fr-CA"], "fr"),
            (vec!["ar"], "ar"),
            (vec!["nl"], "en"),
            (vec![], "en"),
        ] {
            let wanted: Vec<String> = wanted.into_iter().map(str::to_owned).collect();
            assert_eq!(Words::for_reader(&wanted).language, language, "{wanted:?}");
        }
    }

    /// Every language has every text (the compiler checks that) with the same placeholders.
    #[test]
    fn texts_have_the_same_placeholders_in_every_language() {
        let places = |text: &str| -> Vec<String> {
            let mut found: Vec<_> = text
                .split('{')
                .skip(1)
                .map(|rest| rest.split('}').next().unwrap_or_default().to_owned())
                .collect();
            found.sort();
            found
        };
        let texts = |words: &Words| {
            [
                words.form.of,
                words.form.position,
                words.rule.length,
                words.rule.selected,
                words.rule.between,
                words.rule.at_least,
                words.rule.at_most,
                words.notice.parameters,
                words.state.scheduled.text,
                words.state.closed.text,
                words.script.up,
                words.script.down,
                words.script.left,
            ]
            .map(places)
        };
        for words in ALL {
            assert_eq!(texts(words), texts(&en::WORDS), "{}", words.language);
        }
    }
}
