"""Formats of answers and identities: decimal numbers, dates, telephone numbers, e-mail addresses."""

from __future__ import annotations

import datetime
import re
from decimal import Decimal
from typing import Any, Optional, Union

from ._text import is_alphanumeric, is_ascii_alphanumeric, utf8_length

NUMBER_CHARS_MAX = 64
EMAIL_BYTES_MAX = 254
_LOCAL_BYTES_MAX = 64
_LABEL_BYTES_MAX = 63
_PHONE_CHARS_MAX = 32
_PHONE_DIGITS_MIN = 3

_DECIMAL = re.compile(r"-?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)\Z")
_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})\Z")
_PHONE = re.compile(r"[0-9 +\-().]*\Z")
_LOCAL_SIGNS = frozenset("!#$%&'*+/=?^_`{|}~-")


def decimal(text: str) -> Optional[Decimal]:
    """The number that a text stands for: plain notation only, and compared exactly."""
    if len(text) <= NUMBER_CHARS_MAX and _DECIMAL.match(text):
        return Decimal(text)
    return None


def plain_number(value: Union[int, float]) -> str:
    """A number of a definition in plain decimal: `7`, `0.0000001`."""
    if isinstance(value, float):
        if value == int(value):
            return str(int(value))
        return format(Decimal(repr(value)), "f")
    return str(value)


def is_number(value: Any) -> bool:
    """Whether a JSON value is a number; in Python `True` is one, too."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_date(text: str) -> bool:
    """Whether a text is an existing calendar date as YYYY-MM-DD."""
    found = _DATE.match(text)
    if not found:
        return False
    try:
        datetime.date(*map(int, found.groups()))
    except ValueError:
        return False
    return True


def is_phone(text: str) -> bool:
    digits = sum("0" <= letter <= "9" for letter in text)
    return (
        len(text) <= _PHONE_CHARS_MAX and digits >= _PHONE_DIGITS_MIN and bool(_PHONE.match(text))
    )


def is_left_to_the_server(address: str) -> bool:
    """Whether a web or e-mail address that is invalid here may be valid there: properties of letters
    beyond ASCII change with each version of Unicode, so the server decides."""
    return not address.isascii()


def is_email(text: str) -> bool:
    local, at, domain = text.rpartition("@")
    return (
        bool(at)
        and utf8_length(text) <= EMAIL_BYTES_MAX
        and utf8_length(local) <= _LOCAL_BYTES_MAX
        and all(atom and all(map(_is_local, atom)) for atom in local.split("."))
        and "." in domain
        and all(map(_is_label, domain.split(".")))
    )


def _is_local(letter: str) -> bool:
    if letter < "\x80":
        return is_ascii_alphanumeric(letter) or letter in _LOCAL_SIGNS
    return is_alphanumeric(letter)


def _is_label(label: str) -> bool:
    return (
        bool(label)
        and utf8_length(label) <= _LABEL_BYTES_MAX
        and not label.startswith("-")
        and not label.endswith("-")
        and all(letter == "-" or is_alphanumeric(letter) for letter in label)
    )
