"""A run: one respondent answers one flow.

It keeps the answers, evaluates the logic of the version, validates by the server's rules, and
submits. If a newer version was published meanwhile, answers that still fit are carried over to it:
the same question, the same type, valid; a consent only if its text is the same. Everything but the
sending is here; `client` and `async_client` add that.
"""

from __future__ import annotations

import datetime
from dataclasses import replace
from decimal import Decimal
from math import isfinite
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from . import _calls, shape
from ._calls import Admission, Answer, Context, Flow, Identity, SubmissionOptions
from ._conditions import is_absent
from ._formats import plain_number
from ._protocol import Api, Plan
from ._text import well_formed
from .definition import Question, Snapshot
from .errors import InvalidValue, NotFound, UnknownQuestion
from .issues import Accepted, CarryOver, Issue, Refused, Result
from .judge import canonical, judge, judge_question
from .route import Route, pages, progress, reached
from .texts import Texts, Words, best_locale
from .views import EndingView, PageView, QuestionView, WelcomeView

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: How many newer versions one call of `submit` moves to.
_VERSIONS_MAX = 3
#: How many different submissions a run keeps while it is unknown which one was stored.
_SENT_MAX = 4
#: How the ids of invitations begin; other assignment ids are the caller's.
_INVITATION_PREFIX = "fa_"

#: What may be given as an answer: texts as they are sent, and values that have one obvious text.
Given = Union[str, int, float, Decimal, bool, datetime.date, Sequence[str], None]


class RunOptions(SubmissionOptions, total=False):
    """How a run starts."""

    #: Answers that are known already. Those to questions that the version does not have are in
    #: `dropped` of the run.
    answers: Mapping[str, Given]
    #: To resume a run: its key, so that it stores at most one response, and its version, which is
    #: kept while it accepts responses.
    idempotency_key: str
    flow_version_id: str
    #: The languages of the reader, in order of preference.
    locale: Union[str, Sequence[str]]
    #: How answers to yes-no questions and consents read in texts that repeat them.
    words: Words
    #: The same visit shows options in the same random order.
    visit: str


