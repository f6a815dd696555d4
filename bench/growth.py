"""The cost of a large store: submissions, pages, filters, the summary, export and start-up, next to a small one in the
same run."""

import concurrent.futures
import contextlib
import datetime
import json
import os
import subprocess
import time

import cluster
import contestants
import export
import load
import memory
import pages
import sent
from filled import filled
from pages import times_ms

CONNECTIONS = 64
SMALL_ROWS, QUICK_SMALL_ROWS = 100_000, 2_000
# Time limit for building the skip index of a filled store.
INDEX_SECONDS_MAX = 900
# Long enough for a checkpoint caused by an earlier load.
SETTLE_SECONDS = 2


def measure(bench, names):
    result = {"connections": CONNECTIONS, "rows": bench.options.rows, "figures": [], "notes": [], "problems": []}
    for name in (name for name in names if name in bench.only):
        with both(bench, name) as (small, large):
            submit(bench, small, large, result)
            # Mostly waiting, so both at a time.
            with concurrent.futures.ThreadPoolExecutor() as pool:
                list(pool.map(index, (small, large)))
            for title, store in (("small: ", small), ("", large)):
                with contextlib.ExitStack() as stack:
                    ask(store.start(stack), result, title)
                result["figures"].append({"name": f"{title}ready", "unit": "ms", "values": [ready_ms(store) for _ in range(5)]})
    return result


def start_up(bench, names):
    figures = []
    for name in (name for name in names if name in bench.only):
        with both(bench, name) as stores:
            for title, store in zip(("small", "large"), stores):
                values = [ready_ms(store) for _ in range(max(5, bench.rounds))]
                figures.append({"name": f"{name}, {title} store", "unit": "ms", "values": values})
    return {"rows": bench.options.rows, "figures": figures}


@contextlib.contextmanager
def both(bench, name):
    small = QUICK_SMALL_ROWS if bench.options.quick else SMALL_ROWS
    with filled(bench, name, small) as one, filled(bench, name, bench.options.rows) as other:
        yield one, other


def submit(bench, small, large, result):
    with contextlib.ExitStack() as stack:
        ones = [small.start(stack), large.start(stack)]
        loads = [[], []]
        before = [one.count_stored() for one in ones]
        for seconds in [bench.warm_up(3)] + [bench.seconds] * bench.rounds:
            for one, its_loads in zip(ones, loads):
                time.sleep(0 if bench.options.quick else SETTLE_SECONDS)
                its_loads.append(load.closed(one, [one.request("submit")], seconds, CONNECTIONS))
        stored = [one.count_stored() - count for one, count in zip(ones, before)]
    for title, its_loads, count in zip(("small", "large"), loads, stored):
        rates = [load.rate(one) for one in its_loads[1:]]
        result["figures"].append({"name": f"submit, {title}", "unit": "a second", "values": rates})
        least, most = (sum(one[key] for one in its_loads) for key in ("stored", "storedAtMost"))
        if not least <= count <= most or not all(map(load.is_valid, its_loads)):
            result["problems"].append(f"the {title} store: wrong replies, or {count:,} are stored instead of {least:,}")
    rounds = list(zip(*loads))[1:]
    ratios = [load.rate(of_large) / load.rate(of_small) for of_small, of_large in rounds]
    result["figures"].append({"name": "submit, large / small", "unit": "×", "values": ratios})


def index(store):
    """Lets the server build the skip index now. It builds a block ten minutes after it was created, which is too long to wait."""
    with contextlib.ExitStack() as stack:
        store.start(stack)
        blocks = lambda: store.sql("SELECT count(*) FROM response_blocks")
        pages.wait("indexed", lambda: blocks() * pages.BLOCK_ROWS > store.rows * 0.99, INDEX_SECONDS_MAX)
    store.sql("UPDATE response_blocks SET since = 0")
    with contextlib.ExitStack() as stack:
        store.start(stack)
        unbuilt = lambda: store.sql("SELECT count(*) FROM response_blocks WHERE filter IS NULL")
        pages.wait("indexed", lambda: unbuilt() == 0, INDEX_SECONDS_MAX)


