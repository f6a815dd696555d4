"""Whole stories against a real server, with both clients."""

from __future__ import annotations

import socket
import threading
from typing import Any, Callable, Dict, List

import httpx
import pytest

from both import Clients
from server import TOKEN, Server, start, wait_until
from sluice import Accepted, Admin, NoReply, NotFound, Refused, Retry, Unauthorized, identity_token

FIRST: Dict[str, Any] = {
    "title": "Product feedback",
    "questions": [
        {"id": "name", "type": "shortText", "prompt": "Your name?"},
        {
            "id": "nps",
            "type": "nps",
            "prompt": "How likely, {{answer:name|you}}?",
            "required": True,
            "score": "value",
        },
        {
            "id": "why",
            "type": "longText",
            "prompt": "Why?",
            "required": True,
            "visibleIf": {"question": "nps", "lessThan": 7},
        },
        {
            "id": "use",
            "type": "multipleChoice",
            "prompt": "Which?",
            "options": [{"id": "api", "label": "API"}, {"id": "ui", "label": "UI"}],
        },
    ],
    "sections": [{"id": "end", "title": "Last", "questions": ["why", "use"]}],
    "endings": [
        {"id": "sad", "when": {"score": True, "lessThan": 7}, "title": "Sorry, {{answer:name}}"}
    ],
    "ending": {"title": "Thank you"},
}
#: The same questions in another order, and an optional one that low scores do not see.
COMPATIBLE: Dict[str, Any] = {
    **FIRST,
    "questions": [
        *FIRST["questions"],
        {
            "id": "friend",
            "type": "shortText",
            "prompt": "Who?",
            "visibleIf": {"question": "nps", "greaterThan": 8},
        },
    ],
}
#: `use` has other options, and a new question is required.
CHANGED: Dict[str, Any] = {
    "title": "Product feedback",
    "questions": [
        *FIRST["questions"][:3],
        {
            "id": "use",
            "type": "multipleChoice",
            "prompt": "Which?",
            "options": [{"id": "cli", "label": "CLI"}],
        },
        {"id": "seats", "type": "number", "prompt": "How many?", "required": True},
    ],
}


class Story:
    """A flow of a new app, and a client for it."""

    def __init__(
        self, server: Server, clients: Clients, definition: Any = FIRST, **settings: Any
    ) -> None:
        self.server = server
        self.app = server.app(**settings)
        published = server.publish(self.app["appId"], definition)
        self.flow, self.version = published["flowId"], published["flowVersionId"]
        self.client = clients(server.url, self.app["apiKeys"][0])

    def stored(self) -> List[Dict[str, Any]]:
        return self.server.responses(self.flow)


def test_a_flow_is_resolved_fetched_answered_and_stored(server: Server, clients: Clients) -> None:
    story = Story(server, clients)
    flow = story.client.resolve(story.flow)
    assert (flow.flow_version_id, flow.status, flow.number) == (story.version, "open", 1)
    assert [question.id for question in story.client.fetch(story.version).questions] == [
        "name",
        "nps",
        "why",
        "use",
    ]
    run = story.client.start(story.flow, tags={"plan": "pro"}, context={"locale": "de_DE"})
    assert [question.id for question in run.questions] == ["name", "nps", "use"]
    refused = run.submit()
    assert (
        isinstance(refused, Refused) and refused.is_local and refused.codes() == ["answer_required"]
    )
    assert run.answer_all({"name": "Ada", "nps": 3}) == []
    assert [question.prompt for question in run.questions][1] == "How likely, Ada?"
    assert [[question.id for question in page.questions] for page in run.pages] == [
        ["name"],
        ["nps"],
        ["why", "use"],
    ]
    assert run.pages[2].title == "Last"
    assert (run.score, run.ending.id, run.ending.title) == (3, "sad", "Sorry, Ada")
    assert [it and it.id for it in map(run.question_after, (None, "name", "nps", "use"))] == [
        "name",
        "nps",
        "why",
        None,
    ]
    run.answer("use", ["ui", "api"])
    run.answer("why", "Slow.")
    accepted = run.submit()
    assert isinstance(accepted, Accepted) and accepted.score == 3
    assert run.submit() is accepted
    [stored] = story.stored()
    assert stored["responseId"] == accepted.response_id
    assert stored["answers"] == {"name": "Ada", "nps": "3", "use": ["ui", "api"], "why": "Slow."}
    assert stored["metadata"] == {"tags": {"plan": "pro"}} and stored["context"] == {
        "locale": "de-DE"
    }


