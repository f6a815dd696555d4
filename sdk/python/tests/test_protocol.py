"""Retries and errors, without a server and without waiting: a script has the replies."""

from __future__ import annotations

import asyncio
import datetime
import email.utils
import json
from decimal import Decimal
from typing import Any, Dict, List, Optional, Tuple

import httpx
import pytest

from sluice import (
    Accepted,
    ApiError,
    AsyncSluice,
    NoReply,
    Refused,
    Retry,
    ServerError,
    Sluice,
    Snapshot,
    TooManyRequests,
    Unauthorized,
    identity_token,
)
from sluice._calls import Flow, Snapshots, start
from sluice._protocol import Api, Failure, Pause, Plan, Reply, Request, exchange, retry_after_of
from sluice.admin import _event_page
from sluice.run import BaseRun

PLAIN = Retry(attempts=4, first_seconds=1, seconds_max=3, retry_after_max=60, jitter=lambda: 1.0)
LOST = Failure(OSError("lost"))


def reply(status: int = 200, body: Any = None, **headers: str) -> Reply:
    return Reply(status, headers, json.dumps(body).encode())


def played(plan: Plan[Any], outcomes: List[Any]) -> Tuple[Any, List[Any]]:
    """What a plan returns if its requests have these outcomes, and its steps."""
    steps: List[Any] = []
    left = iter(outcomes)
    try:
        step = next(plan)
        while True:
            steps.append(step)
            step = plan.send(None if isinstance(step, Pause) else next(left))
    except StopIteration as stop:
        assert next(left, None) is None, "not every outcome was needed"
        return stop.value, steps


def waits(steps: List[Any]) -> List[float]:
    return [step.seconds for step in steps if isinstance(step, Pause)]


def test_lost_requests_and_busy_servers_are_tried_again_with_growing_waits() -> None:
    outcomes = [LOST, reply(503), reply(500), reply(200)]
    found, steps = played(exchange(Request("GET", "/"), PLAIN), outcomes)
    assert found.status == 200 and waits(steps) == [1, 2, 3]


def test_jitter_spreads_waits_between_half_and_all_of_them() -> None:
    for jitter, wait in [(0.0, 0.5), (0.5, 0.75), (1.0, 1.0)]:
        retry = Retry(first_seconds=1, jitter=lambda jitter=jitter: jitter)  # type: ignore[misc]
        assert retry.seconds(1, None) == wait
    assert Retry(seconds_max=30, jitter=lambda: 1.0).seconds(10_000, None) == 30


def test_retry_after_is_obeyed_and_never_shortened() -> None:
    plan = exchange(Request("GET", "/"), PLAIN)
    outcomes = [reply(429, **{"retry-after": "7"}), reply(503, **{"retry-after": "0"}), reply(200)]
    assert waits(played(plan, outcomes)[1]) == [8, 2]


@pytest.mark.parametrize(
    "outcomes, kind",
    [
        ([LOST] * 4, NoReply),
        ([reply(503)] * 4, ServerError),
        ([reply(429, **{"retry-after": "61"})], TooManyRequests),
        ([reply(400)], ApiError),
        ([reply(401)], Unauthorized),
        ([reply(301)], ApiError),
        ([reply(413)], ApiError),
    ],
)
def test_what_another_attempt_would_not_change_fails(outcomes: List[Any], kind: Any) -> None:
    with pytest.raises(kind):
        played(exchange(Request("GET", "/"), PLAIN), outcomes)


def test_a_refused_token_is_asked_for_again_once() -> None:
    expired = reply(401, {"code": "token_expired", "detail": "Sign in again."})
    found, steps = played(exchange(Request("GET", "/"), PLAIN, True), [expired, reply(200)])
    assert found.status == 200 and [step.needs_new_token for step in steps] == [False, True]
    with pytest.raises(Unauthorized):
        played(exchange(Request("GET", "/"), PLAIN, True), [expired, expired])
    with pytest.raises(Unauthorized):
        played(exchange(Request("GET", "/"), PLAIN, False), [expired])


def test_retry_after_may_be_a_date() -> None:
    now = datetime.datetime(2026, 11, 15, 2, tzinfo=datetime.timezone.utc)
    later = email.utils.format_datetime(now + datetime.timedelta(seconds=9), usegmt=True)
    for value, seconds in [("3", 3.0), (later, 9.0), (None, None), ("soon", None)]:
        assert retry_after_of(value, now.timestamp()) == seconds


