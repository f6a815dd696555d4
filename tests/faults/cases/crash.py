"""kill -9 at random moments under load, and a start on what is left; every tenth kill comes while the server starts.

The kills of a try are made on one store, one after the other, so what one of them damaged would be seen by all later ones.
"""

import functools
import random
import signal
import subprocess
import time

from checker import History
from clients import Clients
from faults import EARLY, PLAIN, Fault
from under_load import SETTINGS

KILLS_OF_A_TRY = 50
# A start takes longer than this on every store.
START_SECONDS_MAX = 0.15
# Until it is ready after a kill: the goal is 2 s. Only the long form fails beyond this, since a busy machine has other work.
READY_SECONDS_MAX = 10.0


def kill_while_it_starts(site, where):
    command = [site.binary, "serve", "--listen", "127.0.0.1:0", *where, "--no-demo"]
    process = subprocess.Popen([str(part) for part in command], env=SETTINGS, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(random.random() * START_SECONDS_MAX)
    process.kill()
    process.wait()


def once(site, store, count=1, early=False, **how):
    where, history, recovery = site.store(store), History(), 0.0
    server = site.server(where, **how)
    made, sent = server.make_flow(), []
    for number in range(count):
        # Each is kept: the name of a client is in the keys that it sends.
        sent.append(Clients(server, made, early=early, history=history))
        sent[-1].acknowledge(1)
        time.sleep(random.random() * 0.8)
        server.stop(signal.SIGKILL)
        sent[-1].end()
        if number % 10 == 9:
            kill_while_it_starts(site, where)
        server = site.server(where, **how)
        recovery = max(recovery, server.start_seconds)
        sent[-1].settle(server)
    return sent[-1].judge(server, recovery=recovery)


LATE = "a plain server that replies first and stores later"
FAULTS = [
    Fault("kill -9 under load", functools.partial(once, store=store), functools.partial(once, store=store, count=3, **control), without,
          store, tries=(4, 1_000), recovery_max=READY_SECONDS_MAX, series=KILLS_OF_A_TRY, in_ci=True)
    for store, control, without in (
        ("SQLite", {"binary": PLAIN, "settings": {"PLAIN_LATE": "1"}}, LATE),
        ("PostgreSQL", {"early": True}, EARLY),
    )
]
