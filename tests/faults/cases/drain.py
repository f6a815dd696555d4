"""SIGTERM under load: requests in progress get their reply, what was acknowledged is stored, and the exit code is 0."""

import functools
import json
import os
import signal
import socket

from checker import OK, UNKNOWN
from clients import Clients
from faults import Fault
from places import until

BEGUN = 16


class Begun:
    """A submission in progress: the server has asked for the body, which is not sent yet."""

    def __init__(self, server, clients, number):
        self.key, self.history = f"begun-{number}", clients.history
        self.history.invoke(self.key, f"{self.key} text")
        self.body = json.dumps(clients.body(self.key, False)).encode()
        self.connection = socket.create_connection(server.address, timeout=120)
        head = (f"POST /api/v1/{clients.key}/trpc/response.submit HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
                f"idempotency-key: key-{self.key}\r\ncontent-length: {len(self.body)}\r\nexpect: 100-continue\r\n\r\n")
        self.connection.sendall(head.encode())
        reply = self.connection.recv(1024)
        assert reply.startswith(b"HTTP/1.1 100 "), reply

    def finish(self):
        reply = b""
        try:
            self.connection.sendall(self.body)
            while data := self.connection.recv(4096):
                reply += data
        except OSError:
            pass
        is_stored = reply.startswith(b"HTTP/1.1 200 ") and b'"success":true' in reply
        self.history.note(self.key, OK if is_stored else UNKNOWN)
        return is_stored


def once(site, store, sent=signal.SIGTERM):
    where = site.store(store)
    server = site.server(where)
    clients = Clients(server, server.make_flow())
    clients.acknowledge(100)
    begun = [Begun(server, clients, number) for number in range(BEGUN)]
    os.kill(server.pid(), sent)
    until(lambda: server.status("/readyz") != 200)
    cut = BEGUN - sum([submission.finish() for submission in begun])
    server.process.wait(timeout=300)
    server.stop()
    clients.end()
    code = server.process.returncode
    again = site.server(where)
    verdict = clients.judge(again, recovery=again.start_seconds)
    return verdict.must(code == 0, f"exit code {code}").must(not cut, f"{cut} in progress without a reply")


FAULTS = [
    Fault("SIGTERM under load", functools.partial(once, store=store),
          functools.partial(once, store=store, sent=signal.SIGKILL), "SIGKILL", store, tries=(1, 10),
          fails="in progress without a reply", in_ci=True)
    for store in ("SQLite", "PostgreSQL")
]
