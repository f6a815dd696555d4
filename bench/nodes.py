"""Submissions to 1, 2 and 4 nodes over one PostgreSQL: the same 64 connections, divided among the nodes."""

import concurrent.futures
import contextlib

import closed
import load
from contestants import serving_same_flow

COUNTS = (1, 2, 4)
CONNECTIONS = 64


def measure(bench, names):
    (name,) = names
    with contextlib.ExitStack() as stack:
        first = bench.start(stack, name, {})
        nodes = [first] + [serving_same_flow(stack, first) for _ in range(max(COUNTS) - 1)]
        before = first.count_stored()
        loads = {count: [] for count in COUNTS}
        for seconds in [bench.warm_up(closed.WARM_UP_SECONDS)] + [bench.seconds] * bench.rounds:
            for count in COUNTS:
                loads[count].append(together(nodes[:count], seconds))
        stored = first.count_stored() - before
    lanes = {count: closed.Lane(f"{count} nodes", name, ["submit"]) for count in COUNTS}
    by_label = {lanes[count].label: loads[count] for count in COUNTS}
    figures = [closed.ratio(by_label, lanes[count].label, lanes[1].label) for count in COUNTS[1:]]
    return {
        "connections": CONNECTIONS,
        "lanes": [closed.of_lane(lanes[count], loads[count]) for count in COUNTS],
        "figures": figures,
        "problems": closed.problems(list(lanes.values()), by_label, {name: stored}, {name: 0}),
    }


def together(nodes, seconds):
    """One load for each node at the same time, as one: sums, and the slowest node's percentiles."""
    each = CONNECTIONS // len(nodes)
    with concurrent.futures.ThreadPoolExecutor(len(nodes)) as pool:
        parts = list(pool.map(lambda node: load.closed(node, [node.request("submit")], seconds, each), nodes))
    whole = {key: sum(part[key] for part in parts) for key in ("requests", "refused", "lost", "stored", "storedAtMost")}
    whole |= {key: max(part[key] for part in parts) for key in ("microseconds", "p50_ms", "p99_ms")}
    return whole | {"first_wrong": next((part["first_wrong"] for part in parts if part["first_wrong"]), "")}
