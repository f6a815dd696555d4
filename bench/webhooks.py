"""Submissions with and without a webhook endpoint: the rate at 64 connections, and the latency at half of the peak.

One server takes all loads in turn, so that the lanes share its store. An endpoint exists only during its load: events that are
still waiting would otherwise be delivered during the load of the next lane. The receivers share the cores with the server.
"""

import contextlib
import sys
import time

import contestants
import load
import sent

CONNECTIONS = 64
WARM_UP_SECONDS = 3
# After an endpoint was deleted, until its last requests have ended.
PAUSE_SECONDS = 1
ARGUMENTS = ("--webhook-allow", "127.0.0.0/8", "--webhook-allow-http")
LANES = ("without", "quick", "hanging")
RECEIVER = contestants.ROOT / "bench" / "receiver.py"


def measure(bench, names):
    figures, found = [], []
    for name in (name for name in names if name in bench.only):
        with contextlib.ExitStack() as stack:
            one = bench.start(stack, name, arguments=ARGUMENTS)
            receivers = {lane: receiver(stack, kind) for lane, kind in (("quick", "quick"), ("hanging", "hang"))}
            before = one.count_stored()
            done = rounds(bench, one, receivers)
            stored = one.count_stored() - before
            counts = {lane: count(url) for lane, url in receivers.items()}
        figures += of_rounds(name, done)
        loads = [each for lane in done.values() for each in lane["peak"] + lane["paced"]]
        found += problems(name, loads, stored, counts)
    return {"connections": CONNECTIONS, "figures": figures, "problems": found}


def rounds(bench, one, receivers):
    """The loads of each lane; the first round is the warm-up."""
    request = one.request("submit")
    done = {lane: {"peak": [], "paced": []} for lane in LANES}
    for seconds in [bench.warm_up(WARM_UP_SECONDS)] + [bench.seconds] * bench.rounds:
        half = None
        for lane in LANES:
            with endpoint(one, receivers.get(lane)):
                peak = load.closed(one, [request], seconds, CONNECTIONS)
                # All lanes at half of what the server can take without an endpoint.
                half = half or load.rate(peak) / 2
                paced = load.open_loop(one, request, seconds, CONNECTIONS, half)
            done[lane]["peak"].append(peak)
            done[lane]["paced"].append(paced)
    return done


@contextlib.contextmanager
def endpoint(one, url):
    """An endpoint for all events of the app, if there is a receiver."""
    if url is None:
        yield
        return
    path = f"/apps/{one.about['appId']}/webhooks"
    made = contestants.admin(one.url, "POST", path, {"url": url})
    try:
        yield
    finally:
        request = contestants.admin_request("DELETE", f"{path}/{made['webhookId']}")
        status, _, reply = sent.Client(one.url).send(request)
        if status >= 300:
            sys.exit(f"the endpoint was not deleted: {status} {reply.decode()}")
        time.sleep(PAUSE_SECONDS)


def receiver(stack, kind):
    url, _ = stack.enter_context(contestants.server([sys.executable, RECEIVER, kind], {}))
    return url


def count(url):
    _, body = sent.Client(url).insist(sent.Request("/count"))
    return int(body)


def of_rounds(name, done):
    """Ratios within each round."""
    ratios = [
        (f"{name} with an endpoint / without", "peak", "quick", load.rate),
        (f"{name} with a hanging receiver / without", "peak", "hanging", load.rate),
        (f"{name} p99 with an endpoint / without", "paced", "quick", lambda one: one["p99_ms"]),
        (f"{name} p99 with a hanging receiver / without", "paced", "hanging", lambda one: one["p99_ms"]),
    ]
    figures = []
    for title, kind, lane, value in ratios:
        pairs = list(zip(done[lane][kind], done["without"][kind]))[1:]
        valid = [(mine, its) for mine, its in pairs if load.is_valid(mine) and load.is_valid(its)]
        figures.append({"name": title, "unit": "×", "values": [value(mine) / value(its) for mine, its in valid]})
    for lane in LANES:
        values = [one["p99_ms"] for one in done[lane]["paced"][1:] if load.is_valid(one)]
        figures.append({"name": f"{name} p99, {lane}", "unit": "ms", "values": values})
    return figures


def problems(name, loads, stored, counts):
    found = []
    if any(not load.is_valid(one) for one in loads):
        found.append(f"{name}: wrong replies or lost connections")
    least, most = (sum(one[key] for one in loads) for key in ("stored", "storedAtMost"))
    if not least <= stored <= most:
        found.append(f"{name}: {least:,} to {most:,} expected, {stored:,} stored")
    found += [f"{name}: the {lane} receiver got nothing" for lane, requests in counts.items() if requests == 0]
    return found
