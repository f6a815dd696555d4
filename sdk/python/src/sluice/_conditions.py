"""Conditions on answers and scores: `visibleIf`, `when` of a jump, `when` of an ending.

A condition reads all answers, including those to hidden questions. A comparison with an unanswered
question is false, also for `notIn`; only `answered` and `not` can test for a missing answer. An
answer in the wrong format compares as false.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Set

from ._formats import decimal, is_date, is_number, plain_number

#: Answers by question id; each is a list of texts.
Answers = Mapping[str, Sequence[str]]
#: Whether answers satisfy the condition, at a place where they have this score, in hundredths.
Condition = Callable[[Answers, int], bool]
#: How a text compares with an operand: negative, zero or positive; `None` if it is of another kind.
_Comparison = Callable[[str], Optional[int]]

OTHER = "other"
OTHER_PREFIX = "other:"
_TESTS = ("equals", "in", "notIn", "includes", "answered", "lessThan", "greaterThan")


class UnknownCondition(ValueError):
    """A condition that this version of the library cannot evaluate."""


class Comparable:
    """What a condition compares the answers to a question with."""

    def __init__(self, kind: str, has_other: bool = False) -> None:
        #: `text`, `number` or `date`.
        self.kind = kind
        self.has_other = has_other


NUMBER = Comparable("number")


def is_absent(texts: Optional[Sequence[str]]) -> bool:
    """Whether this counts as no answer: nothing, an empty list, or one empty text."""
    return not texts or (len(texts) == 1 and texts[0] == "")


def read_condition(value: Any, questions: Mapping[str, Comparable]) -> Condition:
    """Compiles a condition; `questions` are those that it may refer to."""
    if not isinstance(value, dict):
        raise UnknownCondition(repr(value))
    for name, combine in (("all", all), ("any", any)):
        if name in value:
            if not isinstance(value[name], list):
                raise UnknownCondition(repr(value))
            parts = [read_condition(part, questions) for part in value[name]]
            return _combined(combine, parts)
    if "not" in value:
        inner = read_condition(value["not"], questions)
        return lambda answers, score: not inner(answers, score)
    name = next((test for test in _TESTS if test in value), "")
    if value.get("score") is True and name:
        test = _test(name, value[name], NUMBER)
        return lambda _answers, score: test([str(Decimal(score).scaleb(-2))])
    question = str(value.get("question"))
    if not name or question not in questions:
        raise UnknownCondition(repr(value))
    return _about(question, _test(name, value[name], questions[question]))


def questions_read(value: Any) -> Optional[Set[str]]:
    """The ids of the questions that a known condition reads; `None` if it reads the score."""
    parts = value.get("all", value.get("any", [value["not"]] if "not" in value else None))
    if parts is None:
        return None if "score" in value else {str(value["question"])}
    found: Set[str] = set()
    for part in parts:
        read = questions_read(part)
        if read is None:
            return None
        found |= read
    return found


def _combined(combine: Callable[[Any], bool], parts: List[Condition]) -> Condition:
    return lambda answers, score: combine(part(answers, score) for part in parts)


def _about(question: str, test: Callable[[Sequence[str]], bool]) -> Condition:
    def holds(answers: Answers, _score: int) -> bool:
        texts = answers.get(question)
        return test([] if texts is None or is_absent(texts) else texts)

    return holds


def _test(name: str, value: Any, comparable: Comparable) -> Callable[[Sequence[str]], bool]:
    """A test of the texts of an answer; they are empty if there is none."""
    if name == "answered":
        return lambda texts: bool(texts) == value
    if name in ("in", "notIn"):
        if not isinstance(value, list):
            raise UnknownCondition(repr(value))
        operands = [_comparison(each, comparable) for each in value]
        wanted = name == "in"
        return lambda texts: bool(texts) and any(it(texts[0]) == 0 for it in operands) == wanted
    compare = _comparison(value, comparable)
    if name == "includes":
        return lambda texts: any(compare(text) == 0 for text in texts)
    signs: Dict[str, int] = {"equals": 0, "lessThan": -1, "greaterThan": 1}
    sign = signs[name]
    return lambda texts: bool(texts) and compare(texts[0]) == sign


def _comparison(operand: Any, comparable: Comparable) -> _Comparison:
    if comparable.kind == "number":
        if not is_number(operand):
            raise UnknownCondition(repr(operand))
        bound = Decimal(plain_number(operand))

        def compare_number(text: str) -> Optional[int]:
            number = decimal(text)
            return None if number is None else (number > bound) - (number < bound)

        return compare_number
    if not isinstance(operand, str):
        raise UnknownCondition(repr(operand))
    wanted = operand
    if comparable.kind == "date":
        return lambda text: (text > wanted) - (text < wanted) if is_date(text) else None
    if comparable.has_other and wanted == OTHER:
        return lambda text: 0 if text.startswith(OTHER_PREFIX) else None
    return lambda text: (text > wanted) - (text < wanted)
