"""The rules of this library against a real server: the same verdict, codes, places and texts.

`SLUICE_CASES` sets the number of generated submissions (2,000 by default), `SLUICE_SEED` the seed,
which is printed.
"""

from __future__ import annotations

import json
import os
import random
from typing import Any, Dict, Iterator, List, Tuple

import httpx
import pytest

from generate import Generator
from server import Server
from sluice import Snapshot, judge, shape
from sluice.route import Route

CASES = int(os.environ.get("SLUICE_CASES", "2000"))
SUBMISSIONS_PER_DEFINITION = 50
CALLS_PER_REQUEST = 50


def local_verdict(snapshot: Snapshot, sent: Any) -> Tuple[List[Tuple[Any, ...]], Any]:
    submission, issues = shape.check(shape.as_sent(sent))
    score = None
    if submission is not None:
        issues = judge(snapshot, submission.answers)
        score = None if issues else Route(snapshot, submission.answers).score
    return [(issue.code, issue.path, issue.message) for issue in issues], score


def server_verdict(data: Dict[str, Any]) -> Tuple[List[Tuple[Any, ...]], Any]:
    if data["success"]:
        return [], data.get("score")
    issues = data["errors"]["issues"]
    assert data["errors"]["formErrors"] == [issue["message"] for issue in issues]
    return [(issue["code"], tuple(issue["path"]), issue["message"]) for issue in issues], None


def judged(http: httpx.Client, url: str, calls: List[Any]) -> Iterator[Dict[str, Any]]:
    for at in range(0, len(calls), CALLS_PER_REQUEST):
        part = calls[at : at + CALLS_PER_REQUEST]
        path = ",".join(["response.submit"] * len(part))
        body = json.dumps({str(index): call for index, call in enumerate(part)})
        headers = {"content-type": "application/json"}
        reply = http.post(f"{url}/trpc/{path}?batch=1", content=body, headers=headers)
        assert reply.status_code == 200, reply.text
        for item in reply.json():
            yield item["result"]["data"]


def test_same_verdicts_as_the_server(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    seed = int(os.environ.get("SLUICE_SEED") or random.SystemRandom().randrange(2**32))
    with capsys.disabled():
        print(f" seed {seed} ", end="")
    generator = Generator(seed)
    app = server.app()
    url = f"{server.url}/api/v1/{app['apiKeys'][0]}"
    compared = accepted = 0
    with httpx.Client(timeout=60) as http:
        while compared < CASES:
            definition = generator.definition()
            version = server.publish(app["appId"], definition)["flowVersionId"]
            snapshot = Snapshot(http.get(f"{url}/flow_versions/{version}?payload=4").json())
            assert not snapshot.is_partly_unknown
            sent = [generator.submission(definition) for _ in range(SUBMISSIONS_PER_DEFINITION)]
            calls = [{**submission, "flowVersionId": version} for submission in sent]
            for call, data in zip(calls, judged(http, url, calls)):
                where = f"seed {seed}, case {compared}: {definition!r} {call!r}"
                assert local_verdict(snapshot, call) == server_verdict(data), where
                compared += 1
                accepted += data["success"]
    # A generator that only ever breaks rules, or never does, would prove little.
    assert 0.1 < accepted / compared < 0.9, accepted
