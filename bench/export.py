"""Exports of a filled store: responses per second from the request to the last byte, and memory use.

The first export of a format with tag columns also scans every response for tag names; later ones use the cached
names. Both are figures.
"""

import contextlib
import http.client
import time
import urllib.parse

import contestants
from filled import filled
from memory import resident

ROWS, QUICK_ROWS = 1_000_000, 20_000
FORMATS = ("csv", "jsonl")
PIECE_BYTES = 1 << 20


def measure(bench, names):
    rows = bench.options.rows if bench.options.rows != 10_000_000 else ROWS
    rows = QUICK_ROWS if bench.options.quick else rows
    result = {"rows": rows, "figures": [], "notes": [], "problems": []}
    for name in (name for name in names if name in bench.only):
        with filled(bench, name, rows) as store:
            for form in FORMATS:
                with contextlib.ExitStack() as stack:
                    one = store.start(stack)
                    before = resident(one.pid)["VmRSS"]
                    seconds, sizes = zip(*(exported(one, form) for _ in range(bench.rounds + 1)))
                    most = resident(one.pid)["VmHWM"]
                stored = one.count_stored()
                rates = [stored / took for took in seconds]
                result["figures"] += [
                    {"name": f"{name} {form}, first", "unit": "responses a second", "values": rates[:1]},
                    {"name": f"{name} {form}", "unit": "responses a second", "values": rates[1:]},
                    {"name": f"{name} {form}, memory", "unit": "MiB", "values": [most]},
                ]
                result["notes"].append(f"{form}: {sizes[0] / 2**20:,.0f} MiB; {before:.0f} MiB before")
                if len(set(sizes)) > 1:
                    result["problems"].append(f"{form}: the same export had {sorted(set(sizes))} bytes")
    return result


def exported(one, form):
    """The duration of an export, and its size in bytes."""
    request = contestants.admin_request("GET", f"/flows/{one.about['flowId']}/export?format={form}")
    address = urllib.parse.urlsplit(one.url)
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=600)
    start = time.perf_counter()
    connection.request("GET", request.path, headers=dict(request.headers))
    reply = connection.getresponse()
    if reply.status != 200:
        raise SystemExit(f"the export returned {reply.status}: {reply.read(500)}")
    room, size = memoryview(bytearray(PIECE_BYTES)), 0
    while length := reply.readinto(room):
        size += length
    connection.close()
    return time.perf_counter() - start, size