def test_answers_to_questions_that_are_hidden_again_do_not_count(
    server: Server, clients: Clients
) -> None:
    story = Story(server, clients)
    run = story.client.start(story.flow, answers={"nps": 3, "why": "Slow."})
    run.answer("nps", 9)
    assert run.submit()
    assert story.stored()[0]["answers"] == {"nps": "9"}


def test_in_the_grace_window_the_old_version_is_accepted(server: Server, clients: Clients) -> None:
    story = Story(server, clients)
    run = story.client.start(story.flow, answers={"nps": 9})
    newer = server.publish_again(story.flow, CHANGED)
    accepted = run.submit()
    assert (
        accepted.superseded_by == newer and accepted.accepts_until and accepted.carry_over is None
    )
    assert [stored["flowVersionId"] for stored in story.stored()] == [story.version]


def test_after_it_answers_that_fit_are_carried_over_and_submitted(
    server: Server, clients: Clients
) -> None:
    story = Story(server, clients)
    run = story.client.start(story.flow, answers={"name": "Ada", "nps": 8, "use": ["api"]})
    newer = server.publish_again(story.flow, COMPATIBLE, grace_seconds=0)
    accepted = run.submit()
    assert isinstance(accepted, Accepted) and accepted.carry_over is not None
    assert (accepted.carry_over.from_version, accepted.carry_over.to_version) == (
        story.version,
        newer,
    )
    assert accepted.carry_over.kept == ("name", "nps", "use") and not accepted.carry_over.dropped
    [stored] = story.stored()
    assert stored["flowVersionId"] == newer
    assert stored["answers"] == {"name": "Ada", "nps": "8", "use": ["api"]}


def test_a_new_question_is_shown_before_answers_are_submitted(
    server: Server, clients: Clients
) -> None:
    story = Story(server, clients)
    run = story.client.start(story.flow, answers={"nps": 9})
    server.publish_again(story.flow, COMPATIBLE, grace_seconds=0)
    refused = run.submit()
    assert refused.codes() == ["no_longer_accepting"] and refused.carry_over.kept == ("nps",)
    assert [question.id for question in run.questions] == ["name", "nps", "use", "friend"]
    assert run.submit() and len(story.stored()) == 1


def test_what_no_longer_fits_is_reported_and_nothing_is_lost(
    server: Server, clients: Clients
) -> None:
    story = Story(server, clients)
    run = story.client.start(story.flow, answers={"name": "Ada", "nps": 9, "use": ["ui"]})
    newer = server.publish_again(story.flow, CHANGED, grace_seconds=0)
    refused = run.submit()
    assert isinstance(refused, Refused) and refused.carry_over is not None
    assert refused.carry_over.dropped == {"use": ["ui"]} and run.carry_over == refused.carry_over
    assert run.snapshot.flow_version_id == newer and story.stored() == []
    assert run.answers == {"name": "Ada", "nps": "9"}
    assert run.submit().codes() == ["answer_required"]
    run.answer_all({"seats": 12, "use": ["cli"]})
    assert run.submit()
    assert story.stored()[0]["answers"] == {
        "name": "Ada",
        "nps": "9",
        "seats": "12",
        "use": ["cli"],
    }


def test_a_retired_version_is_left_for_the_published_one(server: Server, clients: Clients) -> None:
    story = Story(server, clients)
    run = story.client.start(story.flow, answers={"nps": 7})
    newer = server.publish_again(story.flow, COMPATIBLE)
    server.admin("POST", f"/flow_versions/{story.version}/retire")
    assert run.submit().carry_over.to_version == newer


def test_a_closed_flow_refuses_and_the_run_stays(server: Server, clients: Clients) -> None:
    story = Story(server, clients)
    run = story.client.start(story.flow, answers={"nps": 7})
    server.admin("POST", f"/flows/{story.flow}/close")
    refused = run.submit()
    assert (
        refused.codes() == ["no_longer_accepting"]
        and refused.carry_over is None
        and not refused.is_local
    )
    server.admin("POST", f"/flows/{story.flow}/reopen")
    assert run.submit() and len(story.stored()) == 1


def test_an_archived_flow_refuses_and_the_run_stays(server: Server, clients: Clients) -> None:
    story = Story(server, clients)
    run = story.client.start(story.flow, answers={"nps": 7})
    server.admin("DELETE", f"/flows/{story.flow}")
    assert run.submit().codes() == ["flow_version_not_found"]
    server.admin("POST", f"/flows/{story.flow}/restore")
    assert run.submit()


