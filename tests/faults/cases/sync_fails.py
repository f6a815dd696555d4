"""A sync of the log fails (EIO): that batch is not acknowledged, the process ends, and a retry stores it once."""

import random
import signal
import subprocess
import time

from clients import Clients
from faults import Fault
from places import Disk, need

SYNCS = "fsync,fdatasync"


def strace(inject, first):
    need("strace")
    return ("strace", "-f", "--seccomp-bpf", "-o", "/dev/null", "-e", f"trace={SYNCS}",
            "-e", f"inject={SYNCS}:{inject}:when={first}+")


def once(site):
    where = site.store("SQLite")
    server = site.server(where, wrapper=strace("error=EIO", random.randrange(60, 400)))
    clients = Clients(server, server.make_flow())
    try:
        code = server.process.wait(timeout=30)
    except subprocess.TimeoutExpired:
        code = "none"
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
    server = site.server(where, wrapper=strace("retval=0", 60))
    clients = Clients(server, server.make_flow())
    time.sleep(2)
    disk.cut_power()
    server.stop(signal.SIGKILL)
    clients.end()
    disk.power_on()
    again = site.server(where)
    verdict = clients.judge(again)
    again.stop()
    return verdict


FAULTS = [Fault("a sync fails (EIO)", once, control, "the error swallowed, then a power cut", tries=(1, 20), in_ci=True)]
