"""The database is missing at a start, where one was before: no new one is created in its place."""

import time

from clients import Clients
from faults import NO_CHECKS, PLAIN, Fault


def once(site, binary=None):
    binary = binary or site.binary
    store = site.store("SQLite")
    server = site.server(store, binary=binary)
    clients = Clients(server, server.make_flow())
    time.sleep(0.5)
    clients.end()
    server.stop()
    database, aside = store[1] / "sluice.db", site.folder() / "sluice.db"
    for suffix in ("", "-wal"):
        file = database.with_name(database.name + suffix)
        if file.exists():
            file.rename(aside.with_name(aside.name + suffix))
    try:
        return clients.judge(site.server(store, binary=binary)).must(False, "started on nothing")
    except SystemExit:
        pass
    for suffix in ("", "-wal"):
        file = aside.with_name(aside.name + suffix)
        if file.exists():
            file.rename(database.with_name(database.name + suffix))
    again = site.server(store, binary=binary)
    return clients.judge(again, recovery=again.start_seconds)


FAULTS = [Fault("database missing at the start", once, lambda site: once(site, PLAIN), NO_CHECKS, tries=(1, 5))]
