"""Resident memory: idle, under 256 connections, and over time. Growth is the slope after the first third.

`measure` is a minute of all that the server can take, `hour` is an hour at a steady rate.
"""

import contextlib
import threading
import time

import load

CONNECTIONS = 256
SECONDS, QUICK_SECONDS = 60, 4
EVERY_SECONDS = 0.5
HOUR_SECONDS, HOUR_RATE, HOUR_CONNECTIONS = 3_600, 400, 16


def measure(bench, names):
    return under(bench, names, SECONDS, CONNECTIONS, load.closed)


def hour(bench, names):
    steady = lambda one, requests, seconds, connections: load.open_loop(one, requests[0], seconds, connections, HOUR_RATE)
    return under(bench, names, HOUR_SECONDS, HOUR_CONNECTIONS, steady)


def under(bench, names, seconds, connections, sends):
    """Memory while `sends` runs."""
    figures, found, series = [], [], {}
    seconds = QUICK_SECONDS if bench.options.quick else seconds
    for name in (name for name in names if name in bench.only):
        with contextlib.ExitStack() as stack:
            one = bench.start(stack, name)
            time.sleep(1)
            idle = resident(one.pid)["VmRSS"]
            ended, samples = threading.Event(), []
            watch = threading.Thread(target=sample, args=(one.pid, samples, ended))
            watch.start()
            try:
                done = sends(one, [one.request("submit")], seconds, connections)
            finally:
                ended.set()
                watch.join()
            most = resident(one.pid)["VmHWM"]
        if not load.is_valid(done):
            found.append(f"{name}: wrong replies or lost connections")
        later = [point for point in samples if point[0] >= seconds / 3]
        series[name] = [[round(at, 1), round(size, 1)] for at, size in samples]
        figures += [
            {"name": f"{name} idle", "unit": "MiB", "values": [idle]},
            {"name": f"{name} under load", "unit": "MiB", "values": [most]},
            {"name": f"{name} growth", "unit": "MiB a minute", "values": [slope(later) * 60]},
        ]
    return {"connections": connections, "seconds": seconds, "figures": figures, "series": series, "problems": found}


def resident(pid):
    """VmRSS and VmHWM in MiB."""
    with open(f"/proc/{pid}/status") as status:
        fields = dict(line.split(":", 1) for line in status)
    return {name: int(fields[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM")}


def sample(pid, samples, ended):
    start = time.monotonic()
    while not ended.wait(EVERY_SECONDS):
        samples.append((time.monotonic() - start, resident(pid)["VmRSS"]))


def slope(points):
    """The slope of the regression line, in MiB per second."""
    if len(points) < 2:
        return 0.0
    mean_at = sum(at for at, _ in points) / len(points)
    mean_size = sum(size for _, size in points) / len(points)
    across = sum((at - mean_at) ** 2 for at, _ in points)
    return sum((at - mean_at) * (size - mean_size) for at, size in points) / across
