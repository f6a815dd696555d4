"""The shape rules of a submission: types, limits and formats that need no version.

They work on plain JSON values and report every issue at once, in the order and with the texts of
the server. Deliberately absent: rules for `context`, which is repaired and never refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import isfinite
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ._formats import is_email, is_left_to_the_server
from ._text import is_ascii_alphanumeric, is_control, well_formed
from .errors import InvalidValue
from .issues import Issue, IssueCode, Path

PAYLOAD_GENERATION = "4"
ADMISSIONS = ("collection_only", "admitted")
ANSWERS_MAX = 300
ANSWER_CHARS_MAX = 16_384
ANSWER_ITEMS_MAX = 1_000
TAGS_MAX = 50
TAG_NAME_CHARS_MAX = 64
TAG_VALUE_CHARS_MAX = 500
TAG_ITEMS_MAX = 50
IDENTITIES_MAX = 10
IDENTITIES_SENT_MAX = 100
USER_ID_CHARS_MAX = 255
EMAIL_CHARS_MAX = 254
TYPE_CHARS_MAX = 64
OTHER_VALUE_CHARS_MAX = 500
ASSIGNMENT_ID_CHARS_MAX = 255
IDEMPOTENCY_KEY_CHARS_MAX = 255
_QUOTED_CHARS_MAX = 64
# Bare, or in quotes, where quotes and backslashes are escaped.
_IDEMPOTENCY_KEY = re.compile(r'[ !#-~][ -~]{0,254}|"(?:[ !#-\[\]-~]|\\["\\]){1,255}"')

_TEXTS = "a string or an array of strings"
_MAP = f'an object whose values are each {_TEXTS}, such as {{"name": "value"}}'
_TYPE_SIGNS = "_.-"


@dataclass
class Submission:
    """A submission of the right shape."""

    flow_version_id: str
    answers: Dict[str, List[str]]
    tags: Dict[str, List[str]]


def check(value: Any) -> Tuple[Optional[Submission], List[Issue]]:
    """The submission, or every issue of its shape."""
    report = _Report()
    if not isinstance(value, Mapping):
        message = f"A submission must be a JSON object; this is {_kind(value)}."
        return None, [Issue("invalid_type", (), message)]
    version = _version(value, report)
    _generation(value, report)
    _admission(value, report)
    answers = _answers(value.get("answers"), report)
    _identities(value.get("identities"), report)
    tags = _metadata(value.get("metadata"), report)
    _assignment_id(value.get("flowAssignmentId"), report)
    _idempotency_key(value.get("idempotencyKey"), report)
    if report.issues or version is None:
        return None, report.issues
    return Submission(version, answers, tags), []


class _Report:
    def __init__(self) -> None:
        self.issues: List[Issue] = []

    def add(self, code: IssueCode, at: Path, what: str) -> None:
        self.issues.append(Issue(code, at, f"{_path_text(at)} {what}"))

    def missing(self, at: Path, allowed: str) -> None:
        self.add("field_required", at, f"is required: it must be {allowed}.")

    def wrong_type(self, at: Path, found: Any, allowed: str) -> None:
        takes_text = allowed.startswith(("a string", "the string"))
        is_plain = isinstance(found, (bool, int, float))
        hint = " Write it in quotes." if is_plain and takes_text else ""
        self.add("invalid_type", at, f"is {_kind(found)}; it must be {allowed}.{hint}")

    def has_no_nul(self, text: str, at: Path) -> bool:
        if "\0" in text:
            self.add("nul_character", at, "has a NUL character (\\u0000); leave it out.")
            return False
        return True

    def is_within(self, text: str, most: int, at: Path) -> bool:
        if len(text) > most:
            self.add("too_long", at, f"has {len(text)} characters; at most {most} are allowed.")
            return False
        return True

    def text(self, value: Any, at: Path) -> Optional[str]:
        if not isinstance(value, str):
            self.wrong_type(at, value, "a string")
            return None
        return value if self.has_no_nul(value, at) else None


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, (list, tuple)):
        return "an array"
    return "an object"


def _path_text(at: Path) -> str:
    text = ""
    for step in at:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += ("." if text else "") + _quoted(step)
    return text


def _quoted(text: str) -> str:
    """The beginning of a text, without control characters."""
    shown = "".join(
        f"\\u{{{ord(letter):x}}}" if is_control(letter) else letter
        for letter in text[:_QUOTED_CHARS_MAX]
    )
    return shown + ("…" if len(text) > _QUOTED_CHARS_MAX else "")


# --- fields ---


def _version(fields: Mapping[str, Any], report: _Report) -> Optional[str]:
    value = fields.get("flowVersionId")
    if value is None:
        report.missing(("flowVersionId",), "a string, the id of a published version")
        return None
    return report.text(value, ("flowVersionId",))


def _generation(fields: Mapping[str, Any], report: _Report) -> None:
    at: Path = ("flowVersionPayloadGeneration",)
    value, served = fields.get("flowVersionPayloadGeneration"), f'"{PAYLOAD_GENERATION}"'
    if value is None:
        report.missing(at, f"the string {served}")
    elif not isinstance(value, str):
        report.wrong_type(at, value, f"the string {served}")
    elif value != PAYLOAD_GENERATION:
        what = (
            f'is "{_quoted(value)}"; it must be the generation in which the version was fetched, and '
            f"versions are served in {served}."
        )
        report.add("payload_generation_mismatch", at, what)


def _admission(fields: Mapping[str, Any], report: _Report) -> None:
    name = "respondentAnalyticsAdmission"
    value, allowed = fields.get(name), " or ".join(f'"{each}"' for each in ADMISSIONS)
    if value is None:
        report.missing((name,), allowed)
    elif not isinstance(value, str):
        report.wrong_type((name,), value, f"the string {allowed}")
    elif value not in ADMISSIONS:
        report.add("invalid_value", (name,), f'is "{_quoted(value)}"; it must be {allowed}.')


def _answers(value: Any, report: _Report) -> Dict[str, List[str]]:
    answers: Dict[str, List[str]] = {}
    for id, sent in _entries(value, ANSWERS_MAX, ("answers",), report):
        at: Path = ("answers", id)
        is_named = report.has_no_nul(id, at)
        texts = _texts(sent, ANSWER_ITEMS_MAX, "invalid_type", at, report)
        if texts is None:
            continue
        chars = sum(map(len, texts))
        if chars > ANSWER_CHARS_MAX:
            what = f"has {chars} characters; at most {ANSWER_CHARS_MAX} are allowed."
            report.add("too_long", at, what)
        elif is_named:
            answers[id] = texts
    return answers


def _metadata(value: Any, report: _Report) -> Dict[str, List[str]]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        report.wrong_type(("metadata",), value, "an object")
        return {}
    tags: Dict[str, List[str]] = {}
    for name, sent in _entries(value.get("tags"), TAGS_MAX, ("metadata", "tags"), report):
        at: Path = ("metadata", "tags", name)
        is_named = _tag_is_named(name, at, report)
        texts = _texts(sent, TAG_ITEMS_MAX, "nested_tag", at, report)
        if texts is None:
            continue
        places = [at] if isinstance(sent, str) else [(*at, index) for index in range(len(texts))]
        is_short = all(
            report.is_within(text, TAG_VALUE_CHARS_MAX, place) for text, place in zip(texts, places)
        )
        if is_named and is_short:
            tags[name] = texts
    return tags


def _tag_is_named(name: str, at: Path, report: _Report) -> bool:
    most = TAG_NAME_CHARS_MAX
    if not name:
        what = f"is a tag without a name; a name must have 1 to {most} characters."
        report.add("invalid_value", at, what)
        return False
    if len(name) > most:
        what = f"is a tag whose name has {len(name)} characters; at most {most} are allowed."
        report.add("too_long", at, what)
        return False
    return report.has_no_nul(name, at)


def _entries(value: Any, most: int, at: Path, report: _Report) -> Sequence[Tuple[str, Any]]:
    """The entries of a map that are not null, sorted by name; none if there are too many."""
    if value is None:
        return ()
    if not isinstance(value, Mapping):
        report.wrong_type(at, value, _MAP)
        return ()
    entries = sorted((name, each) for name, each in value.items() if each is not None)
    if len(entries) > most:
        report.add("too_long", at, f"has {len(entries)} entries; at most {most} are allowed.")
        return ()
    return entries


def _texts(
    value: Any, most: int, nested: IssueCode, at: Path, report: _Report
) -> Optional[List[str]]:
    """The texts of a value; otherwise reports the first problem with them."""
    if isinstance(value, str):
        return [value] if report.has_no_nul(value, at) else None
    if not isinstance(value, (list, tuple)):
        _wrong_text(value, _TEXTS, nested, at, report)
        return None
    if len(value) > most:
        report.add("too_long", at, f"has too many items; at most {most} are allowed.")
        return None
    for index, item in enumerate(value):
        if not isinstance(item, str):
            _wrong_text(item, "a string", nested, (*at, index), report)
            return None
        if not report.has_no_nul(item, (*at, index)):
            return None
    return list(value)


def _wrong_text(found: Any, allowed: str, nested: IssueCode, at: Path, report: _Report) -> None:
    if nested == "nested_tag" and isinstance(found, (list, tuple, Mapping)):
        report.add(nested, at, f"is {_kind(found)}; tags are flat, so it must be {allowed}.")
    else:
        report.wrong_type(at, found, allowed)


# --- identities ---


def _identities(value: Any, report: _Report) -> None:
    if value is None:
        return
    if not isinstance(value, (list, tuple)):
        return report.wrong_type(("identities",), value, "an array of objects with type and value")
    if len(value) > IDENTITIES_SENT_MAX:
        what = f"has too many items; at most {IDENTITIES_SENT_MAX} may be sent."
        return report.add("too_long", ("identities",), what)
    known: List[Tuple[str, str]] = []
    for index, sent in enumerate(value):
        identity = _identity(sent, ("identities", index), report)
        if identity is None or identity in known:
            continue
        if identity[0] == "userId" and any(kind == "userId" for kind, _ in known):
            what = "is a second userId; at most one is allowed."
            report.add("duplicate_user_id", ("identities", index), what)
        known.append(identity)
    if len(known) > IDENTITIES_MAX:
        what = f"has {len(known)} different items; at most {IDENTITIES_MAX} are allowed."
        report.add("too_long", ("identities",), what)


def _identity(sent: Any, at: Path, report: _Report) -> Optional[Tuple[str, str]]:
    if not isinstance(sent, Mapping):
        report.wrong_type(at, sent, "an object with type and value")
        return None
    kind, value = _required(sent, "type", at, report), _required(sent, "value", at, report)
    if kind is None or not _kind_is_allowed(kind, (*at, "type"), report):
        return None
    if value is None or not _value_is_allowed(kind, value, (*at, "value"), report):
        return None
    return kind, value


def _required(fields: Mapping[str, Any], name: str, at: Path, report: _Report) -> Optional[str]:
    if fields.get(name) is None:
        report.missing((*at, name), "a string")
        return None
    return report.text(fields[name], (*at, name))


def _kind_is_allowed(kind: str, at: Path, report: _Report) -> bool:
    plain = all(is_ascii_alphanumeric(letter) or letter in _TYPE_SIGNS for letter in kind)
    if plain and 1 <= len(kind) <= TYPE_CHARS_MAX:
        return True
    what = (
        f'is "{_quoted(kind)}"; it must have 1 to {TYPE_CHARS_MAX} letters (a-z, A-Z), digits, "_", '
        '"." and "-", such as "userId" or "traits.email".'
    )
    report.add("invalid_value", at, what)
    return False


def _value_is_allowed(kind: str, value: str, at: Path, report: _Report) -> bool:
    if kind == "userId":
        if value:
            return report.is_within(value, USER_ID_CHARS_MAX, at)
        what = f"is empty; a userId must have 1 to {USER_ID_CHARS_MAX} characters."
    elif kind == "traits.email":
        if not report.is_within(value, EMAIL_CHARS_MAX, at):
            return False
        if is_email(value) or is_left_to_the_server(value):
            return True
        what = "is not an e-mail address; it must look like name@example.com."
    else:
        return report.is_within(value, OTHER_VALUE_CHARS_MAX, at)
    report.add("invalid_value", at, what)
    return False


# --- the rest ---


def _assignment_id(value: Any, report: _Report) -> None:
    at: Path = ("flowAssignmentId",)
    if value is None:
        return
    if not isinstance(value, str):
        report.wrong_type(at, value, "a string")
    elif report.has_no_nul(value, at):
        report.is_within(value, ASSIGNMENT_ID_CHARS_MAX, at)


def _idempotency_key(value: Any, report: _Report) -> None:
    at: Path = ("idempotencyKey",)
    if value is None:
        return
    if not isinstance(value, str):
        report.wrong_type(at, value, "a string")
    elif not is_idempotency_key(value):
        most = IDEMPOTENCY_KEY_CHARS_MAX
        what = f"must be 1 to {most} printable ASCII characters, quoted or bare."
        report.add("invalid_value", at, what)


def is_idempotency_key(text: str) -> bool:
    return _IDEMPOTENCY_KEY.fullmatch(text) is not None


def as_sent(value: Any) -> Any:
    """The value as the server reads it: lone surrogates become U+FFFD, tuples become lists. Raises
    `InvalidValue` if it has no form in JSON."""
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, Mapping):
        return {_key(key): as_sent(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_sent(each) for each in value]
    if value is None or isinstance(value, int) or (isinstance(value, float) and isfinite(value)):
        return value
    raise InvalidValue(f"a submission cannot have {value!r} ({type(value).__name__})")


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise InvalidValue(f"names in a submission are strings, not {type(key).__name__}")
    return well_formed(key)
