"""The power fails under load: nothing that the disk has not synced is there afterwards."""

import random
import signal
import time

from clients import Clients
from faults import Fault
from places import Disk, need

# The same calls, without effect.
NO_SYNC = ("strace", "-f", "--seccomp-bpf", "-o", "/dev/null", "-e", "trace=fsync,fdatasync",
           "-e", "inject=fsync,fdatasync:retval=0:when=40+")


def once(site, wrapper=()):
    disk = Disk(site.stack)
    where = site.store("SQLite", disk.path / "data")
    server = site.server(where, wrapper=wrapper)
    clients = Clients(server, server.make_flow())
    time.sleep(1 + random.random())
    disk.cut_power()
    time.sleep(0.2)
    server.stop(signal.SIGKILL)
    clients.end()
    disk.power_on()
    again = site.server(where)
    if not wrapper:
        clients.settle(again)
    verdict = clients.judge(again, recovery=again.start_seconds)
    again.stop()
    return verdict


def control(site):
    need("strace")
    return once(site, NO_SYNC)


FAULTS = [Fault("power cut (ext4)", once, control, "syncs without effect", tries=(1, 12))]
