"""Clients that submit under load and note what they are told."""

import http.client
import json
import random
import re
import string
import threading
import time

from checker import OK, REFUSED, UNKNOWN, History, Verdict, judge, oddity
from places import until

CLIENTS = 16
SETTLE_SECONDS_MAX = 300
# One submission of so many has an answer to a question that does not exist, and must be refused.
REFUSED_EVERY = 25
# What a server says that refuses a damaged database or finds none, and one whose database has lost the flow.
REFUSES, HAS_LOST = r"damaged|there is no database|not one that Sluice created", r"/flows/.*: (404|500|503) "
PADDING = "".join(random.Random(7).choices(string.ascii_lowercase, k=200))


class Clients:
    """Threads that submit to one server, or in turn to several, until they are ended.

    `early` is for controls: what was sent counts as acknowledged, as if the server replied before it stores.
    """

    def __init__(self, servers, flow, count=CLIENTS, early=False, history=None):
        self.servers = servers if isinstance(servers, list) else [servers]
        (self.key, self.flow, self.version), self.early = flow, early
        self.history = history or History()
        self.ended = threading.Event()
        self.threads = [threading.Thread(target=self.run, args=(number,), daemon=True) for number in range(count)]
        for thread in self.threads:
            thread.start()

    def run(self, number):
        connections = [None] * len(self.servers)
        count = 0
        while not self.ended.is_set():
            count += 1
            key = f"{id(self):x}-{number}-{count}"
            is_refused = count % REFUSED_EVERY == 0
            self.history.invoke(key, f"{key} {PADDING}")
            at = count % len(self.servers)
            connections[at] = connections[at] or http.client.HTTPConnection(*self.servers[at].address, timeout=20)
            outcome = self.submit(connections[at], key, is_refused)
            self.history.note(key, outcome)
            if outcome == UNKNOWN:
                connections[at].close()
                connections[at] = None
                self.ended.wait(0.01)

    def body(self, key, is_refused):
        return {
            "flowVersionId": self.version, "flowVersionPayloadGeneration": "4",
            "respondentAnalyticsAdmission": "collection_only",
            "answers": {"why": self.history.entries[key].text, **({"nowhere": "x"} if is_refused else {})},
        }

    def submit(self, connection, key, is_refused=False, idempotency_key=None):
        body = self.body(key, is_refused)
        headers = {"content-type": "application/json", "idempotency-key": idempotency_key or f"key-{key}"}
        try:
            connection.request("POST", f"/api/v1/{self.key}/trpc/response.submit", json.dumps(body).encode(), headers)
            if self.early and not is_refused:
                self.history.note(key, OK)
            reply = connection.getresponse()
            text = reply.read()
        except (OSError, http.client.HTTPException):
            return UNKNOWN
        if what := oddity(reply.status, reply.getheader("retry-after")):
            self.history.note_odd(what)
        if reply.status == 200 and b'"success":true' in text:
            self.acknowledged(text)
            return OK
        if reply.status == 200:
            return REFUSED
        return REFUSED if 400 <= reply.status < 500 else UNKNOWN

    def acknowledged(self, text):
        """Gets the text of each acknowledgement, for faults that look at more than whether there is one."""

    def acknowledge(self, more):
        """Waits for so many further acknowledgements."""
        wanted = len(self.history.keys(OK)) + more
        if not until(lambda: len(self.history.keys(OK)) >= wanted):
            raise SystemExit("nothing is acknowledged any more")

    def end(self):
        self.ended.set()
        for thread in self.threads:
            thread.join()
        return self

    def settle(self, server):
        """Repeats what has no outcome, with the same key, until it has one."""
        connection = http.client.HTTPConnection(*server.address, timeout=60)
        end = time.monotonic() + SETTLE_SECONDS_MAX
        for key in self.history.keys(UNKNOWN):
            number = int(key.rsplit("-", 1)[1])
            while (outcome := self.submit(connection, key, number % REFUSED_EVERY == 0)) == UNKNOWN:
                connection.close()
                if time.monotonic() > end:
                    raise SystemExit("the server stores nothing any more")
                time.sleep(0.05)
            self.history.note(key, outcome)

    def judge_without_syncs(self, start):
        """As `judge`, of a server that starts on a disk whose syncs did nothing. If it refuses what is left, or misses the flow, all is lost."""
        server = None
        try:
            server = start()
            return self.judge(server)
        except SystemExit as error:
            count = len(self.history.keys(OK))
            if not count or not re.search(HAS_LOST if server else REFUSES, str(error)):
                raise
            return Verdict(count, 0, count, broken=[f"{count:,} lost, the server refuses what is left"])
        finally:
            if server:
                server.stop()

    def judge(self, server, counting=0, **how):
        """The verdict on what this server has stored. After a restore it counts in the background for some seconds."""
        texts, end = server.texts(self.flow), time.monotonic() + counting
        while (counted := server.counted(self.flow)) != len(texts) and time.monotonic() < end:
            time.sleep(0.1)
        return judge(self.history, texts, counted, **how)
