"""What a run shows: questions, pages, the welcome screen and endings, in the language of the reader.

Texts have their placeholders filled in, and two forms: without markup, and as HTML that is safe to
insert into a page.
"""

from __future__ import annotations

from typing import Any, List, Mapping, Optional, Sequence, Tuple, Union

from ._types_of_questions import LONG_TEXT_CHARS_DEFAULT, Nps, Rating
from .definition import Ending, Question
from .issues import Issue
from .texts import Texts, arranged


class ImageView:
    """An image of a question or an option. The server has it at `path`."""

    def __init__(self, asset_id: str, alt: str) -> None:
        self.asset_id = asset_id
        #: What it shows, for people who cannot see it; empty if it is decoration.
        self.alt = alt
        self.path = f"/a/{asset_id}"


class Choice:
    """An option, row or column as it is shown."""

    def __init__(
        self, fields: Mapping[str, Any], label: str, image: Optional[ImageView] = None
    ) -> None:
        self.id: str = fields["id"]
        self.label = label
        self.image = image
        #: The choice as the snapshot has it.
        self.fields = fields

    def __repr__(self) -> str:
        return f"<Choice {self.id}: {self.label!r}>"


class QuestionView:
    """A visible question. Limits that do not apply to its type are `None`."""

    def __init__(self, question: Question, texts: Texts, visit: str, issues: List[Issue]) -> None:
        fields = question.fields
        self.id = question.id
        self.type = question.type
        self.required = question.required
        #: The question as the snapshot has it.
        self.fields = fields
        self.answer: Tuple[str, ...] = tuple(texts.answers.get(question.id, ()))
        self.issues = issues
        prompt = texts.question(question, "prompt") or ""
        help_text = texts.question(question, "help")
        #: Without markup; `prompt_html` has links and emphasis, and is safe to insert into a page.
        self.prompt = texts.plain(prompt)
        self.prompt_html = texts.html_inline(prompt)
        self.help = None if help_text is None else texts.plain(help_text)
        self.help_html = None if help_text is None else texts.html(help_text)
        self.image = _image(fields, texts.question(question, "imageAlt"))
        #: In the order to show them.
        self.options = _choices(question, "options", arranged(question, visit), texts)
        self.rows = _choices(question, "rows", fields.get("rows") or (), texts)
        self.columns = _choices(question, "columns", fields.get("columns") or (), texts)
        self.low_label = _label(question, "lowLabel", texts)
        self.high_label = _label(question, "highLabel", texts)
        #: Whether `other:` and a text is an answer, besides the options.
        self.allow_other: bool = fields.get("allowOther") is True
        self.min_selected: Optional[int] = fields.get("minSelected")
        self.max_selected: Optional[int] = fields.get("maxSelected")
        #: Characters of a text.
        self.min_length: Optional[int] = fields.get("minLength")
        self.max_length: Optional[int] = fields.get("maxLength")
        if self.max_length is None and question.type == "longText":
            self.max_length = LONG_TEXT_CHARS_DEFAULT
        #: Bounds of a number, a date (`YYYY-MM-DD`), a rating or an NPS.
        self.min: Union[int, float, str, None] = fields.get("min")
        self.max: Union[int, float, str, None] = fields.get("max")
        if isinstance(question.rules, (Rating, Nps)):
            self.min, self.max = question.rules.low, question.rules.high()
        #: Whether a number must be whole.
        self.integer: bool = fields.get("integer") is True
        #: How a rating is drawn: `star`, `number` or `emoji`.
        self.shape: Optional[str] = fields.get("shape")

    def __repr__(self) -> str:
        return f"<QuestionView {self.id}: {self.prompt!r}>"


class PageView:
    """Questions that are shown together; those of a section share a page."""

    def __init__(self, title: Optional[str], questions: List[QuestionView]) -> None:
        self.title = title
        self.questions = questions


class WelcomeView:
    """The screen before the first question. What it leaves out is taken from the flow: its title and its
    description."""

    def __init__(self, fields: Mapping[str, str], texts: Texts) -> None:
        title, body = fields.get("title"), fields.get("body")
        self.title = None if title is None else texts.plain(title)
        self.body = None if body is None else texts.plain(body)
        self.body_html = None if body is None else texts.html(body)
        button = fields.get("buttonText")
        #: The text of the button that begins.
        self.button_text = None if button is None else texts.plain(button)


class EndingView:
    """What is shown after the last question."""

    def __init__(self, ending: Ending, texts: Texts) -> None:
        #: Empty for the ending of last resort.
        self.id = ending.id
        self.title = None if ending.title is None else texts.plain(ending.title)
        self.body = None if ending.body is None else texts.plain(ending.body)
        self.body_html = None if ending.body is None else texts.html(ending.body)
        self.redirect_url = ending.redirect_url


def _choices(
    question: Question, field: str, choices: Sequence[Mapping[str, Any]], texts: Texts
) -> List[Choice]:
    found: List[Choice] = []
    for choice in choices:
        image = _image(choice, texts.option_alt(question, choice["id"]))
        found.append(
            Choice(choice, texts.label(texts.choice_label(question, field, choice)), image)
        )
    return found


def _image(fields: Mapping[str, Any], translated_alt: Optional[str]) -> Optional[ImageView]:
    image = fields.get("image")
    if not image:
        return None
    return ImageView(image["assetId"], translated_alt or image.get("alt") or "")


def _label(question: Question, field: str, texts: Texts) -> Optional[str]:
    text = texts.question(question, field)
    return None if text is None else texts.label(text)
