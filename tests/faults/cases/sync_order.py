"""Whether a reply comes before the sync of what it acknowledges, as the system sees it: the order of calls in a trace of strace."""

import functools
import http.client
import re
import signal
import subprocess

from checker import OK
from clients import Clients
from faults import PLAIN, Fault
from places import is_alive, is_traced, need, until

SUBMISSIONS = 20
CALLS = "fsync,fdatasync,pwrite64,recvfrom,read,sendto,write,writev"
STRACE = ("strace", "-f", "-y", "-s", "120", "-e", f"trace={CALLS}")


class Order:
    """Reads a trace, in which submissions come one after the other: between each and its reply, the log must be written, and then
    synced. `log` is a part of the path of the log."""

    def __init__(self, log):
        self.log, self.replies, self.early = log, 0, 0
        self.is_waiting = self.is_written = self.is_synced = False
        # By thread: what was written before the sync that it is in.
        self.syncing = {}

    def note(self, line):
        thread, _, call = line.partition(" ")
        call = call.strip()
        resumed = re.match(r"<\.\.\. (\w+) resumed>", call)
        name = resumed[1] if resumed else call.split("(", 1)[0]
        if name in ("fsync", "fdatasync"):
            self.sync(thread, call, bool(resumed))
        elif name == "pwrite64" and self.log in call and not resumed:
            self.is_written = True
        elif name in ("recvfrom", "read") and "response.submit" in call:
            self.is_waiting, self.is_written, self.is_synced = True, False, False
        elif self.is_waiting and not resumed and "HTTP/1.1 200" in call:
            self.replies += 1
            self.early += not self.is_synced
            self.is_waiting = False

    def sync(self, thread, call, is_resumed):
        if not is_resumed and self.log in call:
            self.syncing[thread] = self.is_written
        if "= 0" in call and self.syncing.pop(thread, False):
            self.is_synced = True


def answer(server, made):
    """Submissions, one after the other."""
    clients = Clients(server, made, count=0)
    connection = http.client.HTTPConnection(*server.address, timeout=60)
    for number in range(SUBMISSIONS):
        key = f"order-{number}"
        clients.history.invoke(key, f"{key} text")
        clients.history.note(key, clients.submit(connection, key))
    return clients


def judged(clients, server, trace, log):
    order = Order(log)
    for line in trace.read_text(errors="replace").splitlines():
        order.note(line)
    verdict = clients.judge(server)
    verdict.must(order.replies >= len(clients.history.keys(OK)) > 0, f"only {order.replies} replies are in the trace")
    return verdict.must(not order.early, f"{order.early} {EARLY_REPLIES}")


def on_sqlite(site, binary=None, settings=()):
    need("strace")
    where, trace = site.store("SQLite"), site.folder() / "trace"
    server = site.server(where, binary=binary or site.binary, wrapper=(*STRACE, "-o", str(trace)), settings=settings)
    clients = answer(server, server.make_flow())
    server.stop(signal.SIGKILL)
    return judged(clients, site.server(where, binary=binary or site.binary, settings=settings), trace, "sluice.db-wal")


def on_postgresql(site, fsync="on"):
    need("strace")
    postgres = site.own_postgres(settings={"fsync": fsync})
    where, trace = site.store("PostgreSQL", postgres=postgres), site.folder() / "trace"
    server = site.server(where)
    made = server.make_flow()
    processes = [server.pid(), *postgres.processes()]
    command = [*STRACE, "-o", str(trace), *(part for process in processes for part in ("-p", str(process)))]
    strace = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    site.stack.callback(strace.wait)
    site.stack.callback(strace.kill)
    until(lambda: all(map(is_traced, filter(is_alive, processes))))
    clients = answer(server, made)
    strace.send_signal(signal.SIGINT)
    strace.wait()
    return judged(clients, server, trace, "/pg_wal/")


EARLY_REPLIES = "replies before their sync"
FAULTS = [
    Fault("replies and syncs in a trace", on_sqlite,
          functools.partial(on_sqlite, binary=PLAIN, settings={"PLAIN_SYNCHRONOUS": "NORMAL"}),
          "a plain server with synchronous=NORMAL", tries=(1, 5), fails=EARLY_REPLIES, in_ci=True),
    Fault("replies and syncs in a trace", on_postgresql, functools.partial(on_postgresql, fsync="off"), "PostgreSQL with fsync=off",
          "PostgreSQL", tries=(1, 5), fails=EARLY_REPLIES, in_ci=True),
]
