"""Texts as respondents read them: translations, placeholders, Markdown."""

from __future__ import annotations

import collections
from typing import Any, List

import pytest

from sluice import Snapshot, Words
from sluice._markdown import Element, Part, Placeholder, inline, label_parts
from sluice.definition import Question
from sluice.texts import Texts, arranged, best_locale

OPTIONS = [{"id": "a", "label": "Option A"}, {"id": "b", "label": "B for {{answer:name}}"}]
SURVEY = {
    "title": "t",
    "defaultLocale": "en",
    "locales": ["en", "de", "pt-BR"],
    "questions": [
        {"id": "name", "type": "shortText", "prompt": "?"},
        {
            "id": "one",
            "type": "singleChoice",
            "prompt": "?",
            "options": OPTIONS,
            "allowOther": True,
        },
        {"id": "some", "type": "multipleChoice", "prompt": "?", "options": OPTIONS},
        {"id": "grid", "type": "matrix", "prompt": "?", "rows": OPTIONS, "columns": OPTIONS},
        {
            "id": "again",
            "type": "singleChoice",
            "prompt": "?",
            "options": [{"id": "self", "label": "Same as {{answer:again|?}}"}],
        },
        {"id": "more", "type": "yesNo", "prompt": "?"},
        {"id": "terms", "type": "consent", "prompt": "?"},
    ],
    "translations": {
        "de": {
            "title": "T",
            "questions": {"one": {"prompt": "Welche?", "options": {"a": "Wahl A"}}},
        }
    },
}
ANSWERS = {
    "name": ["<b>*Ada*"],
    "one": ["other:Mine & yours"],
    "some": ["b", "a"],
    "grid": ["a:b"],
    "again": ["self"],
    "more": ["no"],
    "terms": ["accepted"],
}


def texts(locale: str = "en") -> Texts:
    return Texts(Snapshot(SURVEY), ANSWERS, "4", {"plan": ["pro", "beta"]}, locale, Words())


@pytest.mark.parametrize(
    "text, expected",
    [
        ("{{answer:name}}!", "<b>*Ada*!"),
        ("{{answer:one}}", "Mine & yours"),
        ("{{answer:some}}", "B for <b>*Ada*, Option A"),
        ("{{answer:grid}}", "Option A: B for <b>*Ada*"),
        ("{{answer:more|maybe}} {{answer:terms}}", "No I agree"),
        ("{{score}} of 5", "4 of 5"),
        ("{{tag:plan|free}} {{tag:seats|few}}", "pro, beta few"),
        ("{{answer:nobody|x}}", "x"),
        ("{{answer:again}}", "Same as ?"),
        ("*so* [it](https://a.example) is", "so it is"),
    ],
)
def test_a_placeholder_shows_what_the_respondent_chose_or_its_fallback(
    text: str, expected: str
) -> None:
    assert texts().plain(text) == expected


@pytest.mark.parametrize(
    "text, expected",
    [
        ("a *b* **c**", "<p>a <em>b</em> <strong>c</strong></p>"),
        ('<b> & "x" \'', "<p>&lt;b&gt; &amp; &quot;x&quot; '</p>"),
        ("{{answer:name}}", "<p>&lt;b&gt;*Ada*</p>"),
        ("one\ntwo\n\nthree", "<p>one\ntwo</p><p>three</p>"),
        (
            "Bring:\n- a *b*\n- c\n\n1. x\n2. y",
            "<p>Bring:</p><ul><li>a <em>b</em></li><li>c</li></ul><ol><li>x</li><li>y</li></ol>",
        ),
        ("[x](javascript:alert(1))", "<p>[x](javascript:alert(1))</p>"),
        (
            "[*x*](https://a.example/?a&b)",
            '<p><a href="https://a.example/?a&amp;b" target="_blank" rel="noopener noreferrer"><em>x</em></a></p>',
        ),
        ("", ""),
    ],
)
def test_only_links_emphasis_and_lists_become_elements(text: str, expected: str) -> None:
    assert texts().html(text) == expected


