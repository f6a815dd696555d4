"""A server on loopback, clients that note every acknowledgement, and what is stored; shared by the fault scripts."""

import collections
import http.client
import json
import os
import pathlib
import re
import signal
import ssl
import subprocess
import threading
import time

from checker import oddity

TOKEN = "token-of-the-fault-table-0123456789"
AUTHORIZATION = {"authorization": f"Bearer {TOKEN}"}
CLIENTS = 16
START_SECONDS_MAX = 300
DEFINITION = {"title": "Faults", "questions": [{"id": "why", "type": "longText", "prompt": "Why?"}]}
SETTINGS = {
    "PATH": os.environ["PATH"], "SLUICE_ADMIN_TOKEN": TOKEN,
    "SLUICE_RATE_PER_ADDRESS": "0", "SLUICE_BYTES_PER_ADDRESS": "0", "SLUICE_RATE_PER_APP": "0",
}


class Server:
    """`sluice serve` with the arguments that name its store; `log` gets what it writes to standard error."""

    def __init__(self, binary, store, log, wrapper=(), settings=(), ready_seconds=START_SECONDS_MAX):
        command = [*wrapper, binary, "serve", "--listen", "127.0.0.1:0", *store, "--no-demo"]
        self.log = open(log, "a")
        start = time.monotonic()
        environment = {**SETTINGS, **dict(settings)}
        self.process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=self.log, text=True)
        try:
            self.await_ready(start + ready_seconds)
        except SystemExit:
            self.process.kill()
            self.process.wait()
            raise
        self.start_seconds = time.monotonic() - start

    def await_ready(self, end):
        found = re.search(r"(https?)://([\d.]+):(\d+)", self.process.stdout.readline())
        if not found:
            raise SystemExit(f"the server did not start: {pathlib.Path(self.log.name).read_text()[-800:]}")
        self.scheme, self.address = found[1], (found[2], int(found[3]))
        while self.status("/readyz") != 200:
            if time.monotonic() > end:
                raise SystemExit(f"the server is not ready: {self.call('GET', '/readyz')[1].decode()}")
            time.sleep(0.01)

    def call(self, method, path, body=None, headers=()):
        connection = self.connect()
        data = json.dumps(body).encode() if body is not None else None
        try:
            connection.request(method, path, data, {"content-type": "application/json", **dict(headers)})
            reply = connection.getresponse()
            try:
                return reply.status, reply.read()
            except http.client.IncompleteRead as cut:  # an export ends where the database is damaged
                return reply.status, cut.partial
        finally:
            connection.close()

    def connect(self):
        if self.scheme == "http":
            return http.client.HTTPConnection(*self.address, timeout=120)
        # The certificates of tests have no issuer.
        return http.client.HTTPSConnection(*self.address, timeout=120, context=ssl._create_unverified_context())

    def status(self, path):
        try:
            return self.call("GET", path)[0]
        except OSError:
            return 0

    def admin(self, method, path, body=None):
        status, text = self.call(method, f"/api/admin/v1{path}", body, AUTHORIZATION)
        if status >= 300:
            raise SystemExit(f"{method} {path}: {status} {text[:300]}")
        return text

    def make_flow(self, app=None):
        """The key, the flow and its version, in a new app if none is given."""
        app = app or json.loads(self.admin("POST", "/apps", {"name": "Faults"}))
        new = {"name": "Faults", "kind": "survey", "definition": DEFINITION}
        flow = json.loads(self.admin("POST", f"/apps/{app['appId']}/flows", new))["flowId"]
        version = json.loads(self.admin("POST", f"/flows/{flow}/publish"))["flowVersionId"]
        return app["apiKeys"][0], flow, version

    def texts(self, flow):
        """Every stored answer."""
        lines = self.admin("GET", f"/flows/{flow}/export?format=jsonl").splitlines()
        return [json.loads(line)["answers"]["why"] for line in lines if line]

    def counted(self, flow):
        """How many responses the summary counts."""
        return json.loads(self.admin("GET", f"/flows/{flow}/summary"))["responses"]

    def stored(self, flow):
        """How often each key is stored."""
        return collections.Counter(self.texts(flow))

    def pid(self):
        """The server's process, which is a child if it runs under strace."""
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return int(children[0]) if children and self.process.args[0] == "strace" else self.process.pid

    def stop(self, sent=signal.SIGTERM):
        if self.process.poll() is None:
            os.kill(self.pid(), sent)
            self.process.wait(timeout=300)
        self.log.close()


class Load:
    """Clients that submit until they are stopped or the server is gone; `rate` is the most a second of all of them.

    `acknowledged` has the time at which each was sent, `done` the time of its reply; `unknown` are those without one. `odd` are
    replies that are neither an acknowledgement nor a 503 with Retry-After.
    """

    def __init__(self, server, key, version, rate=None):
        self.server, self.path, self.version = server, f"/api/v1/{key}/trpc/response.submit", version
        self.acknowledged, self.done, self.unknown, self.odd = {}, {}, [], []
        self.pause = CLIENTS / rate if rate else 0
        self.stopped = threading.Event()
        self.threads = [threading.Thread(target=self.run, args=(number,)) for number in range(CLIENTS)]
        for thread in self.threads:
            thread.start()

    def run(self, number):
        connection = http.client.HTTPConnection(*self.server.address, timeout=20)
        count, start = 0, time.monotonic()
        while not self.stopped.is_set():
            time.sleep(max(0, start + count * self.pause - time.monotonic()))
            count += 1
            key = f"{number}-{count}"
            sent = time.monotonic()
            try:
                done = self.submit(connection, key)
            except (OSError, http.client.HTTPException):
                connection.close()
                self.unknown.append(key)
                if self.server.process.poll() is not None:
                    return
                continue
            if done:
                self.acknowledged[key], self.done[key] = sent, time.monotonic()
            else:
                self.unknown.append(key)

    def submit(self, connection, key):
        body = {
            "flowVersionId": self.version,
            "flowVersionPayloadGeneration": "4",
            "respondentAnalyticsAdmission": "collection_only",
            "answers": {"why": key},
        }
        headers = {"content-type": "application/json", "idempotency-key": f"key-{key}"}
        connection.request("POST", self.path, json.dumps(body).encode(), headers)
        reply = connection.getresponse()
        text = reply.read()
        if reply.status == 200 and b'"success":true' in text:
            return True
        if reply.status != 503 or oddity(reply.status, reply.getheader("retry-after")):
            self.odd.append(f"{reply.status} {text[:300]}")
        return False

    def finish(self):
        self.stopped.set()
        for thread in self.threads:
            thread.join()

    def settle(self, server):
        """Repeats what got no reply or a 503, with the same key."""
        self.server = server
        connection = http.client.HTTPConnection(*server.address, timeout=60)
        for key in self.unknown:
            if self.submit(connection, key):
                self.acknowledged[key] = 0.0
