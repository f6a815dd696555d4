"""A run: one respondent answers one flow.

It keeps the answers, evaluates the logic of the version, validates by the server's rules, and
submits. If a newer version was published meanwhile, answers that still fit are carried over to it:
the same question, the same type, valid. Everything but the sending is here; `client` and
`async_client` add that.
"""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from . import _calls, shape
from ._calls import Answer, Context, Flow, Identity, SubmissionOptions
from ._conditions import is_absent
from ._formats import plain_number
from ._protocol import Api, Plan
from ._text import well_formed
from .definition import Question, Snapshot
from .errors import NotFound
from .issues import Accepted, CarryOver, Issue, Refused, Result
from .judge import canonical, judge, judge_question
from .route import Route, pages, progress, reached
from .texts import Texts, Words, arranged, best_locale

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: How many newer versions one call of `submit` moves to.
_VERSIONS_MAX = 3

#: What may be given as an answer: texts as they are sent, and values that have one obvious text.
Given = Union[str, int, float, Decimal, bool, datetime.date, Sequence[str], None]


class RunOptions(SubmissionOptions, total=False):
    """How a run starts."""

    #: Answers that are known already.
    answers: Mapping[str, Given]
    #: The languages of the reader, in order of preference.
    locale: Union[str, Sequence[str]]
    #: How answers to yes-no questions and consents read in texts that repeat them.
    words: Words
    #: The same visit shows options in the same random order.
    visit: str


class Choice:
    """An option, row or column as it is shown."""

    def __init__(self, fields: Mapping[str, Any], label: str) -> None:
        self.id: str = fields["id"]
        self.label = label
        self.fields = fields


class QuestionView:
    """A visible question in the language of the reader, with placeholders filled in."""

    def __init__(self, question: Question, texts: Texts, visit: str, issues: List[Issue]) -> None:
        self.id = question.id
        self.type = question.type
        self.required = question.required
        #: The question as the snapshot has it.
        self.fields = question.fields
        self.answer: Tuple[str, ...] = tuple(texts.answers.get(question.id, ()))
        self.issues = issues
        prompt = texts.question(question, "prompt") or ""
        help_text = texts.question(question, "help")
        #: Without markup; `prompt_html` has links and emphasis, and is safe to insert into a page.
        self.prompt = texts.plain(prompt)
        self.prompt_html = texts.html_inline(prompt)
        self.help = None if help_text is None else texts.plain(help_text)
        self.help_html = None if help_text is None else texts.html(help_text)
        self.options = _choices(question, "options", arranged(question, visit), texts)
        self.rows = _choices(question, "rows", question.fields.get("rows") or (), texts)
        self.columns = _choices(question, "columns", question.fields.get("columns") or (), texts)
        self.low_label = _label(question, "lowLabel", texts)
        self.high_label = _label(question, "highLabel", texts)

    def __repr__(self) -> str:
        return f"<QuestionView {self.id}: {self.prompt!r}>"


class PageView:
    """Questions that are shown together; those of a section share a page."""

    def __init__(self, title: Optional[str], questions: List[QuestionView]) -> None:
        self.title = title
        self.questions = questions


class EndingView:
    """What is shown after the last question."""

    def __init__(
        self, id: str, title: Optional[str], body: Optional[str], texts: Texts, url: Optional[str]
    ) -> None:
        #: Empty for the ending of last resort.
        self.id = id
        self.title = None if title is None else texts.plain(title)
        self.body = None if body is None else texts.plain(body)
        self.body_html = None if body is None else texts.html(body)
        self.redirect_url = url