def shown(parts: List[Part]) -> List[Any]:
    out: List[Any] = []
    for part in parts:
        if isinstance(part, Element):
            out.append({part.tag: shown(list(part.parts))})
        else:
            out.append({"pipe": part.name} if isinstance(part, Placeholder) else part)
    return out


@pytest.mark.parametrize(
    "text, expected",
    [
        ("**a *b* c**", [{"strong": ["a ", {"em": ["b"]}, " c"]}]),
        ("_a_ snake_case_name", [{"em": ["a"]}, " snake_case_name"]),
        ("2 * 3 * 4", ["2 * 3 * 4"]),
        ("\\*no\\* *", ["*", "no", "*", " *"]),
        ("ä*ö*ü", ["ä", {"em": ["ö"]}, "ü"]),
        ("Hi *{{answer:a_b|*x*}}*!", ["Hi ", {"em": [{"pipe": "a_b"}]}, "!"]),
        ("[x](https://{{tag:a}})", ["[x](https://", {"pipe": "a"}, ")"]),
        ("[](https://a.example)", ["[](https://a.example)"]),
    ],
)
def test_marks_are_read_as_the_server_reads_them(text: str, expected: List[Any]) -> None:
    assert shown(inline(text)) == expected


@pytest.mark.parametrize(
    "text, expected",
    [
        ("{{name}} {answer:a} {{answer:a", ["{{name}} {answer:a} {{answer:a"]),
        ("{{{answer:a}}}", ["{", {"pipe": "a"}, "}"]),
        ("{{a{{score}}", ["{{a", {"pipe": ""}]),
        (r"\{{score}}", ["{{score}}"]),
        (r"\\{{score}}", [r"\\", {"pipe": ""}]),
        (r"\x {{ score }}", [r"\x ", {"pipe": ""}]),
    ],
)
def test_labels_have_placeholders_and_no_markdown(text: str, expected: List[Any]) -> None:
    assert shown(list(label_parts(text))) == expected


def test_texts_are_translated_and_the_rest_stays() -> None:
    german = texts("de")
    question = german.snapshot.by_id["one"]
    assert german.title() == "T"
    assert german.question(question, "prompt") == "Welche?"
    assert [german.choice_label(question, "options", it) for it in OPTIONS] == [
        "Wahl A",
        OPTIONS[1]["label"],
    ]


def test_the_best_language_of_a_reader() -> None:
    snapshot = Snapshot(SURVEY)
    for wanted, locale in [
        (["de-AT"], "de"),
        (["pt-PT"], "pt-BR"),
        (["fr", "DE"], "de"),
        (["fr"], "en"),
        ([], "en"),
        (["DE-yue-HK"], "de"),
    ]:
        assert best_locale(snapshot, wanted) == locale, wanted
    rare = Snapshot({**SURVEY, "locales": ["en", "i-hak", "x-ours"]})
    for tag, locale in [
        ("I-HAK", "i-hak"),
        ("x-ours-too", "x-ours"),
        ("i-klingon", "en"),
        ("x-theirs", "en"),
    ]:
        assert best_locale(rare, [tag]) == locale, tag


def test_a_random_order_keeps_fixed_options_in_their_places() -> None:
    options = [{"id": str(at), "label": "x", "fixed": at in (0, 5)} for at in range(8)]
    question = Question({"id": "q", "type": "ranking", "options": options, "optionOrder": "random"})
    second: "collections.Counter[str]" = collections.Counter()
    for visit in range(3000):
        ids = [option["id"] for option in arranged(question, str(visit))]
        assert (ids[0], ids[5]) == ("0", "5") and sorted(ids) == [str(at) for at in range(8)]
        assert ids == [option["id"] for option in arranged(question, str(visit))]
        second[ids[1]] += 1
    # Each of the six movable options comes first about equally often.
    assert len(second) == 6 and all(400 < count < 600 for count in second.values()), second
