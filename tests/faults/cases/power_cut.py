"""The power fails under load: nothing that the disk has not synced is there afterwards."""

import random
import signal
import time

from clients import CLIENTS, Clients
from faults import Fault
from places import Disk, need, run

# The same calls, without effect.
FIRST_OMITTED = 40
NO_SYNC = ("strace", "-f", "--seccomp-bpf", "-o", "/dev/null", "-e", "trace=fsync,fdatasync",
           "-e", f"inject=fsync,fdatasync:retval=0:when={FIRST_OMITTED}+")


def on_sqlite(site, wrapper=()):
    disk = Disk(site.stack)
    where = site.store("SQLite", disk.path / "data")
    server = site.server(where, wrapper=wrapper)
    clients = Clients(server, server.make_flow())
    # A sync is for at most one submission of each client, so by then some were omitted.
    clients.acknowledge(2 * FIRST_OMITTED * CLIENTS if wrapper else 100)
    time.sleep(random.random())
    disk.cut_power()
    time.sleep(0.2)
    server.stop(signal.SIGKILL)
    clients.end()
    disk.power_on()
    if wrapper:
        return clients.judge_without_syncs(lambda: site.server(where, ready_seconds=60))
    again = site.server(where)
    clients.settle(again)
    verdict = clients.judge(again, recovery=again.start_seconds)
    again.stop()
    return verdict


def on_postgresql(site, fsync="on", disturb=None):
    """The disk is that of PostgreSQL; the server goes on, and serves again when PostgreSQL does. `disturb` may take its syncs away."""
    disk = Disk(site.stack)
    postgres = site.own_postgres(settings={"fsync": fsync, "full_page_writes": fsync}, here=disk.path)
    where = site.store("PostgreSQL", postgres=postgres)
    server = site.server(where)
    made = server.make_flow()
    # scripts/postgres creates its files without syncs.
    postgres.ask("CHECKPOINT")
    run("sync", "-f", disk.path)
    if disturb:
        disturb(site, postgres)
    clients = Clients(server, made)
    clients.acknowledge(100)
    time.sleep(random.random())
    disk.cut_power()
    time.sleep(0.2)
    postgres.kill()
    disk.power_on()
    postgres.start()
    at = time.monotonic()
    time.sleep(1)
    clients.end()
    # Without syncs, what was unknown stays so: only what is left is compared.
    if fsync == "on" and not disturb:
        clients.settle(server)
    verdict = clients.judge(server, recovery=clients.history.first_ok_after(at))
    server.stop()
    postgres.manage("stop", "-m", "immediate")
    return verdict


def control(site):
    need("strace")
    return on_sqlite(site, NO_SYNC)


FAULTS = [
    Fault("power cut (ext4)", on_sqlite, control, "syncs without effect", tries=(1, 12), in_ci=True),
    Fault("power cut (ext4)", on_postgresql, lambda site: on_postgresql(site, "off"), "fsync=off", "PostgreSQL", tries=(1, 12)),
]