def test_submissions_without_a_run_are_judged_by_the_server(
    server: Server, clients: Clients
) -> None:
    story = Story(server, clients)
    refused = story.client.submit(story.version, {"nps": "11"})
    assert refused.codes() == ["out_of_range"] and refused.issues[0].question == "nps"
    first = story.client.submit(
        story.version, {"nps": "8"}, idempotency_key="one", tags={"plan": ["a", "b"]}
    )
    again = story.client.submit(
        story.version, {"nps": ["8"]}, idempotency_key="one", tags={"plan": ["a", "b"]}
    )
    assert first.response_id == again.response_id and len(story.stored()) == 1
    reused = story.client.submit(story.version, {"nps": "9"}, idempotency_key="one")
    assert reused.codes() == ["idempotency_key_reused"]


def test_the_server_validates_and_stores_nothing(server: Server, clients: Clients) -> None:
    story = Story(server, clients)
    valid = story.client.validate(story.version, {"nps": "8"})
    assert isinstance(valid, Accepted) and valid.response_id == ""
    assert story.client.validate(story.version, {"nps": "x"}).codes() == ["invalid_format"]
    run = story.client.start(story.flow, answers={"nps": 7})
    assert run.validate() and story.stored() == []


def test_errors_have_their_codes(server: Server, clients: Clients) -> None:
    story = Story(server, clients)
    with pytest.raises(NotFound) as found:
        story.client.resolve("fl_unknown")
    assert found.value.code == "flow_not_found" and found.value.request_id
    with pytest.raises(Unauthorized):
        clients(server.url, "pk_unknown").resolve(story.flow)
    # Nobody listens at a port that is only taken, and nobody else can.
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        unreachable = clients(
            f"http://127.0.0.1:{port}", "pk_x", retry=Retry(attempts=2, first_seconds=0)
        )
        with pytest.raises(NoReply):
            unreachable.resolve(story.flow)


def test_signed_tokens_prove_the_user(server: Server, clients: Clients) -> None:
    story = Story(server, clients, {**FIRST, "respondentAnalytics": "ask"})
    app_id = story.app["appId"]
    key = server.admin("POST", f"/apps/{app_id}/identity-keys", {"type": "hs256"})
    server.admin("PATCH", f"/apps/{app_id}", {"identityVerification": "enforce"})
    with pytest.raises(Unauthorized) as missing:
        story.client.resolve(story.flow)
    assert missing.value.code == "token_missing"
    issued: List[float] = [0.0]

    def get_token() -> str:
        """The first one has expired: the client asks again."""
        now = issued.pop() if issued else None
        return identity_token(
            key["secret"], key["kid"], app_id, "u-7", email="ada@example.com", now=now
        )

    client = clients(server.url, story.app["apiKeys"][0], get_token)
    identities = [{"type": "traits.email", "value": "ADA@example.com"}]
    run = client.start(story.flow, answers={"nps": 9}, identities=identities, admission="admitted")
    assert run.asks_consent and run.submit()
    [stored] = story.stored()
    assert stored["identityVerified"] and stored["identities"][-1]["verified"]


