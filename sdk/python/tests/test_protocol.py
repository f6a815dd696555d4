"""Retries and errors, without a server and without waiting: a script has the replies."""

from __future__ import annotations

import asyncio
import datetime
import email.utils
from typing import Any, List, Optional

import httpx
import pytest

from scripted import API, FIRST, LOST, PLAIN, newer, played, reply, waits
from sluice import (
    Admin,
    ApiError,
    AsyncAdmin,
    AsyncSluice,
    NoReply,
    Retry,
    ServerError,
    Sluice,
    TooManyRequests,
    Unauthorized,
    identity_token,
)
from sluice._calls import Snapshots, start
from sluice._protocol import Api, Reply, Request, exchange, retry_after_of
from sluice._tokens import token_function
from sluice.admin import _event_page


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


def test_what_a_server_or_a_proxy_may_do_better_later_is_tried_again() -> None:
    for status in (408, 425, 429, 500, 502, 503, 504, 507, 520, 529, 599):
        found, _ = played(exchange(Request("GET", "/"), PLAIN), [reply(status), reply(200)])
        assert found.status == 200, status
    for status in (400, 409, 501, 505):
        with pytest.raises(ApiError):
            played(exchange(Request("GET", "/"), PLAIN), [reply(status)])


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


def test_pages_of_events_are_read_with_a_pause_after_the_last() -> None:
    slept: List[float] = []
    asked: List[str] = []
    pages = [[{"id": "evt_1"}], [], [], [{"id": "evt_2"}]]

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.params.get("after", ""))
        items = pages.pop(0)
        return httpx.Response(200, json={"items": items, "next": f"evt_{len(asked)}"})

    http = httpx.Client(transport=httpx.MockTransport(answer))
    with Admin("https://a.example", "t", http=http, sleep=slept.append) as admin:
        found = [page for _, page in zip(range(4), admin.events("app_1", wait=30))]
        assert [len(page.items) for page in found] == [1, 0, 0, 1]
        assert asked == ["", "evt_1", "evt_2", "evt_3"] and slept == [1.0, 1.0]
        pages[:] = [[{"id": "evt_9"}], []]
        assert len(list(admin.events("app_1"))) == 2 and slept == [1.0, 1.0]


def test_asynchronous_pages_of_events_are_read_with_a_pause_after_the_last() -> None:
    slept: List[float] = []
    pages = [[{"id": "evt_1"}], [], [{"id": "evt_2"}]]

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"items": pages.pop(0), "next": "evt_3"})

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    async def main() -> None:
        http = httpx.AsyncClient(transport=httpx.MockTransport(answer))
        async with AsyncAdmin("https://a.example", "t", http=http, sleep=sleep) as admin:
            async for _ in admin.events("app_1", wait=30):
                if not pages:
                    break
        await http.aclose()

    asyncio.run(main())
    assert slept == [1.0]


# --- over httpx ---


def test_a_token_function_learns_that_its_token_was_refused() -> None:
    learned: List[bool] = []

    def plain() -> str:
        return "t"

    def by_name(*, refused: bool) -> str:
        learned.append(refused)
        return "t"

    def with_default(refused: bool = False) -> str:
        learned.append(refused)
        return "t"

    class Tokens:
        def get(self, refused: bool) -> Optional[str]:
            learned.append(refused)
            return None

    functions: List[Any] = [by_name, with_default, Tokens().get]
    for function in functions:
        learned.clear()
        call = token_function(function)
        call(False)
        call(True)
        assert learned == [False, True], function
    assert token_function(plain)(True) == "t" and token_function(None)(True) is None
    assert token_function(dict)(True) == {}, "a function without a signature has no parameter"


def test_a_refused_token_is_replaced_over_http() -> None:
    learned: List[bool] = []
    replies = [
        httpx.Response(401, json={"code": "token_expired", "detail": "Expired."}),
        httpx.Response(200, json={"flowId": "a", "flowVersionId": "b"}),
    ]

    def get_token(*, refused: bool) -> str:
        learned.append(refused)
        return "new" if refused else "old"

    seen: List[Optional[str]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers.get("authorization"))
        return replies.pop(0)

    http = httpx.Client(transport=httpx.MockTransport(answer))
    with Sluice("https://a.example", "pk_1", get_token, http=http) as client:
        assert client.resolve("fl_1").flow_version_id == "b"
    assert learned == [False, True] and seen == ["Bearer old", "Bearer new"]


def test_consent_is_asked_for_if_there_are_access_tokens() -> None:
    asked = {**FIRST, "respondentAnalytics": "ask"}

    def answer(request: httpx.Request) -> httpx.Response:
        is_flow = request.url.path.endswith("/flows/fl_1")
        return httpx.Response(
            200, json={"flowId": "fl_1", "flowVersionId": "fv_1"} if is_flow else asked
        )

    http = httpx.Client(transport=httpx.MockTransport(answer))
    for get_token in (None, lambda: "t"):
        with Sluice("https://a.example", "pk_1", get_token, http=http) as client:
            assert client.start("fl_1").asks_consent is (get_token is not None)


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
