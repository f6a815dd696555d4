"""The same submission 100 times at once, with one idempotency key: stored once, and every reply has the id of that one response."""

import functools
import http.client
import json
import threading

from checker import OK
from clients import Clients
from faults import Fault

AT_ONCE = 100


class Same(Clients):
    """Notes the id in each acknowledgement."""

    def __init__(self, server, made):
        self.ids = []
        super().__init__(server, made, count=0)

    def acknowledged(self, text):
        self.ids.append(json.loads(text)["result"]["data"]["responseId"])


def once(site, store, with_key=True):
    server = site.server(site.store(store))
    clients = Same(server, server.make_flow())
    clients.history.invoke("same-1", "same-1 text")
    start, outcomes = threading.Barrier(AT_ONCE), []

    def send(number):
        connection = http.client.HTTPConnection(*server.address, timeout=120)
        start.wait()
        key = "the-same-key" if with_key else f"key-{number}"
        outcomes.append(clients.submit(connection, "same-1", idempotency_key=key))

    threads = [threading.Thread(target=send, args=(number,)) for number in range(AT_ONCE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    clients.history.note("same-1", OK)
    verdict = clients.judge(server)
    verdict.acknowledged = outcomes.count(OK)
    verdict.must(verdict.acknowledged == AT_ONCE, f"{verdict.acknowledged} acknowledged")
    return verdict.must(len(set(clients.ids)) == 1, f"{len(set(clients.ids))} ids in the replies")


FAULTS = [
    Fault(f"the same key {AT_ONCE} × at once", functools.partial(once, store=store),
          functools.partial(once, store=store, with_key=False), "another key each time", store, tries=(1, 20),
          fails=" doubled", in_ci=True)
    for store in ("SQLite", "PostgreSQL")
]
