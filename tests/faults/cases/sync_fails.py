"""A sync of the log fails (EIO): that batch is not acknowledged, the process ends, and a retry stores it once."""

import random
import signal
import time

from clients import CLIENTS, Clients
from faults import Fault
from places import Disk, attach, is_alive, need, until

from . import power_cut

SYNCS = "fsync,fdatasync"
FIRST_SWALLOWED = 60


def strace(inject, first):
    need("strace")
    return ("strace", "-f", "--seccomp-bpf", "-o", "/dev/null", "-e", f"trace={SYNCS}",
            "-e", f"inject={SYNCS}:{inject}:when={first}+")


def once(site):
    where = site.store("SQLite")
    server = site.server(where, wrapper=strace("error=EIO", random.randrange(60, 400)))
    clients = Clients(server, server.make_flow())
    has_ended = until(lambda: server.process.poll() is not None)
    code = server.process.returncode if has_ended else "none"
    clients.end()
    end = time.monotonic()
    server.stop(signal.SIGKILL)
    again = site.server(where)
    clients.settle(again)
    verdict = clients.judge(again, recovery=again.start_seconds)
    later = [entry for entry in clients.history.entries.values() if entry.sent > end and entry.outcome == "ok"]
    return verdict.must(code == 4, f"exit code {code}").must(not later, "acknowledged after the end")


def control(site):
    """The error is swallowed: the sync did nothing, and is reported as done. Then the power fails."""
    disk = Disk(site.stack)
    where = site.store("SQLite", disk.path / "data")
    server = site.server(where, wrapper=strace("retval=0", FIRST_SWALLOWED))
    clients = Clients(server, server.make_flow())
    # A sync is for at most one submission of each client, so by then many of them did nothing.
    clients.acknowledge(2 * FIRST_SWALLOWED * CLIENTS)
    disk.cut_power()
    server.stop(signal.SIGKILL)
    clients.end()
    disk.power_on()
    return clients.judge_without_syncs(lambda: site.server(where, ready_seconds=60))


def on_postgresql(site):
    """PostgreSQL ends all its sessions when a sync of its log fails, and recovers from the log."""
    postgres = site.own_postgres(settings={"fsync": "on", "full_page_writes": "on"})
    server = site.server(site.store("PostgreSQL", postgres=postgres))
    clients = Clients(server, server.make_flow())
    clients.acknowledge(200)
    detach = attach(site.stack, postgres.first, f"error=EIO:when={random.randint(1, 5)}")
    has_failed = until(lambda: len(clients.history.keys("unknown")) > 50)
    detach()
    if not is_alive(postgres.first):
        postgres.start()
    at = time.monotonic()
    until(lambda: clients.history.first_ok_after(at) is not None)
    clients.end()
    clients.settle(server)
    verdict = clients.judge(server, recovery=clients.history.first_ok_after(at))
    verdict.must(verdict.recovery is not None, "it did not recover")
    return verdict.must(has_failed, "no sync has failed")


SWALLOWED = "the error swallowed, then a power cut"
FAULTS = [
    Fault("a sync fails (EIO)", once, control, SWALLOWED, tries=(1, 20), in_ci=True),
    Fault("a sync fails (EIO)", on_postgresql,
          lambda site: power_cut.on_postgresql(site, disturb=lambda site, postgres: attach(site.stack, postgres.first, "retval=0")), SWALLOWED,
          "PostgreSQL", tries=(1, 5)),
]
