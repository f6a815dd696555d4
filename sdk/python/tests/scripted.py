"""Plans without a server and without waiting: a script has the replies."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Optional, Tuple

from sluice import Retry, Snapshot
from sluice._calls import Flow
from sluice._protocol import Api, Failure, Pause, Plan, Reply, Request
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


FIRST: Dict[str, Any] = {
    "flowVersionId": "fv_1",
    "payloadGeneration": "4",
    "title": "T",
    "questions": [{"id": "a", "type": "nps", "prompt": "?"}],
}


def run(*, definition: Dict[str, Any] = FIRST, **options: Any) -> BaseRun:
    flow = Flow("fl_1", "fv_1", "survey", "T", 1, "", "open", (None, None), 0, ("4",))
    return BaseRun(flow, Snapshot({"flowVersionId": "fv_1", **definition}), **options)


def asking(*questions: Dict[str, Any], **more: Any) -> Dict[str, Any]:
    """A definition with these questions."""
    asked = [{"prompt": "?", **question} for question in questions]
    return {"payloadGeneration": "4", "title": "T", "questions": asked, **more}


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


def newer(version: str, definition: Dict[str, Any] = FIRST) -> List[Reply]:
    return [
        reply(200, {"flowId": "fl_1", "flowVersionId": version}),
        reply(200, {**definition, "flowVersionId": version}),
    ]


def bodies(steps: List[Any]) -> List[Any]:
    return [json.loads(step.body) for step in steps if isinstance(step, Request) and step.body]
