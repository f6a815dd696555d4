//! An author's texts as the page shows them: placeholders filled in, and Markdown rendered.
//!
//! This is the only place that turns a text into elements: paragraphs, lists, emphasis and links.
//! The template escapes every text and value. A placeholder for an answer or the score is an
//! element that the script fills in again when the answers change.

use maud::{Markup, html};
use sluice_flow::definition::Wording;
use sluice_flow::markdown::{self, Block, Inline};
use sluice_flow::piping::{self, Part, Placeholder, Source};
use sluice_flow::question::choice::{Choice, OTHER_PREFIX};
use sluice_flow::question::{Input, Question};
use sluice_flow::score::Score;
use sluice_flow::submission::TextMap;

use super::parameters::Parameters;
use super::words::Words;

/// The name of the score for the script; no question has it.
const SCORE: &str = "#";

/// The texts of a flow for one reader, with the answers so far.
#[derive(Clone, Copy)]
pub(super) struct FlowTexts<'a> {
    pub(super) wording: Wording<'a>,
    pub(super) words: &'static Words,
    pub(super) parameters: &'a Parameters,
    /// Only those that count: to visible questions.
    pub(super) answers: &'a TextMap<'a>,
    pub(super) score: Score,
}

impl<'a> FlowTexts<'a> {
    pub(super) fn new(
        wording: Wording<'a>,
        words: &'static Words,
        parameters: &'a Parameters,
        answers: &'a TextMap<'a>,
    ) -> Self {
        let score = wording.definition().score(answers).unwrap_or_default();
        Self { wording, words, parameters, answers, score }
    }

    /// A text without blocks, such as a heading.
    pub(super) fn inline(&self, text: &str) -> Markup {
        self.parts(&markdown::inline(text))
    }

    /// A text in an element with this class: a paragraph, or several blocks.
    pub(super) fn blocks(&self, class: &str, id: Option<&str>, text: &str) -> Markup {
        let blocks = markdown::blocks(text);
        html! {
            @if let [Block::Paragraph(parts)] = blocks.as_slice() {
                p class=(class) id=[id] dir="auto" { (self.parts(parts)) }
            } @else {
                div class=(class) id=[id] dir="auto" { @for block in &blocks { (self.block(block)) } }
            }
        }
    }

    fn block(&self, block: &Block<'_>) -> Markup {
        html! {
            @match block {
                Block::Paragraph(parts) => { p { (self.parts(parts)) } }
                Block::List { is_ordered: true, items } => {
                    ol { @for item in items { li { (self.parts(item)) } } }
                }
                Block::List { is_ordered: false, items } => {
                    ul { @for item in items { li { (self.parts(item)) } } }
                }
            }
        }
    }

