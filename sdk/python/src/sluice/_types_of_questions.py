"""The table of question types: which answers each accepts, and what conditions and scores read.

A type of a newer server is not in the table. Its answers are accepted here, and the server judges
them.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Set

from ._conditions import OTHER_PREFIX, Comparable
from ._formats import (
    decimal,
    is_date,
    is_email,
    is_left_to_the_server,
    is_number,
    is_phone,
    plain_number,
)
from ._text import WHITE_SPACE
from ._web_address import is_url
from .issues import IssueCode

LONG_TEXT_CHARS_DEFAULT = 4_000
OTHER_CHARS_MAX = 1_000
RATING_MAX_DEFAULT = 5
_LISTED_MAX = 20
_U32_MAX = 2**32 - 1
_U32_DIGITS_MAX = 10

#: The fields of a question, as the snapshot has them.
Fields = Mapping[str, Any]
#: Reports an issue: its code, and the rule that completes the sentence about the question.
Report = Callable[[IssueCode, str], None]
Texts = Sequence[str]


class QuestionType:
    """The rules of one type."""

    #: Whether answers are lists.
    takes_several = False
    is_answerable = True

    def __init__(self, fields: Fields) -> None:
        self.fields = fields

    def judge(self, texts: Texts, report: Report) -> None:
        """Reports everything wrong with an answer that is not absent."""

    def is_whole(self, texts: Texts) -> bool:
        """Whether an answer satisfies `required`."""
        return True

    def comparable(self) -> Comparable:
        return Comparable("text")

    def score(self, texts: Texts) -> int:
        """What an answer adds to the score, in hundredths."""
        return 0

    def is_scored(self) -> bool:
        return False


class _OneText(QuestionType):
    """A type whose answers are single texts."""

    def judge(self, texts: Texts, report: Report) -> None:
        if len(texts) == 1:
            self.judge_text(texts[0], report)
        else:
            report("wrong_answer_kind", "takes one text, not a list")

    def judge_text(self, text: str, report: Report) -> None:
        raise NotImplementedError


# --- texts ---


class ShortText(_OneText):
    max_length_default: Optional[int] = None

    def judge_text(self, text: str, report: Report) -> None:
        least, most = self.fields.get("minLength"), self.fields.get("maxLength")
        if most is None:
            most = self.max_length_default
        if (least is not None and len(text) < least) or (most is not None and len(text) > most):
            report("out_of_range", f"takes a text of {_within(least, most)} characters")


class LongText(ShortText):
    max_length_default = LONG_TEXT_CHARS_DEFAULT


class _Formatted(ShortText):
    rule = ""

    def judge_text(self, text: str, report: Report) -> None:
        super().judge_text(text, report)
        if not self.is_format(text):
            report("invalid_format", self.rule)

    def is_format(self, text: str) -> bool:
        raise NotImplementedError


class Email(_Formatted):
    rule = "takes an e-mail address such as ada@example.com"

    def is_format(self, text: str) -> bool:
        return is_email(text) or is_left_to_the_server(text)


class Url(_Formatted):
    rule = "takes a web address that starts with http:// or https://"

    def is_format(self, text: str) -> bool:
        return is_url(text) or is_left_to_the_server(text)


class Phone(_Formatted):
    rule = "takes a telephone number of 3 to 32 digits, spaces and + - ( ) ."

    def is_format(self, text: str) -> bool:
        return is_phone(text)


# --- numbers and dates ---


class Number(_OneText):
    def comparable(self) -> Comparable:
        return Comparable("number")

    def judge_text(self, text: str, report: Report) -> None:
        number = decimal(text)
        if number is None:
            return report("invalid_format", "takes a decimal number such as 12 or -0.5")
        if self.fields.get("integer") and "." in text:
            report("invalid_format", "takes a whole number")
        least, most = self._bound("min"), self._bound("max")
        is_below = least is not None and number < Decimal(least)
        if is_below or (most is not None and number > Decimal(most)):
            report("out_of_range", f"takes a number {_within(least, most)}")

    def _bound(self, name: str) -> Optional[str]:
        value: Any = self.fields.get(name)
        return plain_number(value) if is_number(value) else None


class Date(_OneText):
    def comparable(self) -> Comparable:
        return Comparable("date")

    def judge_text(self, text: str, report: Report) -> None:
        if not is_date(text):
            return report("invalid_format", "takes a date as YYYY-MM-DD")
        least, most = self.fields.get("min"), self.fields.get("max")
        if (least is not None and text < least) or (most is not None and text > most):
            report("out_of_range", f"takes a date {_within(least, most)}")


class _Scale(_OneText):
    low = 0

    def high(self) -> int:
        raise NotImplementedError

    def comparable(self) -> Comparable:
        return Comparable("number")

    def judge_text(self, text: str, report: Report) -> None:
        is_padded = len(text) > 1 and text.startswith("0")
        rule = f"takes a whole number from {self.low} to {self.high()}"
        if not _is_digits(text) or is_padded:
            report("invalid_format", rule)
        elif len(text) > _U32_DIGITS_MAX or not self.low <= int(text) <= self.high():
            report("out_of_range", rule)

    def is_scored(self) -> bool:
        return self.fields.get("score") == "value"

    def score(self, texts: Texts) -> int:
        if not self.is_scored() or not texts:
            return 0
        mark = texts[0][1:] if texts[0].startswith("+") else texts[0]
        digits = mark.lstrip("0") or "0"
        if not _is_digits(mark) or len(digits) > _U32_DIGITS_MAX or int(digits) > _U32_MAX:
            return 0
        return int(digits) * 100


class Rating(_Scale):
    low = 1

    def high(self) -> int:
        return int(self.fields.get("max") or RATING_MAX_DEFAULT)


class Nps(_Scale):
    def high(self) -> int:
        return 10


# --- choices ---


class _Choices(QuestionType):
    """A type with options, one or several of which are chosen."""

    def __init__(self, fields: Fields) -> None:
        super().__init__(fields)
        self.options: List[Mapping[str, Any]] = list(fields.get("options") or [])
        self.ids = _ids(self.options)
        self.known: Set[str] = set(self.ids)
        self.has_other = fields.get("allowOther") is True

    def comparable(self) -> Comparable:
        return Comparable("text", has_other=self.has_other)

    def judge_choice(self, chosen: str, report: Report) -> bool:
        """Judges an option's id, or `other:<text>`. Returns whether it is valid."""
        if chosen.startswith(OTHER_PREFIX) and self.has_other:
            own = chosen[len(OTHER_PREFIX) :]
            if not own.strip(WHITE_SPACE):
                report("invalid_format", "takes other: only with a text after it")
            elif len(own) > OTHER_CHARS_MAX:
                report("out_of_range", f"takes at most {OTHER_CHARS_MAX} characters after other:")
            else:
                return True
            return False
        if chosen in self.known:
            return True
        other = ", or other: and a text" if self.has_other else ""
        report("unknown_option", f"takes only its options: {_listed(self.ids)}{other}")
        return False

    def is_scored(self) -> bool:
        return any(option.get("score") is not None for option in self.options)

    def score(self, texts: Texts) -> int:
        chosen = [option for option in self.options if option["id"] in texts]
        return sum(_hundredths(option.get("score")) for option in chosen)