def test_errors_are_read_from_problems_and_from_trpc() -> None:
    trpc = {"error": {"message": "Busy.", "code": -32603, "data": {"code": "SERVICE_UNAVAILABLE"}}}
    limited = {
        "error": {
            "message": "Slow.",
            "data": {"code": "TOO_MANY_REQUESTS", "reason": "rate_limited"},
        }
    }
    for body, code, message in [
        ({"code": "flow_not_found", "detail": "No such flow."}, "flow_not_found", "No such flow."),
        (trpc, "SERVICE_UNAVAILABLE", "Busy."),
        (limited, "rate_limited", "Slow."),
        ([], "http", "HTTP 418"),
    ]:
        with pytest.raises(ApiError) as found:
            played(
                exchange(Request("GET", "/"), PLAIN), [reply(418, body, **{"x-request-id": "r1"})]
            )
        assert (found.value.code, found.value.args[0], found.value.request_id) == (
            code,
            message,
            "r1",
        )


def test_a_reply_of_something_else_is_an_error() -> None:
    api = Api("https://a.example/", "/api/v1/pk", PLAIN, False)
    with pytest.raises(ValueError):
        Api("feedback.example.com", "", PLAIN, False)
    assert (
        api.url("flows", "a/b", query={"x": "1&2", "y": None})
        == "https://a.example/api/v1/pk/flows/a%2Fb?x=1%262"
    )
    for plan, outcome in [
        (api.get("/"), Reply(200, {}, b"<html>")),
        (api.call("response.submit", {}), reply(200, {"result": None})),
        (api.call("response.submit", {}), reply(200, {"result": {"data": []}})),
    ]:
        with pytest.raises(ApiError):
            played(plan, [outcome])


# --- runs ---

FIRST: Dict[str, Any] = {
    "flowVersionId": "fv_1",
    "payloadGeneration": "4",
    "title": "T",
    "questions": [{"id": "a", "type": "nps", "prompt": "?"}],
}


def run(**options: Any) -> BaseRun:
    flow = Flow("fl_1", "fv_1", "survey", "T", 1, "", "open", (None, None), 0, ("4",))
    return BaseRun(flow, Snapshot(FIRST), **options)


def refused(code: str, latest: Optional[str] = None) -> Reply:
    issue: Dict[str, Any] = {"code": code, "path": ["flowVersionId"], "message": "No."}
    if latest:
        issue["latestFlowVersionId"] = latest
    return reply(
        200,
        {
            "result": {
                "data": {"success": False, "errors": {"formErrors": ["No."], "issues": [issue]}}
            }
        },
    )


ACCEPTED = reply(200, {"result": {"data": {"success": True, "responseId": "rs_1"}}})
API = Api("https://a.example", "/api/v1/pk", PLAIN, False)


def newer(version: str) -> List[Reply]:
    return [
        reply(200, {"flowId": "fl_1", "flowVersionId": version}),
        reply(200, {**FIRST, "flowVersionId": version}),
    ]


def bodies(steps: List[Any]) -> List[Any]:
    return [json.loads(step.body) for step in steps if isinstance(step, Request) and step.body]


def test_every_version_of_a_run_has_the_same_key() -> None:
    outcomes = [LOST, refused("no_longer_accepting", "fv_2"), *newer("fv_2"), reply(503), ACCEPTED]
    result, steps = played(run(answers={"a": 7}).submit_plan(API), outcomes)
    assert isinstance(result, Accepted) and result.carry_over is not None
    sent = bodies(steps)
    assert [body["flowVersionId"] for body in sent] == ["fv_1", "fv_1", "fv_2", "fv_2"]
    assert len({body["idempotencyKey"] for body in sent}) == 1


def test_an_older_attempt_that_was_stored_after_all_is_found_by_its_key() -> None:
    moved = [refused("no_longer_accepting", "fv_2"), *newer("fv_2")]
    outcomes = [LOST, *moved, refused("idempotency_key_reused"), ACCEPTED]
    result, steps = played(run(answers={"a": 7}).submit_plan(API), outcomes)
    assert isinstance(result, Accepted) and result.response_id == "rs_1"
    assert [body["flowVersionId"] for body in bodies(steps)] == ["fv_1", "fv_1", "fv_2", "fv_1"]


