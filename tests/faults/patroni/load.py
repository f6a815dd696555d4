"""The nodes of the service, and clients that submit to them and log the replies.

Every tenth submission lacks a required answer and every twentieth reuses an acknowledged key with other
content, so that there are refusals. A client waits for each reply; nothing is retried until the end, so
that outcomes left unknown by the fault stay unknown until then.
"""

import hashlib
import http.client
import itertools
import json
import os
import re
import subprocess
import threading
import time
import urllib.request
import uuid

from cluster import end

TOKEN = "token-of-the-failover-test-0123456789"
ANSWER_SECONDS_MAX = 15
CLIENTS = 8
SETTLE_SECONDS_MAX = 60
DEFINITION = {
    "title": "Failover",
    "questions": [
        {"id": "nps", "type": "nps", "prompt": "How likely?", "required": True},
        {"id": "why", "type": "longText", "prompt": "Why?"},
    ],
}


class Service:
    """One `sluice serve` over the cluster."""

    def __init__(self, binary, folder, name, store):
        environment = {"PATH": os.environ["PATH"], "SLUICE_ADMIN_TOKEN": TOKEN, "SLUICE_STORE": store}
        command = [binary, "serve", "--listen", "127.0.0.1:0", "--data", folder / name, "--no-demo"]
        with open(folder / f"{name}.log", "w") as log:
            self.process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=log, text=True)
        line = self.process.stdout.readline()
        found = re.search(r"http://([\d.]+):(\d+)", line)
        if not found:
            raise RuntimeError(f"{name} did not start; see {folder / name}.log")
        self.host, self.port = found[1], int(found[2])

    def admin(self, method, path, body=None):
        headers = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json"}
        data = json.dumps(body).encode() if body is not None else b"" if method == "POST" else None
        url = f"http://{self.host}:{self.port}/api/admin/v1{path}"
        with urllib.request.urlopen(urllib.request.Request(url, data, headers, method=method), timeout=30) as reply:
            return json.load(reply)

    def make_flow(self):
        app = self.admin("POST", "/apps", {"name": "Failover"})
        new = {"name": "Failover", "kind": "survey", "definition": DEFINITION}
        flow = self.admin("POST", f"/apps/{app['appId']}/flows", new)
        version = self.admin("POST", f"/flows/{flow['flowId']}/publish")
        return app["apiKeys"][0], flow["flowId"], version["flowVersionId"]

    def stored(self, flow):
        """Every row as (id, digest), over the admin API."""
        after = ""
        while after is not None:
            page = self.admin("GET", f"/flows/{flow}/responses?limit=1000{after and '&after=' + after}")
            for item in page["items"]:
                yield item["answers"]["why"].split(" ")[0], digest(item["answers"])
            after = page["next"]

    def stop(self):
        end(self.process)


def is_answered(event):
    """Whether a server has acknowledged it."""
    return event["event"] == "ok" and not event.get("is_early")


def digest(answers):
    return hashlib.sha256(json.dumps(answers, sort_keys=True).encode()).hexdigest()


class Load:
    """Clients at a constant rate, distributed over the nodes, and the log of their replies."""

    def __init__(self, services, api_key, version, rate, log, early=False):
        self.services, self.version, self.rate, self.early = services, version, rate, early
        self.path = f"/api/v1/{api_key}/trpc/response.submit"
        self.events, self.unknown, self.keys = [], [], []
        self.odd = 0  # 5xx that are not a 503 with Retry-After
        self.log, self.lock = log, threading.Lock()
        self.numbers = itertools.count()
        self.stopping = threading.Event()
        self.threads = [threading.Thread(target=self.client, args=(i,)) for i in range(CLIENTS)]

    def start(self):
        for thread in self.threads:
            thread.start()

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join()

    def client(self, index):
        pause = CLIENTS / self.rate
        due = time.monotonic() + pause * index / CLIENTS
        while not self.stopping.wait(max(0, due - time.monotonic())):
            number = next(self.numbers)
            self.submit(self.new(number), number % len(self.services))
            due = max(due + pause, time.monotonic())

    def new(self, number):
        """A submission; `is_fresh` unless it must be refused."""
        name, key, is_fresh = f"s{number}", str(uuid.uuid4()), True
        answers = {"nps": str(number % 11), "why": f"{name} é {uuid.uuid4()}"}
        if number % 10 == 9:
            del answers["nps"]
            is_fresh = False
        elif number % 20 == 4 and self.keys:
            key, is_fresh = self.keys[number % len(self.keys)], False
        return {"id": name, "key": key, "answers": answers, "is_fresh": is_fresh}

    def submit(self, one, node):
        self.note({"event": "invoke", "id": one["id"], "key": one["key"], "digest": digest(one["answers"]), "node": node})
        if self.early and one["is_fresh"]:
            self.note({"event": "ok", "id": one["id"], "node": node, "is_early": True})
        outcome = self.send(one, self.services[node])
        self.note({"event": outcome, "id": one["id"], "node": node})
        if outcome == "unknown":
            self.unknown.append((one, node))
        elif outcome == "ok":
            self.keys.append(one["key"])
        return outcome

    def send(self, one, service):
        body = {
            "flowVersionId": self.version,
            "flowVersionPayloadGeneration": "4",
            "respondentAnalyticsAdmission": "collection_only",
            "answers": one["answers"],
        }
        headers = {"content-type": "application/json", "idempotency-key": one["key"]}
        connection = http.client.HTTPConnection(service.host, service.port, timeout=ANSWER_SECONDS_MAX)
        try:
            connection.request("POST", self.path, json.dumps(body), headers)
            reply = connection.getresponse()
            text = reply.read()
        except (OSError, http.client.HTTPException):
            return "unknown"
        finally:
            connection.close()
        if reply.status >= 500:
            self.odd += reply.status != 503 or not (reply.getheader("retry-after") or "").isdigit()
            return "unknown"
        if reply.status != 200:
            raise RuntimeError(f"unexpected reply: {reply.status} {text[:300]}")
        return "ok" if json.loads(text)["result"]["data"]["success"] else "refused"

    def note(self, event):
        event["at"] = time.monotonic()
        with self.lock:
            self.events.append(event)
            self.log.write(json.dumps(event) + "\n")

    def settle(self):
        """Retries everything unknown, with its key, on the other node, until all outcomes are known."""
        before = len(self.unknown)
        end_at = time.monotonic() + SETTLE_SECONDS_MAX
        while self.unknown and time.monotonic() < end_at:
            again, self.unknown = self.unknown, []
            for one, node in again:
                self.submit(one, (node + 1) % len(self.services))
        return before

    def answers_since(self, node, moment):
        """Whether this node acknowledged a submission that was sent after that moment."""
        with self.lock:
            sent = {it["id"] for it in self.events if it["event"] == "invoke" and it["at"] > moment}
            return any(is_answered(it) and it["node"] == node and it["id"] in sent for it in self.events)

    def outage(self, around):
        """The longest time without an acknowledgement, from just before the given moment."""
        times = sorted(it["at"] for it in self.events if is_answered(it))
        gaps = [(b - a) for a, b in zip(times, times[1:]) if around - 1 <= b <= around + 120]
        return max(gaps, default=float("inf"))
