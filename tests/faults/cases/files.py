"""The files of a running server are removed, replaced, cut off or emptied: it stops, and acknowledges nothing more."""

import functools
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import time

from checker import OK, Verdict
from clients import Clients
from faults import NO_CHECKS, PLAIN, Fault

STOP_SECONDS_MAX, PLAIN_SECONDS = 15.0, 2.0


def log_of(database):
    return database.with_name(database.name + "-wal")


def remove(database, _copy):
    for file in (database, log_of(database)):
        file.unlink()


def rename(database, _copy):
    database.rename(database.with_name("aside.db"))


def replace(database, copy):
    shutil.copy(copy, database.with_name("new.db"))
    database.with_name("new.db").rename(database)


def overwrite(database, copy):
    shutil.copyfile(copy, database)


def cut_off(database, _copy):
    os.truncate(database, database.stat().st_size // 2 // 4096 * 4096)


def empty_log(database, _copy):
    os.truncate(log_of(database), 0)


def take_away(database, _copy):
    database.parent.rename(database.parent.with_name("volume"))
    database.parent.mkdir()


def found(site, store, binary, flow):
    """What a start on the folder finds, if it starts and the flow is there."""
    try:
        server = site.server(store, binary=binary)
        texts = server.texts(flow)
        server.stop()
        return texts
    except (SystemExit, OSError):
        return []


def once(site, how, binary=None):
    """What was sent after the fault and acknowledged must be there at the next start."""
    binary = binary or site.binary
    store = site.store("SQLite")
    database, copy = store[1] / "sluice.db", site.folder() / "copy.db"
    server = site.server(store, binary=binary)
    made = server.make_flow()
    with sqlite3.connect(database) as connection:
        connection.execute("VACUUM INTO ?", (str(copy),))
    connection.close()
    clients = Clients(server, made)
    time.sleep(0.7 + random.random() / 2)
    how(database, copy)
    at = time.monotonic()
    try:
        server.process.wait(timeout=PLAIN_SECONDS if binary == PLAIN else STOP_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        pass
    stopped = time.monotonic() - at
    code = server.process.poll()
    clients.end()
    server.stop(signal.SIGKILL)
    entries = clients.history.entries
    after = [key for key in clients.history.keys(OK) if entries[key].sent > at]
    texts = [text for text in found(site, store, binary, made[1]) if text.split(" ", 1)[0] in entries]
    there = {text.split(" ", 1)[0] for text in texts}
    lost = sum(1 for key in after if key not in there)
    verdict = Verdict(len(clients.history.keys(OK)), len(texts), lost, len(texts) - len(there), stopped)
    verdict.broken += clients.history.odd_replies()
    verdict.must(code == 4, f"goes on, {len(after):,} acknowledged" if code is None else f"exit code {code}")
    return verdict.must(not lost, f"{lost:,} of them lost")


FAULTS = [
    Fault(name, functools.partial(once, how=how), functools.partial(once, how=how, binary=PLAIN), NO_CHECKS, tries=(1, 5),
          recovery="stops in ", fails=" acknowledged")
    for name, how in {
        "database and log removed": remove, "database renamed": rename, "database replaced by a copy": replace,
        "copy written on top": overwrite, "database cut off": cut_off, "log emptied": empty_log,
        "volume taken away": take_away,
    }.items()
]
