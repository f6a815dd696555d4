"""Clocks that differ or step back: no answer is refused to a version that the server has just resolved as open."""

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
    offsets = [re.search(rb"^sluice_clock_offset_seconds (.*)", node.call("GET", "/metrics")[1], re.M)[1] for node in nodes]
    assert max(map(float, offsets)) - min(map(float, offsets)) > 500, f"the clocks are not apart: {offsets}"
    made = nodes[0].make_flow()
    clients = Clients(nodes, made, count=0)
    for number, publisher in enumerate(nodes):
        publish(publisher, made[1])
        for other, node in enumerate(nodes):
            answer(node, made, clients, f"{number}-{other}")
    return verdict_of(clients, nodes[0])


def stepped_back(site):
    clock = site.folder() / "clock"
    clock.write_text("+0s")
    server = site.server(site.store("SQLite"), settings=faked(FAKETIME_TIMESTAMP_FILE=str(clock), FAKETIME_NO_CACHE="1"))
    made = server.make_flow()
    clients = Clients(server, made, count=0)
    for number, offset in enumerate(STEPS):
        publish(server, made[1])
        set_clock(clock, offset)
        time.sleep(2.1)
        # The server's clock stands still instead of going back.
        assert not offset.startswith("-") or seconds_off(server) < -1, "the clock was not stepped back"
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


def two_hours(site, sign, by=STEP_SECONDS):
    """The clock steps by two hours under load: a window that ends, or begins, within them is followed, and nothing else changes."""
    clock = site.folder() / "clock"
    clock.write_text("+0s")
    server = site.server(site.store("SQLite"), settings=faked(FAKETIME_TIMESTAMP_FILE=str(clock), FAKETIME_NO_CACHE="1"))
    made, windowed = server.make_flow(), server.make_flow()
    edge = at(sign * STEP_SECONDS // 2)
    server.admin("PATCH", f"/flows/{windowed[1]}", {"liveWindow": {"endsAt" if sign > 0 else "startsAt": edge}})
    clients, there = Clients(server, made, count=4), Clients(server, windowed, count=0)
    is_open_before = answer(server, windowed, there, "before") == "ok"
    clients.acknowledge(50)
    set_clock(clock, f"{sign * by:+d}s")
    stepped = time.monotonic()
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
    return verdict.must(not is_open_after, "the window does not follow the clock")


WITHOUT = "a version that opens in 5 minutes, as a node by its own clock sees it"
REFUSED = "refused to a version that was resolved as open"
FAULTS = [
    Fault("nodes 5 minutes apart", nodes_apart, lambda site: not_open_yet(site, "PostgreSQL"), WITHOUT, "PostgreSQL", (1, 5),
          fails=REFUSED),
    Fault("clock stepped back 5 and 10 minutes", stepped_back, lambda site: not_open_yet(site, "SQLite"), WITHOUT, tries=(1, 5),
          fails=REFUSED, in_ci=True),
    *(Fault(f"clock stepped {name} 2 hours under load", functools.partial(two_hours, sign=sign),
            functools.partial(two_hours, sign=sign, by=0), "no step", tries=(1, 5), fails="does not follow the clock", in_ci=True)
      for name, sign in (("forward", 1), ("back", -1))),
]
