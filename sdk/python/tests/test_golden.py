"""The cases that the server and all its clients share: `tests/golden`."""

from __future__ import annotations

import json
from typing import Any, Dict, List

import pytest

from server import ROOT
from sluice import Snapshot, Words, judge, shape
from sluice._types_of_questions import TYPES
from sluice.route import Route
from sluice.texts import Texts

GOLDEN = ROOT / "tests" / "golden"
FILES = sorted((GOLDEN / "judge").glob("*.json"))


def texts_of(answers: Dict[str, Any]) -> Dict[str, List[str]]:
    return {
        id: [answer] if isinstance(answer, str) else list(answer) for id, answer in answers.items()
    }


def submission_of(case: Dict[str, Any]) -> Any:
    if "submission" in case:
        return case["submission"]
    return {
        "flowVersionId": "fv",
        "flowVersionPayloadGeneration": "4",
        "respondentAnalyticsAdmission": "collection_only",
        "answers": case["answers"],
    }


def test_the_shared_cases_are_there() -> None:
    assert FILES, f"{GOLDEN / 'judge'} has no cases"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_cases_have_the_issues_that_the_server_finds(path: Any) -> None:
    table = json.loads(path.read_text())
    snapshot = Snapshot(table["definition"])
    assert table["cases"]
    for case in table["cases"]:
        submission, issues = shape.check(shape.as_sent(submission_of(case)))
        if submission is not None:
            issues = judge(snapshot, submission.answers)
        found = [{"code": issue.code, "path": list(issue.path)} for issue in issues]
        assert found == case["issues"], case
        if "score" in case and submission is not None:
            assert Route(snapshot, submission.answers).score == case["score"], case


@pytest.mark.parametrize(
    "case", json.loads((GOLDEN / "newer.json").read_text())["cases"], ids=lambda case: case["name"]
)
def test_conditions_of_a_newer_server_hide_no_question(case: Dict[str, Any]) -> None:
    snapshot = Snapshot(case["definition"])
    answers = texts_of(case["answers"])
    route = Route(snapshot, answers)
    assert [question.id for question in route.visible] == case["visible"]
    assert route.ending.id == case["ending"]
    found = [(issue.code, issue.question) for issue in judge(snapshot, answers)]
    assert found == [("answer_required", id) for id in case["required"]]


def test_every_question_type_has_a_case() -> None:
    tables = [json.loads(path.read_text()) for path in FILES]
    types = {question["type"] for table in tables for question in table["definition"]["questions"]}
    assert types == set(TYPES)


def test_texts_become_the_same_html() -> None:
    table = json.loads((GOLDEN / "texts.json").read_text())
    snapshot = Snapshot({"title": "T", "questions": table["questions"]})
    answers = texts_of(table["answers"])
    score = Route(snapshot, answers).score_text
    texts = Texts(snapshot, answers, score, texts_of(table["tags"]), "en", Words())
    assert len(table["cases"]) > 20
    for case in table["cases"]:
        text = case["text"]
        found = {
            "text": text,
            "html": texts.html(text),
            "inline": texts.html_inline(text),
            "plain": texts.plain(text),
            "label": texts.label(text),
        }
        assert found == case
