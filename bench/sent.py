"""The requests: the submission that all contestants get, and the other requests derived from it.

A request has the expected reply, so that a load can be checked reply by reply.
"""

import dataclasses
import http.client
import json
import urllib.parse

BATCH = 10
# For servers without flows: as long as a flow version id of Sluice.
NO_FLOW = "fv_0000000000000000000000"
ACCEPTED = '"success":true'
REFUSED = '"success":false'
JSON = {"content-type": "application/json"}
# The client address in every request, so that limits by address apply; loopback peers are exempt.
FROM = {"x-forwarded-for": "203.0.113.7"}

CHOICES = [{"id": name, "label": name.title()} for name in ("api", "console", "exports")]
DEFINITION = {
    "title": "Measured",
    "questions": [
        {"id": "nps", "type": "nps", "prompt": "How likely?", "required": True},
        {"id": "why", "type": "longText", "prompt": "Why?"},
        {"id": "use", "type": "multipleChoice", "prompt": "What?", "options": CHOICES},
        {"id": "docs", "type": "rating", "prompt": "How good?", "max": 5},
        {"id": "contact", "type": "yesNo", "prompt": "May we ask?"},
    ],
}


@dataclasses.dataclass
class Request:
    path: str
    method: str = "GET"
    headers: dict = dataclasses.field(default_factory=dict)
    body: str | None = None
    # The status of every correct reply, and a text that it contains `times` times.
    status: int = 200
    text: str | None = None
    times: int = 1
    # The number of rows that a correct reply acknowledges.
    stores: int = 0

    def __post_init__(self):
        self.headers = {**FROM, **self.headers}


def submission(flow_version_id, tags=None, answered=True):
    answers = {
        "nps": "9",
        "why": "It does what it says, and it was running before the coffee was ready.",
        "use": ["api", "exports"],
        "docs": "5",
        "contact": "no",
    }
    if not answered:
        del answers["nps"]
    return {
        "flowVersionId": flow_version_id,
        "flowVersionPayloadGeneration": "4",
        "respondentAnalyticsAdmission": "collection_only",
        "answers": answers,
        "identities": [
            {"type": "userId", "value": "user-1842"},
            {"type": "traits.email", "value": "someone@example.com"},
        ],
        "metadata": {"tags": tags or {"plan": "pro", "release": "2026.11"}},
        "context": {
            "page": {"path": "/settings", "referrer": "https://example.com/", "search": "?tab=usage"},
            "locale": "en-GB",
            "userAgent": "Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/145.0",
        },
    }


def compact(value):
    return json.dumps(value, separators=(",", ":"))


def submit(procedures, value):
    """One submission; `procedures` is the base of the tRPC paths."""
    path = f"{procedures}/response.submit"
    return Request(path, "POST", JSON, compact(value), text=ACCEPTED, stores=1)


def batch(procedures, values):
    path = f"{procedures}/{','.join(['response.submit'] * len(values))}?batch=1"
    body = compact({str(index): value for index, value in enumerate(values)})
    return Request(path, "POST", JSON, body, text=ACCEPTED, times=len(values), stores=len(values))


class Client:
    """One keep-alive connection, for requests outside of a load."""

    def __init__(self, url, timeout=60):
        at = urllib.parse.urlsplit(url)
        self.connection = http.client.HTTPConnection(at.hostname, at.port, timeout=timeout)

    def send(self, request):
        """The reply's status, headers and body."""
        body = None if request.body is None else request.body.encode()
        self.connection.request(request.method, request.path, body, request.headers)
        reply = self.connection.getresponse()
        return reply.status, reply.headers, reply.read()

    def insist(self, request):
        status, headers, body = self.send(request)
        if status != request.status or (request.text and body.count(request.text.encode()) != request.times):
            raise SystemExit(f"{request.method} {request.path} returned {status}: {body[:500].decode(errors='replace')}")
        return headers, body
