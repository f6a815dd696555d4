"""Every sync takes 0.4 or 1 second longer, and three times the load is offered that the disk allows (tests/faults/overload)."""

import functools

from faults import NO_CHECKS, PLAIN, Fault
from places import need
from cases.overload import SYNCED, overloaded


def on_sqlite(site, delay, binary=None, further=()):
    need("strace")
    return overloaded(site, "--delay", delay, *further, binary=binary)


def on_postgresql(site, delay):
    """The syncs of PostgreSQL, from when the flow exists."""
    need("strace")
    postgres = site.own_postgres(settings=SYNCED)
    return overloaded(site, "--delay", delay, "--postgres", postgres.first, postgres=postgres)


# It stores one submission in a write, with a thread for each connection, and its queue has no limit.
control = functools.partial(on_sqlite, delay=0.4, binary=PLAIN, further=("--write-rows", "1", "--patient", "20", "--undelayed", "0"))
FAULTS = [
    Fault(f"syncs {delay} s slower, 3 × the load", functools.partial(once, delay=delay), control, NO_CHECKS, store, tries, fails="goodput")
    for delay, store, once, tries in ((0.4, "SQLite", on_sqlite, (1, 2)), (1.0, "SQLite", on_sqlite, (0, 1)),
                                      (0.4, "PostgreSQL", on_postgresql, (1, 2)))
]