def test_a_run_follows_few_versions_in_one_call() -> None:
    outcomes: List[Any] = []
    for number in (2, 3):
        outcomes += [refused("no_longer_accepting", f"fv_{number}"), *newer(f"fv_{number}")]
    answered = run(answers={"a": 7})
    result, _ = played(
        answered.submit_plan(API), [*outcomes, refused("no_longer_accepting", "fv_4")]
    )
    assert isinstance(result, Refused) and result.carry_over is not None
    assert (result.carry_over.from_version, result.carry_over.to_version) == ("fv_1", "fv_3")
    assert answered.answers == {"a": "7"}


@pytest.mark.parametrize(
    "code",
    ["not_open_yet", "quota_full", "identity_mismatch", "invitation_used", "no_longer_accepting"],
)
def test_other_refusals_stay_with_the_version(code: str) -> None:
    result, _ = played(run().submit_plan(API), [refused(code)])
    assert isinstance(result, Refused) and result.codes() == [code] and result.carry_over is None


def test_logic_of_a_newer_server_is_left_to_it() -> None:
    when = {"question": "a", "resembles": "x"}
    asked = {"id": "b", "type": "nps", "prompt": "?", "required": True, "visibleIf": when}
    flow = Flow("fl_1", "fv_1", "survey", "T", 1, "", "open", (None, None), 0, ("4",))
    newer_flow = BaseRun(flow, Snapshot({**FIRST, "questions": [*FIRST["questions"], asked]}))
    result, _ = played(newer_flow.submit_plan(API), [ACCEPTED])
    assert isinstance(result, Accepted)


def test_the_verdict_of_a_validation_has_no_response() -> None:
    valid = reply(200, {"result": {"data": {"success": True, "score": 2.5}}})
    result, steps = played(run(answers={"a": 7}).validate_plan(API), [reply(503), valid])
    assert result == Accepted("", score=2.5)
    assert [step.url.rpartition("/")[2] for step in steps if isinstance(step, Request)] == [
        "response.validate"
    ] * 2
    assert all("idempotencyKey" not in body for body in bodies(steps))
    refusal, _ = played(run().validate_plan(API), [refused("quota_full")])
    assert isinstance(refusal, Refused) and not refusal.is_local


def test_a_snapshot_is_fetched_once_and_few_are_kept() -> None:
    snapshots = Snapshots()
    resolved, fetched = newer("fv_1")
    flow, first = played(start(API, snapshots, "fl_1"), [resolved, fetched])[0]
    assert (flow.flow_version_id, first.flow_version_id) == ("fv_1", "fv_1")
    assert played(start(API, snapshots, "fl_1"), [resolved])[0][1] is first
    for number in range(2, 40):
        played(snapshots.get(API, f"fv_{number}"), newer(f"fv_{number}")[1:])
    assert len(snapshots._known) == 16
    played(snapshots.get(API, "fv_1"), [fetched])


def test_values_become_the_texts_that_are_sent() -> None:
    types = "number yesNo consent date shortText multipleChoice".split()
    questions = [{"id": type, "type": type, "prompt": "?", "options": []} for type in types]
    flow = Flow("fl_1", "fv_1", "survey", "T", 1, "", "open", (None, None), 0, ("4",))
    answered = BaseRun(flow, Snapshot({"title": "T", "questions": questions}))
    day = datetime.date(2026, 11, 15)
    values: List[Tuple[str, Any, Any]] = [
        ("number", 7, "7"),
        ("number", 0.5, "0.5"),
        ("number", Decimal("1E+2"), "100"),
        ("yesNo", True, "yes"),
        ("yesNo", False, "no"),
        ("consent", True, "accepted"),
        ("date", day, "2026-11-15"),
        ("date", datetime.datetime(2026, 11, 15, 23, 59), "2026-11-15"),
        ("shortText", "\ud83d\ude00", "😀"),
        ("multipleChoice", ("x", "y"), ["x", "y"]),
        ("multipleChoice", "x", ["x"]),
    ]
    for id, value, sent in values:
        answered.answer(id, value)
        assert answered.answers[id] == sent, (id, value)
    nothings: List[Tuple[str, Any]] = [
        ("consent", False),
        ("shortText", ""),
        ("number", None),
        ("multipleChoice", []),
    ]
    for id, nothing in nothings:
        answered.answer(id, nothing)
        assert id not in answered.answers
    with pytest.raises(KeyError):
        answered.answer("unknown", "x")
    with pytest.raises(TypeError):
        run(anwsers={})


