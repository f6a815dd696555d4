"""The subset of Markdown in authors' texts (links, emphasis, lists), and placeholders in them.

A text becomes parts; every text among them is escaped when it is written as HTML. A placeholder is
one part: what it becomes is never read as Markdown or as another placeholder.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import List, Optional, Sequence, Tuple, Union

from ._text import WHITE_SPACE, is_ascii_alphanumeric, is_control, is_white_space

_DEPTH_MAX = 4
#: The most characters that searches for closing marks read in one text; the rest is plain text.
_STEPS_MAX = 100_000
_SCHEMES = ("http://", "https://", "mailto:")
_PLACEHOLDER = re.compile(r"\{\{([^{}]*)\}\}")
_ASCII_SPACE = " \t\n\f\r"
_ITEM = re.compile(r"(?:[-*]|([0-9]{1,3})\.) (.+)\Z", re.DOTALL)


@dataclass(frozen=True)
class Placeholder:
    #: `answer`, `tag` or `score`.
    source: str
    #: The id of the question, or the name of the tag.
    name: str
    fallback: str


@dataclass(frozen=True)
class Element:
    #: `em`, `strong` or `a`.
    tag: str
    parts: Tuple["Part", ...]
    address: Optional[str] = None


Part = Union[str, Placeholder, Element]


@dataclass(frozen=True)
class Block:
    #: `p`, `ul` or `ol`.
    tag: str
    #: The items of a list; a paragraph has one.
    items: Tuple[Tuple[Part, ...], ...]


def placeholder(text: str, at: int, to: int) -> Optional[Tuple[Placeholder, int]]:
    """The placeholder that starts here, and where it ends."""
    found = _PLACEHOLDER.match(text, at, to)
    if found is None:
        return None
    source, _, fallback = found.group(1).partition("|")
    kind, colon, name = source.strip(WHITE_SPACE).partition(":")
    if kind not in (("answer", "tag") if colon else ("score",)):
        return None
    return Placeholder(kind, name.strip(WHITE_SPACE), fallback.strip(WHITE_SPACE)), found.end()


def label_parts(text: str) -> List[Union[str, Placeholder]]:
    """The parts of a label: placeholders, but no Markdown."""
    parts: List[Union[str, Placeholder]] = []
    plain = at = 0
    while at < len(text):
        if text.startswith("\\{{", at):
            parts.append(text[plain:at])
            plain, at = at + 1, at + 2
        elif text.startswith("\\\\", at):
            at += 2
        else:
            found = placeholder(text, at, len(text))
            if found is None:
                at += 1
                continue
            parts += [text[plain:at], found[0]]
            plain = at = found[1]
    parts.append(text[plain:])
    return [part for part in parts if part != ""]


def inline(text: str) -> List[Part]:
    """The parts of a text without blocks, such as a heading."""
    return _Scanner(text).parts(0, len(text), 0)


def blocks(text: str) -> List[Block]:
    """The blocks of a text. An empty line ends a paragraph; lines that start with `- `, `* ` or a
    number and a point are the items of a list."""
    found: List[Block] = []
    paragraph: List[str] = []
    open_list = ""

    def end_paragraph() -> None:
        if paragraph:
            content = "\n".join(paragraph).rstrip(WHITE_SPACE)
            found.append(Block("p", (tuple(inline(content)),)))
            paragraph.clear()

    for line in text.split("\n"):
        item = _ITEM.match(line.strip(WHITE_SPACE))
        if item:
            end_paragraph()
            tag = "ol" if item.group(1) else "ul"
            before = found.pop().items if open_list == tag else ()
            found.append(Block(tag, (*before, tuple(inline(item.group(2))))))
            open_list = tag
            continue
        open_list = ""
        if line.strip(WHITE_SPACE):
            paragraph.append(line)
        else:
            end_paragraph()
    end_paragraph()
    return found


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.steps_left = _STEPS_MAX

    def spend(self, steps: int) -> bool:
        """Whether steps are left after these."""
        self.steps_left = max(0, self.steps_left - steps)
        return self.steps_left > 0

    def parts(self, start: int, to: int, depth: int) -> List[Part]:
        parts: List[Part] = []
        plain = at = start
        while at < to:
            special = self.special(at, to, depth)
            if special is None:
                at += 1
                continue
            if plain < at:
                parts.append(self.text[plain:at])
            parts.append(special[0])
            plain = at = special[1]
        if plain < to:
            parts.append(self.text[plain:to])
        return parts

    def special(self, at: int, to: int, depth: int) -> Optional[Tuple[Part, int]]:
        """The part that starts here, if it is not plain text, and where it ends."""
        mark = self.text[at]
        if mark == "{":
            return placeholder(self.text, at, to)
        if mark == "\\":
            # A mark after a backslash is plain text.
            is_escape = at + 1 < to and self.text[at + 1] in "*_[]()\\{"
            return (self.text[at + 1], at + 2) if is_escape else None
        if depth >= _DEPTH_MAX:
            return None
        if mark == "[":
            return self.link(at, to, depth)
        if mark not in "*_":
            return None
        marks = 2 if self.text.startswith(mark, at + 1, to) else 1
        end = self.closing(at, to, mark, marks)
        if end is None:
            return None
        inner = tuple(self.parts(at + marks, end, depth + 1))
        return Element("strong" if marks == 2 else "em", inner), end + marks

    def closing(self, at: int, to: int, mark: str, marks: int) -> Optional[int]:
        """Where an emphasis is closed. Marks touch its text; an underscore counts only between words."""
        text, start = self.text, at + marks
        if start >= to or text[start] in _ASCII_SPACE:
            return None
        if mark == "_" and at > 0 and _is_word(text[at - 1]):
            return None
        end = start
        while end + marks <= to and self.spend(1):
            if text[end] == "\\":
                end += 2
                continue
            found = placeholder(text, end, to) if text[end] == "{" else None
            if found is not None:
                end = found[1]
                continue
            run = 0
            while end + run < to and text[end + run] == mark:
                run += 1
            is_inside = mark == "_" and end + run < to and _is_word(text[end + run])
            if run == marks and end > start and text[end - 1] not in _ASCII_SPACE and not is_inside:
                return end
            end += max(run, 1)
        return None

    def link(self, at: int, to: int, depth: int) -> Optional[Tuple[Part, int]]:
        middle = self.text.find("](", at, to)
        if not self.spend(middle - at if middle >= 0 else to - at) or middle < 0:
            return None
        close = self.text.find(")", middle + 2, to)
        if close < 0:
            return None
        label, address = self.text[at + 1 : middle], self.text[middle + 2 : close]
        if not _is_safe(address) or not label.strip(WHITE_SPACE) or "[" in label:
            return None
        inner = tuple(self.parts(at + 1, middle, max(depth, _DEPTH_MAX - 1)))
        return Element("a", inner, address), close + 1


def _is_word(letter: str) -> bool:
    return letter >= "\x80" or is_ascii_alphanumeric(letter)


def _is_safe(address: str) -> bool:
    lower = address.lower()
    is_known = any(lower.startswith(it) and len(lower) > len(it) for it in _SCHEMES)
    return is_known and not any(
        is_white_space(it) or is_control(it) or it in '{}<>"' for it in address
    )


def escape(text: str) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;")
    return text.replace(">", "&gt;").replace('"', "&quot;")


def opening_tag(element: Element) -> str:
    if element.address is None:
        return f"<{element.tag}>"
    return f'<a href="{escape(element.address)}" target="_blank" rel="noopener noreferrer">'


__all__: Sequence[str] = (
    "Block",
    "Element",
    "Part",
    "Placeholder",
    "blocks",
    "escape",
    "inline",
    "label_parts",
    "opening_tag",
)