def ask(one, result, store):
    """Pages of a store, one after the other over one connection, and an export."""
    client = sent.Client(one.url, timeout=120)
    flow = f"/flows/{one.about['flowId']}"
    get = lambda query: json.loads(client.insist(contestants.admin_request("GET", f"{flow}/responses?{query}"))[1])
    first, last = get("limit=1")["items"][0], get("limit=1&order=desc")["items"][0]
    middle = between(first["receivedAt"], last["receivedAt"])
    deep = get(f"limit=1&from={middle}")["items"][0]["responseId"]
    lists = {
        "first": "", "newest first": "order=desc", "deep": f"after={deep}", "of a thousand, deep": f"limit=1000&after={deep}",
        "from the middle of the time": f"from={middle}", "one version": f"version={one.about['flowVersionId']}",
        "the older version, deep": f"version={one.about['olderVersionId']}&after={deep}",
        "a tag of a third": "tag.plan=team", "a tag of one in 10,000": "tag.seldom=yes",
        "a tag of the first ten": "tag.rare=yes", "a tag without responses": "tag.plan=none",
        "a search": "search=coffee", "a search without matches": "search=zebra",
    }
    requests = {f"page, {title}": contestants.admin_request("GET", f"{flow}/responses?{query}") for title, query in lists.items()}
    for title, query in {"": "", ", one version": f"version={one.about['olderVersionId']}", ", one tag": "tag.plan=team"}.items():
        requests[f"summary{title}"] = contestants.admin_request("GET", f"{flow}/summary?{query}")
    requests |= pages.console(client, one)
    for title, request in requests.items():
        values, given_up = times_ms(client, request)
        result["figures"].append({"name": store + title, "unit": "ms", "values": values})
        if given_up:
            result["notes"].append(f"{store}{title}: the request timed out; the time shown is the timeout")
    started, calls = time.perf_counter(), 1
    page = get("search=zebra")
    while page["next"]:
        page, calls = get(f"search=zebra&after={page['next']}"), calls + 1
    seconds = time.perf_counter() - started
    result["figures"].append({"name": f"{store}search to its end", "unit": "responses a second", "values": [one.count_stored() / seconds]})
    result["notes"].append(f"{store}the search to its end took {calls} calls, {seconds:.1f} s")
    for title, values in pages.computed_ms(client, one.about["flowId"]).items():
        result["figures"].append({"name": f"{store}computed: {title}", "unit": "ms", "values": values})
    result["figures"].append({"name": f"{store}memory after the pages", "unit": "MiB", "values": [memory.resident(one.pid)["VmHWM"]]})
    for form in export.FORMATS:
        took, size = export.exported(one, form)
        figure = {"name": f"{store}export, {form}", "unit": "responses a second", "values": [one.count_stored() / took]}
        result["figures"].append(figure)
        result["notes"].append(f"{store}export, {form}: {size / 2**20:,.0f} MiB")


def between(one, other):
    at = [datetime.datetime.fromisoformat(text.replace("Z", "+00:00")) for text in (one, other)]
    return (at[0] + (at[1] - at[0]) / 2).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def ready_ms(store):
    """From the start of the process until /readyz returns 200."""
    port = cluster.free_port()
    command = contestants.serve(store.store, f"127.0.0.1:{port}")
    environment = {"PATH": os.environ["PATH"], **contestants.SETTINGS}
    start = time.perf_counter()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    try:
        while not is_ready(port):
            if process.poll() is not None:
                raise SystemExit(f"the server exited with {process.returncode} before it was ready")
            time.sleep(0.001)
        return (time.perf_counter() - start) * 1000
    finally:
        process.terminate()
        process.wait(timeout=60)


def is_ready(port):
    try:
        return sent.Client(f"http://127.0.0.1:{port}").send(sent.Request("/readyz"))[0] == 200
    except ConnectionError:
        return False
