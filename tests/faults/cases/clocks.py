"""Clocks that differ or step: no answer is refused to a version that the server has just resolved as open, and windows follow the clock.

On SQLite that is the clock of the server, on PostgreSQL the one of the database: a step of a node's clock changes nothing there.
"""

import datetime
import email.utils
import functools
import http.client
import json
import pathlib
import re
import time

from clients import Clients
from faults import Fault
from places import NotHere, until
from under_load import DEFINITION

STEP_SECONDS = 2 * 3600
STEPS = ("-300s", "-600s", "+0s")
# Whose clock is stepped: on PostgreSQL that of a node or of the database.
SERVER, NODE, DATABASE = "server", "node", "database"
NOT_FOLLOWED, FOLLOWED = "the window does not follow the clock", "the window follows the clock of the node"


def library():
    found = sorted(pathlib.Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
    if not found:
        raise NotHere("libfaketime is not installed")
    return str(found[0])


def faked(**clock):
    return {"LD_PRELOAD": library(), "FAKETIME_DONT_FAKE_MONOTONIC": "1", **clock}


def set_clock(clock, offset):
    """In one step: the server reads the file again and again, and an empty one has no offset."""
    following = clock.with_name("following")
    following.write_text(offset)
    following.rename(clock)


def stepping(site):
    """A file that holds how far a clock is off, and the environment of a process with this clock."""
    clock = site.folder() / "clock"
    # PostgreSQL runs as another user.
    clock.parent.chmod(0o755)
    clock.write_text("+0s")
    return clock, faked(FAKETIME_TIMESTAMP_FILE=str(clock), FAKETIME_NO_CACHE="1")


def with_clock(site, whose):
    """A server, and the file of the clock: its own one (on SQLite, or as a node) or that of its database."""
    clock, faked_clock = stepping(site)
    if whose == DATABASE:
        return site.server(site.store("PostgreSQL", postgres=site.own_postgres(environment=faked_clock))), clock
    return site.server(site.store("PostgreSQL" if whose == NODE else "SQLite"), settings=faked_clock), clock


def publish(server, flow):
    """A new version."""
    server.admin("PUT", f"/flows/{flow}/draft", {**DEFINITION, "title": str(time.monotonic())})
    server.admin("POST", f"/flows/{flow}/publish")


def seconds_off(server):
    """How far the server's Date is from this machine's."""
    connection = http.client.HTTPConnection(*server.address, timeout=30)
    connection.request("GET", "/livez")
    date = email.utils.parsedate_to_datetime(connection.getresponse().headers["date"])
    return (date - datetime.datetime.now(datetime.timezone.utc)).total_seconds()


def database_ahead(server):
    """How many seconds the clock of the database is ahead of the node's, as the node measures it."""
    return float(re.search(rb"^sluice_clock_offset_seconds (.*)", server.call("GET", "/metrics")[1], re.M)[1])


def await_step(server, whose, seconds):
    """A node reads the clock of the database once a second."""
    wanted = seconds if whose == DATABASE else -seconds
    assert until(lambda: abs(database_ahead(server) - wanted) < 60), f"the clock of the {whose} was not stepped by {seconds} s"


def answer(server, made, clients, name):
    """One answer to the version that this server resolves."""
    version = json.loads(server.call("GET", f"/api/v1/{made[0]}/flows/{made[1]}")[1])["flowVersionId"]
    clients.version = version
    key = f"{name}-1"
    clients.history.invoke(key, f"{key} text")
    outcome = clients.submit(http.client.HTTPConnection(*server.address, timeout=30), key)
    clients.history.note(key, outcome)
    return outcome


def verdict_of(clients, server):
    verdict = clients.judge(server)
    refused = len(clients.history.keys("refused"))
    return verdict.must(not refused, f"{refused} {REFUSED}")


def nodes_apart(site):
    store = site.store("PostgreSQL")
    nodes = [site.server(store, settings=faked(FAKETIME=offset)) for offset in ("+0s", "+300s", "-300s")]
    offsets = [database_ahead(node) for node in nodes]
    assert max(offsets) - min(offsets) > 500, f"the clocks are not apart: {offsets}"
    made = nodes[0].make_flow()
    clients = Clients(nodes, made, count=0)
    for number, publisher in enumerate(nodes):
        publish(publisher, made[1])
        for other, node in enumerate(nodes):
            answer(node, made, clients, f"{number}-{other}")
    return verdict_of(clients, nodes[0])


def stepped_back(site, whose):
    server, clock = with_clock(site, whose)
    made = server.make_flow()
    clients = Clients(server, made, count=0)
    for number, offset in enumerate(STEPS):
        publish(server, made[1])
        set_clock(clock, offset)
        if whose == SERVER:
            time.sleep(2.1)
            # The server's clock stands still instead of going back.
            assert not offset.startswith("-") or seconds_off(server) < -1, "the clock was not stepped back"
        else:
            await_step(server, whose, int(offset[:-1]))
        answer(server, made, clients, f"step-{number}")
    return verdict_of(clients, server)


def not_open_yet(site, store):
    """The version opens in 5 minutes, as it does for a node whose clock is behind."""
    server = site.server(site.store(store))
    made = server.make_flow()
    opens = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(minutes=5)
    server.admin("PATCH", f"/flows/{made[1]}", {"liveWindow": {"startsAt": opens.strftime("%Y-%m-%dT%H:%M:%S.000Z")}})
    clients = Clients(server, made, count=0)
    answer(server, made, clients, "early")
    return verdict_of(clients, server)


def at(seconds):
    """A time so many seconds from now, by the clock of this machine."""
    moment = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.000Z")


def two_hours(site, sign, whose, by=STEP_SECONDS, is_followed=True):
    """The clock steps by two hours under load: a window that ends, or begins, within them follows it or not, and nothing else changes."""
    server, clock = with_clock(site, whose)
    made, windowed = server.make_flow(), server.make_flow()
    edge = at(sign * STEP_SECONDS // 2)
    server.admin("PATCH", f"/flows/{windowed[1]}", {"liveWindow": {"endsAt" if sign > 0 else "startsAt": edge}})
    clients, there = Clients(server, made, count=4), Clients(server, windowed, count=0)
    is_open_before = answer(server, windowed, there, "before") == "ok"
    clients.acknowledge(50)
    set_clock(clock, f"{sign * by:+d}s")
    stepped = time.monotonic()
    if whose != SERVER:
        await_step(server, whose, sign * by)
    until(lambda: clients.history.first_ok_after(stepped) is not None)
    # Timers do not follow: those of requests, of the queue and of the pool would all have passed.
    goes_on = until(lambda: sum(1 for entry in list(clients.history.entries.values()) if entry.outcome == "ok" and entry.sent > stepped) > 50)
    is_open_after = answer(server, windowed, there, "after") == "ok"
    clients.end()
    clients.settle(server)
    verdict = clients.judge(server, recovery=clients.history.first_ok_after(stepped))
    verdict.broken += there.history.odd_replies()
    verdict.must(server.status("/readyz") == 200, "it is not ready").must(goes_on, "it does not go on")
    verdict.must(is_open_before, "the window is not open before the step")
    return verdict.must(is_open_after != is_followed, NOT_FOLLOWED if is_followed else FOLLOWED)


WITHOUT = "a version that opens in 5 minutes, as a node by its own clock sees it"
REFUSED = "refused to a version that was resolved as open"
FAULTS = [
    Fault("nodes 5 minutes apart", nodes_apart, lambda site: not_open_yet(site, "PostgreSQL"), WITHOUT, "PostgreSQL", (1, 5),
          fails=REFUSED),
    Fault("clock stepped back 5 and 10 minutes", functools.partial(stepped_back, whose=SERVER), lambda site: not_open_yet(site, "SQLite"),
          WITHOUT, tries=(1, 5), fails=REFUSED, in_ci=True),
    *(Fault(f"{whose}'s clock stepped back 5 and 10 minutes", functools.partial(stepped_back, whose=whose),
            lambda site: not_open_yet(site, "PostgreSQL"), WITHOUT, "PostgreSQL", (1, 5), fails=REFUSED)
      for whose in (NODE, DATABASE)),
]
for name, sign in (("forward", 1), ("back", -1)):
    made = functools.partial(two_hours, sign=sign)
    FAULTS += [
        Fault(f"clock stepped {name} 2 hours under load", functools.partial(made, whose=SERVER),
              functools.partial(made, whose=SERVER, by=0), "no step", tries=(1, 5), fails=NOT_FOLLOWED, in_ci=True),
        # A server on SQLite does what a node may not.
        Fault(f"node's clock stepped {name} 2 hours under load", functools.partial(made, whose=NODE, is_followed=False),
              functools.partial(made, whose=SERVER, is_followed=False), "a server that follows its own clock, as on SQLite", "PostgreSQL",
              (1, 5), fails=FOLLOWED),
        Fault(f"database's clock stepped {name} 2 hours under load", functools.partial(made, whose=DATABASE),
              functools.partial(made, whose=DATABASE, by=0), "no step", "PostgreSQL", (1, 5), fails=NOT_FOLLOWED),
    ]
