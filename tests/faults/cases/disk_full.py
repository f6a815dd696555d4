"""The disk is full: submissions get 503, /readyz says so, and it recovers by itself.

On SQLite, reads and administration go on. On PostgreSQL, what was served before is served from memory.
"""

import contextlib
import json
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
# A check of /readyz is shared for a second, and may take five; the rest is for a busy machine.
READINESS_SECONDS_MAX = 30


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


def health(server, why):
    """Whether /readyz is 503 for this reason, and /healthz is 200, as docs/running.md has them."""
    def is_refused():
        try:
            status, text = server.call("GET", "/readyz")
        except OSError:
            return False
        return status == 503 and json.loads(text)["code"] == why

    return until(is_refused, READINESS_SECONDS_MAX), server.status("/healthz") == 200


def must_be_healthy(verdict, server, why, is_unready, answers):
    verdict.must(is_unready, f"/readyz was not 503 {why}").must(answers, "/healthz was not 200")
    is_ready = until(lambda: server.status("/readyz") == 200, READINESS_SECONDS_MAX)
    return verdict.must(is_ready, "/readyz is not 200 afterwards")


def is_read(server, flow):
    """Whether a stored response can be read."""
    status, text = server.call("GET", f"/api/admin/v1/flows/{flow}/responses?limit=1", headers=AUTHORIZATION)
    return status == 200 and len(json.loads(text)["items"]) == 1


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
    why = "disk_reserve" if reserve else "not_ready"
    healthy = health(server, why)
    administers = is_changed(server, made[1])
    reads = is_read(server, made[1])
    for file in files:
        file.unlink()
    freed = time.monotonic()
    until(lambda: clients.history.first_ok_after(freed) is not None)
    clients.end()
    clients.settle(server)
    verdict = clients.judge(server, recovery=clients.history.first_ok_after(freed))
    verdict.must(has_refused, "nothing was refused").must(administers, "a change by an administrator failed")
    must_be_healthy(verdict, server, why, *healthy).must(reads, "a read of the store failed")
    return verdict.must(verdict.recovery is not None, "it did not recover")


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
    healthy = health(server, "not_ready")
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
    verdict.must(has_refused or early, "nothing was refused").must(reads, "a flow was not served from memory")
    must_be_healthy(verdict, server, "not_ready", *healthy)
    return verdict.must(verdict.recovery is not None, "it did not recover")


FAULTS = [
    Fault("disk full (tmpfs)", once, lambda site: once(site, reserve=0), "no reserve", tries=(1, 5),
          fails="a change by an administrator failed", in_ci=True),
    Fault("disk full (tmpfs)", on_postgresql, lambda site: on_postgresql(site, early=True), EARLY, "PostgreSQL", tries=(1, 5)),
]
