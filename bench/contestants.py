"""Who is measured: how each is started, where it takes submissions, and how many it has stored."""

import contextlib
import dataclasses
import json
import os
import pathlib
import re
import signal
import sqlite3
import subprocess
import sys
import typing
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
RELEASE = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release"
TOKEN = "token-of-the-first-figure-0123456789"
NAMES = ("limit", "sluice-sqlite", "sluice-postgres", "reference")
ON_POSTGRES = {"sluice-postgres", "reference"}
# What the servers that know no flows are sent: as long as a flow version's id of Sluice.
NO_FLOW = "fv_0000000000000000000000"

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


def submission(flow_version_id):
    value = {
        "flowVersionId": flow_version_id,
        "flowVersionPayloadGeneration": "4",
        "respondentAnalyticsAdmission": "collection_only",
        "answers": {
            "nps": "9",
            "why": "It does what it says, and it was running before the coffee was ready.",
            "use": ["api", "exports"],
            "docs": "5",
            "contact": "no",
        },
        "identities": [
            {"type": "userId", "value": "user-1842"},
            {"type": "traits.email", "value": "someone@example.com"},
        ],
        "metadata": {"tags": {"plan": "pro", "release": "2026.11"}},
        "context": {
            "page": {"path": "/settings", "referrer": "https://example.com/", "search": "?tab=usage"},
            "locale": "en-GB",
            "userAgent": "Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/145.0",
        },
    }
    return json.dumps(value, separators=(",", ":"))


@dataclasses.dataclass
class Contestant:
    name: str
    url: str
    body: str
    # None for a server that stores nothing.
    count_stored: typing.Callable[[], int] | None


@contextlib.contextmanager
def contestant(name, folder, cluster):
    """Starts one, and ends it. While folder and cluster last, what it stored can still be counted."""
    with contextlib.ExitStack() as stack:
        yield STARTS[name](stack, folder, cluster)


def limit(stack, _folder, _cluster):
    url = stack.enter_context(server([RELEASE / "examples" / "limit"], {}))
    return Contestant("limit", f"{url}/api/v1/key/trpc/response.submit", submission(NO_FLOW), None)


def sluice_on_sqlite(stack, folder, _cluster):
    database = folder / "sluice.db"

    def count():
        with contextlib.closing(sqlite3.connect(database)) as connection:
            return connection.execute("SELECT count(*) FROM responses").fetchone()[0]

    return sluice(stack, "sluice-sqlite", f"sqlite:{database}", count)


def sluice_on_postgres(stack, _folder, cluster):
    cluster.sql("postgres", "CREATE DATABASE sluice")
    count = lambda: int(cluster.sql("sluice", "SELECT count(*) FROM responses"))
    return sluice(stack, "sluice-postgres", cluster.url("sluice"), count)


def sluice(stack, name, store, count):
    serve = [RELEASE / "sluice", "serve", "--listen", "127.0.0.1:0", "--store", store, "--no-demo"]
    url = stack.enter_context(server(serve, {"SLUICE_ADMIN_TOKEN": TOKEN, "SLUICE_LOG": "warn"}))
    app = admin(url, "/apps", {"name": "Bench"})
    new = {"name": "Measured", "kind": "survey", "definition": DEFINITION}
    flow = admin(url, f"/apps/{app['appId']}/flows", new)
    version = admin(url, f"/flows/{flow['flowId']}/publish", None)
    path = f"/api/v1/{app['apiKeys'][0]}/trpc/response.submit"
    return Contestant(name, url + path, submission(version["flowVersionId"]), count)


def reference(stack, _folder, cluster):
    cluster.sql("postgres", "CREATE DATABASE reference")
    environment = {"NODE_ENV": "production", "REFERENCE_STORE": cluster.url("reference")}
    url = stack.enter_context(server(["node", ROOT / "bench" / "reference" / "server.js"], environment))
    count = lambda: int(cluster.sql("reference", "SELECT count(*) FROM responses"))
    return Contestant("reference", f"{url}/trpc/response.submit", submission(NO_FLOW), count)


STARTS = dict(zip(NAMES, (limit, sluice_on_sqlite, sluice_on_postgres, reference)))


@contextlib.contextmanager
def server(command, environment):
    """Starts a server, yields the address in its first line, ends it, and sees that it ended well."""
    environment = {"PATH": os.environ["PATH"], **environment}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        address = re.search(r"http://\S+", process.stdout.readline())
        if not address:
            sys.exit(f"{command[0]} did not say where it listens")
        yield address.group()
    finally:
        process.terminate()
        code = process.wait(timeout=30)
    if code not in (0, -signal.SIGTERM):
        sys.exit(f"{command[0]} ended with {code}")


def admin(url, path, body):
    headers = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json"}
    data = b"" if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{url}/api/admin/v1{path}", data, headers, method="POST")
    with urllib.request.urlopen(request, timeout=10) as reply:
        return json.load(reply)