class SingleChoice(_Choices):
    def judge(self, texts: Texts, report: Report) -> None:
        if len(texts) == 1:
            self.judge_choice(texts[0], report)
        else:
            report("wrong_answer_kind", "takes one text, not a list")


class MultipleChoice(_Choices):
    takes_several = True

    def judge(self, texts: Texts, report: Report) -> None:
        # Stops at the first that is not valid; more would only repeat the message.
        all(self.judge_choice(chosen, report) for chosen in texts)
        own = sum(chosen.startswith(OTHER_PREFIX) for chosen in texts)
        if len(texts) > len(self.ids) + 1 or len(set(texts)) < len(texts) or own > 1:
            report("invalid_selection", "takes each option at most once")
        least, most = self.fields.get("minSelected"), self.fields.get("maxSelected")
        if (least is not None and len(texts) < least) or (most is not None and len(texts) > most):
            report("out_of_range", f"takes {_within(least, most)} options")


class Ranking(QuestionType):
    takes_several = True

    def judge(self, texts: Texts, report: Report) -> None:
        ids = _ids(self.fields.get("options") or [])
        if not set(texts) <= set(ids):
            report("unknown_option", f"ranks only its options: {_listed(ids)}")
        elif len(texts) != len(ids) or set(texts) != set(ids):
            report("invalid_selection", f"takes every option exactly once: {_listed(ids)}")


class Matrix(QuestionType):
    takes_several = True

    def __init__(self, fields: Fields) -> None:
        super().__init__(fields)
        self.rows, self.columns = _ids(fields.get("rows") or []), _ids(fields.get("columns") or [])

    def judge(self, texts: Texts, report: Report) -> None:
        if not all(":" in cell for cell in texts):
            return report("invalid_format", "takes <row>:<column> for each row")
        cells = [cell.partition(":") for cell in texts]
        if not all(row in self.rows and column in self.columns for row, _, column in cells):
            rows, columns = _listed(self.rows), _listed(self.columns)
            report("unknown_option", f"takes <row>:<column> of rows {rows} and columns {columns}")
        if len(texts) > len(self.rows) or len({row for row, _, _ in cells}) < len(texts):
            report("invalid_selection", "takes one column for each row")

    def is_whole(self, texts: Texts) -> bool:
        return {cell.partition(":")[0] for cell in texts} >= set(self.rows)


# --- words ---


class YesNo(_OneText):
    def judge_text(self, text: str, report: Report) -> None:
        if text not in ("yes", "no"):
            report("unknown_option", "takes yes or no")


class Consent(_OneText):
    def judge_text(self, text: str, report: Report) -> None:
        if text != "accepted":
            report("unknown_option", "takes only accepted")


class Statement(QuestionType):
    is_answerable = False

    def judge(self, texts: Texts, report: Report) -> None:
        report("not_answerable", "is a statement and takes no answer")


TYPES: Dict[str, Callable[[Fields], QuestionType]] = {
    "shortText": ShortText,
    "longText": LongText,
    "email": Email,
    "url": Url,
    "phone": Phone,
    "number": Number,
    "date": Date,
    "singleChoice": SingleChoice,
    "dropdown": SingleChoice,
    "multipleChoice": MultipleChoice,
    "ranking": Ranking,
    "matrix": Matrix,
    "rating": Rating,
    "nps": Nps,
    "yesNo": YesNo,
    "consent": Consent,
    "statement": Statement,
}


def _ids(choices: Sequence[Mapping[str, Any]]) -> List[str]:
    return [str(choice["id"]) for choice in choices]


def _hundredths(score: Any) -> int:
    return round(score * 100) if is_number(score) else 0


def _is_digits(text: str) -> bool:
    return bool(text) and all("0" <= letter <= "9" for letter in text)


def _within(least: object, most: object) -> str:
    if least is not None and most is not None:
        return f"from {least} to {most}"
    return f"at least {least}" if least is not None else f"at most {most}"


def _listed(ids: Sequence[str]) -> str:
    more = len(ids) - _LISTED_MAX
    shown = ", ".join(ids[:_LISTED_MAX])
    return f"{shown} and {more} more" if more > 0 else shown
