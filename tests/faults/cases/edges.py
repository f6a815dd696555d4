"""Publishes against submissions: every stored response is legal by an offline replay of the recorded times.

Clients submit to the version that is current and to the one that is about to be, on every node, while one node publishes. Every
twentieth publish has a grace window of a second, so that there are both kinds of edges.
"""

import functools
import json

from checker import OK, REFUSED
from clients import Clients
from faults import NO_CHECKS, PLAIN, Fault
from places import until
from under_load import DEFINITION

CLIENTS, GRACE_EVERY = 4, 20
# More than these were around each publish, or the edges were not tested.
OUTCOMES_MIN = 1


class AtTheEdge(Clients):
    """Submits in turn to two versions."""

    def __init__(self, servers, made):
        self.edge, self.versions = [made[2], made[2]], {}
        super().__init__(servers, made, count=CLIENTS)

    def body(self, key, is_refused):
        # A retry is to the same version.
        version = self.versions.setdefault(key, self.edge[int(key.rsplit("-", 1)[1]) % 2])
        return {**super().body(key, is_refused), "flowVersionId": version}


def listed(server, path):
    """All items of a list."""
    items, after = [], ""
    while after is not None:
        page = json.loads(server.admin("GET", f"{path}?limit=1000{after and '&after=' + after}"))
        items += page["items"]
        after = page["next"]
    return items


def is_legal(version, at):
    """Whether a version accepts a response at this time. All of them are in UTC, in one form."""
    passed = lambda edge: edge is not None and at >= edge
    if version is None or version["publishedAt"] is None or passed(version["retiredAt"]):
        return False
    return not passed(version["supersededAt"]) or not passed(version["graceEndsAt"] or version["supersededAt"])


def once(site, store, nodes=1, count=20, binary=None):
    where = site.store(store)
    servers = [site.server(where, binary=binary or site.binary) for _ in range(nodes)]
    made = servers[0].make_flow()
    resolved = lambda server: server.call("GET", f"/api/v1/{made[0]}/flows/{made[1]}")[0] == 200
    until(lambda: all(map(resolved, servers)))
    clients = AtTheEdge(servers, made)
    for number in range(count):
        draft = {**DEFINITION, "title": f"Version {number}"}
        following = json.loads(servers[0].admin("PUT", f"/flows/{made[1]}/draft", draft))["flowVersionId"]
        clients.edge = [clients.edge[1], following]
        if number % GRACE_EVERY in (0, 1):
            grace = {"graceWindowSeconds": 1 - number % GRACE_EVERY}
            servers[0].admin("PATCH", f"/flows/{made[1]}", grace)
        servers[0].admin("POST", f"/flows/{made[1]}/publish")
        # So that there are submissions before and after each.
        seen = len(clients.history.entries)
        until(lambda: len(clients.history.entries) > seen + 2 * CLIENTS)
    clients.end()
    clients.settle(servers[-1])
    verdict = clients.judge(servers[-1])
    versions = {version["flowVersionId"]: version for version in listed(servers[-1], f"/flows/{made[1]}/versions")}
    rows = servers[-1].admin("GET", f"/flows/{made[1]}/export?format=jsonl").splitlines()
    rows = [json.loads(row) for row in rows if row]
    illegal = sum(1 for row in rows if not is_legal(versions.get(row["flowVersionId"]), row["receivedAt"]))
    refused = len(clients.history.keys(REFUSED))
    verdict.notes.append(f"{count:,} publishes, {refused:,} submissions refused")
    verdict.must(not illegal, f"{illegal:,} stored that the replay does not allow")
    verdict.must(len(versions) == count + 1, f"{len(versions)} versions after {count} publishes")
    around = min(refused, len(clients.history.keys(OK)))
    return verdict.must(binary or around > count * OUTCOMES_MIN, "too few around the publishes")


FAULTS = [
    Fault("publishes against submissions" + (f", {nodes} nodes" if nodes > 1 else ""),
          functools.partial(once, store=store, nodes=nodes), functools.partial(once, store="SQLite", binary=PLAIN), NO_CHECKS, store,
          tries=(20, 1_000), series=1_000, fails="stored that the replay does not allow", in_ci=True)
    for store, nodes in (("SQLite", 1), ("PostgreSQL", 2))
]