def test_responses_and_events_are_read_page_by_page(
    server: Server, clients: Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sluice.admin._PAGE_ITEMS", 2)
    story = Story(server, clients)
    stored = [
        story.client.submit(story.version, {"nps": str(mark)}).response_id for mark in range(7, 11)
    ]
    with Admin(server.url, TOKEN) as admin:
        read = [response["responseId"] for response in admin.responses(story.flow)]
        assert read == stored
        few = admin.responses(story.flow, after=stored[0], filters={"answer.nps[lt]": "9"})
        assert [response["responseId"] for response in few] == stored[1:2]
        seen: Dict[str, str] = {}
        # The log ends shortly before the present.
        for page in admin.events(story.app["appId"], types=["response.created"], wait=5):
            seen.update(
                {event["id"]: event["data"]["response"]["responseId"] for event in page.items}
            )
            if len(seen) == len(stored):
                break
        assert list(seen.values()) == stored
        assert not any(page.items for page in admin.events(story.app["appId"], after="latest"))


class Lossy:
    """Forwards requests to the server, and loses the first replies: the outcome is unknown."""

    def __init__(self, lost: int, then: Callable[[], None] = lambda: None) -> None:
        self.lost = lost
        self.then = then
        self.sent: List[bytes] = []
        #: How often the server was not there.
        self.unreachable = 0

    def take(self, request: httpx.Request) -> None:
        if "/trpc/" in request.url.path:
            self.sent.append(request.content)
            if len(self.sent) <= self.lost:
                self.then()
                raise httpx.ReadError("the connection was lost", request=request)


class LossyTransport(httpx.HTTPTransport):
    def __init__(self, lossy: Lossy) -> None:
        super().__init__()
        self.lossy = lossy

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        try:
            reply = super().handle_request(request)
        except httpx.TransportError:
            self.lossy.unreachable += 1
            raise
        reply.read()
        self.lossy.take(request)
        return reply


class AsyncLossyTransport(httpx.AsyncHTTPTransport):
    def __init__(self, lossy: Lossy) -> None:
        super().__init__()
        self.lossy = lossy

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        try:
            reply = await super().handle_async_request(request)
        except httpx.TransportError:
            self.lossy.unreachable += 1
            raise
        await reply.aread()
        self.lossy.take(request)
        return reply


def lossy_http(clients: Clients, lossy: Lossy) -> Any:
    if clients.loop is None:
        return httpx.Client(transport=LossyTransport(lossy))
    return httpx.AsyncClient(transport=AsyncLossyTransport(lossy))


def test_lost_replies_are_asked_for_again_with_the_same_key(
    server: Server, clients: Clients
) -> None:
    story = Story(server, clients)
    lossy = Lossy(lost=3)
    http = lossy_http(clients, lossy)
    client = clients(server.url, story.app["apiKeys"][0], http=http)
    run = client.start(story.flow, answers={"nps": 9})
    assert run.submit()
    assert len(lossy.sent) == 4 and len(set(lossy.sent)) == 1
    assert len(story.stored()) == 1


def test_a_run_that_failed_is_submitted_again_and_stored_once(
    server: Server, clients: Clients
) -> None:
    story = Story(server, clients)
    lossy = Lossy(lost=2)
    client = clients(
        server.url,
        story.app["apiKeys"][0],
        http=lossy_http(clients, lossy),
        retry=Retry(attempts=1),
    )
    run = client.start(story.flow, answers={"nps": 9})
    for _ in range(2):
        with pytest.raises(NoReply):
            run.submit()
    server.publish_again(story.flow, CHANGED, grace_seconds=0)
    accepted = run.submit()
    # It was stored while its version accepted responses, so nothing is carried over.
    assert accepted.carry_over is None and len(story.stored()) == 1


def test_answers_that_changed_after_a_lost_reply_are_not_stored_twice(
    server: Server, clients: Clients
) -> None:
    story = Story(server, clients)
    client = clients(
        server.url,
        story.app["apiKeys"][0],
        http=lossy_http(clients, Lossy(lost=1)),
        retry=Retry(attempts=1),
    )
    run = client.start(story.flow, answers={"nps": 9})
    with pytest.raises(NoReply):
        run.submit()
    run.answer("nps", 8)
    # The version of the stored response has ended, and the changed answers would be of the newer one.
    server.publish_again(story.flow, COMPATIBLE, grace_seconds=0)
    accepted = run.submit()
    assert isinstance(accepted, Accepted) and accepted.earlier
    [stored] = story.stored()
    assert (stored["responseId"], stored["answers"]) == (accepted.response_id, {"nps": "9"})


def test_a_run_is_resumed_in_its_version_and_stored_once(server: Server, clients: Clients) -> None:
    story = Story(server, clients)
    first = story.client.start(story.flow, answers={"nps": 9})
    newer = server.publish_again(story.flow, COMPATIBLE)
    options = {"answers": first.answers, "idempotency_key": first.idempotency_key}
    accepted = first.submit()
    again = story.client.start(story.flow, flow_version_id=story.version, **options)
    assert again.submit().response_id == accepted.response_id and len(story.stored()) == 1
    assert again.snapshot.flow_version_id == story.version
    server.admin("POST", f"/flow_versions/{story.version}/retire")
    client = clients(server.url, story.app["apiKeys"][0])
    late = client.start(story.flow, answers={"nps": 7}, flow_version_id=story.version)
    assert late.snapshot.flow_version_id == newer and late.submit()


def test_a_server_that_is_killed_and_restarted_stores_one_response(clients: Clients) -> None:
    server, folder = start()
    with folder:
        story = Story(server, clients)
        # The response is stored, its reply is lost, and the server is killed; it comes back while
        # the client tries again.
        lossy = Lossy(lost=1, then=server.kill)
        client = clients(server.url, story.app["apiKeys"][0], http=lossy_http(clients, lossy))
        run = client.start(story.flow, answers={"nps": 8})

        def restart() -> None:
            wait_until(lambda: lossy.unreachable >= 3)
            server.start()

        thread = threading.Thread(target=restart)
        thread.start()
        accepted = run.submit()
        thread.join()
        assert lossy.unreachable >= 3 and len(lossy.sent) == 2
        assert [stored["responseId"] for stored in story.stored()] == [accepted.response_id]
        server.stop()