    fn parts(&self, parts: &[Inline<'_>]) -> Markup {
        html! {
            @for part in parts {
                @match part {
                    Inline::Text(text) => (text),
                    Inline::Placeholder(placeholder) => (self.placeholder(placeholder)),
                    Inline::Emphasis(parts) => { em { (self.parts(parts)) } }
                    Inline::Strong(parts) => { strong { (self.parts(parts)) } }
                    Inline::Link { address, label } => {
                        a href=(address) target="_blank" rel="noopener noreferrer" {
                            (self.parts(label))
                        }
                    }
                }
            }
        }
    }

    /// A label: placeholders, but no Markdown.
    pub(super) fn label(&self, text: &str) -> Markup {
        html! {
            @for part in piping::parts(text) {
                @match part {
                    Part::Text(text) => (text),
                    Part::Placeholder(placeholder) => (self.placeholder(&placeholder)),
                }
            }
        }
    }

    fn placeholder(&self, placeholder: &Placeholder<'_>) -> Markup {
        let value = self.value(placeholder);
        html! {
            @match script_name(placeholder.source) {
                Some(name) => {
                    span data-pipe=(name) data-fallback=(placeholder.fallback) { (value) }
                }
                None => (value),
            }
        }
    }

    /// A text without elements, for a title or an attribute.
    pub(super) fn plain(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        self.write_plain(&markdown::inline(text), &mut out);
        out
    }

    fn write_plain(&self, parts: &[Inline<'_>], out: &mut String) {
        for part in parts {
            match part {
                Inline::Text(text) => out.push_str(text),
                Inline::Placeholder(placeholder) => out.push_str(&self.value(placeholder)),
                Inline::Emphasis(parts) | Inline::Strong(parts) => self.write_plain(parts, out),
                Inline::Link { label, .. } => self.write_plain(label, out),
            }
        }
    }

    /// A label without elements.
    pub(super) fn plain_label(&self, text: &str) -> String {
        let part = |part| match part {
            Part::Text(text) => text.to_owned(),
            Part::Placeholder(placeholder) => self.value(&placeholder),
        };
        piping::parts(text).into_iter().map(part).collect()
    }

    /// The label of a chosen option. A placeholder in it for another choice shows its fallback:
    /// labels could refer to each other endlessly.
    fn label_of_answer(&self, text: &str) -> String {
        let part = |part| match part {
            Part::Text(text) => text.to_owned(),
            Part::Placeholder(it) if self.has_labels(it.source) => it.fallback.to_owned(),
            Part::Placeholder(it) => self.value(&it),
        };
        piping::parts(text).into_iter().map(part).collect()
    }

    /// Whether this is an answer that is shown by the labels of its question.
    fn has_labels(&self, source: Source<'_>) -> bool {
        let Source::Answer(id) = source else { return false };
        let question = self.wording.definition().question(id);
        question.is_some_and(|question| {
            let input = question.question_type.input();
            matches!(
                input,
                Input::OneOf { .. }
                    | Input::SomeOf { .. }
                    | Input::Order { .. }
                    | Input::Grid { .. }
            )
        })
    }

    /// The parts of a text that the script must assemble again when the answers change: texts, and
    /// pairs of a source and a fallback. `None` if it depends on no answer.
    pub(super) fn script_parts(&self, text: &str) -> Option<String> {
        let mut depends = false;
        let parts: Vec<serde_json::Value> = piping::parts(text)
            .into_iter()
            .map(|part| match part {
                Part::Text(text) => text.into(),
                Part::Placeholder(it) => match script_name(it.source) {
                    Some(name) => {
                        depends = true;
                        serde_json::json!([name, it.fallback])
                    }
                    None => self.value(&it).into(),
                },
            })
            .collect();
        depends.then(|| serde_json::Value::from(parts).to_string())
    }

    /// What a placeholder stands for now.
    fn value(&self, placeholder: &Placeholder<'_>) -> String {
        let value = match placeholder.source {
            Source::Answer(id) => self.answer(id),
            Source::Tag(name) => self.parameters.tag(name).map(|values| values.join(", ")),
            Source::Score => Some(self.score.to_string()),
        };
        value.filter(|value| !value.is_empty()).unwrap_or_else(|| placeholder.fallback.to_owned())
    }

    /// An answer as its respondent reads it: the labels of options, not their ids.
    fn answer(&self, id: &str) -> Option<String> {
        let question = self.wording.definition().question(id)?;
        let texts = self.answers.get(id)?.as_slice();
        let shown: Vec<String> =
            texts.iter().map(|text| self.answer_text(question, text)).collect();
        Some(shown.join(", "))
    }

    fn answer_text(&self, question: &'a Question, text: &str) -> String {
        let label = |field: &str, choices: &'a [Choice], id: &str| {
            let found = choices.iter().find(|choice| choice.id == id);
            found.map_or_else(
                || id.to_owned(),
                |choice| self.label_of_answer(self.wording.label(question, field, choice)),
            )
        };
        match question.question_type.input() {
            Input::OneOf { options, .. } | Input::SomeOf { options, .. } => {
                match text.strip_prefix(OTHER_PREFIX).filter(|_| options.allow_other) {
                    Some(own) => own.to_owned(),
                    None => label("options", &options.options, text),
                }
            }
            Input::Order { options, .. } => label("options", options, text),
            Input::Grid { rows, columns } => {
                let (row, column) = text.split_once(':').unwrap_or((text, ""));
                format!("{}: {}", label("rows", rows, row), label("columns", columns, column))
            }
            Input::YesNo if text == "yes" => self.words.form.yes.to_owned(),
            Input::YesNo => self.words.form.no.to_owned(),
            Input::Tick { .. } => self.words.form.agree.to_owned(),
            Input::Nothing
            | Input::Line { .. }
            | Input::Paragraph { .. }
            | Input::Number { .. }
            | Input::Date { .. }
            | Input::Scale { .. } => text.to_owned(),
        }
    }
}

/// The name of a source for the script; tags do not change while a page is open.
fn script_name<'t>(source: Source<'t>) -> Option<&'t str> {
    match source {
        Source::Answer(id) => Some(id),
        Source::Score => Some(SCORE),
        Source::Tag(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use serde_json::json;
    use sluice_flow::definition::{self, Definition};
    use sluice_flow::question::QuestionType;
    use sluice_flow::submission::Texts;

    use super::*;

    fn survey() -> Definition {
        let options = json!([{"id": "a", "label": "Option A"}, {"id": "b", "label": "B for {{answer:name}}"}]);
        definition::check(&json!({"title": "t", "questions": [
            {"id": "name", "type": "shortText", "prompt": "?"},
            {"id": "one", "type": "singleChoice", "prompt": "?", "options": options, "allowOther": true},
            {"id": "some", "type": "multipleChoice", "prompt": "?", "options": options},
            {"id": "grid", "type": "matrix", "prompt": "?", "rows": options, "columns": options},
            {"id": "again", "type": "singleChoice", "prompt": "?", "options": [
                {"id": "self", "label": "Same as {{answer:again|?}}"}, {"id": "b", "label": "B"}]},
            {"id": "more", "type": "yesNo", "prompt": "?"},
            {"id": "stars", "type": "rating", "prompt": "?", "score": "value"},
        ]}))
        .unwrap()
    }

    /// Calls a test with the texts of a survey that was answered.
    fn with_answers(test: impl FnOnce(&FlowTexts<'_>)) {
        let survey = survey();
        let one = |id: &'static str, text: &'static str| (Cow::from(id), Texts::One(text.into()));
        let answers: TextMap<'_> = [
            one("name", "<b>*Ada*"),
            one("one", "other:Mine & yours"),
            (Cow::from("some"), Texts::Many(vec!["b".into(), "a".into()])),
            (Cow::from("grid"), Texts::Many(vec!["a:b".into()])),
            one("again", "self"),
            one("more", "no"),
            one("stars", "4"),
        ]
        .into_iter()
        .collect();
        let parameters = Parameters::read(Some("tags.plan=pro&tags.plan=beta"), false);
        let words = Words::for_language("en");
        test(&FlowTexts::new(survey.wording(&[]), words, &parameters, &answers));
    }

    #[test]
    fn a_placeholder_shows_what_the_respondent_chose_or_its_fallback() {
        with_answers(|texts| {
            for (text, expected) in [
                ("{{answer:name}}!", "<b>*Ada*!"),
                ("{{answer:one}}", "Mine & yours"),
                ("{{answer:some}}", "B for <b>*Ada*, Option A"),
                ("{{answer:grid}}", "Option A: B for <b>*Ada*"),
                ("{{answer:more|maybe}}", "No"),
                ("{{score}} of 5", "4 of 5"),
                ("{{tag:plan|free}} {{tag:seats|few}}", "pro, beta few"),
                ("{{answer:nobody|x}}", "x"),
                ("{{answer:again}}", "Same as ?"),
                ("*so* [it](https://a.example) is", "so it is"),
            ] {
                assert_eq!(texts.plain(text), expected, "{text}");
            }
            assert_eq!(
                texts.inline("*Hi* {{answer:name|you}}").into_string(),
                "<em>Hi</em> <span data-pipe=\"name\" data-fallback=\"you\">&lt;b&gt;*Ada*</span>"
            );
            assert_eq!(texts.script_parts("{{tag:plan}} only"), None);
            assert_eq!(
                texts.script_parts("{{tag:plan}}: {{answer:name|you}}").as_deref(),
                Some(r#"["pro, beta",": ",["name","you"]]"#)
            );
        });
    }

    /// Whether a tag is one that a text may become.
    fn is_allowed(tag: &str) -> bool {
        const PLAIN: &[&str] = &[
            "p class=\"lead\" dir=\"auto\"",
            "div class=\"lead\" dir=\"auto\"",
            "p",
            "/p",
            "/div",
            "ul",
            "/ul",
            "ol",
            "/ol",
            "li",
            "/li",
            "em",
            "/em",
            "strong",
            "/strong",
            "/a",
            "/span",
        ];
        let between = |start: &str, end: &str| {
            tag.strip_prefix(start).and_then(|rest| rest.strip_suffix(end)).map(str::to_owned)
        };
        let link = between("a href=\"", "\" target=\"_blank\" rel=\"noopener noreferrer\"");
        let is_address = |it: &String| {
            !it.contains('"')
                && ["http://", "https://", "mailto:"].iter().any(|at| it.starts_with(at))
        };
        let pipe = between("span data-pipe=\"name\" data-fallback=\"", "\"");
        PLAIN.contains(&tag)
            || link.is_some_and(|it| is_address(&it))
            || pipe.is_some_and(|it| !it.contains('"'))
    }

    #[test]
    fn no_text_becomes_any_other_element() {
        const PIECES: &[&str] = &[
            "<script>",
            "</p>",
            "<img src=x onerror=y>",
            "*",
            "**",
            "_",
            "[",
            "](",
            "[x](",
            ")",
            "https://a.example",
            "mailto:a@b",
            "javascript:alert(1)",
            "\n- ",
            "\n1. ",
            "\n\n",
            "\"",
            "'",
            "&",
            "<",
            ">",
            "{{answer:name|<i>\"}}",
            "{{tag:plan|*}}",
            "{{",
            "}}",
            "ä",
            " ",
            "\\",
        ];
        with_answers(|texts| {
            let mut state = 7_u64;
            let mut next = |bound: usize| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 33) as usize % bound
            };
            for _ in 0..20_000 {
                let length = next(12);
                let text: String = (0..length).map(|_| PIECES[next(PIECES.len())]).collect();
                let blocks = texts.blocks("lead", None, &text).into_string();
                let inline = texts.inline(&text).into_string();
                for html in [&blocks, &inline, &texts.label(&text).into_string()] {
                    for piece in html.split('<').skip(1) {
                        let tag = piece.split('>').next().unwrap_or_default();
                        assert!(is_allowed(tag), "<{tag}> of {text:?}: {html}");
                    }
                    assert_eq!(html.matches('<').count(), html.matches('>').count(), "{text:?}");
                }
            }
        });
    }

    /// The HTML without the elements that only the script of the page reads.
    fn without_spans(html: &str) -> String {
        let mut parts = html.split("<span ");
        let first = parts.next().unwrap_or_default().to_owned();
        let rest = parts.map(|part| part.split_once('>').unwrap().1.replacen("</span>", "", 1));
        first + &rest.collect::<String>()
    }

    const CASES: &str = include_str!("../../../tests/golden/texts.json");

    #[test]
    fn the_answer_to_every_question_type_is_in_a_shared_case() {
        let file: serde_json::Value = serde_json::from_str(CASES).unwrap();
        let [questions, cases] =
            [&file["questions"], &file["cases"]].map(|it| it.as_array().unwrap());
        for name in QuestionType::NAMES {
            let is_shown = |question: &serde_json::Value| {
                let start = format!("{{{{answer:{}", question["id"].as_str().unwrap());
                cases.iter().any(|case| case["text"].as_str().unwrap().starts_with(&start))
            };
            let mut with_type = questions.iter().filter(|it| it["type"] == *name);
            assert!(with_type.any(is_shown), "no case has the answer to a {name}");
        }
    }

    #[test]
    fn texts_become_the_html_of_the_shared_cases() {
        let file: serde_json::Value = serde_json::from_str(CASES).unwrap();
        let survey = definition::check(&json!({"title": "t", "questions": file["questions"]}));
        let survey = survey.unwrap();
        let text = |value: &serde_json::Value| Cow::Owned(value.as_str().unwrap().to_owned());
        let answers = file["answers"].as_object().unwrap().iter().map(|(id, value)| {
            let texts = match value.as_array() {
                Some(items) => Texts::Many(items.iter().map(text).collect()),
                None => Texts::One(text(value)),
            };
            (Cow::Borrowed(id.as_str()), texts)
        });
        let answers: TextMap<'_> = answers.collect();
        let parameters = Parameters::read(Some("tags.plan=pro&tags.plan=beta"), false);
        let words = Words::for_language("en");
        let texts = FlowTexts::new(survey.wording(&[]), words, &parameters, &answers);
        for case in file["cases"].as_array().unwrap() {
            let text = case["text"].as_str().unwrap();
            let blocks = markdown::blocks(text);
            let html: String = blocks.iter().map(|it| texts.block(it).into_string()).collect();
            let shown = json!({
                "text": text,
                "html": without_spans(&html),
                "inline": without_spans(&texts.inline(text).into_string()),
                "plain": texts.plain(text),
                "label": texts.plain_label(text),
            });
            assert_eq!(shown, *case);
        }
    }
}
