"""The way that answers take through the questions: which are visible, the score, and the ending.

A question is visible if no jump passes over it and its `visibleIf` holds. Only a visible question
adds to the score and can jump. A condition about the score reads the sum up to its place.
"""

from __future__ import annotations

from typing import Dict, List, Optional, Sequence, Tuple, Union

from ._conditions import Answers
from .definition import END, END_PREFIX, Ending, Question, Snapshot

_NEVER = 1 << 62


class Route:
    """The way through a version."""

    def __init__(self, snapshot: Snapshot, answers: Answers) -> None:
        walk = _Walk(snapshot)
        self.visible: List[Question] = []
        self._is_visible: Dict[str, bool] = {}
        for question in snapshot.questions:
            is_visible = walk.visit(question, answers)
            self._is_visible[question.id] = is_visible
            if is_visible:
                self.visible.append(question)
        self._hundredths = walk.score
        self.ending: Ending = walk.ending(answers) or snapshot.ending
        #: The score, if any question has one.
        self.score: Optional[Union[int, float]] = (
            score_number(walk.score) if snapshot.is_scored else None
        )

    def is_visible(self, question_id: str) -> bool:
        return self._is_visible.get(question_id, False)

    @property
    def score_text(self) -> str:
        return score_text(self._hundredths)


def reached(snapshot: Snapshot, answers: Answers) -> Dict[str, List[str]]:
    """The answers without those to questions that are not visible: if a respondent goes back and
    changes an answer, answers to questions that are now hidden do not count."""
    walk = _Walk(snapshot)
    left = {name: list(texts) for name, texts in answers.items()}
    for question in snapshot.questions:
        if not walk.visit(question, left):
            left.pop(question.id, None)
    return left


def progress(snapshot: Snapshot, answers: Answers, question_id: str) -> Tuple[int, int]:
    """The number of a question among those that are visible, and the number of questions on the
    longest way from there. Only answers to earlier questions change them."""
    at = snapshot.places[question_id]
    walk = _Walk(snapshot)
    before = sum(walk.visit(question, answers) for question in snapshot.questions[:at])
    earlier = {question.id for question in snapshot.questions[:at]}

    def can_follow(question: Question) -> bool:
        condition = question.visible_if
        if question.id == question_id or condition is None:
            return question.id == question_id or snapshot.places[question.id] >= walk.resume_at
        is_decided = question.reads is not None and question.reads <= earlier
        is_hidden = is_decided and not condition(answers, walk.score)
        return snapshot.places[question.id] >= walk.resume_at and not is_hidden

    return before + 1, before + sum(map(can_follow, snapshot.questions[at:]))


def pages(snapshot: Snapshot, visible: Sequence[Question]) -> List[List[Question]]:
    """The visible questions by page: those of a section share one."""
    section_of = {id: section.id for section in snapshot.sections for id in section.questions}
    found: List[Tuple[Optional[str], List[Question]]] = []
    for question in visible:
        section = section_of.get(question.id)
        if section is not None and found and found[-1][0] == section:
            found[-1][1].append(question)
        else:
            found.append((section, [question]))
    return [questions for _, questions in found]


def score_text(hundredths: int) -> str:
    """A plain decimal number: `4`, `-0.5`, `2.25`."""
    whole, part = divmod(abs(hundredths), 100)
    sign = "-" if hundredths < 0 else ""
    return f"{sign}{whole}.{part:02}".rstrip("0") if part else f"{sign}{whole}"


def score_number(hundredths: int) -> Union[int, float]:
    return hundredths // 100 if hundredths % 100 == 0 else hundredths / 100


class _Walk:
    """A position on the way."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.at = 0
        #: Questions before this index are skipped.
        self.resume_at = 0
        self.score = 0
        #: The ending that a jump chose.
        self.chosen: Optional[str] = None

    def visit(self, question: Question, answers: Answers) -> bool:
        """Whether the next question is visible. Reads only answers to questions up to it."""
        condition = question.visible_if
        is_visible = self.at >= self.resume_at and (
            condition is None or condition(answers, self.score)
        )
        self.at += 1
        if is_visible:
            self.score += question.rules.score(answers.get(question.id, ()))
            self._jump(question, answers)
        return is_visible

    def _jump(self, question: Question, answers: Answers) -> None:
        for jump in question.next:
            if jump.when is None or jump.when(answers, self.score):
                break
        else:
            return
        if jump.to == END or jump.to.startswith(END_PREFIX):
            self.resume_at = _NEVER
            if jump.to != END:
                self.chosen = jump.to[len(END_PREFIX) :]
        else:
            self.resume_at = self.snapshot.places.get(jump.to, 0)

    def ending(self, answers: Answers) -> Optional[Ending]:
        for ending in self.snapshot.endings:
            if self.chosen is not None:
                if ending.id == self.chosen:
                    return ending
            elif ending.when is not None and ending.when(answers, self.score):
                return ending
        return None
