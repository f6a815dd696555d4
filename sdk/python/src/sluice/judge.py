"""Judges answers against the questions of a version, by the same rules as the server.

Logic decides only whether `required` applies; an answer to a hidden question is judged like any
other.
"""

from __future__ import annotations

from typing import Dict, List, Union

from ._conditions import Answers, is_absent
from .definition import Question, Snapshot
from .issues import Issue
from .route import Route

_SHOWN_CHARS_MAX = 64


def judge(snapshot: Snapshot, answers: Answers) -> List[Issue]:
    """Every issue of these answers, in the order of the questions; then those about unknown ones."""
    route = Route(snapshot, answers)
    issues: List[Issue] = []
    for question in snapshot.questions:
        issues.extend(judge_question(question, answers, route.is_visible(question.id)))
    unknown = sorted(id for id in answers if id not in snapshot.by_id)
    issues.extend(_unknown_question(id) for id in unknown)
    return issues


def judge_question(question: Question, answers: Answers, is_visible: bool = True) -> List[Issue]:
    """Every issue of the answer to one question."""
    issues: List[Issue] = []

    def report(code: str, rule: str) -> None:
        message = f'Question "{question.id}" {rule}.'
        issues.append(Issue(code, ("answers", question.id), message))

    texts = answers.get(question.id, ())
    is_given = not is_absent(texts)
    if is_given:
        question.rules.judge(texts, report)
    if question.required and is_visible and not (is_given and question.rules.is_whole(texts)):
        report("answer_required", "must be answered in full" if is_given else "must be answered")
    return issues


def canonical(snapshot: Snapshot, answers: Answers) -> Dict[str, Union[str, List[str]]]:
    """The answers in the form in which they are stored: a list if the question takes several."""
    stored: Dict[str, Union[str, List[str]]] = {}
    for id, texts in answers.items():
        question = snapshot.by_id.get(id)
        if (question is not None and question.rules.takes_several) or len(texts) > 1:
            stored[id] = [] if is_absent(texts) else list(texts)
        else:
            stored[id] = texts[0] if texts else ""
    return stored


def _unknown_question(id: str) -> Issue:
    shown = id[:_SHOWN_CHARS_MAX]
    return Issue("unknown_question", ("answers", id), f'This version has no question "{shown}".')
