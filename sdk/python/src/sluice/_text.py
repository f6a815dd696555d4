"""Properties of characters as the server's rules define them, whatever Python's own tables say.

`str.isalnum` and `str.isspace` differ from the properties that the server uses (`Alphabetic`,
`White_Space`) and change with the version of Python, so they are not used for rules.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import List, Optional, Tuple

from ._alphanumeric import RANGES

_WHITE_SPACE = frozenset(
    [*range(0x09, 0x0E), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B)]
    + [0x2028, 0x2029, 0x202F, 0x205F, 0x3000]
)
WHITE_SPACE = "".join(map(chr, sorted(_WHITE_SPACE)))
_SURROGATE = re.compile("[\ud800-\udfff]")
_SURROGATES = re.compile("[\ud800-\udbff][\udc00-\udfff]|[\ud800-\udfff]")
_ranges: Optional[Tuple[List[int], List[int]]] = None


def is_white_space(letter: str) -> bool:
    return ord(letter) in _WHITE_SPACE


def is_control(letter: str) -> bool:
    return letter < " " or "\x7f" <= letter <= "\x9f"


def is_ascii_alphanumeric(letter: str) -> bool:
    return "0" <= letter <= "9" or "A" <= letter <= "Z" or "a" <= letter <= "z"


def is_alphanumeric(letter: str) -> bool:
    """Whether a character has the property `Alphabetic`, or is a number."""
    if letter < "\x80":
        return is_ascii_alphanumeric(letter)
    global _ranges
    if _ranges is None:
        _ranges = _decoded()
    starts, ends = _ranges
    at = bisect_right(starts, ord(letter)) - 1
    return at >= 0 and ord(letter) < ends[at]


def _decoded() -> Tuple[List[int], List[int]]:
    starts, ends, at = [], [], 0
    for pair in RANGES.split():
        gap, _, length = pair.partition(".")
        at += int(gap, 36)
        starts.append(at)
        at += int(length or "1", 36)
        ends.append(at)
    return starts, ends


def well_formed(text: str) -> str:
    """The text as it is sent: a lone surrogate, which UTF-8 cannot express, becomes U+FFFD."""
    if not _SURROGATE.search(text):
        return text
    return _SURROGATES.sub(_joined, text)


def _joined(found: "re.Match[str]") -> str:
    pair = found.group()
    if len(pair) == 1:
        return "\ufffd"
    return pair.encode("utf-16", "surrogatepass").decode("utf-16")


def utf8_length(text: str) -> int:
    return len(text.encode("utf-8"))
