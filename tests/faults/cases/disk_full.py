"""The disk is full: submissions get 503, reads and administration go on, and it recovers by itself."""

import contextlib
import os
import time

from checker import UNKNOWN
from clients import Clients
from faults import EARLY, Fault
from places import is_alive, small_disk, until
from under_load import AUTHORIZATION

DISK_MEBIBYTES = 64
RESERVE_BYTES, FREE_BYTES = 8 * 1024 * 1024, 6 * 1024 * 1024
POSTGRES_MEBIBYTES, CHANGES = 160, 10


def fill(folder, leave, seconds=2):
    """Files that leave so many bytes. A server that notices it may free some, by emptying its log; those are taken too."""
    end, files = time.monotonic() + seconds, []
    while time.monotonic() < end:
        space = os.statvfs(folder)
        excess = space.f_bavail * space.f_frsize - leave
        if excess > 0:
            files.append(folder / f"filler-{len(files)}")
            with open(files[-1], "wb") as file, contextlib.suppress(OSError):
                os.posix_fallocate(file.fileno(), 0, excess)
        time.sleep(0.1)
    return files


def is_changed(server, flow):
    """Whether administration still works: several changes, since a full disk may have room for one of them."""
    patch = lambda number: server.call("PATCH", f"/api/admin/v1/flows/{flow}", {"name": f"{number} " + "x" * 180}, AUTHORIZATION)
    statuses = []
    for number in range(CHANGES):
        statuses.append(patch(number)[0])
        time.sleep(0.2)
    return statuses == [200] * CHANGES


def once(site, reserve=RESERVE_BYTES):
    disk = site.stack.enter_context(small_disk(DISK_MEBIBYTES))
    server = site.server(site.store("SQLite", disk / "data"), settings={"SLUICE_DISK_RESERVE": str(reserve)})
    made = server.make_flow()
    clients = Clients(server, made)
    time.sleep(0.5)
    # Room for administration, but less than the reserve. Without a reserve, submissions take that too.
    files = fill(disk, FREE_BYTES)
    until(lambda: len(clients.history.keys(UNKNOWN)) > 200)
    time.sleep(1)
    has_refused = bool(clients.history.keys(UNKNOWN))
    administers = is_changed(server, made[1])
    reads = server.status(f"/api/v1/{made[0]}/flows/{made[1]}") == 200
    for file in files:
        file.unlink()
    freed = time.monotonic()
    until(lambda: clients.history.first_ok_after(freed) is not None)
    clients.end()
    clients.settle(server)
    verdict = clients.judge(server, recovery=clients.history.first_ok_after(freed))
    verdict.must(has_refused, "nothing was refused").must(administers, "a change by an administrator failed")
    return verdict.must(reads, "a read failed").must(verdict.recovery is not None, "it did not recover")


def on_postgresql(site, early=False):
    """The disk of PostgreSQL: it refuses writes or ends by itself, and is started again when there is space."""
    disk = site.stack.enter_context(small_disk(POSTGRES_MEBIBYTES))
    postgres = site.own_postgres(here=disk)
    server = site.server(site.store("PostgreSQL", postgres=postgres))
    made = server.make_flow()
    clients = Clients(server, made, early=early)
    time.sleep(0.5)
    files = fill(disk, 0)
    begun = len(clients.history.keys(UNKNOWN))
    until(lambda: early or len(clients.history.keys(UNKNOWN)) > begun + 200)
    time.sleep(1)
    has_refused = bool(clients.history.keys(UNKNOWN))
    reads = server.status(f"/api/v1/{made[0]}/flows/{made[1]}") == 200
    for file in files:
        file.unlink()
    if not is_alive(postgres.first):
        postgres.start()
    freed = time.monotonic()
    until(lambda: clients.history.first_ok_after(freed) is not None)
    clients.end()
    if not early:
        clients.settle(server)
    verdict = clients.judge(server, recovery=clients.history.first_ok_after(freed))
    verdict.must(has_refused or early, "nothing was refused").must(reads, "a read failed")
    return verdict.must(verdict.recovery is not None, "it did not recover")


FAULTS = [
    Fault("disk full (tmpfs)", once, lambda site: once(site, reserve=0), "no reserve", tries=(1, 5),
          fails="a change by an administrator failed", in_ci=True),
    Fault("disk full (tmpfs)", on_postgresql, lambda site: on_postgresql(site, early=True), EARLY, "PostgreSQL", tries=(1, 5)),
]
