"""SIGTERM under load: requests in progress get their reply, what was acknowledged is stored, and the exit code is 0."""

import functools
import random
import signal
import time

from checker import UNKNOWN
from clients import Clients
from faults import Fault


def once(site, store, sent=signal.SIGTERM):
    where = site.store(store)
    server = site.server(where)
    clients = Clients(server, server.make_flow())
    time.sleep(0.5 + random.random())
    at = time.monotonic()
    server.stop(sent)
    clients.end()
    entries = clients.history.entries
    cut = sum(1 for key in clients.history.keys(UNKNOWN) if entries[key].sent < at)
    code = server.process.returncode
    again = site.server(where)
    verdict = clients.judge(again, recovery=again.start_seconds)
    return verdict.must(code == 0, f"exit code {code}").must(not cut, f"{cut} in progress without a reply")


FAULTS = [
    Fault("SIGTERM under load", functools.partial(once, store=store),
          functools.partial(once, store=store, sent=signal.SIGKILL), "SIGKILL", store, tries=(1, 10), in_ci=True)
    for store in ("SQLite", "PostgreSQL")
]
