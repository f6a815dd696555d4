"""Receivers of webhooks that hang, drip or redirect do not delay submissions, which are compared with those to a second server.

Both have three endpoints and get the same load at the same time; the receivers of the second one reply at once. The machine may be
busy, so times are compared within each second: other work delays both, and neither more often than the other.
"""

import functools
import json
import time

from checker import OK
from faults import PLAIN, Fault
from cases.receivers import CLIENTS, SETTINGS, Paced, add_endpoints, listeners
from receiver import Receiver

PERIODS, PERIOD_SECONDS = 20, 1.0
# By how much submissions may be slower, and in how many periods they may be all the same: by chance, 15 of 20 are exceeded once in
# 170 times if other work delays the one as often as the other.
FACTOR_MAX, SLOWER_MAX = 1.1, 15


def served(site, store, binary, urls):
    """A server with these endpoints, and its flow. The plain one sends to the first, before it replies."""
    settings = {"PLAIN_SENDS_TO": urls[0]} if binary else SETTINGS
    server = site.server(site.store("SQLite" if binary else store), binary=binary or site.binary, settings=settings)
    app = json.loads(server.admin("POST", "/apps", {"name": "Receivers"}))
    add_endpoints(server, app, () if binary else urls)
    return server, server.make_flow(app)


def percentiles(clients, start):
    """The p50 and the p99 of what was sent in each period; infinite if nothing could be sent."""
    periods = [[] for _ in range(PERIODS)]
    for entry in clients.history.entries.values():
        at = int((entry.sent - start) / PERIOD_SECONDS)
        if entry.outcome == OK and 0 <= at < PERIODS:
            periods[at].append(entry.done - entry.sent)
    of = lambda times, share: sorted(times)[int(len(times) * share)] if times else float("inf")
    return {name: [of(times, share) for times in periods] for name, share in (("p50", 0.5), ("p99", 0.99))}


def once(site, store, binary=None):
    receiver = Receiver()
    site.stack.callback(receiver.stop)
    _, by_name = listeners(site)
    urls = [[listener.url for listener in by_name.values()], [f"{receiver.url}{number}" for number in range(len(by_name))]]
    servers = [served(site, store, binary, its) for its in urls]
    start = time.monotonic()
    clients = [Paced(server, made, count=CLIENTS) for server, made in servers]
    time.sleep(PERIODS * PERIOD_SECONDS)
    for each in clients:
        each.ended.set()
    delayed, usual = (percentiles(each.end(), start) for each in clients)
    for each, (server, _) in zip(clients, servers):
        each.settle(server)
    verdict, other = (each.judge(server) for each, (server, _) in zip(clients, servers))
    verdict.broken += [f"with receivers that reply: {what}" for what in other.broken]
    for name in usual:
        slower = sum(1 for here, there in zip(delayed[name], usual[name]) if here > FACTOR_MAX * there)
        median = lambda times: sorted(times)[PERIODS // 2] * 1e3
        verdict.notes.append(f"{name} {median(delayed[name]):.1f} ms, with receivers that reply {median(usual[name]):.1f} ms (medians of "
                             f"{PERIODS} periods); more than 10 % slower in {slower}")
        verdict.must(slower <= SLOWER_MAX, f"{name} more than 10 % slower in {slower} of {PERIODS} periods")
    sent = [listener.count for name, listener in by_name.items() if name == "hangs" or not binary]
    return verdict.must(all(sent) and receiver.deliveries, "nothing was sent to a receiver")


FAULTS = [
    Fault("submissions while receivers hang, drip, redirect", functools.partial(once, store=store),
          functools.partial(once, store=store, binary=PLAIN), "a plain server that sends before it replies", store, tries=(1, 3),
          fails="% slower in")
    for store in ("SQLite", "PostgreSQL")
]
