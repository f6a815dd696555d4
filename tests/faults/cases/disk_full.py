"""The disk is full: submissions get 503, reads and administration go on, and it recovers by itself."""

import contextlib
import os
import time

from checker import UNKNOWN
from clients import Clients
from faults import Fault
from places import small_disk
from under_load import AUTHORIZATION

DISK_MEBIBYTES = 64
RESERVE_BYTES, FREE_BYTES = 8 * 1024 * 1024, 6 * 1024 * 1024
SECONDS_MAX = 30


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
    """Whether administration still works."""
    status, _ = server.call("PATCH", f"/api/admin/v1/flows/{flow}", {"name": "Changed " + "x" * 180}, AUTHORIZATION)
    return status == 200


def until(what):
    end = time.monotonic() + SECONDS_MAX
    while not what() and time.monotonic() < end:
        time.sleep(0.05)


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


FAULTS = [Fault("disk full (tmpfs)", once, lambda site: once(site, reserve=0), "no reserve", tries=(1, 5))]
