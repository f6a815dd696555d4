"""The rules of this library against a real server: the same verdict, codes, places and texts.

`SLUICE_CASES` sets the number of generated submissions (2,000 by default), `SLUICE_SEED` the seed,
which is printed. The cases come from the generator beside this file, and from the one that the
TypeScript SDK uses.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import uuid
from typing import Any, Dict, Iterable, Iterator, List, Tuple

import httpx
import pytest

from generate import Generator, address, lines
from server import ROOT, Server
from sluice import Snapshot, judge, shape
from sluice.route import Route

CASES = int(os.environ.get("SLUICE_CASES", "2000"))
SUBMISSIONS_PER_DEFINITION = 50
CALLS_PER_REQUEST = 50
OTHER_GENERATOR = ROOT / "tests" / "golden" / "judge" / "generate.mjs"

#: Addresses beyond ASCII that are invalid here are left to the server. Here the rules themselves are
#: compared.
LEFT_TO_THE_SERVER = ("sluice._types_of_questions", "sluice.shape")

Verdict = Tuple[List[Tuple[Any, ...]], Any]


@pytest.fixture(autouse=True)
def nothing_is_left_to_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in LEFT_TO_THE_SERVER:
        monkeypatch.setattr(f"{module}.is_left_to_the_server", lambda _address: False)


def local_verdict(snapshot: Snapshot, sent: Any) -> Verdict:
    submission, issues = shape.check(shape.as_sent(sent))
    score = None
    if submission is not None:
        issues = judge(snapshot, submission.answers)
        score = None if issues else Route(snapshot, submission.answers).score
    return [(issue.code, issue.path, issue.message) for issue in issues], score


def server_verdict(data: Dict[str, Any]) -> Verdict:
    if data["success"]:
        return [], data.get("score")
    issues = data["errors"]["issues"]
    assert data["errors"]["formErrors"] == [issue["message"] for issue in issues]
    return [(issue["code"], tuple(issue["path"]), issue["message"]) for issue in issues], None


def judged(
    http: httpx.Client, url: str, calls: List[Any], procedure: str = "response.submit"
) -> Iterator[Dict[str, Any]]:
    for at in range(0, len(calls), CALLS_PER_REQUEST):
        part = calls[at : at + CALLS_PER_REQUEST]
        path = ",".join([procedure] * len(part))
        body = json.dumps({str(index): call for index, call in enumerate(part)})
        headers = {"content-type": "application/json"}
        reply = http.post(f"{url}/trpc/{path}?batch=1", content=body, headers=headers)
        assert reply.status_code == 200, reply.text
        for item in reply.json():
            yield item["result"]["data"]


def with_own_key(call: Dict[str, Any]) -> Dict[str, Any]:
    """A valid key that two cases share would make the second a retry of the first."""
    key = call.get("idempotencyKey")
    if isinstance(key, str) and shape.is_idempotency_key(key):
        call["idempotencyKey"] = str(uuid.uuid4())
    return call


def compare(server: Server, cases: Iterable[Tuple[Any, List[Any]]], seed: int) -> None:
    app = server.app()
    url = f"{server.url}/api/v1/{app['apiKeys'][0]}"
    compared = accepted = 0
    with httpx.Client(timeout=120) as http:
        can_validate = http.post(f"{url}/trpc/response.validate", json={}).status_code != 404
        for number, (definition, submissions) in enumerate(cases):
            version = server.publish(app["appId"], definition)["flowVersionId"]
            snapshot = Snapshot(http.get(f"{url}/flow_versions/{version}?payload=4").json())
            assert not snapshot.is_partly_unknown
            calls = [
                with_own_key({**submission, "flowVersionId": version}) for submission in submissions
            ]
            # The two procedures judge alike; one of them stores nothing.
            is_stored = number % 2 == 0 or not can_validate
            procedure = "response.submit" if is_stored else "response.validate"
            for call, data in zip(calls, judged(http, url, calls, procedure)):
                where = f"seed {seed}, case {compared}: {definition!r} {call!r}"
                assert local_verdict(snapshot, call) == server_verdict(data), where
                compared += 1
                accepted += data["success"]
    assert compared >= CASES
    # A generator that only ever breaks rules, or never does, would prove little.
    assert 0.1 < accepted / compared < 0.9, accepted


def chosen_seed(capsys: pytest.CaptureFixture[str]) -> int:
    seed = int(os.environ.get("SLUICE_SEED") or random.SystemRandom().randrange(2**31))
    with capsys.disabled():
        print(f" seed {seed} ", end="")
    return seed


def test_same_verdicts_as_the_server(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    seed = chosen_seed(capsys)
    count = -(-CASES // SUBMISSIONS_PER_DEFINITION)
    compare(server, lines(seed, count, SUBMISSIONS_PER_DEFINITION), seed)


def test_same_verdicts_on_the_cases_of_the_typescript_sdk(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    node = shutil.which("node")
    assert OTHER_GENERATOR.exists(), "the repository has it"
    if node is None:
        pytest.skip("needs Node.js")
    seed = chosen_seed(capsys)
    command = [node, str(OTHER_GENERATOR), str(CASES), str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as generator:
        assert generator.stdout is not None
        read = (json.loads(line) for line in generator.stdout)
        compare(server, ((it["definition"], it["submissions"]) for it in read), seed)
    assert generator.returncode == 0


def test_same_addresses_as_the_server(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    """Web and e-mail addresses have the most rules, and come from other libraries there and here."""
    seed = chosen_seed(capsys)
    generator = Generator(seed)
    definition = {
        "title": "T",
        "questions": [{"id": id, "type": id, "prompt": "?"} for id in ("url", "email")],
    }
    sent = [
        {
            "flowVersionPayloadGeneration": "4",
            "respondentAnalyticsAdmission": "collection_only",
            "answers": {type: address(generator, type)},
        }
        for _ in range(-(-CASES // 2))
        for type in ("url", "email")
    ]
    compare(server, [(definition, sent)], seed)


#: Rare on generated ways: the answers to these questions are invalid, and still decide what follows.
MARKS = [
    "+3",
    "003",
    "3",
    "+",
    "-3",
    "3.0",
    "4294967295",
    "4294967296",
    "٣",
    "3 ",
    "0" * 5000 + "3",
]


def test_invalid_marks_count_towards_the_score_as_on_the_server(server: Server) -> None:
    follow = {"type": "shortText", "prompt": "?", "required": True}
    definition = {
        "title": "T",
        "questions": [
            {"id": "mark", "type": "rating", "prompt": "?", "score": "value"},
            {"id": "three", **follow, "visibleIf": {"score": True, "equals": 3}},
            {"id": "none", **follow, "visibleIf": {"score": True, "equals": 0}},
            {"id": "many", **follow, "visibleIf": {"score": True, "greaterThan": 1000}},
            {"id": "above", **follow, "visibleIf": {"question": "mark", "greaterThan": 2}},
        ],
    }
    app = server.app()
    url = f"{server.url}/api/v1/{app['apiKeys'][0]}"
    version = server.publish(app["appId"], definition)["flowVersionId"]
    calls = [
        {
            "flowVersionId": version,
            "flowVersionPayloadGeneration": "4",
            "respondentAnalyticsAdmission": "collection_only",
            "answers": {"mark": mark},
        }
        for mark in MARKS
    ]
    with httpx.Client(timeout=120) as http:
        snapshot = Snapshot(http.get(f"{url}/flow_versions/{version}?payload=4").json())
        for call, data in zip(calls, judged(http, url, calls)):
            assert local_verdict(snapshot, call) == server_verdict(data), call
