"""An author's texts as a respondent reads them: translated, with placeholders filled in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence

from ._conditions import OTHER_PREFIX, Answers
from ._markdown import (
    Block,
    Element,
    Part,
    Placeholder,
    blocks,
    escape,
    inline,
    label_parts,
    opening_tag,
)
from .definition import Ending, Question, Section, Snapshot

_MASK = 2**64 - 1


@dataclass(frozen=True)
class Words:
    """How answers to yes-no questions and consents read in texts that repeat them."""

    yes: str = "Yes"
    no: str = "No"
    agree: str = "I agree"


def best_locale(snapshot: Snapshot, wanted: Sequence[str]) -> str:
    """The best language for a reader: the wanted one, else a shorter prefix of its tag, else
    another variant of the same language, else the default one."""
    for tag in wanted:
        parts = tag.lower().split("-")
        for length in range(len(parts), 0, -1):
            prefix = "-".join(parts[:length])
            for locale in snapshot.locales:
                if locale.lower() == prefix:
                    return locale
        for locale in snapshot.locales:
            # Tags that begin with one letter, such as i-klingon, have only that letter in common.
            if len(parts[0]) > 1 and locale.lower().split("-")[0] == parts[0]:
                return locale
    return snapshot.default_locale


class Texts:
    """The texts of a version for one reader, with the answers so far."""

    def __init__(
        self,
        snapshot: Snapshot,
        answers: Answers,
        score: str,
        tags: Answers,
        locale: str,
        words: Words = Words(),
    ) -> None:
        self.snapshot = snapshot
        self.answers = answers
        self.score = score
        self.tags = tags
        self.locale = locale
        self.words = words
        translations = snapshot.fields.get("translations") or {}
        self._translation: Mapping[str, Any] = translations.get(locale) or {}

    # --- the author's texts, in the language of the reader ---

    def title(self) -> str:
        return str(self._translation.get("title") or self.snapshot.title)

    def description(self) -> Optional[str]:
        return self._translation.get("description") or self.snapshot.description

    def welcome(self) -> Optional[Dict[str, str]]:
        """The title, the body and the text of the button of the screen before the first question."""
        own = self.snapshot.fields.get("welcome")
        if own is None:
            return None
        return {**own, **(self._translation.get("welcome") or {})}

    def section_title(self, section: Section) -> Optional[str]:
        translated = (self._translation.get("sections") or {}).get(section.id) or {}
        return translated.get("title") or section.title

    def ending(self, ending: Ending) -> Ending:
        """An ending with its texts translated."""
        own = self._translation.get("ending")
        if ending.id:
            own = (self._translation.get("endings") or {}).get(ending.id)
        return Ending({**ending.fields, **(own or {})}) if own else ending

    def question(self, question: Question, field: str) -> Optional[str]:
        """A text of a question: `prompt`, `help`, `lowLabel`, `highLabel`, `imageAlt`."""
        return self._own(question).get(field) or question.fields.get(field)

    def choice_label(self, question: Question, field: str, choice: Mapping[str, Any]) -> str:
        """The label of an option, row or column; `field` is the list that contains it."""
        labels = self._own(question).get(field) or {}
        return str(labels.get(choice["id"]) or choice.get("label", ""))

    def option_alt(self, question: Question, id: str) -> Optional[str]:
        """What the image of an option shows, if that is translated."""
        alt: Optional[str] = (self._own(question).get("optionAlts") or {}).get(id)
        return alt

    def _own(self, question: Question) -> Mapping[str, Any]:
        return (self._translation.get("questions") or {}).get(question.id) or {}

    # --- placeholders and Markdown ---

    def plain(self, text: str) -> str:
        """A text without markup, for titles and headings."""
        return self._plain(inline(text))

    def label(self, text: str) -> str:
        """A label: placeholders are filled in, but there is no Markdown."""
        return "".join(it if isinstance(it, str) else self.value(it) for it in label_parts(text))

    def html_inline(self, text: str) -> str:
        """A text as HTML without blocks: links and emphasis; everything else is escaped."""
        return self._html(inline(text))

    def html(self, text: str) -> str:
        """A text as HTML: paragraphs, lists, links and emphasis; everything else is escaped."""
        return "".join(map(self._block, blocks(text)))

    def value(self, placeholder: Placeholder) -> str:
        """What a placeholder stands for now."""
        if placeholder.source == "score":
            return self.score
        if placeholder.source == "tag":
            value = ", ".join(self.tags.get(placeholder.name, ()))
        else:
            value = self._answer(placeholder.name)
        return value or placeholder.fallback

    def _plain(self, parts: Sequence[Part]) -> str:
        written: List[str] = []
        for part in parts:
            if isinstance(part, str):
                written.append(part)
            elif isinstance(part, Placeholder):
                written.append(self.value(part))
            else:
                written.append(self._plain(part.parts))
        return "".join(written)

    def _html(self, parts: Sequence[Part]) -> str:
        written: List[str] = []
        for part in parts:
            if isinstance(part, str):
                written.append(escape(part))
            elif isinstance(part, Placeholder):
                written.append(escape(self.value(part)))
            else:
                written.append(self._element(part))
        return "".join(written)

    def _element(self, element: Element) -> str:
        return f"{opening_tag(element)}{self._html(element.parts)}</{element.tag}>"

    def _block(self, block: Block) -> str:
        if block.tag == "p":
            return f"<p>{self._html(block.items[0])}</p>"
        items = "".join(f"<li>{self._html(item)}</li>" for item in block.items)
        return f"<{block.tag}>{items}</{block.tag}>"

    def _answer(self, id: str) -> str:
        """An answer as its respondent reads it: the labels of options, not their ids."""
        question = self.snapshot.by_id.get(id)
        if question is None:
            return ""
        return ", ".join(self._answer_text(question, text) for text in self.answers.get(id, ()))

    def _answer_text(self, question: Question, text: str) -> str:
        fields = question.fields
        if "rows" in fields:
            row, _, column = text.partition(":")
            return f"{self._chosen(question, 'rows', row)}: {self._chosen(question, 'columns', column)}"
        if "options" in fields:
            if fields.get("allowOther") and text.startswith(OTHER_PREFIX):
                return text[len(OTHER_PREFIX) :]
            return self._chosen(question, "options", text)
        if question.type == "yesNo":
            return self.words.yes if text == "yes" else self.words.no
        return self.words.agree if question.type == "consent" else text

    def _chosen(self, question: Question, field: str, id: str) -> str:
        for choice in question.fields.get(field) or ():
            if choice["id"] == id:
                return self._label_of_choice(self.choice_label(question, field, choice))
        return id

    def _label_of_choice(self, text: str) -> str:
        """A label that repeats a choice in turn shows that one's fallback: it may be the same one."""
        written: List[str] = []
        for part in label_parts(text):
            if isinstance(part, str):
                written.append(part)
            else:
                written.append(part.fallback if self._has_labels(part) else self.value(part))
        return "".join(written)

    def _has_labels(self, placeholder: Placeholder) -> bool:
        question = self.snapshot.by_id.get(placeholder.name)
        if placeholder.source != "answer" or question is None:
            return False
        return "options" in question.fields or "rows" in question.fields


def arranged(question: Question, visit: str) -> List[Mapping[str, Any]]:
    """The options in the order to show them. The same visit and question give the same order."""
    options: List[Mapping[str, Any]] = list(question.fields.get("options") or [])
    if question.fields.get("optionOrder") != "random":
        return options
    state = 0xCBF29CE484222325
    for byte in (visit + question.id).encode("utf-8", "replace"):
        state = ((state ^ byte) * 0x100000001B3) & _MASK
    movable = [at for at, option in enumerate(options) if not option.get("fixed")]
    for last in range(len(movable) - 1, 0, -1):
        state = (state + 0x9E3779B97F4A7C15) & _MASK
        mixed = ((state ^ state >> 30) * 0xBF58476D1CE4E5B9) & _MASK
        mixed = ((mixed ^ mixed >> 27) * 0x94D049BB133111EB) & _MASK
        one, other = movable[last], movable[(mixed ^ mixed >> 31) % (last + 1)]
        options[one], options[other] = options[other], options[one]
    return options
