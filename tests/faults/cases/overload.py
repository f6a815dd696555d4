"""Three times the load that the server can take (tests/faults/overload). The processor is the bottleneck, and syncs are as they are."""

import functools
import os
import pathlib
import re
import subprocess
import sys

from checker import Verdict
from faults import NO_CHECKS, PLAIN, Fault

SCRIPT = pathlib.Path(__file__).parents[1] / "overload"
# The part of the time that the server runs, so that clients on the same two cores can offer more than it can take.
SHARE = 0.05
SYNCED = {"fsync": "on", "full_page_writes": "on"}


def overloaded(site, *how, binary=None, postgres=None):
    """What the script finds; on SQLite unless a PostgreSQL is given."""
    how += ("--store", postgres.database()) if postgres else ()
    command = [str(part) for part in (sys.executable, SCRIPT, "--seconds", 15, *how)]
    environment = {**os.environ, "SLUICE_BIN": str(binary or site.binary)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    figure = lambda name, pattern=r"[\d.]+": found[1] if (found := re.search(rf"^{name}\s+({pattern})", done.stdout, re.M)) else ""
    numbers = lambda name: map(int, figure(name, r"\d+ / \d+").split(" / "))
    if not figure("lost / doubled"):
        raise SystemExit(f"no figures: {done.stderr[-500:]}")
    broken = figure("does not hold:", ".*")
    verdict = Verdict(*numbers("acknowledged / stored"), *numbers("lost / doubled"), float(figure("recovered after, s")), [broken] if broken else [])
    verdict.notes.append(f"goodput is {figure('goodput / allowed')} of the {figure('allowed, a second')} a second that are allowed, "
                         f"{figure('offered, a second')} were offered; refused / gave up / lost: {figure('refused / gave up / lost', '.*')}; at most "
                         f"{figure('peak memory, MiB')} MiB in memory with {figure('connections at once')} connections")
    return verdict


def on_sqlite(site, binary=None, further=()):
    return overloaded(site, "--share", SHARE, *further, binary=binary)


def on_postgresql(site):
    """On a disk, since its syncs count; only the server is stopped in between."""
    here = site.folder()
    # PostgreSQL runs as another user.
    here.chmod(0o755)
    return overloaded(site, "--share", SHARE, postgres=site.own_postgres(settings=SYNCED, here=here))


control = functools.partial(on_sqlite, binary=PLAIN, further=("--patient", "20"))
FAULTS = [
    Fault("3 × the load", once, control, NO_CHECKS, store, tries=(1, 2), fails="goodput")
    for store, once in (("SQLite", on_sqlite), ("PostgreSQL", on_postgresql))
]
