//! The texts of the page itself: its buttons, notices, errors and states. One file per language.
//!
//! An author's texts come from the flow; these surround them, in the same language if there is a
//! file for it, otherwise in English. `{name}` in a text is a placeholder ([`fill`]); a text with a
//! number has the plural forms of its language ([`Forms`]).

mod ar;
mod de;
mod en;
mod es;
mod fr;
mod it;
mod ja;
mod nl;
mod pl;
mod pt_br;
mod tr;
mod zh_hans;

use sluice_flow::locale;
use sluice_flow::phrase::{Forms, fill};

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
    /// Replaces it where there is nothing to answer.
    pub(super) ok: &'static str,
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

/// The texts of the buttons: the author's, or the page's in the reader's language.
#[derive(Debug, Clone, Copy)]
pub(super) struct ButtonTexts<'f> {
    pub(super) next: &'f str,
    pub(super) back: &'f str,
    pub(super) send: &'f str,
}

/// What an answer must be; shown if it is not.
#[derive(Debug)]
pub(super) struct RuleTexts {
    pub(super) required: &'static str,
    pub(super) every_row: &'static str,
    pub(super) email: &'static str,
    pub(super) url: &'static str,
    pub(super) phone: &'static str,
    pub(super) number: &'static str,
    pub(super) whole_number: &'static str,
    pub(super) date: &'static str,
    /// With `{rule}`, one of the last three.
    pub(super) sentence: &'static str,
    /// With `{rule}` and `{range}`.
    pub(super) ranged: &'static str,
    /// With `{range}`, like the next one; the form is that of the range's last number.
    length: Forms,
    selected: Forms,
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
    /// Leaving the e-mails of an app, with `{name}`: before, and after.
    pub(super) unsubscribe: TitledText,
    pub(super) unsubscribe_button: &'static str,
    pub(super) unsubscribed: TitledText,
    pub(super) token_missing: TitledText,
    pub(super) token_refused: TitledText,
    pub(super) token_needs_script: &'static str,
    pub(super) failed: TitledText,
    pub(super) too_large: TitledText,
    pub(super) stored: TitledText,
    /// As agreed, they are linked to the respondent.
    pub(super) linked: &'static str,
    /// Nothing stored with them says who the respondent is.
    pub(super) anonymous: &'static str,
    /// They are not linked, but may contain what the respondent wrote.
    pub(super) unlinked: &'static str,
    /// Replaces the text and these in an author's preview.
    pub(super) preview: &'static str,
    /// The banner of every page in test mode.
    pub(super) test: &'static str,
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
    /// With `{n}`.
    left: Forms,
    pub(super) failed: &'static str,
}

const ALL: [&Words; 12] = [
    &en::WORDS,
    &de::WORDS,
    &fr::WORDS,
    &es::WORDS,
    &pt_br::WORDS,
    &it::WORDS,
    &nl::WORDS,
    &pl::WORDS,
    &tr::WORDS,
    &ar::WORDS,
    &ja::WORDS,
    &zh_hans::WORDS,
];

impl Words {
    /// The texts for a page in this language.
    pub(super) fn for_language(tag: &str) -> &'static Self {
        Self::in_language(tag).unwrap_or(&en::WORDS)
    }

    /// The texts for a reader of these languages, if there is no flow.
    pub(super) fn for_reader(wanted: &[String]) -> &'static Self {
        wanted.iter().find_map(|tag| Self::in_language(tag)).unwrap_or(&en::WORDS)
    }

    /// The texts in this language, or in another variant of it.
    fn in_language(tag: &str) -> Option<&'static Self> {
        locale::translation(&ALL, |words| words.language, tag)
    }

    /// The rule for the length of a text; `last` is the last number of the range.
    pub(super) fn length(&self, range: &str, last: u64) -> String {
        self.ranged(&self.rule.length, range, last)
    }

    /// The rule for the number of chosen options.
    pub(super) fn selected(&self, range: &str, last: u64) -> String {
        self.ranged(&self.rule.selected, range, last)
    }

    fn ranged(&self, forms: &Forms, range: &str, last: u64) -> String {
        fill(forms.of(self.language, last), &[("range", range)])
    }

    /// The texts that the script needs, as JSON with the names that it uses.
    pub(super) fn for_script(&self, ButtonTexts { next, back, send }: ButtonTexts<'_>) -> String {
        let (form, rule, script) = (&self.form, &self.rule, &self.script);
        serde_json::json!({
            "of": form.of, "back": back, "next": next, "send": send,
            "required": rule.required, "rows": rule.every_row,
            "sending": script.sending, "offline": script.offline, "retry": script.retry,
            "kept": script.kept, "again": script.again, "up": script.up, "down": script.down,
            "order": script.order, "left": script.left.to_json(), "failed": script.failed,
        })
        .to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_gets_texts_in_their_language_or_english() {
        for (wanted, language) in [
            (vec!["de-AT"], "de"),
            (vec!["ko", "fr-CA"], "fr"),
            (vec!["ar"], "ar"),
            (vec!["pt-PT"], "pt-BR"),
            (vec!["zh"], "zh-Hans"),
            (vec!["zh-CN"], "zh-Hans"),
            (vec!["zh-Hans-HK"], "zh-Hans"),
            (vec!["zh-TW"], "en"),
            (vec!["zh-Hant", "ja-JP"], "ja"),
            (vec!["ko"], "en"),
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
                words.rule.sentence,
                words.rule.ranged,
                words.rule.length.other,
                words.rule.selected.other,
                words.rule.between,
                words.rule.at_least,
                words.rule.at_most,
                words.notice.parameters,
                words.state.scheduled.text,
                words.state.closed.text,
                words.script.up,
                words.script.down,
                words.script.left.other,
            ]
            .map(places)
        };
        for words in ALL {
            assert_eq!(texts(words), texts(&en::WORDS), "{}", words.language);
        }
    }
    #[test]
    fn a_text_with_a_number_has_its_plural_form() {
        for (language, last, text) in [
            ("en", 1, "Write at most 1 character."),
            ("en", 5, "Write at most 5 characters."),
            ("it", 1, "Scriva al massimo 1 carattere."),
        ] {
            let words = Words::for_language(language);
            let range = fill(words.rule.at_most, &[("max", &last.to_string())]);
            assert_eq!(words.length(&range, last), text);
        }
        let polish = &Words::for_language("pl").script.left;
        let left = |n| fill(polish.of("pl", n), &[("n", &n.to_string())]);
        assert_eq!(left(1), "Pozostał 1 znak");
        assert_eq!(left(3), "Pozostały 3 znaki");
        assert_eq!(left(12), "Pozostało 12 znaków");
        let arabic = &Words::for_language("ar").script.left;
        assert_eq!(arabic.of("ar", 2), "بقي حرفان");
    }
}
