"""kill -9 at a random moment under load, and a start on what is left."""

import functools
import random
import signal
import time

from clients import Clients
from faults import EARLY, Fault


def once(site, store, early=False):
    where = site.store(store)
    server = site.server(where)
    clients = Clients(server, server.make_flow(), early=early)
    time.sleep(0.5 + random.random())
    server.stop(signal.SIGKILL)
    clients.end()
    again = site.server(where)
    clients.settle(again)
    return clients.judge(again, recovery=again.start_seconds)


FAULTS = [
    Fault("kill -9 under load", functools.partial(once, store=store),
          functools.partial(once, store=store, early=True), EARLY, store, tries=(2, 30))
    for store in ("SQLite", "PostgreSQL")
]