class BaseRun:
    """The state of a run, without I/O."""

    def __init__(self, flow: Flow, snapshot: Snapshot, **options: Unpack[RunOptions]) -> None:
        unknown = set(options) - set(RunOptions.__annotations__)
        if unknown:
            raise TypeError(f"unknown options: {', '.join(sorted(unknown))}")
        #: The flow as it was resolved, and the version that is answered.
        self.flow = flow
        self.snapshot = snapshot
        #: These may be changed until the answers are submitted.
        self.admission = options.get("admission", "collection_only")
        self.identities: Sequence[Identity] = options.get("identities", ())
        self.tags: Mapping[str, Answer] = options.get("tags", {})
        self.context: Optional[Context] = options.get("context")
        self.flow_assignment_id: Optional[str] = options.get("flow_assignment_id")
        #: The last change of version, if there was one.
        self.carry_over: Optional[CarryOver] = None
        #: The result that ended the run.
        self.result: Optional[Accepted] = None
        #: The same visit shows options in the same random order.
        self.visit = options.get("visit") or _calls.new_key()
        #: One key for the whole run: it stores at most one response.
        self.idempotency_key = _calls.new_key()
        locale = options.get("locale", ())
        self._languages = [locale] if isinstance(locale, str) else list(locale)
        self._words = options.get("words", Words())
        self._given: Dict[str, List[str]] = {}
        self._known: Optional[Tuple[Dict[str, List[str]], Route]] = None
        self.answer_all(options.get("answers", {}))

    # --- answering ---

    def answer(self, question_id: str, value: Given) -> List[Issue]:
        """Sets an answer, and returns its issues. `None`, an empty text and an empty list remove it.

        Numbers, dates and decimals become their texts; `True` and `False` are `yes` and `no`, and
        `True` accepts a consent. For `multipleChoice`, `ranking` and `matrix`, give a list."""
        question = self.snapshot.by_id.get(question_id)
        if question is None:
            raise KeyError(f"this version has no question {question_id!r}")
        texts = _texts_of(question, value)
        if is_absent(texts):
            self._given.pop(question_id, None)
        else:
            self._given[question_id] = texts
        self._known = None
        return [] if is_absent(texts) else judge_question(question, self._given)

    def answer_all(self, answers: Mapping[str, Given]) -> List[Issue]:
        """Sets several answers, and returns their issues."""
        return [issue for id, value in answers.items() for issue in self.answer(id, value)]

    @property
    def answers(self) -> Dict[str, Union[str, List[str]]]:
        """The answers that count: those to visible questions, in the form in which they are stored."""
        return canonical(self.snapshot, self._state[0])

    def issues(self) -> List[Issue]:
        """Every issue of the answers so far; none means that they can be submitted."""
        return judge(self.snapshot, self._state[0])

    # --- showing ---

    @property
    def locale(self) -> str:
        """The language of the texts."""
        return best_locale(self.snapshot, self._languages)

    @property
    def texts(self) -> Texts:
        """The texts of the version, with the answers so far filled in."""
        answers, route = self._state
        tags = {name: [it] if isinstance(it, str) else list(it) for name, it in self.tags.items()}
        return Texts(self.snapshot, answers, route.score_text, tags, self.locale, self._words)

    @property
    def title(self) -> str:
        texts = self.texts
        return texts.plain(texts.title())

    @property
    def questions(self) -> List[QuestionView]:
        """The visible questions, in order."""
        return [question for page in self.pages for question in page.questions]

    @property
    def pages(self) -> List[PageView]:
        """The visible questions by page."""
        texts, issues = self.texts, self.issues()
        sections = {id: section for section in self.snapshot.sections for id in section.questions}
        found: List[PageView] = []
        for page in pages(self.snapshot, self._state[1].visible):
            section = sections.get(page[0].id)
            title = texts.section_title(section) if section else None
            views = [
                QuestionView(
                    it, texts, self.visit, [one for one in issues if one.question == it.id]
                )
                for it in page
            ]
            found.append(PageView(None if title is None else texts.plain(title), views))
        return found

    def question_after(self, question_id: Optional[str] = None) -> Optional[QuestionView]:
        """The visible question that follows this one, or the first; `None` at the end. Answers only
        change what comes after them, so this is the way through a flow, one question at a time."""
        place = -1 if question_id is None else self.snapshot.places[question_id]
        for question in self.questions:
            if self.snapshot.places[question.id] > place:
                return question
        return None

    def progress(self, question_id: str) -> Tuple[int, int]:
        """The number of a visible question, and of all questions on the longest way from there."""
        return progress(self.snapshot, self._state[0], question_id)

    @property
    def score(self) -> Optional[Union[int, float]]:
        """The score so far, if the version has scores."""
        return self._state[1].score

    @property
    def ending(self) -> EndingView:
        """The ending that the answers lead to."""
        texts = self.texts
        ending = texts.ending(self._state[1].ending)
        return EndingView(ending.id, ending.title, ending.body, texts, ending.redirect_url)

    @property
    def asks_consent(self) -> bool:
        """Whether to ask the respondent for consent to be linked to the response."""
        return self.snapshot.respondent_analytics == "ask" and bool(self.identities)

    # --- submitting ---

    def submission(self) -> Dict[str, Any]:
        """What `submit` sends, without its key."""
        # A flow that never asks for consent never links a response.
        is_never = self.snapshot.respondent_analytics == "never"
        return _calls.submission(
            self.snapshot.flow_version_id,
            self.answers,
            admission="collection_only" if is_never else self.admission,
            identities=self.identities,
            tags=self.tags,
            context=self.context,
            flow_assignment_id=self.flow_assignment_id,
        )

    def local_verdict(self) -> Optional[Refused]:
        """The refusal that the server would send for what is wrong already."""
        _, issues = shape.check(self.submission())
        # Logic of a newer server can be judged only there.
        if not issues and not self.snapshot.is_partly_unknown:
            issues = self.issues()
        return Refused(tuple(issues), is_local=True) if issues else None

    def submit_plan(self, api: Api) -> Plan[Result]:
        """Validates and submits. If the version no longer accepts responses, the run moves to the
        newer one and submits again, unless the respondent has to look at it first."""
        if self.result is not None:
            return self.result
        carried: Optional[CarryOver] = None
        before: Optional[Dict[str, Any]] = None
        for version in range(1, _VERSIONS_MAX + 1):
            refusal = self.local_verdict()
            if refusal is not None:
                return Refused(refusal.issues, True, carried)
            sent = self.submission()
            result: Result = yield from _calls.submit(api, sent, self.idempotency_key)
            if isinstance(result, Refused) and before is not None and _is_key_used(result):
                # An attempt for the older version was stored after all: send it again to get its id.
                sent, result = before, (yield from _calls.submit(api, before, self.idempotency_key))
            if isinstance(result, Accepted):
                self.result = Accepted(
                    result.response_id,
                    result.score,
                    result.superseded_by,
                    result.accepts_until,
                    carried,
                )
                return self.result
            seen = {question.id for question in self._state[1].visible}
            moved = (yield from self._move_on(api, result)) if version < _VERSIONS_MAX else None
            if moved is not None:
                before, carried = sent, _joined(carried, moved)
                self.carry_over = carried
            if moved is None or moved.dropped or self._has_new_question(seen):
                return Refused(result.issues, carry_over=carried)
        raise AssertionError("the last version returns")

    def validate_plan(self, api: Api) -> Plan[Result]:
        """The verdict of the server; nothing is stored."""
        return (yield from _calls.validate(api, self.submission()))

    def _move_on(self, api: Api, refused: Refused) -> Plan[Optional[CarryOver]]:
        """Changes to the version that accepts responses now, if it is another one."""
        codes = ("no_longer_accepting", "flow_version_not_found")
        issue = next((issue for issue in refused.issues if issue.code in codes), None)
        if issue is None or (issue.code == codes[0] and issue.latest_flow_version_id is None):
            return None
        try:
            flow = yield from _calls.resolve(api, self.flow.flow_id)
        except NotFound:
            # The flow is archived, or has no published version.
            return None
        # A cached reply may be older than the refusal.
        to = issue.latest_flow_version_id or flow.flow_version_id
        old = self.snapshot
        if to == old.flow_version_id:
            return None
        new = yield from _calls.fetch(api, to)
        kept: Dict[str, List[str]] = {}
        dropped: Dict[str, List[str]] = {}
        for id, texts in self._given.items():
            question = new.by_id.get(id)
            is_same = question is not None and question.type == old.by_id[id].type
            fits = is_same and question is not None and not judge_question(question, self._given)
            (kept if fits else dropped)[id] = texts
        self.flow, self.snapshot, self._given, self._known = flow, new, kept, None
        return CarryOver(old.flow_version_id, to, tuple(kept), dropped)

    def _has_new_question(self, seen: "set[str]") -> bool:
        """Whether a question is visible that the respondent has neither seen nor answered."""
        answers, route = self._state
        return any(
            question.rules.is_answerable
            and question.id not in seen
            and is_absent(answers.get(question.id))
            for question in route.visible
        )

    @property
    def _state(self) -> Tuple[Dict[str, List[str]], Route]:
        """The answers that count, and the way that they take."""
        if self._known is None:
            answers = reached(self.snapshot, self._given)
            self._known = answers, Route(self.snapshot, answers)
        return self._known


