"""A snapshot with its logic compiled: questions, jumps, endings, sections.

What a newer server adds is kept in `fields` and otherwise ignored. With a condition that cannot be
evaluated, a question is shown, a jump is not taken and an ending is not chosen, so that no question
is missed; it sets `is_partly_unknown`.
"""

from __future__ import annotations

from typing import Any, Dict, List, Literal, Mapping, Optional, Set, Tuple

from ._conditions import (
    Answers,
    Comparable,
    Condition,
    UnknownCondition,
    questions_read,
    read_condition,
)
from ._types_of_questions import TYPES, QuestionType

END = "end"
END_PREFIX = "end:"


class Jump:
    def __init__(self, when: Optional[Condition], to: str) -> None:
        self.when = when
        self.to = to


class Question:
    """One question of a version."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self.fields = fields
        self.id: str = fields["id"]
        self.type: str = fields["type"]
        self.prompt: str = fields.get("prompt", "")
        self.required: bool = fields.get("required") is True
        self.rules: QuestionType = TYPES.get(self.type, QuestionType)(fields)
        self.visible_if: Optional[Condition] = None
        #: The questions that `visible_if` reads; `None` if it reads the score, or is unknown.
        self.reads: Optional[Set[str]] = set()
        #: Whether only the server knows when the question is visible.
        self.is_condition_unknown = False
        self.next: List[Jump] = []

    def __repr__(self) -> str:
        return f"<Question {self.id}: {self.type}>"


class Ending:
    """What is shown after the last question, or where to redirect. `id` is empty for the last resort."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self.fields = fields
        self.id: str = fields.get("id", "")
        self.title: Optional[str] = fields.get("title")
        self.body: Optional[str] = fields.get("body")
        self.redirect_url: Optional[str] = fields.get("redirectUrl")
        self.when: Optional[Condition] = None


class Section:
    """Questions that share a page."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self.id: str = fields["id"]
        self.title: Optional[str] = fields.get("title")
        self.questions: Tuple[str, ...] = tuple(fields["questions"])


class Snapshot:
    """A published version. `fields` is the JSON as the server sent it."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self.fields = fields
        self.flow_version_id: str = fields.get("flowVersionId", "")
        self.flow_id: str = fields.get("flowId", "")
        self.payload_generation: str = fields.get("payloadGeneration", "")
        self.title: str = fields.get("title", "")
        self.description: Optional[str] = fields.get("description")
        self.default_locale: str = fields.get("defaultLocale", "en")
        self.locales: Tuple[str, ...] = tuple(fields.get("locales") or (self.default_locale,))
        self.respondent_analytics: Literal["ask", "never"] = fields.get(
            "respondentAnalytics", "never"
        )
        self.is_partly_unknown = False
        #: Whether only the server knows where a jump leads, and so which questions are required.
        self.is_jump_unknown = False
        self.questions: List[Question] = [Question(each) for each in fields["questions"]]
        self.by_id: Dict[str, Question] = {question.id: question for question in self.questions}
        self.places: Dict[str, int] = {it.id: at for at, it in enumerate(self.questions)}
        self.sections = [Section(each) for each in fields.get("sections") or []]
        self.ending = Ending(fields.get("ending") or {})
        self.endings = [Ending(each) for each in fields.get("endings") or []]
        self.is_scored = any(question.rules.is_scored() for question in self.questions)
        self._compile()

    def __repr__(self) -> str:
        return f"<Snapshot {self.flow_version_id}: {self.title!r}>"

    def _compile(self) -> None:
        comparables = {question.id: question.rules.comparable() for question in self.questions}
        for question in self.questions:
            self._compile_visibility(question, comparables)
            for jump in question.fields.get("next") or []:
                when = self._condition(jump.get("when"), comparables)
                self.is_jump_unknown |= when is _unknown
                question.next.append(Jump(when, jump["to"]))
        for ending in self.endings:
            ending.when = self._condition(ending.fields.get("when"), comparables)

    def _compile_visibility(self, question: Question, of: Mapping[str, Comparable]) -> None:
        value = question.fields.get("visibleIf")
        if value is None:
            return
        try:
            question.visible_if = read_condition(value, of)
            question.reads = questions_read(value)
        except UnknownCondition:
            self.is_partly_unknown = question.is_condition_unknown = True
            question.reads = None

    def _condition(self, value: Any, comparables: Mapping[str, Comparable]) -> Optional[Condition]:
        if value is None:
            return None
        try:
            return read_condition(value, comparables)
        except UnknownCondition:
            self.is_partly_unknown = True
            return _unknown


def _unknown(_answers: Answers, _score: int) -> bool:
    """The condition of a jump or an ending that cannot be evaluated."""
    return False
