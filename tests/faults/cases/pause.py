"""SIGSTOP for 20 seconds under load: afterwards it goes on, and nothing is lost or stored twice."""

import functools
import os
import signal
import time

from clients import Clients
from faults import Fault
from places import until

PAUSE_SECONDS = 20


def once(site, store, then=signal.SIGCONT):
    where = site.store(store)
    server = site.server(where)
    clients = Clients(server, server.make_flow())
    clients.acknowledge(100)
    os.kill(server.pid(), signal.SIGSTOP)
    time.sleep(PAUSE_SECONDS if then == signal.SIGCONT else 1)
    at = time.monotonic()
    os.kill(server.pid(), then)
    goes_on = until(lambda: clients.history.first_ok_after(at) is not None, *(() if then == signal.SIGCONT else (2,)))
    clients.end()
    server = server if goes_on else site.server(where)
    clients.settle(server)
    verdict = clients.judge(server, recovery=clients.history.first_ok_after(at) if goes_on else None)
    return verdict.must(goes_on, "it does not go on")


FAULTS = [
    Fault(f"SIGSTOP for {PAUSE_SECONDS} s under load", functools.partial(once, store=store),
          functools.partial(once, store=store, then=signal.SIGKILL), "SIGKILL", store, tries=(1, 3),
          fails="it does not go on", in_ci=store == "SQLite")
    for store in ("SQLite", "PostgreSQL")
]
