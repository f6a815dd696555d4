"""The rules by tables: the same tables as the tests of the server, where it has them as files."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Optional, Sequence, Tuple

import pytest

from server import ROOT
from sluice import InvalidValue, Snapshot, check, judge, shape
from sluice._formats import decimal, is_date, is_email, is_phone, plain_number
from sluice._text import is_alphanumeric, well_formed
from sluice._web_address import is_url
from sluice.route import Route, progress, reached

FLOW_TESTS = ROOT / "crates" / "flow" / "tests" / "flow"


def snapshot_of(*questions: Dict[str, Any], **more: Any) -> Snapshot:
    return Snapshot(
        {"title": "T", "questions": [{"prompt": "?", **each} for each in questions], **more}
    )


def codes(question: Dict[str, Any], *texts: str) -> List[str]:
    return [issue.code for issue in judge(snapshot_of({"id": "q", **question}), {"q": texts})]


# --- shared tables ---


def test_conditions_hold_as_in_the_shared_table() -> None:
    table = json.loads((FLOW_TESTS / "visible_if.json").read_text())
    assert len(table["cases"]) > 20
    for case in table["cases"]:
        asked = {"id": "asked", "type": "statement", "prompt": "?", "visibleIf": case["if"]}
        snapshot = Snapshot({"title": "T", "questions": [*table["questions"], asked]})
        assert Route(snapshot, case["answers"]).is_visible("asked") is case["holds"], case


def test_answers_lead_through_the_questions_as_in_the_shared_table() -> None:
    table = json.loads((FLOW_TESTS / "routes.json").read_text())
    assert len(table["cases"]) > 10
    for case in table["cases"]:
        snapshot = Snapshot(table["flows"][case["flow"]])
        answers = reached(snapshot, case["answers"])
        route = Route(snapshot, answers)
        assert [question.id for question in route.visible] == case["visible"], case
        assert (route.ending.id or None) == case["ending"], case
        assert (route.score or 0) == case["score"], case
        assert reached(snapshot, answers) == answers, case


def test_progress_counts_the_longest_way_from_a_question() -> None:
    when = {"question": "a", "equals": "yes"}
    snapshot = snapshot_of(
        {
            "id": "a",
            "type": "yesNo",
            "next": [{"when": {"question": "a", "equals": "no"}, "to": "d"}],
        },
        {"id": "b", "type": "nps", "score": "value", "visibleIf": when},
        {"id": "c", "type": "nps", "visibleIf": {"all": [when, {"question": "b", "lessThan": 7}]}},
        {"id": "d", "type": "nps", "visibleIf": {"not": {"score": True, "equals": 9}}},
    )
    cases: List[Tuple[Dict[str, List[str]], str, Tuple[int, int]]] = [
        ({}, "a", (1, 4)),
        ({"a": ["yes"]}, "a", (1, 4)),
        ({"a": ["yes"]}, "b", (2, 4)),
        ({"a": ["yes"], "b": ["9"]}, "b", (2, 4)),
        ({"a": ["yes"], "b": ["8"]}, "d", (3, 3)),
        ({"a": ["yes"], "b": ["3"]}, "c", (3, 4)),
        ({"a": ["yes"], "b": ["3"]}, "d", (4, 4)),
        ({"a": ["no"]}, "d", (2, 2)),
    ]
    for answers, question, expected in cases:
        assert progress(snapshot, answers, question) == expected, (answers, question)


# --- formats ---


@pytest.mark.parametrize(
    "text, is_right",
    [(text, True) for text in ["0", "7", "-7", "007", "3.25", "-0.5", ".5", "-.5", "9" * 64]]
    + [
        (text, False)
        for text in ["", "-", ".", "5.", "-.", "+5", "--5", "1e3", "0x10", "1_000", " 5"]
    ]
    + [(text, False) for text in ["NaN", "inf", "٣", "1.2.3", "9" * 65, "5\n"]],
)
def test_a_number_is_digits_with_an_optional_sign_and_fraction(text: str, is_right: bool) -> None:
    assert (decimal(text) is not None) is is_right


def test_a_bound_is_written_in_plain_decimal() -> None:
    values: List[Tuple[Any, str]] = [
        (7, "7"),
        (7.0, "7"),
        (-0.0, "0"),
        (0.1, "0.1"),
        (1e-7, "0.0000001"),
    ]
    for value, text in [*values, (-1e15, "-1000000000000000")]:
        assert plain_number(value) == text


def test_a_date_must_exist_in_the_calendar() -> None:
    for text in ["2024-02-29", "0001-01-01", "9999-12-31", "2000-02-29"]:
        assert is_date(text), text
    for text in [
        "",
        "2023-02-29",
        "1900-02-29",
        "2024-13-01",
        "0000-01-01",
        "2024-1-1",
        "2024-01-0١",
        "2024-01-01\n",
    ]:
        assert not is_date(text), text


def test_a_telephone_number_has_three_digits_and_the_usual_signs() -> None:
    for text in ["112", "+49 (0) 30 123-456.78", "1" * 32]:
        assert is_phone(text), text
    for text in ["", "12", "+()-.", "call me", "1" * 33, "٠١٢٣", "112\n"]:
        assert not is_phone(text), text


def test_an_address_has_a_usual_local_part_and_a_domain_of_two_labels() -> None:
    right = ["ada@example.com", "o'neil_{x}@example.org", "jörg@müller.example", "a@भारत.example"]
    for text in right:
        assert is_email(text), text
    wrong = [
        "",
        "ada",
        "@example.com",
        "ada@localhost",
        "ada@@example.com",
        "a..da@example.com",
        "ada@-x.com",
    ]
    for text in [
        *wrong,
        "ada@example.com\n",
        "a" * 65 + "@example.com",
        "a@" + "abcdefghi." * 26 + "com",
    ]:
        assert not is_email(text), text


def test_a_web_address_is_http_or_https_with_a_host() -> None:
    right = [
        "https://example.com",
        "HTTPS://münchen.example/straße",
        "https://127.0.0.1/",
        "http:///a.de",
    ]
    for text in [
        *right,
        "http://[::1]:80",
        "http://user:pw@a.de",
        "http://0x7f.1",
        "https://a.de/?x=é#y",
    ]:
        assert is_url(text), text
    wrong = [
        "",
        "example.com",
        "//example.com",
        "https://",
        "https:example.com",
        "ftp://a.de",
        " https://a.de",
    ]
    wrong += [
        "https://a b.de",
        "https://a.de/\n",
        "http://1.2.3.256",
        "http://[::g]",
        "http://a.de:65536",
    ]
    for text in [*wrong, "http://xn--a.de", "https://example.com/" + "a" * 2048]:
        assert not is_url(text), text


def test_addresses_beyond_ascii_that_look_invalid_are_left_to_the_server() -> None:
    for type, address in [
        ("email", "\U0001f600@ex ample"),
        ("url", "http://\u0301a.de"),
        ("url", "ä"),
    ]:
        assert codes({"type": type}, address) == []
    assert codes({"type": "email", "maxLength": 2}, "ä b") == ["out_of_range"]
    for type, address in [("email", "ada"), ("url", "ftp://a.de")]:
        assert codes({"type": type}, address) == ["invalid_format"]
    for address, expected in [("ä", []), ("a", [("invalid_value", ("identities", 0, "value"))])]:
        assert shape_codes(identities=[{"type": "traits.email", "value": address}]) == expected


def test_letters_of_every_script_are_alphanumeric() -> None:
    for letter in "aZ9äß日\u093e½²Ⅷ\U0001f150":
        assert is_alphanumeric(letter), letter
    for letter in "-_ .☕\u0301\u200d\U0001f600":
        assert not is_alphanumeric(letter), letter


def test_lone_surrogates_are_replaced_and_pairs_joined() -> None:
    for text, sent in [
        ("a", "a"),
        ("\ud83d", "\ufffd"),
        ("\ude00x", "\ufffdx"),
        ("\ud83d\ude00", "😀"),
    ]:
        assert well_formed(text) == sent
    assert shape.as_sent({"\ud800": ("\udc00",)}) == {"\ufffd": ["\ufffd"]}


# --- question types ---

OPTIONS = [{"id": "a", "label": "A"}, {"id": "b", "label": "B"}]


@pytest.mark.parametrize(
    "question, texts, expected",
    [
        ({"type": "shortText", "minLength": 2, "maxLength": 3}, ["ä"], ["out_of_range"]),
        ({"type": "shortText", "minLength": 2, "maxLength": 3}, ["äöü"], []),
        ({"type": "shortText"}, ["a", "b"], ["wrong_answer_kind"]),
        ({"type": "longText"}, ["a" * 4001], ["out_of_range"]),
        ({"type": "email", "minLength": 20}, ["nobody"], ["out_of_range", "invalid_format"]),
        (
            {"type": "number", "min": 0.5, "integer": True},
            ["0.25"],
            ["invalid_format", "out_of_range"],
        ),
        ({"type": "number", "max": 10}, ["10.00000000000000000000000001"], ["out_of_range"]),
        ({"type": "date", "min": "2026-01-01"}, ["2025-12-31"], ["out_of_range"]),
        ({"type": "rating", "max": 5}, ["5"], []),
        ({"type": "rating", "max": 5}, ["6"], ["out_of_range"]),
        ({"type": "rating", "max": 5}, ["05"], ["invalid_format"]),
        ({"type": "nps"}, ["9" * 5000], ["out_of_range"]),
        ({"type": "singleChoice", "options": OPTIONS}, ["c"], ["unknown_option"]),
        ({"type": "singleChoice", "options": OPTIONS}, ["other:x"], ["unknown_option"]),
        (
            {"type": "dropdown", "options": OPTIONS, "allowOther": True},
            ["other:\u3000"],
            ["invalid_format"],
        ),
        (
            {"type": "multipleChoice", "options": OPTIONS, "maxSelected": 1},
            ["a", "b"],
            ["out_of_range"],
        ),
        ({"type": "multipleChoice", "options": OPTIONS}, ["a", "a"], ["invalid_selection"]),
        ({"type": "ranking", "options": OPTIONS}, ["b", "a"], []),
        ({"type": "ranking", "options": OPTIONS}, ["b"], ["invalid_selection"]),
        (
            {"type": "matrix", "rows": OPTIONS, "columns": OPTIONS},
            ["a:b", "a:a"],
            ["invalid_selection"],
        ),
        (
            {"type": "matrix", "rows": OPTIONS, "columns": OPTIONS, "required": True},
            ["a:b"],
            ["answer_required"],
        ),
        ({"type": "yesNo"}, ["Yes"], ["unknown_option"]),
        ({"type": "consent", "required": True}, [""], ["answer_required"]),
        ({"type": "statement"}, ["x"], ["not_answerable"]),
        ({"type": "hologram"}, ["anything"], []),
    ],
)
def test_answers_are_judged_by_their_type(
    question: Dict[str, Any], texts: Sequence[str], expected: List[str]
) -> None:
    assert codes(question, *texts) == expected


def test_an_unknown_condition_shows_the_question_and_is_noted() -> None:
    first = {"id": "a", "type": "shortText"}
    snapshot = snapshot_of(
        first, {"id": "b", "type": "nps", "visibleIf": {"question": "a", "resembles": "x"}}
    )
    assert snapshot.is_partly_unknown
    assert Route(snapshot, {}).is_visible("b")


def test_messages_name_the_question_and_the_start_of_an_unknown_one() -> None:
    snapshot = snapshot_of({"id": "nps", "type": "nps", "required": True})
    found = [issue.message for issue in judge(snapshot, {"x" * 70: ["1"], "b": ["1"]})]
    assert found == [
        'Question "nps" must be answered.',
        'This version has no question "b".',
        f'This version has no question "{"x" * 64}".',
    ]


def test_a_plain_string_is_judged_as_one_text() -> None:
    snapshot = snapshot_of({"id": "q", "type": "nps"}, {"id": "t", "type": "shortText"})
    assert judge(snapshot, {"q": "10", "t": "long"}) == []
    for answer in ("11", ["11"], ("11",)):
        assert [issue.code for issue in judge(snapshot, {"q": answer})] == ["out_of_range"]


def test_a_whole_submission_is_checked_by_its_shape_and_then_by_its_answers() -> None:
    snapshot = snapshot_of({"id": "q", "type": "nps", "required": True})
    whole: Dict[str, Any] = {
        "flowVersionId": "fv",
        "flowVersionPayloadGeneration": "4",
        "respondentAnalyticsAdmission": "admitted",
    }
    cases: List[Tuple[Dict[str, Any], List[str]]] = [
        ({"answers": {"q": "9"}}, []),
        ({"answers": {"q": ("9",)}}, []),
        ({"answers": {"q": 9}}, ["invalid_type"]),
        ({}, ["answer_required"]),
        ({"answers": {"q": "x"}, "flowVersionId": None}, ["field_required"]),
    ]
    for fields, expected in cases:
        found = [issue.code for issue in check(snapshot, {**whole, **fields})]
        assert found == expected, fields


# --- shape ---


def shape_codes(**fields: Optional[Any]) -> List[Tuple[str, Tuple[Any, ...]]]:
    whole = {
        "flowVersionId": "fv",
        "flowVersionPayloadGeneration": "4",
        "respondentAnalyticsAdmission": "admitted",
        **fields,
    }
    return [(issue.code, issue.path) for issue in shape.check(whole)[1]]


@pytest.mark.parametrize(
    "fields, expected",
    [
        ({}, []),
        ({"flowVersionId": None}, [("field_required", ("flowVersionId",))]),
        ({"answers": {"a": 7}}, [("invalid_type", ("answers", "a"))]),
        ({"answers": {"a": ["x", None]}}, [("invalid_type", ("answers", "a", 1))]),
        ({"answers": {"a": None}}, []),
        ({"answers": {"a": ["x" * 9000] * 2}}, [("too_long", ("answers", "a"))]),
        ({"metadata": {"tags": {"a": {"b": "c"}}}}, [("nested_tag", ("metadata", "tags", "a"))]),
        ({"metadata": {"tags": {"": "x"}}}, [("invalid_value", ("metadata", "tags", ""))]),
        (
            {"identities": [{"type": "userId", "value": ""}]},
            [("invalid_value", ("identities", 0, "value"))],
        ),
        (
            {"identities": [{"type": "a b", "value": "x"}]},
            [("invalid_value", ("identities", 0, "type"))],
        ),
        ({"identities": [{"type": "x", "value": "1"}] * 11}, []),
        ({"flowAssignmentId": "x" * 256}, [("too_long", ("flowAssignmentId",))]),
        ({"idempotencyKey": "ä"}, [("invalid_value", ("idempotencyKey",))]),
        ({"context": 7}, []),
    ],
)
def test_every_issue_of_the_shape_has_its_place(
    fields: Dict[str, Any], expected: List[Tuple[str, Tuple[Any, ...]]]
) -> None:
    assert shape_codes(**fields) == expected


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), {"a"}, b"x"], ids=repr)
def test_what_has_no_form_in_json_is_an_error_of_the_library(value: Any) -> None:
    with pytest.raises(InvalidValue):
        shape.as_sent({"answers": {"a": [value]}})


def test_names_in_a_submission_are_strings() -> None:
    with pytest.raises(TypeError):
        shape.as_sent({"answers": {1: "a"}})
