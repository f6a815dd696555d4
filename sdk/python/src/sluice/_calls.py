"""The calls of the public API as plans: resolve, fetch, submit, validate."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any, Dict, Literal, Mapping, Optional, Sequence, Tuple, TypedDict, Union, cast

from ._protocol import Api, Plan
from .definition import Snapshot
from .errors import ApiError, NotFound
from .issues import Result, result_from_json
from .shape import PAYLOAD_GENERATION, as_sent

_SNAPSHOTS_MAX = 16

#: A text, or several: the answer to a question, or the value of a tag.
Answer = Union[str, Sequence[str]]
#: Whether the respondent agreed to be linked to the response.
Admission = Literal["collection_only", "admitted"]
FlowKind = Literal["survey", "form", "message"]
FlowStatus = Literal["scheduled", "open", "closed"]


class Identity(TypedDict):
    """An identity of the respondent: `userId` and `traits.email` link a response to a profile."""

    type: str
    value: str


class Page(TypedDict, total=False):
    path: str
    referrer: str
    search: str


class Context(TypedDict, total=False):
    """Where the answers come from. It is repaired or dropped, and never causes a refusal."""

    page: Page
    locale: str
    userAgent: str


class SubmissionOptions(TypedDict, total=False):
    """What a submission may have besides its answers."""

    #: `admitted` only if the respondent agreed to be linked to the response.
    admission: Admission
    identities: Sequence[Identity]
    tags: Mapping[str, Answer]
    context: Context
    #: The id of an invitation, or one of your own.
    flow_assignment_id: Optional[str]


@dataclass(frozen=True)
class Flow:
    """A flow and its latest published version."""

    flow_id: str
    flow_version_id: str
    kind: FlowKind
    name: str
    number: int
    published_at: str
    status: FlowStatus
    live_window: Tuple[Optional[str], Optional[str]]
    grace_window_seconds: int
    payload_generations: Tuple[str, ...]


def resolve(api: Api, flow_id: str) -> Plan[Flow]:
    data = yield from api.get(api.url("flows", flow_id))
    window: Mapping[str, Optional[str]] = data.get("liveWindow") or {}
    return Flow(
        flow_id=data["flowId"],
        flow_version_id=data["flowVersionId"],
        kind=cast(FlowKind, data.get("kind", "")),
        name=data.get("name", ""),
        number=data.get("number", 0),
        published_at=data.get("publishedAt", ""),
        status=cast(FlowStatus, data.get("status", "")),
        live_window=(window.get("startsAt"), window.get("endsAt")),
        grace_window_seconds=data.get("graceWindowSeconds", 0),
        payload_generations=tuple(data.get("payloadGenerations") or ()),
    )


def fetch(api: Api, flow_version_id: str) -> Plan[Snapshot]:
    url = api.url("flow_versions", flow_version_id, query={"payload": PAYLOAD_GENERATION})
    data = yield from api.get(url)
    if not isinstance(data, dict) or data.get("payloadGeneration") != PAYLOAD_GENERATION:
        message = f"the reply is not a snapshot of generation {PAYLOAD_GENERATION}"
        raise ApiError(message, 200, "not_a_snapshot")
    return Snapshot(data)


class Snapshots:
    """The last few snapshots: a published version never changes, so it is fetched once."""

    def __init__(self) -> None:
        self._known: Dict[str, Snapshot] = {}

    def get(self, api: Api, flow_version_id: str) -> Plan[Snapshot]:
        snapshot = self._known.get(flow_version_id)
        if snapshot is None:
            snapshot = yield from fetch(api, flow_version_id)
            newest = list(self._known.items())[1 - _SNAPSHOTS_MAX :]
            self._known = dict([*newest, (flow_version_id, snapshot)])
        return snapshot


def start(
    api: Api, snapshots: Snapshots, flow_id: str, flow_version_id: Optional[str] = None
) -> Plan[Tuple[Flow, Snapshot]]:
    """The version of a flow that was asked for, if it is still served; otherwise, and in place of a
    version of another flow, the latest one."""
    flow = yield from resolve(api, flow_id)
    if flow_version_id is not None and flow_version_id != flow.flow_version_id:
        try:
            snapshot = yield from snapshots.get(api, flow_version_id)
        except NotFound:
            # It is retired.
            pass
        else:
            if snapshot.flow_id in ("", flow.flow_id):
                return flow, snapshot
    return flow, (yield from snapshots.get(api, flow.flow_version_id))


def submission(
    flow_version_id: str,
    answers: Mapping[str, Answer],
    admission: Admission = "collection_only",
    identities: Sequence[Identity] = (),
    tags: Optional[Mapping[str, Answer]] = None,
    context: Optional[Context] = None,
    flow_assignment_id: Optional[str] = None,
) -> Dict[str, Any]:
    """The input of `response.submit`."""
    sent: Dict[str, Any] = {
        "flowVersionId": flow_version_id,
        "flowVersionPayloadGeneration": PAYLOAD_GENERATION,
        "respondentAnalyticsAdmission": admission,
        "answers": answers,
    }
    if identities:
        sent["identities"] = identities
    if tags:
        sent["metadata"] = {"tags": tags}
    if context:
        sent["context"] = context
    if flow_assignment_id is not None:
        sent["flowAssignmentId"] = flow_assignment_id
    result: Dict[str, Any] = as_sent(sent)
    return result


def submit(api: Api, sent: Mapping[str, Any], idempotency_key: Optional[str]) -> Plan[Result]:
    """All attempts have the same key, so that at most one response is stored."""
    data = yield from api.call(
        "response.submit", {**sent, "idempotencyKey": idempotency_key or new_key()}
    )
    return result_from_json(data)


def validate(api: Api, sent: Mapping[str, Any]) -> Plan[Result]:
    data = yield from api.call("response.validate", sent)
    return result_from_json(data)


def new_key() -> str:
    return str(uuid.uuid4())
