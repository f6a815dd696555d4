"""A server on loopback, and real objects for each operation: an id that exists reaches further than a generated one.

Each operation gets an app of its own, so that what generated requests do to it (archive its flow, require identity tokens, revoke its
keys) does not lock out another one. An operation that uses up its object, such as a DELETE, gets a fresh object for each request.
"""

import base64
import http.server
import itertools
import os
import pathlib
import re
import subprocess
import tempfile
import threading
import time

import requests

ROOT = pathlib.Path(__file__).resolve().parents[3]
TOKEN = "token-of-the-schema-tests-0123456789"
WAIT_SECONDS_MAX = 120
ADMIN = "/api/admin/v1"
PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")

DEFINITION = {
    "title": "Feedback",
    "respondentAnalytics": "ask",
    "questions": [
        {"id": "nps", "type": "nps", "prompt": "How likely?", "required": True},
        {"id": "plan", "type": "singleChoice", "prompt": "Plan", "options": [{"id": "free", "label": "Free"}, {"id": "pro", "label": "Pro"}]},
        {"id": "why", "type": "longText", "prompt": "Why?"},
    ],
}


class Receiver(http.server.BaseHTTPRequestHandler):
    """Accepts every webhook."""

    def do_POST(self):
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


def new_database():
    """The option for a new database in a temporary PostgreSQL; none without SLUICE_TEST_STORE: then the store is SQLite."""
    url = os.environ.get("SLUICE_TEST_STORE")
    if not url:
        return []
    name = f"schema_{os.getpid()}"
    subprocess.run(["psql", "-X", "-q", "-d", url, "-c", f"CREATE DATABASE {name}"], check=True)
    return ["--store", url.replace("/postgres?", f"/{name}?")]


class Server:
    """`sluice serve` with an empty store."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="sluice-schema-")
        self.receiver = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
        threading.Thread(target=self.receiver.serve_forever, daemon=True).start()
        self.receives = f"http://127.0.0.1:{self.receiver.server_port}/"
        settings = {"PATH": os.environ["PATH"], "SLUICE_ADMIN_TOKEN": TOKEN, "SLUICE_HOSTED_SENDS_PER_MINUTE": "0"}
        for limit in ("SLUICE_RATE_PER_ADDRESS", "SLUICE_BYTES_PER_ADDRESS", "SLUICE_RATE_PER_APP"):
            settings[limit] = "0"
        binary = os.environ.get("SLUICE_BIN", str(ROOT / "target/debug/sluice"))
        command = [binary, "serve", "--listen", "127.0.0.1:0", "--data", f"{self.folder.name}/data", "--no-demo"]
        command += ["--webhook-allow", "127.0.0.0/8", "--webhook-allow-http", *new_database()]
        self.log = pathlib.Path(self.folder.name) / "log"
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(command, env=settings, stdout=subprocess.PIPE, stderr=log, text=True)
        found = re.search(r"http://[\d.]+:\d+", self.process.stdout.readline())
        if not found:
            raise SystemExit(f"{binary} did not start:\n{self.log.read_text()[-2000:]}")
        self.url = found[0]
        # Its further output has no reader otherwise, and would fill the pipe.
        threading.Thread(target=self.process.stdout.read, daemon=True).start()
        self.session = requests.Session()
        self.session.headers["authorization"] = f"Bearer {TOKEN}"
        self.numbers = itertools.count(1)

    def stop(self):
        self.process.terminate()
        self.process.wait(60)
        self.receiver.shutdown()
        self.folder.cleanup()

    def call(self, method, path, body=None, **options):
        """One call, which must succeed."""
        reply = self.session.request(method, self.url + path, json=body, **options)
        assert reply.ok, f"{method} {path}: {reply.status_code} {reply.text}"
        return reply.json() if reply.content and "json" in reply.headers.get("content-type", "") else reply.content

    def admin(self, method, path, body=None, **options):
        return self.call(method, ADMIN + path, body, **options)


class World:
    """An app, and what an operation may need in it: each object is created when a path first names it."""

    def __init__(self, server):
        self.server = server
        self.kept = {}

    def __getattr__(self, name):
        if name not in self.kept:
            self.kept[name] = getattr(self, f"make_{name}")()
        return self.kept[name]

    def number(self):
        return next(self.server.numbers)

    def make_app(self):
        return self.server.admin("POST", "/apps", {"name": f"App {self.number()}"})

    def make_appId(self):
        return self.app["appId"]

    def make_apiKey(self):
        return self.app["apiKeys"][0]

    def make_flowId(self):
        body = {"name": f"Flow {self.number()}", "kind": "survey", "definition": DEFINITION}
        flow = self.server.admin("POST", f"/apps/{self.appId}/flows", body)["flowId"]
        self.published = self.server.admin("POST", f"/flows/{flow}/publish")
        return flow

    def make_flowVersionId(self):
        return self.flowId and self.published["flowVersionId"]

    def make_responseId(self):
        self.kept.pop("respondentId", None)
        reply = self.server.call("POST", f"/api/v1/{self.apiKey}/trpc/response.submit", self.submission())
        return reply["result"]["data"]["responseId"]

    def submission(self):
        return {
            "flowVersionId": self.flowVersionId, "flowVersionPayloadGeneration": "4", "respondentAnalyticsAdmission": "admitted",
            "answers": {"nps": "9", "plan": "pro", "why": "Fast"}, "identities": [{"type": "userId", "value": self.person()}],
            "metadata": {"tags": {"plan": "pro"}},
        }

    def person(self):
        self.kept["userOf"] = f"user-{self.number()}"
        return self.kept["userOf"]

    def make_respondentId(self):
        self.responseId = self.make_responseId()
        self.kept["responseId"] = self.responseId
        return self.server.admin("GET", f"/responses/{self.responseId}")["respondentId"]

    def make_endpoint(self):
        return self.server.admin("POST", f"/apps/{self.appId}/webhooks", {"url": self.server.receives})

    def make_webhookId(self):
        return self.endpoint["webhookId"]

    def make_deliveryId(self):
        path = f"/apps/{self.appId}/webhooks/{self.webhookId}"
        self.make_responseId()
        until = time.monotonic() + WAIT_SECONDS_MAX
        while time.monotonic() < until:
            items = self.server.admin("GET", f"{path}/deliveries")["items"]
            if items:
                return items[0]["deliveryId"]
            time.sleep(0.05)
        raise AssertionError("nothing was delivered")

    def make_assetId(self):
        path = f"/apps/{self.appId}/assets"
        return self.server.admin("POST", path, data=PNG, headers={"content-type": "image/png"})["assetId"]

    def make_kid(self):
        return self.server.admin("POST", f"/apps/{self.appId}/identity-keys", {"type": "hs256"})["kid"]

    def make_reportId(self):
        return self.server.admin("POST", f"/flows/{self.flowId}/reports", {"title": "Results", "questions": ["nps"]})["reportId"]

    def make_flowAssignmentId(self):
        body = {"identities": [{"type": "userId", "value": self.person()}]}
        return self.server.admin("POST", f"/flows/{self.flowId}/invitations", body)["flowAssignmentId"]

    def make_tokenId(self):
        return self.server.admin("POST", "/tokens", {"name": f"Token {self.number()}", "scopes": ["read"]})["tokenId"]

    def make_userId(self):
        body = {"email": f"user{self.number()}@example.com", "name": "Ada", "role": "viewer", "instance": True}
        return self.server.admin("POST", "/users", body)["userId"]

    def forget(self, names):
        """The next request gets new objects."""
        for name in names:
            self.kept.pop(name, None)
