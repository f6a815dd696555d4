"""Latency at half load: measures the peak first, then sends at half of that rate."""

import contextlib
import statistics

import load

CONNECTIONS = 64


def measure(bench, names):
    figures, found = [], []
    for name in (name for name in names if name in bench.only):
        with contextlib.ExitStack() as stack:
            one = bench.start(stack, name)
            request = one.request("submit")
            before = one.count_stored() if one.count_stored else None
            loads = [load.closed(one, [request], bench.warm_up(3), CONNECTIONS)]
            peaks, paced = [], []
            for _ in range(bench.rounds):
                peaks.append(load.closed(one, [request], bench.seconds, CONNECTIONS))
                half = load.rate(peaks[-1]) / 2
                paced.append(load.open_loop(one, request, bench.seconds, CONNECTIONS, half))
            loads += peaks + paced
            stored = one.count_stored() - before if one.count_stored else None
        valid = [each for each in paced if load.is_valid(each)]
        half = statistics.median(map(load.rate, peaks)) / 2
        figures.append({"name": f"{name} sent", "unit": "a second", "values": [load.rate(each) for each in valid]})
        for title, key in (("p50", "p50_ms"), ("p99", "p99_ms"), ("p99.9", "p999_ms")):
            figures.append({"name": f"{name} {title}", "unit": "ms", "values": [each[key] for each in valid]})
        if any(not load.is_valid(each) for each in loads):
            found.append(f"{name}: wrong replies or lost connections")
        # A server that cannot sustain half of its peak was not measured at half load.
        if valid and statistics.median(map(load.rate, valid)) < 0.9 * half:
            found.append(f"{name}: half of the peak is {half:,.0f} per second, which it could not sustain")
        least, most = (sum(each[key] for each in loads) for key in ("stored", "storedAtMost"))
        if stored is not None and not least <= stored <= most:
            found.append(f"{name}: {stored:,} are stored instead of {least:,} to {most:,}")
    return {"connections": CONNECTIONS, "figures": figures, "problems": found}