class BaseRun:
    """The state of a run, without I/O."""

    #: Whether the client has a function that returns access tokens.
    _has_token = False

    def __init__(self, flow: Flow, snapshot: Snapshot, **options: Unpack[RunOptions]) -> None:
        unknown = set(options) - set(RunOptions.__annotations__)
        if unknown:
            raise TypeError(f"unknown options: {', '.join(sorted(unknown))}")
        #: The flow as it was resolved, and the version that is answered.
        self.flow = flow
        self.snapshot = snapshot
        #: These may be changed until the answers are submitted.
        self.admission: Admission = options.get("admission", "collection_only")
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
        self.idempotency_key = options.get("idempotency_key") or _calls.new_key()
        if not shape.is_idempotency_key(self.idempotency_key):
            most = shape.IDEMPOTENCY_KEY_CHARS_MAX
            form = f"1 to {most} printable ASCII characters, quoted or bare"
            raise InvalidValue(f"idempotency_key must be {form}")
        locale = options.get("locale", ())
        self._languages = [locale] if isinstance(locale, str) else list(locale)
        self._words = options.get("words", Words())
        self._given: Dict[str, List[str]] = {}
        self._known: Optional[Tuple[Dict[str, List[str]], Route]] = None
        #: What was sent and may have been stored, newest last.
        self._sent: List[Dict[str, Any]] = []
        #: Answers that were known already and do not belong to this version, by question id.
        self.dropped: Mapping[str, Given] = {}
        self._take_known(options)

    def _take_known(self, options: RunOptions) -> None:
        """The answers that the run starts with. If the version that they were given for is no longer
        served, consents are dropped: whether their texts are the same is unknown."""
        answers = options.get("answers", {})
        version = options.get("flow_version_id")
        is_moved = version is not None and version != self.snapshot.flow_version_id

        def belongs(id: str) -> bool:
            question = self.snapshot.by_id.get(id)
            return question is not None and not (is_moved and question.type == "consent")

        self.dropped = {id: value for id, value in answers.items() if not belongs(id)}
        self.answer_all({id: value for id, value in answers.items() if belongs(id)})

    # --- answering ---

    def answer(self, question_id: str, value: Given) -> List[Issue]:
        """Sets an answer, and returns its issues. `None`, an empty text and an empty list remove it.

        Numbers, dates and decimals become their texts; `True` and `False` are `yes` and `no`, and
        `True` accepts a consent. For `multipleChoice`, `ranking` and `matrix`, give a list. Raises
        `UnknownQuestion`, or `InvalidValue` for a value that has no text."""
        return self.answer_all({question_id: value})

    def answer_all(self, answers: Mapping[str, Given]) -> List[Issue]:
        """Sets several answers, and returns their issues. If it raises, none is set."""
        texts = {id: _texts_of(self._question(id), value) for id, value in answers.items()}
        self._given = {**self._given, **texts}
        self._given = {id: it for id, it in self._given.items() if not is_absent(it)}
        self._known = None
        given = [self.snapshot.by_id[id] for id in texts if id in self._given]
        return [issue for question in given for issue in judge_question(question, self._given)]

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
    def description(self) -> Optional[str]:
        """The introduction, without markup."""
        texts = self.texts
        text = texts.description()
        return None if text is None else texts.plain(text)

    @property
    def description_html(self) -> Optional[str]:
        texts = self.texts
        text = texts.description()
        return None if text is None else texts.html(text)

    @property
    def welcome(self) -> Optional[WelcomeView]:
        """The screen before the first question, if there is one."""
        texts = self.texts
        fields = texts.welcome()
        return None if fields is None else WelcomeView(fields, texts)

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
        place = -1 if question_id is None else self._place(question_id)
        for question in self.questions:
            if self.snapshot.places[question.id] > place:
                return question
        return None

    def progress(self, question_id: str) -> Tuple[int, int]:
        """The number of a visible question, and of all questions on the longest way from there."""
        self._place(question_id)
        return progress(self.snapshot, self._state[0], question_id)

    @property
    def score(self) -> Optional[Union[int, float]]:
        """The score so far, if the version has scores."""
        return self._state[1].score

    @property
    def ending(self) -> EndingView:
        """The ending that the answers lead to."""
        texts = self.texts
        return EndingView(texts.ending(self._state[1].ending), texts)

    @property
    def asks_consent(self) -> bool:
        """Whether to ask the respondent for consent to be linked to the response: if the flow asks,
        and it is known who answers, by an identity, an access token or an invitation."""
        is_invited = (self.flow_assignment_id or "").startswith(_INVITATION_PREFIX)
        is_known = bool(self.identities) or self._has_token or is_invited
        return self.snapshot.respondent_analytics == "ask" and is_known

    @property
    def effective_admission(self) -> Admission:
        """The admission that is sent. A flow whose `respondentAnalytics` is `never` links no response,
        so `admitted` is sent as `collection_only`."""
        is_never = self.snapshot.respondent_analytics == "never"
        return "collection_only" if is_never else self.admission

    # --- submitting ---

    def submission(self) -> Dict[str, Any]:
        """What `submit` sends, without its key."""
        return _calls.submission(
            self.snapshot.flow_version_id,
            self.answers,
            admission=self.effective_admission,
            identities=self.identities,
            tags=self.tags,
            context=self.context,
            flow_assignment_id=self.flow_assignment_id,
        )

    def local_verdict(self) -> Optional[Refused]:
        """The refusal that the server would send for what is wrong already."""
        _, issues = shape.check(self.submission())
        if not issues:
            issues = self.issues()
            if self.snapshot.is_partly_unknown:
                # Which questions logic of a newer server shows can be judged only there.
                issues = [issue for issue in issues if issue.code != "answer_required"]
        return Refused(tuple(issues), is_local=True) if issues else None

    def submit_plan(self, api: Api) -> Plan[Result]:
        """Validates and submits. If the version no longer accepts responses, the run moves to the
        newer one and submits again, unless the respondent has to look at it first. All calls have the
        same key. If it turns out that an earlier one was stored, its result is returned."""
        if self.result is not None:
            return self.result
        carried: Optional[CarryOver] = None
        for version in range(1, _VERSIONS_MAX + 1):
            refusal = self.local_verdict()
            if refusal is not None:
                return Refused(refusal.issues, True, carried)
            sent = self.submission()
            self._sent = [*(it for it in self._sent if it != sent), sent][-_SENT_MAX:]
            result: Result = yield from _calls.submit(api, sent, self.idempotency_key)
            if isinstance(result, Refused) and _is_key_used(result):
                result = (yield from self._stored_earlier(api)) or result
            if isinstance(result, Accepted):
                self.result, self._sent = replace(result, carry_over=carried), []
                return self.result
            seen = {question.id for question in self._state[1].visible}
            moved = (yield from self._move_on(api, result)) if version < _VERSIONS_MAX else None
            if moved is not None:
                self.carry_over = carried = _joined(carried, moved)
            if moved is None or moved.dropped or self._has_new_question(seen):
                return Refused(result.issues, carry_over=carried)
        raise AssertionError("the last version returns")

    def validate_plan(self, api: Api) -> Plan[Result]:
        """The verdict of the server; nothing is stored."""
        return (yield from _calls.validate(api, self.submission()))

    def _stored_earlier(self, api: Api) -> Plan[Optional[Accepted]]:
        """The result of the earlier submission that has the key. Whether it was stored was unknown, and
        the answers or the version changed since: sent again unchanged, it has the reply of then."""
        for sent in reversed(self._sent[:-1]):
            result: Result = yield from _calls.submit(api, sent, self.idempotency_key)
            if isinstance(result, Accepted):
                return replace(result, earlier=True)
        return None

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
        shown = Texts(new, {}, "", {}, best_locale(new, self._languages))
        for id, texts in self._given.items():
            (kept if self._fits(id, shown) else dropped)[id] = texts
        self.flow, self.snapshot, self._given, self._known = flow, new, kept, None
        return CarryOver(old.flow_version_id, to, tuple(kept), dropped)

    def _fits(self, id: str, shown: Texts) -> bool:
        """Whether an answer may be carried over to a newer version, which is shown with these texts."""
        was, now = self.snapshot.by_id[id], shown.snapshot.by_id.get(id)
        if now is None or now.type != was.type:
            return False
        if now.type == "consent" and _wording(now, shown) != _wording(was, self.texts):
            return False
        # A part that is missing, such as a new row, is asked for; what is there is kept.
        return not judge_question(now, self._given, is_visible=False)

    def _question(self, id: str) -> Question:
        question = self.snapshot.by_id.get(id)
        if question is None:
            raise UnknownQuestion(f"this version has no question {id!r}")
        return question

    def _place(self, id: str) -> int:
        return self.snapshot.places[self._question(id).id]

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
    """The texts that are sent for a value."""
    if value is None:
        return []
    if isinstance(value, str):
        return [well_formed(value)]
    if isinstance(value, bool):
        if question.type == "consent":
            return ["accepted"] if value else []
        return ["yes" if value else "no"]
    if isinstance(value, (int, float, Decimal)) and isfinite(value):
        return [format(value, "f") if isinstance(value, Decimal) else plain_number(value)]
    if isinstance(value, datetime.datetime):
        return [value.date().isoformat()]
    if isinstance(value, datetime.date):
        return [value.isoformat()]
    if isinstance(value, Sequence) and all(isinstance(text, str) for text in value):
        return [well_formed(text) for text in value]
    raise InvalidValue(
        f"an answer to {question.id!r} is a text, a list of texts, a finite number, a date or a "
        f"boolean, not {value!r}"
    )


def _wording(question: Question, texts: Texts) -> List[Any]:
    """What a respondent agrees to: the texts as they were written, and as they were shown."""
    names = ("prompt", "help")
    return [(question.fields.get(name), texts.question(question, name)) for name in names]


def _is_key_used(refused: Refused) -> bool:
    return refused.codes() == ["idempotency_key_reused"]


def _joined(before: Optional[CarryOver], moved: CarryOver) -> CarryOver:
    """Two changes of version, one after the other, as one."""
    if before is None:
        return moved
    dropped = {**before.dropped, **moved.dropped}
    return CarryOver(before.from_version, moved.to_version, moved.kept, dropped)