def test_a_flow_that_never_asks_for_consent_never_links() -> None:
    identities = [{"type": "userId", "value": "u-7"}]
    never = run(identities=identities, admission="admitted")
    assert (
        never.submission()["respondentAnalyticsAdmission"] == "collection_only"
        and not never.asks_consent
    )


# --- events ---


def test_events_end_at_the_present_and_not_at_an_empty_page_before_it() -> None:
    date = {"date": "Sun, 15 Nov 2026 02:10:00 GMT"}
    # The position of a time has its milliseconds in the first 48 bits.
    milliseconds = int(
        datetime.datetime(2026, 11, 15, 2, 10, tzinfo=datetime.timezone.utc).timestamp() * 1000
    )

    def position(seconds_ago: int) -> str:
        bits, digits = (milliseconds - 1000 * seconds_ago) << 80, ""
        while bits:
            bits, digit = divmod(bits, 62)
            digits = (
                "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"[digit] + digits
            )
        return "evt_" + digits.rjust(22, "0")

    for items, next, headers, is_end in [
        ([], position(1), date, True),
        ([], position(60), date, True),
        ([], position(3600), date, False),
        ([{"id": "evt_1"}], position(1), date, False),
        ([], position(3600), {}, True),
        ([], None, date, True),
    ]:
        plan = _event_page(API, "app_1", None, (), None, 0)
        page, _ = played(plan, [reply(200, {"items": items, "next": next}, **headers)])
        assert page.is_end is is_end, (items, next, headers)


# --- over httpx ---


def test_waits_are_slept_and_tokens_are_sent() -> None:
    slept: List[float] = []
    seen: List[Optional[str]] = []
    replies = [
        httpx.Response(503, headers={"retry-after": "2"}),
        httpx.Response(200, json={"flowId": "a", "flowVersionId": "b"}),
    ]

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers.get("authorization"))
        return replies.pop(0)

    http = httpx.Client(transport=httpx.MockTransport(answer))
    with Sluice(
        "https://a.example", "pk_1", lambda: "t1", http=http, retry=PLAIN, sleep=slept.append
    ) as client:
        assert client.resolve("fl_1").flow_version_id == "b"
    assert slept == [3] and seen == ["Bearer t1"] * 2
    assert not http.is_closed, "a client that was given is closed by its owner"


def test_an_asynchronous_client_awaits_its_token_and_its_waits() -> None:
    slept: List[float] = []
    seen: List[Optional[str]] = []
    found = {"flowId": "a", "flowVersionId": "b"}
    replies: List[Any] = [httpx.ReadTimeout("late"), httpx.Response(200, json=found)]

    async def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers.get("authorization"))
        outcome = replies.pop(0)
        if isinstance(outcome, httpx.Response):
            return outcome
        raise outcome

    async def get_token() -> str:
        return f"t{len(seen)}"

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    async def main() -> None:
        http = httpx.AsyncClient(transport=httpx.MockTransport(answer))
        client = AsyncSluice(
            "https://a.example", "pk_1", get_token, http=http, retry=PLAIN, sleep=sleep
        )
        async with client:
            assert (await client.resolve("fl_1")).flow_version_id == "b"
        await http.aclose()

    asyncio.run(main())
    assert slept == [1] and seen == ["Bearer t0", "Bearer t1"]


def test_a_token_is_what_a_jwt_library_reads() -> None:
    jwt = pytest.importorskip("jwt")
    token = identity_token(
        "s" * 43, "ik_1", "app_1", "u-7", email="a@b.de", issuer="me", lifetime_seconds=60
    )
    claims = jwt.decode(token, "s" * 43, algorithms=["HS256"], audience="app_1", issuer="me")
    assert (claims["sub"], claims["email"], claims["exp"] - claims["iat"]) == ("u-7", "a@b.de", 60)
    assert jwt.get_unverified_header(token) == {"alg": "HS256", "typ": "JWT", "kid": "ik_1"}
    for user_id, lifetime in [("", 60), ("x" * 256, 60), ("u", 0)]:
        with pytest.raises(ValueError):
            identity_token("s", "k", "app_1", user_id, lifetime_seconds=lifetime)