def _texts_of(question: Question, value: Given) -> List[str]:
    if value is None:
        return []
    if isinstance(value, str):
        return [well_formed(value)]
    if isinstance(value, bool):
        if question.type == "consent":
            return ["accepted"] if value else []
        return ["yes" if value else "no"]
    if isinstance(value, (int, float)):
        return [plain_number(value)]
    if isinstance(value, Decimal):
        return [format(value, "f")]
    if isinstance(value, datetime.date):
        return [
            value.strftime("%Y-%m-%d")
            if not isinstance(value, datetime.datetime)
            else str(value.date())
        ]
    return [well_formed(text) for text in value]


def _choices(
    question: Question, field: str, choices: Sequence[Mapping[str, Any]], texts: Texts
) -> List[Choice]:
    return [Choice(it, texts.label(texts.choice_label(question, field, it))) for it in choices]


def _label(question: Question, field: str, texts: Texts) -> Optional[str]:
    text = texts.question(question, field)
    return None if text is None else texts.label(text)


def _is_key_used(refused: Refused) -> bool:
    return refused.codes() == ["idempotency_key_reused"]


def _joined(before: Optional[CarryOver], moved: CarryOver) -> CarryOver:
    """Two changes of version, one after the other, as one."""
    if before is None:
        return moved
    dropped = {**before.dropped, **moved.dropped}
    return CarryOver(before.from_version, moved.to_version, moved.kept, dropped)
