"""Judges answers against the questions of a version, by the same rules as the server.

Logic decides only whether `required` applies; an answer to a hidden question is judged like any
other. What only the server can know is left to it: whether a question is required whose condition
is unknown here, or any question after a jump with such a condition, and addresses beyond ASCII that look invalid here.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Union

from . import shape
from ._calls import Answer
from ._conditions import Answers, is_absent
from .definition import Question, Snapshot
from .issues import Issue, IssueCode
from .route import Route

_SHOWN_CHARS_MAX = 64


def check(snapshot: Snapshot, submission: Mapping[str, Any]) -> List[Issue]:
    """Every issue that the server would find in a whole submission to this version: first those of
    its shape, or else those of its answers. Whether the version accepts responses now, and whether
    identities match a token, only the server knows."""
    checked, issues = shape.check(shape.as_sent(submission))
    return issues if checked is None else judge(snapshot, checked.answers)


def judge(snapshot: Snapshot, answers: Mapping[str, Answer]) -> List[Issue]:
    """Every issue of these answers, in the order of the questions; then those about unknown ones."""
    answers = {id: [it] if isinstance(it, str) else it for id, it in answers.items()}
    route = Route(snapshot, answers)
    issues: List[Issue] = []
    for question in snapshot.questions:
        is_unknown = snapshot.is_jump_unknown or question.is_condition_unknown
        is_required = route.is_visible(question.id) and not is_unknown
        issues.extend(judge_question(question, answers, is_required))
    unknown = sorted(id for id in answers if id not in snapshot.by_id)
    issues.extend(_unknown_question(id) for id in unknown)
    return issues


def judge_question(question: Question, answers: Answers, is_visible: bool = True) -> List[Issue]:
    """Every issue of the answer to one question; `required` applies if it is visible."""
    issues: List[Issue] = []

    def report(code: IssueCode, rule: str) -> None:
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
