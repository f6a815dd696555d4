//! The subset of Markdown in texts.

use proptest::prelude::*;
use serde_json::{Value, json};
use sluice_flow::markdown::{Block, Inline, blocks, inline};

fn parts(inline: &[Inline<'_>]) -> Value {
    let part = |part: &Inline<'_>| match part {
        Inline::Text(text) => json!(text),
        Inline::Placeholder(it) => json!({"pipe": format!("{:?}", it.source)}),
        Inline::Emphasis(inner) => json!({"em": parts(inner)}),
        Inline::Strong(inner) => json!({"strong": parts(inner)}),
        Inline::Link { address, label } => json!({"a": address, "label": parts(label)}),
    };
    inline.iter().map(part).collect()
}

#[track_caller]
fn check(text: &str, expected: Value) {
    assert_eq!(parts(&inline(text)), expected, "{text}");
}

#[test]
fn emphasis_is_marked_by_stars_or_underscores() {
    check("a *b* c", json!(["a ", {"em": ["b"]}, " c"]));
    check("**b** and __c__", json!([{"strong": ["b"]}, " and ", {"strong": ["c"]}]));
    check("**a *b* c**", json!([{"strong": ["a ", {"em": ["b"]}, " c"]}]));
    check("_a_ snake_case_name", json!([{"em": ["a"]}, " snake_case_name"]));
    check("2 * 3 * 4", json!(["2 * 3 * 4"]));
    check("a *b", json!(["a *b"]));
    check("\\*no\\* *", json!(["*", "no", "*", " *"]));
    check("ä*ö*ü", json!(["ä", {"em": ["ö"]}, "ü"]));
}

#[test]
fn a_link_leads_to_a_web_or_mail_address() {
    check(
        "See [our *terms*](https://a.example/x?y=1#z).",
        json!(["See ", {"a": "https://a.example/x?y=1#z", "label": ["our ", {"em": ["terms"]}]}, "."]),
    );
    check("[x](https://{{tag:a}})", json!(["[x](https://", {"pipe": "Tag(\"a\")"}, ")"]));
    check("[m](mailto:a@b.example)", json!([{"a": "mailto:a@b.example", "label": ["m"]}]));
    for text in [
        "[x](javascript:alert(1))",
        "[x](data:text/html,x)",
        "[x](//a.example)",
        "[x](https://)",
        "[](https://a.example)",
        "[x](https://a b)",
        "[x](https://a\"b)",
        "[x] (https://a.example)",
    ] {
        check(text, json!([text]));
    }
}

#[test]
fn a_placeholder_is_one_part_whatever_it_holds() {
    check("Hi *{{answer:a_b|*x*}}*!", json!(["Hi ", {"em": [{"pipe": "Answer(\"a_b\")"}]}, "!"]));
    check(
        "[{{tag:a}}](https://a.example)",
        json!([{"a": "https://a.example", "label": [{"pipe": "Tag(\"a\")"}]}]),
    );
}

#[test]
fn lines_become_paragraphs_and_lists() {
    let shown = |text: &str| -> Value {
        let block = |block: &Block<'_>| match block {
            Block::Paragraph(it) => json!({"p": parts(it)}),
            Block::List { is_ordered, items } => {
                let items: Vec<Value> = items.iter().map(|item| parts(item)).collect();
                json!({"ordered": is_ordered, "items": items})
            }
        };
        blocks(text).iter().map(block).collect()
    };
    assert_eq!(shown("one\ntwo\n\nthree"), json!([{"p": ["one\ntwo"]}, {"p": ["three"]}]));
    assert_eq!(
        shown("Bring:\n- a *b*\n- c\n\n1. x\n2. y"),
        json!([
            {"p": ["Bring:"]},
            {"ordered": false, "items": [["a ", {"em": ["b"]}], ["c"]]},
            {"ordered": true, "items": [["x"], ["y"]]},
        ])
    );
    assert_eq!(shown("2024. was\n-5 degrees"), json!([{"p": ["2024. was\n-5 degrees"]}]));
    assert_eq!(shown(""), json!([]));
}

/// The text of all parts, in order.
fn written(inline: &[Inline<'_>], out: &mut String) {
    for part in inline {
        match part {
            Inline::Text(text) => out.push_str(text),
            Inline::Placeholder(_) => {}
            Inline::Emphasis(inner) | Inline::Strong(inner) => written(inner, out),
            Inline::Link { address, label } => {
                assert!(
                    ["http://", "https://", "mailto:"]
                        .iter()
                        .any(|it| address.to_lowercase().starts_with(it))
                );
                written(label, out);
            }
        }
    }
}

proptest! {
    /// No text is lost but marks, and nothing panics.
    #[test]
    fn every_letter_of_a_text_is_kept(text in "[a-zä漢<&\"*_\\[\\](){}:|/\\\\ .\n-]{0,60}") {
        let mut out = String::new();
        written(&inline(&text), &mut out);
        let plain = text.replace("{{", "").replace("}}", "");
        prop_assume!(!text.contains("](") && plain.len() == text.len());
        let letters = |text: &str| -> String { text.chars().filter(|it| !"*_\\".contains(*it)).collect() };
        prop_assert_eq!(letters(&out), letters(&text));
        for block in blocks(&text) {
            let mut out = String::new();
            match block {
                Block::Paragraph(it) => written(&it, &mut out),
                Block::List { items, .. } => items.iter().for_each(|it| written(it, &mut out)),
            }
        }
    }
}
