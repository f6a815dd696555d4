"""kill -9 of nodes under load, with a webhook endpoint: at least one delivery for every stored response, none for a refused one.

Of ten submissions three may be refused: one has an answer to a question that does not exist, one is to a retired version, and one to a
flow that has all its responses soon. Every text begins with its key, so a delivery of a refused one would be noticed. Before every
second kill the receiver hangs, so that there is something that the killed node had not sent.

Two nodes on SQLite do not exist: a database file has one process.
"""

import collections
import contextlib
import functools
import itertools
import json
import pathlib
import signal
import time

from checker import REFUSED, digest, judge
from clients import Clients
from faults import Fault
from places import until
from receiver import Receiver
from under_load import DEFINITION

FROM_MEMORY = pathlib.Path(__file__).parents[1] / "from_memory.py"
KILLS, CLIENTS = 3, 8
# Acknowledged responses before a kill, and of those the ones after the receiver hangs: more than are sent at a time.
EACH, HELD = 120, 40
DELIVERED_FIRST = 20
LIMIT = 25
# Between two submissions of a client, so that the load is bounded while a node starts.
PAUSE_SECONDS = 0.02
STARTS_MAX = 5
# The lease of a killed node is 40 s.
DELIVERED_SECONDS_MAX = 240
SETTINGS = {"SLUICE_MASTER_KEY": "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
            "SLUICE_WEBHOOK_ALLOW": "127.0.0.0/8", "SLUICE_WEBHOOK_ALLOW_HTTP": "true"}
INVALID, RETIRED, LIMITED = "invalid", "retired", "over a limit"
KINDS = {3: INVALID, 5: RETIRED, 7: LIMITED}


def kind_of(key):
    return KINDS.get(int(key.rsplit("-", 1)[1]) % 10, "")


class Flows:
    """An app with an open flow, one whose version is retired, and one with a limit; an endpoint, unless events are sent from memory."""

    def __init__(self, server, receiver, with_outbox):
        made = lambda path, body=None: json.loads(server.admin("POST", path, body))
        app = made("/apps", {"name": "Deliveries"})
        self.key, self.flows, self.versions = app["apiKeys"][0], {}, {}
        for name in ("", RETIRED, LIMITED):
            new = {"name": name or "open", "kind": "survey", "definition": DEFINITION}
            flow = self.flows[name] = made(f"/apps/{app['appId']}/flows", new)["flowId"]
            self.versions[name] = made(f"/flows/{flow}/publish")["flowVersionId"]
        server.admin("PATCH", f"/flows/{self.flows[LIMITED]}", {"closeAfter": LIMIT})
        made(f"/flow_versions/{self.versions[RETIRED]}/retire")
        self.versions[INVALID] = self.versions[""]
        if with_outbox:
            made(f"/apps/{app['appId']}/webhooks", {"url": receiver.url, "events": ["response.created"]})

    def stored(self, server):
        """The text of every stored response by its id, and how many the summaries count."""
        lines = [line for flow in self.flows.values()
                 for line in server.admin("GET", f"/flows/{flow}/export?format=jsonl").splitlines() if line]
        rows = map(json.loads, lines)
        counted = sum(server.counted(flow) for flow in self.flows.values())
        return {row["responseId"]: row["answers"]["why"] for row in rows}, counted


class Mixed(Clients):
    """Clients whose submissions are of all kinds."""

    def __init__(self, servers, flows):
        self.versions = flows.versions
        super().__init__(servers, (flows.key, flows.flows[""], flows.versions[""]), count=CLIENTS)

    def body(self, key, is_refused):
        kind = kind_of(key)
        return {**super().body(key, kind == INVALID), "flowVersionId": self.versions[kind]}

    def submit(self, *arguments):
        time.sleep(PAUSE_SECONDS if not self.ended.is_set() else 0)
        return super().submit(*arguments)


def wait(is_met):
    if not until(is_met):
        raise SystemExit("nothing is delivered any more")


def once(site, store, nodes, with_outbox=True):
    receiver = Receiver()
    site.stack.callback(receiver.stop)
    start = starter(site, store, receiver, with_outbox)
    servers = [start() for _ in range(nodes)]
    flows = Flows(servers[0], receiver, with_outbox)
    clients = Mixed(servers, flows)
    for kill in range(KILLS):
        clients.acknowledge(EACH - HELD)
        if kill % 2 == 0:
            wait(lambda: kill or len(receiver.deliveries) >= DELIVERED_FIRST)
            receiver.is_open.clear()
            # So the first kill is in the middle of a delivery; the next ones come while its lease lasts.
            wait(lambda: kill or receiver.held)
        clients.acknowledge(HELD)
        # Of two nodes one has the lease of the endpoint: they are killed in turn.
        at = kill % nodes
        servers[at].stop(signal.SIGKILL)
        killed = time.monotonic()
        receiver.is_open.set()
        servers[at] = start()
    clients.acknowledge(EACH)
    clients.end().settle(servers[0])
    texts, counted = flows.stored(servers[0])
    wait_for_deliveries(receiver, texts, servers if not with_outbox else ())
    verdict = judge(clients.history, list(texts.values()), counted, recovery=time.monotonic() - killed)
    return check(verdict, clients.history, texts, list(receiver.deliveries))


