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

use sluice_flow::page_language::PageLanguage;
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
    wait: WaitTexts,
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
    /// Too many forms or bytes came from the address; with `{wait}`, like the next two.
    pub(super) limited: &'static str,
    /// The app gets too many responses.
    pub(super) busy: &'static str,
    /// The app has reached its daily storage quota.
    pub(super) full: &'static str,
    pub(super) unavailable: &'static str,
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
    /// Too many requests come from the address; with `{wait}`.
    pub(super) limited: TitledText,
    pub(super) too_large: TitledText,
    pub(super) stored: TitledText,
    /// As agreed, they are linked to the respondent.
    pub(super) linked: &'static str,
    /// Nothing stored with them identifies the respondent.
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

/// The sentence that says when to try again: `{wait}` in other texts. With `{n}`, except where a
/// form names the number.
#[derive(Debug)]
pub(super) struct WaitTexts {
    seconds: Forms,
    minutes: Forms,
    hours: Forms,
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

/// The texts in a language.
fn words_in(language: PageLanguage) -> &'static Words {
    match language {
        PageLanguage::Arabic => &ar::WORDS,
        PageLanguage::ChineseSimplified => &zh_hans::WORDS,
        PageLanguage::Dutch => &nl::WORDS,
        PageLanguage::English => &en::WORDS,
        PageLanguage::French => &fr::WORDS,
        PageLanguage::German => &de::WORDS,
        PageLanguage::Italian => &it::WORDS,
        PageLanguage::Japanese => &ja::WORDS,
        PageLanguage::Polish => &pl::WORDS,
        PageLanguage::PortugueseBrazil => &pt_br::WORDS,
        PageLanguage::Spanish => &es::WORDS,
        PageLanguage::Turkish => &tr::WORDS,
    }
}

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
        PageLanguage::for_tag(tag).map(words_in)
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
        fill(forms.select(self.language, last), &[("range", range)])
    }

    /// A text with `{wait}`, for a reader who may try again after this many seconds.
    pub(super) fn with_wait(&self, text: &str, seconds: u64) -> String {
        // As `limitedText` in the script: seconds below two minutes, minutes below two hours, then
        // hours.
        let (forms, number) = match seconds {
            0..120 => (&self.wait.seconds, seconds),
            120..7_200 => (&self.wait.minutes, seconds.div_ceil(60)),
            _ => (&self.wait.hours, seconds.div_ceil(3_600)),
        };
        let form = forms.select(self.language, number);
        fill(text, &[("wait", &fill(form, &[("n", &number.to_string())]))])
    }

    /// The texts that the script needs, as JSON with the names that it uses.
    pub(super) fn for_script(&self, ButtonTexts { next, back, send }: ButtonTexts<'_>) -> String {
        let (form, rule, script) = (&self.form, &self.rule, &self.script);
        let WaitTexts { seconds, minutes, hours } = &self.wait;
        serde_json::json!({
            "of": form.of, "back": back, "next": next, "send": send,
            "required": rule.required, "rows": rule.every_row,
            "sending": script.sending, "offline": script.offline, "retry": script.retry,
            "kept": script.kept, "again": script.again, "up": script.up, "down": script.down,
            "order": script.order, "left": script.left.to_json(), "failed": script.failed,
            "limited": self.notice.limited,
            "wait": {
                "seconds": seconds.to_json(), "minutes": minutes.to_json(),
                "hours": hours.to_json(),
            },
        })
        .to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_of_pages_has_the_texts_of_its_tag() {
        for language in PageLanguage::ALL {
            assert_eq!(words_in(*language).language, language.tag());
        }
    }

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
                words.notice.limited,
                words.notice.busy,
                words.notice.full,
                words.state.limited.text,
                words.wait.seconds.other,
                words.wait.minutes.other,
                words.wait.hours.other,
                words.state.scheduled.text,
                words.state.closed.text,
                words.script.up,
                words.script.down,
                words.script.left.other,
            ]
            .map(places)
        };
        for words in PageLanguage::ALL.iter().copied().map(words_in) {
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
        let left = |n| fill(polish.select("pl", n), &[("n", &n.to_string())]);
        assert_eq!(left(1), "Pozostał 1 znak");
        assert_eq!(left(3), "Pozostały 3 znaki");
        assert_eq!(left(12), "Pozostało 12 znaków");
        let arabic = &Words::for_language("ar").script.left;
        assert_eq!(arabic.select("ar", 2), "بقي حرفان");
    }

    #[test]
    fn a_wait_is_in_seconds_minutes_or_hours_and_never_too_short() {
        for (seconds, text) in [
            (1, "Try again in 1 second."),
            (119, "Try again in 119 seconds."),
            (120, "Try again in 2 minutes."),
            (121, "Try again in 3 minutes."),
            (7_199, "Try again in 120 minutes."),
            (7_201, "Try again in 3 hours."),
            (86_400, "Try again in 24 hours."),
        ] {
            assert_eq!(en::WORDS.with_wait("{wait}", seconds), text);
        }
        for words in PageLanguage::ALL.iter().copied().map(words_in) {
            for seconds in [1, 2, 3, 11, 300, 86_400] {
                let text = words.with_wait(words.state.limited.text, seconds);
                assert!(!text.contains('{'), "{}: {text}", words.language);
            }
        }
    }
}
