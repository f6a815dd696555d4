"""Submissions to many apps in turn, next to the same load on one app of the same server."""

import contextlib

import closed
import load
import sent
from contestants import new_flow

COUNTS = (1, 10, 100, 1_000)
CONNECTIONS = 64


def measure(bench, names):
    figures, its_lanes, problems = [], [], []
    for name in names:
        if name not in bench.only:
            continue
        with contextlib.ExitStack() as stack:
            one = bench.start(stack, name, {})
            requests = [of_app(one, one.about)]
            requests += [of_app(one, new_flow(one.url)) for _ in range(max(COUNTS) - 1)]
            before = one.count_stored()
            loads = {count: [] for count in COUNTS}
            for seconds in [bench.warm_up(closed.WARM_UP_SECONDS)] + [bench.seconds] * bench.rounds:
                for count in COUNTS:
                    loads[count].append(load.closed(one, requests[:count], seconds, CONNECTIONS))
            stored = one.count_stored() - before
        lanes = {count: closed.Lane(f"{name}, {count} apps", name, ["submit"]) for count in COUNTS}
        by_label = {lanes[count].label: loads[count] for count in COUNTS}
        for count in COUNTS:
            its_lanes.append(closed.of_lane(lanes[count], loads[count]))
            if count > 1:
                figures.append(closed.ratio(by_label, lanes[count].label, lanes[1].label))
        problems += closed.problems(list(lanes.values()), by_label, {name: stored}, {name: 0})
    return {"connections": CONNECTIONS, "lanes": its_lanes, "figures": figures, "problems": problems}


def of_app(one, about):
    return sent.submit(f"/api/v1/{about['apiKey']}/trpc", sent.submission(about["flowVersionId"]))
