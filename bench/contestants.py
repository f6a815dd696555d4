"""The contestants: how each is started, which requests it gets, and how many responses it has stored."""

import base64
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

import sent

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The binaries of another build, such as an older one, instead of a new one of this folder.
OTHER_BINARIES = os.environ.get("SLUICE_BENCH_BINARIES")
BINARIES = pathlib.Path(OTHER_BINARIES or pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "dist")
TOKEN = "token-of-the-first-figure-0123456789"
NAMES = ("limit", "sluice-sqlite", "sluice-postgres", "reference")
SLUICES = ("sluice-sqlite", "sluice-postgres")
ON_POSTGRES = {"sluice-postgres", "reference"}
READS = ("resolve", "snapshot", "snapshot-gzip", "snapshot-304")


@dataclasses.dataclass
class Contestant:
    name: str
    url: str
    pid: int
    # Builds the request for an operation. It may query the server for what it needs.
    requests: dict[str, typing.Callable[[], sent.Request]]
    # None for a server that stores nothing.
    count_stored: typing.Callable[[], int] | None = None
    # Sluice only: the app and its flow.
    about: dict = dataclasses.field(default_factory=dict)
    # Where it stores responses, in the syntax of `--store`.
    store: str = ""

    def request(self, kind):
        return self.requests[kind]()


def limit(stack, sizes):
    """`sizes` are the body sizes of Sluice's reads in bytes, by kind; the bare GETs return the same."""
    url, pid = stack.enter_context(server([BINARIES / "examples" / "limit"], {}))
    procedures, one = "/api/v1/key/trpc", sent.submission(sent.NO_FLOW)
    unanswered = sent.submission(sent.NO_FLOW, answered=False)
    requests = {
        "submit": lambda: sent.submit(procedures, one),
        "batch": lambda: sent.batch(procedures, [one] * sent.BATCH),
        "refused": lambda: sent.submit(procedures, unanswered),
        "replay": lambda: with_key(sent.submit(procedures, one)),
    }
    for kind in READS:
        requests[kind] = lambda kind=kind: sent.Request(f"/bare/{sizes.get(kind, 512)}")
    return Contestant("limit", url, pid, requests)


def sluice_on_sqlite(stack, database, arguments=()):
    return sluice(stack, "sluice-sqlite", f"sqlite:{database}", lambda: count_in_file(database), arguments=arguments)


def count_in_file(database):
    return in_file(database, "SELECT count(*) FROM responses")


def in_file(database, statement):
    """Runs a statement and returns the first number of its result, or 0."""
    with contextlib.closing(sqlite3.connect(database, timeout=30)) as connection, connection:
        return next(iter(connection.execute(statement)), (0,))[0]


def sluice_on_postgres(stack, cluster, database="sluice", arguments=()):
    stack.enter_context(cluster.database(database))
    count = lambda: int(cluster.sql(database, "SELECT count(*) FROM responses"))
    return sluice(stack, "sluice-postgres", cluster.url(database), count, arguments=arguments)


def sluice(stack, name, store, count, about=None, arguments=()):
    """`about` are the ids from a contestant on the same store; without it the app and flow are created."""
    url, pid = stack.enter_context(server([*serve(store), *arguments], SETTINGS))
    about = about or new_flow(url)
    app, version = f"/api/v1/{about['apiKey']}", about["flowVersionId"]
    procedures, one = f"{app}/trpc", sent.submission(version)
    unanswered = sent.submission(version, answered=False)
    snapshot = f"{app}/flow_versions/{version}?payload=4"
    client = lambda: sent.Client(url)

    def refused():
        request = sent.submit(procedures, unanswered)
        return dataclasses.replace(request, text=sent.REFUSED, stores=0)

    def replay():
        request = with_key(sent.submit(procedures, one))
        _, body = client().insist(request)
        first = json.loads(body)["result"]["data"]["responseId"]
        return dataclasses.replace(request, text=first, stores=0)

    def not_modified():
        headers, _ = client().insist(sent.Request(snapshot))
        return sent.Request(snapshot, headers={"if-none-match": headers["etag"]}, status=304)

    requests = {
        "submit": lambda: sent.submit(procedures, one),
        "batch": lambda: sent.batch(procedures, [one] * sent.BATCH),
        "refused": refused,
        "replay": replay,
        "resolve": lambda: sent.Request(f"{app}/flows/{about['flowId']}"),
        "snapshot": lambda: sent.Request(snapshot),
        "snapshot-gzip": lambda: sent.Request(snapshot, headers={"accept-encoding": "gzip"}),
        "snapshot-304": not_modified,
        "page": lambda: sent.Request(f"/f/{about['flowId']}", headers={"accept-encoding": "gzip"}),
    }
    return Contestant(name, url, pid, requests, count, about, store)


