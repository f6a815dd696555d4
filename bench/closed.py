"""Closed-loop scenarios: lanes take turns under wrk, round by round, and are compared within a round."""

import contextlib
import dataclasses
import os
import pathlib
import re
import statistics
import tempfile
import time

import load
from contestants import READS, SLUICES

# Not measured: Node compiles its hot code, pools open their connections.
WARM_UP_SECONDS = 3
# Ratios computed if both contestants are in a scenario.
PAIRS = [(sluice, other) for sluice in SLUICES for other in ("limit", "reference")]
# What a single submission writes to the log of SQLite before it syncs.
SYNCED_BYTES = 16 * 1024
SYNCS = 500


@dataclasses.dataclass
class Lane:
    label: str
    contestant: str
    # The requests it gets, in turn.
    kinds: list[str]


def lanes(names, *kinds):
    return [Lane(name, name, list(kinds)) for name in names]


def measure(bench, its_lanes, connections, pairs=PAIRS):
    with contextlib.ExitStack() as stack:
        chosen = [lane for lane in its_lanes if lane.contestant in bench.only]
        reads = {kind for lane in chosen for kind in lane.kinds if kind in READS}
        started = start(bench, stack, {lane.contestant for lane in chosen}, reads)
        before = {name: one.count_stored() for name, one in started.items() if one.count_stored}
        requests = {lane.label: [started[lane.contestant].request(kind) for kind in lane.kinds] for lane in chosen}
        seeded = {name: started[name].count_stored() - count for name, count in before.items()}
        loads = {lane.label: [] for lane in chosen}
        sync_seconds = []
        for seconds in [bench.warm_up(WARM_UP_SECONDS)] + [bench.seconds] * bench.rounds:
            for lane in chosen:
                one = started[lane.contestant]
                loads[lane.label].append(with_cost(one, lambda: load.closed(one, requests[lane.label], seconds, connections)))
            if connections == 1:
                sync_seconds.append(measure_sync(bench.folder))
        stored = {name: one.count_stored() - before[name] for name, one in started.items() if one.count_stored}
    return {
        "connections": connections,
        "lanes": [of_lane(lane, loads[lane.label]) for lane in chosen],
        "figures": [figure for pair in pairs if (figure := ratio(loads, *pair))] + of_synced_limit(loads, sync_seconds) + costs(loads),
        "problems": problems(chosen, loads, stored, seeded),
    }


def with_cost(one, run):
    """The load, with the processor time that its server took and the bytes that it wrote to files."""
    before = cost(one.pid)
    done = run()
    seconds, written = (after - its for after, its in zip(cost(one.pid), before))
    return {**done, "processorSeconds": seconds, "written": written}


def cost(pid):
    times = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    written = re.search(r"^write_bytes: (\d+)", pathlib.Path(f"/proc/{pid}/io").read_text(), re.MULTILINE)
    return (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK"), int(written[1])


def costs(loads):
    """By reply; a batch is one. The bytes are those of the server's own files, so there are none for PostgreSQL."""
    found = []
    for label, its_loads in loads.items():
        measured = [one for one in its_loads[1:] if load.is_valid(one)]
        each = lambda name, factor: [one[name] * factor / one["requests"] for one in measured]
        found.append({"name": f"{label}, processor time", "unit": "µs", "values": each("processorSeconds", 1e6)})
        if any(one["written"] for one in measured):
            found.append({"name": f"{label}, written", "unit": "bytes", "values": each("written", 1)})
    return found


def start(bench, stack, names, reads):
    """Sluice first: the bare GETs return replies of the same length."""
    started, sizes = {}, {}
    for name in sorted(names, key=lambda name: name not in SLUICES):
        started[name] = bench.start(stack, name, sizes)
        if name in SLUICES and not sizes:
            sizes.update({kind: body_bytes(started[name], kind) for kind in reads})
    return started


def body_bytes(one, kind):
    _, body = load.sent.Client(one.url).insist(one.request(kind))
    return len(body)


def of_lane(lane, loads):
    measured = [one for one in loads[1:] if load.is_valid(one)]
    return {
        "label": lane.label,
        "rates": [load.rate(one) for one in measured],
        "p50Ms": [one["p50_ms"] for one in measured],
        "p99Ms": [one["p99_ms"] for one in measured],
    }


def ratio(loads, one, other):
    """Computed within each round; the first round is the warm-up."""
    if one not in loads or other not in loads:
        return None
    rounds = list(zip(loads[one], loads[other]))[1:]
    values = [load.rate(mine) / load.rate(its) for mine, its in rounds if load.is_valid(mine) and load.is_valid(its)]
    return {"name": f"{one} / {other}", "unit": "×", "values": values}


def measure_sync(folder):
    """The median time to overwrite a part of a file, as the log of SQLite is, and to sync it."""
    with tempfile.TemporaryFile(dir=folder) as file:
        written, times = bytes(SYNCED_BYTES), []
        for _ in range(SYNCS):
            started = time.perf_counter()
            os.pwrite(file.fileno(), written, 0)
            os.fsync(file.fileno())
            times.append(time.perf_counter() - started)
    return statistics.median(times)


def of_synced_limit(loads, sync_seconds):
    """One connection waits for its sync: the limit of a durable reply is the limit plus a sync of this disk."""
    if not sync_seconds or "limit" not in loads:
        return []
    rounds = list(zip(loads["limit"], sync_seconds))[1:]
    synced = [1 / (1 / load.rate(limit) + sync) for limit, sync in rounds]
    ratios = [
        {"name": f"{name} / limit with a sync", "unit": "×", "values": [load.rate(one) / its for one, its in zip(loads[name][1:], synced)]}
        for name in SLUICES
        if name in loads
    ]
    return ratios + [{"name": "sync", "unit": "ms", "values": [seconds * 1000 for _, seconds in rounds]}]


def problems(chosen, loads, stored, seeded):
    """Problems that invalidate the run. A missed goal does not: machines differ."""
    found = []
    for lane in chosen:
        if invalid := [one for one in loads[lane.label] if not load.is_valid(one)]:
            refused, lost = (sum(one[key] for one in invalid) for key in ("refused", "lost"))
            found.append(f"{lane.label}: {len(invalid)} rounds had {refused} wrong replies, {lost} lost connections"
                         f" {invalid[0]['first_wrong']}")
    for name, count in stored.items():
        of_name = [one for lane in chosen if lane.contestant == name for one in loads[lane.label]]
        least = seeded[name] + sum(one["stored"] for one in of_name)
        most = seeded[name] + sum(one["storedAtMost"] for one in of_name)
        if not least <= count <= most:
            found.append(f"{name}: {least:,} to {most:,} expected, {count:,} stored")
    return found
