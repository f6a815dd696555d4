"""Clients that connect and send nothing, half of a head, or half of a body: they are closed, and others do not notice them."""

import functools
import resource
import select
import socket
import threading
import time

from checker import OK
from clients import Clients
from faults import NO_CHECKS, PLAIN, Fault
from places import until
from cases.hostile_bodies import Memory

# The server closes after 10 seconds; the rest is for a busy machine.
CLOSED_SECONDS_MAX = 25.0
DRIPPING_SECONDS_MAX = 75.0
CONNECTION_KIBIBYTES_MAX = 16.0
P99_SECONDS_MAX, P99_FACTOR_MAX = 0.1, 3.0
PROBES, PROBE_SECONDS, PAUSE_SECONDS, DRIPPERS = 4, 3, 0.01, 20
HEAD = b"POST /api/v1/pk/trpc/response.submit HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
KINDS = (b"", HEAD[:60], HEAD + b"content-length: 500\r\n\r\n{\"answers\":")


class Crowd:
    """So many connections; `open` are those that the server has not closed yet."""

    def __init__(self, server, count):
        self.poll, self.open, self.closed_after, self.is_ended = select.epoll(), {}, [], False
        self.most = 0
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()
        for number in range(count):
            connection = socket.create_connection(server.address, timeout=60)
            connection.sendall(KINDS[number % len(KINDS)])
            connection.setblocking(False)
            self.open[connection.fileno()] = (connection, time.monotonic())
            self.poll.register(connection, select.EPOLLIN | select.EPOLLRDHUP)
            self.most = max(self.most, len(self.open))

    def run(self):
        while not self.is_ended:
            for number, _ in self.poll.poll(0.1):
                self.read(number)

    def read(self, number):
        connection, since = self.open[number]
        try:
            while data := connection.recv(4096):
                pass
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.closed_after.append(time.monotonic() - since)
            self.poll.unregister(number)
            del self.open[number]
            connection.close()

    def close(self):
        self.is_ended = True
        self.thread.join()
        for connection, _ in self.open.values():
            connection.close()
        self.poll.close()


def drip(server, closed):
    """A head that comes letter by letter and never ends."""
    start = time.monotonic()
    try:
        with socket.create_connection(server.address, timeout=60) as connection:
            while time.monotonic() < start + DRIPPING_SECONDS_MAX:
                connection.sendall(b"x-a: b\r\n" if time.monotonic() - start > 1 else HEAD)
                time.sleep(0.5)
        closed.append(None)
    except OSError:
        closed.append(time.monotonic() - start)


def p99(clients, since=0.0):
    entries = [entry for entry in clients.history.entries.values() if entry.outcome == OK and entry.sent >= since]
    times = sorted(entry.done - entry.sent for entry in entries)
    return times[len(times) * 99 // 100] if times else float("inf")


class Probe(Clients):
    """Clients that leave the machine some time."""

    def submit(self, *arguments):
        time.sleep(PAUSE_SECONDS if not self.ended.is_set() else 0)
        self.history.entries[arguments[1]].sent = time.monotonic()
        return super().submit(*arguments)


def probe(server, made, history=None):
    clients = Probe(server, made, count=PROBES, history=history)
    time.sleep(PROBE_SECONDS)
    return clients


def once(site, connections, store="SQLite", binary=None, patience=CLOSED_SECONDS_MAX):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    server = site.server(site.store(store), binary=binary or site.binary)
    made = server.make_flow()
    before = probe(server, made).end()
    usual, crowded = p99(before), time.monotonic()
    memory = Memory(server)
    crowd = Crowd(server, connections)
    site.stack.callback(crowd.close)
    each = memory.rise() * 1024 / crowd.most
    clients = probe(server, made, before.history)
    dripped = []
    drippers = [threading.Thread(target=drip, args=(server, dripped)) for _ in range(DRIPPERS if not binary else 0)]
    for thread in drippers:
        thread.start()
    until(lambda: not crowd.open, patience)
    clients.end()
    for thread in drippers:
        thread.join()
    with_crowd = p99(clients, crowded)
    verdict = clients.judge(server)
    slowest = max(crowd.closed_after + [it or float("inf") for it in dripped], default=0.0)
    verdict.notes.append(f"{crowd.most:,} open at once, closed after at most {slowest:.1f} s; {each:.1f} KiB a connection; "
                         f"p99 of the others {with_crowd * 1e3:.0f} ms, before {usual * 1e3:.0f} ms")
    verdict.must(not crowd.open, f"{len(crowd.open):,} still open after {patience:.0f} s")
    verdict.must(None not in dripped, "a head that never ends is not cut")
    if connections >= 1_000:
        verdict.must(crowd.most > 0.9 * connections, f"only {crowd.most:,} were open at once: the machine is too busy")
        verdict.must(each <= CONNECTION_KIBIBYTES_MAX, f"{each:.0f} KiB a connection")
        verdict.must(with_crowd <= max(P99_SECONDS_MAX, P99_FACTOR_MAX * usual), f"p99 {with_crowd * 1e3:.0f} ms")
    return verdict


control = functools.partial(once, connections=30, binary=PLAIN, patience=15.0)
FAULTS = [
    Fault(f"{count:,} slow and idle connections", functools.partial(once, connections=count, store=store), control, NO_CHECKS, store, tries,
          fails="still open after")
    for count, store, tries in ((300, "SQLite", (1, 0)), (15_000, "SQLite", (0, 1)), (15_000, "PostgreSQL", (0, 1)))
]