def starter(site, store, receiver, with_outbox):
    """Starts a node on the same store, each time in a folder of its own if that is PostgreSQL."""
    where = site.store(store)
    sends = {"REAL_BIN": str(site.binary), "SENDS_TO": receiver.url}
    how = {} if with_outbox else {"binary": FROM_MEMORY}
    settings = SETTINGS if with_outbox else {**SETTINGS, **sends}

    def start():
        own = ["--data", site.folder(), *where[2:]] if store == "PostgreSQL" else where
        for _ in range(STARTS_MAX):
            # A node ends if its database does not answer in time, as it may on a busy machine; then it is started again.
            with contextlib.suppress(SystemExit):
                return site.server(own, settings=settings, **how)
        raise SystemExit("a node does not start")

    return start


def wait_for_deliveries(receiver, texts, senders):
    """Until every stored response was delivered; or until those that send from memory have nothing left."""
    end = time.monotonic() + DELIVERED_SECONDS_MAX
    while time.monotonic() < end:
        if senders and all(int(sender.call("GET", "/waiting")[1]) == 0 for sender in senders):
            return
        if texts.keys() <= {response_of(event) for _, event in list(receiver.deliveries)}:
            return
        time.sleep(0.2)


def response_of(event):
    return event["data"]["response"]["responseId"]


def check(verdict, history, texts, deliveries):
    """At least one delivery for every stored response, none for another one; ids as docs/events.md has them."""
    delivered = {response_of(event): event for _, event in deliveries}
    sent = lambda event: event["data"]["response"]["answers"]["why"]
    keys = {sent(event).split(" ", 1)[0] for _, event in deliveries}
    missing = len(texts.keys() - delivered.keys())
    refused = collections.Counter(map(kind_of, history.keys(REFUSED)))
    stored = collections.Counter(kind_of(text.split(" ", 1)[0]) for text in texts.values())
    ids = collections.defaultdict(set)
    for header, event in deliveries:
        ids[response_of(event)].add((header, json.dumps(event, sort_keys=True)))
    promises = [
        (not missing, f"{missing:,} stored and not delivered"),
        (not keys & set(history.keys(REFUSED)), "a refused one delivered"),
        (delivered.keys() <= texts.keys(), "delivered and not stored"),
        (all(digest(sent(event)) == digest(texts.get(made, "")) for made, event in delivered.items()), "delivered with other answers"),
        (all(header == event["id"] == response_of(event).replace("rs_", "evt_") for header, event in deliveries), "another id"),
        (all(len(its) == 1 for its in ids.values()), "a repetition that differs"),
        (all(event["type"] == "response.created" for _, event in deliveries), "another type"),
        (in_order(deliveries), "timestamps in another order than ids"),
        (all(refused[kind] for kind in KINDS.values()), f"only these were refused: {dict(refused)}"),
        (stored[LIMITED] == LIMIT, f"{stored[LIMITED]} stored where the limit is {LIMIT}"),
        (not stored[INVALID] + stored[RETIRED], "an invalid one stored"),
    ]
    for holds, otherwise in promises:
        verdict.must(holds, otherwise)
    verdict.lost += missing
    verdict.notes.append(f"{KILLS} kills, {len(deliveries):,} deliveries of {len(delivered):,} responses, {sum(refused.values()):,} "
                         f"refused ({', '.join(f'{count:,} {kind}' for kind, count in sorted(refused.items()))}), none of them delivered")
    return verdict


def in_order(deliveries):
    """Receivers order by `timestamp`: it must not contradict the order of the ids, which is that of the log."""
    stamped = sorted((event["id"].encode(), event["timestamp"]) for _, event in deliveries if "timestamp" in event)
    return all(one[1] <= two[1] for one, two in itertools.pairwise(stamped))


FAULTS = [
    Fault("kill -9 under load, webhooks" + (f", {nodes} nodes" if nodes > 1 else ""),
          functools.partial(once, store=store, nodes=nodes),
          functools.partial(once, store=store, nodes=nodes, with_outbox=False), "sent from memory", store, tries=(1, 4),
          fails="stored and not delivered", in_ci=True)
    for store, nodes in (("SQLite", 1), ("PostgreSQL", 1), ("PostgreSQL", 2))
]