def serving_same_flow(stack, first):
    """Another node over the same PostgreSQL."""
    return sluice(stack, first.name, first.store, first.count_stored, about=first.about)


# The master key seals the secrets of webhook endpoints.
MASTER_KEY = base64.b64encode(b"m" * 32).decode()
SETTINGS = {"SLUICE_ADMIN_TOKEN": TOKEN, "SLUICE_LOG": "warn", "SLUICE_MASTER_KEY": MASTER_KEY}


# Limits are checked as in production, but high enough that no run reaches them. A loopback peer is exempt from those by
# address, so the load names an address and the server trusts it (bench/sent.py).
LIMITS = [
    *("--rate-per-app", "10000000", "--rate-per-address", "10000000"),
    *("--bytes-per-address", "100000000", "--daily-bytes-per-app", str(1 << 50)),
    *("--trusted-proxies", "127.0.0.1/32"),
]


def serve(store, listen="127.0.0.1:0"):
    return [BINARIES / "sluice", "serve", "--listen", listen, "--store", store, "--no-demo", *LIMITS]


def new_flow(url):
    app = admin(url, "POST", "/apps", {"name": "Bench"})
    new = {"name": "Measured", "kind": "survey", "definition": sent.DEFINITION}
    flow = admin(url, "POST", f"/apps/{app['appId']}/flows", new)
    version = admin(url, "POST", f"/flows/{flow['flowId']}/publish")
    ids = {"flowId": flow["flowId"], "flowVersionId": version["flowVersionId"]}
    return {"appId": app["appId"], "apiKey": app["apiKeys"][0], **ids}


def reference(stack, cluster):
    stack.enter_context(cluster.database("reference"))
    environment = {"NODE_ENV": "production", "REFERENCE_STORE": cluster.url("reference")}
    script = ROOT / "bench" / "reference" / "server.js"
    url, pid = stack.enter_context(server(["node", script], environment))
    one = sent.submission(sent.NO_FLOW)
    requests = {
        "submit": lambda: sent.submit("/trpc", one),
        "batch": lambda: sent.batch("/trpc", [one] * sent.BATCH),
    }
    count = lambda: int(cluster.sql("reference", "SELECT count(*) FROM responses"))
    return Contestant("reference", url, pid, requests, count)


def with_key(request):
    return dataclasses.replace(request, headers={**request.headers, "idempotency-key": "the-same-each-time"})


@contextlib.contextmanager
def server(command, environment):
    """Starts a server, yields the address in its first line, stops it, and checks its exit code."""
    environment = {"PATH": os.environ["PATH"], **environment}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        address = re.search(r"http://\S+", process.stdout.readline())
        if not address:
            sys.exit(f"{command[0]} did not print its address")
        yield address.group(), process.pid
    finally:
        process.terminate()
        code = process.wait(timeout=60)
    if code not in (0, -signal.SIGTERM):
        sys.exit(f"{command[0]} exited with {code}")


def admin_request(method, path, body=None):
    headers = {"authorization": f"Bearer {TOKEN}", **sent.JSON}
    return sent.Request(f"/api/admin/v1{path}", method, headers, None if body is None else json.dumps(body))


def admin(url, method, path, body=None):
    status, _, reply = sent.Client(url).send(admin_request(method, path, body))
    if status >= 300:
        sys.exit(f"{method} {path} returned {status}: {reply.decode()}")
    return json.loads(reply)
