"""What a submission is refused for, and the two results of a call.

A refusal is a value, not an exception: it lists every issue of one stage (shape, version, identity,
answers). Exceptions, in `errors`, are for calls that were not judged.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Literal, Mapping, Optional, Tuple, Union, cast

Path = Tuple[Union[str, int], ...]

#: The codes of the server that this library was made for; a newer one may have more.
IssueCode = Literal[
    "field_required",
    "invalid_type",
    "invalid_value",
    "too_long",
    "nul_character",
    "nested_tag",
    "duplicate_user_id",
    "payload_generation_mismatch",
    "flow_version_not_found",
    "not_open_yet",
    "no_longer_accepting",
    "quota_full",
    "identity_mismatch",
    "idempotency_key_reused",
    "invitation_used",
    "invitation_expired",
    "invitation_revoked",
    "unknown_question",
    "wrong_answer_kind",
    "unknown_option",
    "invalid_selection",
    "invalid_format",
    "out_of_range",
    "answer_required",
    "not_answerable",
]


@dataclass(frozen=True)
class Issue:
    """One reason for a refusal. `code` never changes its meaning; `message` is for people."""

    code: IssueCode
    path: Path
    message: str
    #: With `no_longer_accepting`: the version that accepts responses now, if there is one.
    latest_flow_version_id: Optional[str] = None

    @property
    def question(self) -> Optional[str]:
        """The id of the question that the issue is about, if it is about an answer."""
        if len(self.path) == 2 and self.path[0] == "answers":
            return str(self.path[1])
        return None


@dataclass(frozen=True)
class CarryOver:
    """A newer version replaced the one that was being answered; the run continues with it."""

    from_version: str
    to_version: str
    #: Ids of the questions whose answers are now answers of the new version.
    kept: Tuple[str, ...]
    #: Answers that do not fit the new version, by question id.
    dropped: Mapping[str, List[str]]


@dataclass(frozen=True)
class Accepted:
    """The submission is accepted; of `submit`: it is on stable storage."""

    #: Empty if nothing was stored, because the submission was only validated.
    response_id: str = ""
    score: Optional[float] = None
    #: In a grace window: the newer version, and until when the old one accepts responses.
    superseded_by: Optional[str] = None
    accepts_until: Optional[str] = None
    #: Set by a run that moved to a newer version.
    carry_over: Optional[CarryOver] = None
    #: An earlier call of `submit`, whose outcome was unknown, had stored its answers. They are what
    #: is stored, not what was changed since.
    earlier: bool = False
    success: Literal[True] = field(default=True, init=False)

    def __bool__(self) -> Literal[True]:
        return True


@dataclass(frozen=True)
class Refused:
    """The submission is refused, and nothing is stored."""

    issues: Tuple[Issue, ...]
    #: Whether the rules in this library refused it, without a request.
    is_local: bool = False
    #: Set by a run that moved to a newer version: ask again, then submit again.
    carry_over: Optional[CarryOver] = None
    success: Literal[False] = field(default=False, init=False)

    def __bool__(self) -> Literal[False]:
        return False

    @property
    def form_errors(self) -> List[str]:
        return [issue.message for issue in self.issues]

    def codes(self) -> List[IssueCode]:
        return [issue.code for issue in self.issues]


Result = Union[Accepted, Refused]


def result_from_json(data: Mapping[str, Any]) -> Result:
    """Reads `result.data` of a reply. Fields of newer servers are ignored."""
    if data.get("success") is True:
        return Accepted(
            response_id=str(data.get("responseId") or ""),
            score=data.get("score"),
            superseded_by=data.get("supersededBy"),
            accepts_until=data.get("acceptsUntil"),
        )
    errors: Dict[str, Any] = data.get("errors") or {}
    issues = errors.get("issues")
    if issues is None:
        # Only texts: a server that has no codes.
        issues = [
            {"code": "", "path": [], "message": text} for text in errors.get("formErrors") or []
        ]
    return Refused(tuple(_issue_from_json(issue) for issue in issues))


def _issue_from_json(issue: Mapping[str, Any]) -> Issue:
    return Issue(
        code=cast(IssueCode, str(issue.get("code", ""))),
        path=tuple(issue.get("path") or ()),
        message=str(issue.get("message", "")),
        latest_flow_version_id=issue.get("latestFlowVersionId"),
    )
