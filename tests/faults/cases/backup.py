"""A backup under load, restored elsewhere, verified and served: nothing that was acknowledged before it is missing."""

import functools
import shutil
import subprocess
import time

from checker import OK, judge
from clients import Clients
from faults import Fault
from under_load import SETTINGS

AROUND_SECONDS, COUNTING_SECONDS_MAX = 1.5, 20


def sluice(site, *arguments):
    done = subprocess.run([str(part) for part in (site.binary, *arguments)], env=SETTINGS, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{arguments[0]} exits with {done.returncode}: {done.stderr[-600:]}")


def restored(site, file, store):
    """A store with what is in the backup."""
    there = site.store(store)
    there[1].rmdir()
    sluice(site, "restore", file, *there)
    sluice(site, "verify", *there)
    return there


def copied(site, _file, where):
    """A copy of the database file alone."""
    there = site.store("SQLite")
    shutil.copy(where[1] / "sluice.db", there[1] / "sluice.db")
    return there


def once(site, store, is_old=False, is_copied=False):
    where = site.store(store)
    server = site.server(where)
    made, file = server.make_flow(), site.folder() / "file.backup"
    if is_old:
        sluice(site, "backup", file, *where)
    clients = Clients(server, made)
    time.sleep(AROUND_SECONDS)
    begun = time.monotonic()
    if is_copied:
        there = copied(site, file, where)
    elif not is_old:
        sluice(site, "backup", file, *where)
    time.sleep(AROUND_SECONDS)
    clients.end()
    if not is_copied:
        there = restored(site, file, store)
    entries = clients.history.entries
    before = [key for key in clients.history.keys(OK) if entries[key].done <= begun]
    again = site.server(there)
    try:
        verdict = clients.judge(again, COUNTING_SECONDS_MAX, expected=before, recovery=again.start_seconds)
    except SystemExit:  # the copy does not even have the flow
        verdict = judge(clients.history, [], expected=before)
    verdict.acknowledged = len(before)
    return verdict


FAULTS = [
    Fault("backup under load, restored elsewhere", functools.partial(once, store=store), control, without, store, tries=(1, 5))
    for store, control, without in (
        ("SQLite", functools.partial(once, store="SQLite", is_copied=True), "a copy of the database file alone"),
        ("PostgreSQL", functools.partial(once, store="PostgreSQL", is_old=True), "the backup from before"),
    )
]
