"""Response times of the console's pages and the summary, for a flow with ninety days of responses.

An example of the store crate fills the store, because the API stores responses only for today. The server counts
them when it starts; the speed of that is a figure too.
"""

import contextlib
import json
import pathlib
import subprocess
import time
import urllib.parse

import contestants
import sent
from memory import resident
from pages import BLOCK_ROWS, computed_ms, signed_in, times_ms, wait

ROWS, QUICK_ROWS = 1_000_000, 20_000
DAYS = 90


def measure(bench, names):
    rows = bench.options.rows if bench.options.rows != 10_000_000 else ROWS
    rows = QUICK_ROWS if bench.options.quick else rows
    result = {"rows": rows, "days": DAYS, "figures": [], "notes": [], "problems": []}
    file, app, flow = store_of(bench, rows)
    with served(file) as (client, _, _):
        counted(client, flow, rows, result)
        wait("indexed", lambda: contestants.in_file(file, "SELECT count(*) FROM response_blocks") * BLOCK_ROWS > rows * 0.99)
    # The server builds a block only ten minutes after it was created, too long to wait here.
    contestants.in_file(file, "UPDATE response_blocks SET since = 0")
    with served(file) as (client, url, pid):
        wait("filled", lambda: contestants.in_file(file, "SELECT count(*) FROM response_blocks WHERE filter IS NULL") == 0)
        first, last = (received(client, flow, order) for order in ("asc", "desc"))
        cookie = signed_in(client, url)
        ask = lambda path: sent.Request(path, headers={"cookie": cookie, "accept-encoding": "gzip"})
        for title, path in pages(app, flow, first, last).items():
            values, given_up = times_ms(client, ask(path))
            result["figures"].append({"name": title, "unit": "ms", "values": values})
            if given_up:
                result["problems"].append(f"{title}: the request timed out")
        summary = contestants.admin_request("GET", f"/flows/{flow}/summary")
        result["figures"].append({"name": "summary", "unit": "ms", "values": times_ms(client, summary)[0]})
        result["figures"] += [{"name": f"computed: {title}", "unit": "ms", "values": values} for title, values in computed_ms(client, flow).items()]
        result["figures"].append({"name": "memory", "unit": "MiB", "values": [resident(pid)["VmHWM"]]})
    return result


@contextlib.contextmanager
def served(file):
    with contestants.server(contestants.serve(f"sqlite:{file}"), contestants.SETTINGS) as (url, pid):
        yield sent.Client(url, timeout=120), url, pid


def store_of(bench, rows):
    """The file, the app and the flow; created, or reused if it was kept."""
    folder = pathlib.Path(bench.options.stores or bench.folder) / f"history-{rows}"
    about = folder / "about"
    if not about.exists():
        folder.mkdir(parents=True, exist_ok=True)
        command = [contestants.BINARIES / "examples" / "fill", folder / "sluice.db", str(rows), str(DAYS)]
        made = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        about.write_text(made)
    return folder / "sluice.db", *about.read_text().split()


def counted(client, flow, rows, result):
    """Waits until the server has counted the stored responses."""
    summary = contestants.admin_request("GET", f"/flows/{flow}/summary")
    read = lambda: json.loads(client.insist(summary)[1])
    start = time.monotonic()
    wait("counted", lambda: read().get("counting") is None)
    took = time.monotonic() - start
    if took > 1:
        result["notes"].append(f"counted in {took:.0f} s: {rows / took:,.0f} responses per second")
    if (found := read()["responses"]) != rows:
        result["problems"].append(f"{found:,} of {rows:,} are counted")


def received(client, flow, order):
    request = contestants.admin_request("GET", f"/flows/{flow}/responses?limit=1&order={order}")
    return json.loads(client.insist(request)[1])["items"][0]


def pages(app, flow, first, last):
    results, responses = f"/console/flows/{flow}/results", f"/console/flows/{flow}/responses"
    versions = urllib.parse.quote(first["flowVersionId"])
    return {
        "flows": f"/console/apps/{app}",
        "results": results,
        "results, 30 days": f"{results}?period=30d",
        "results, one version": f"{results}?version={versions}",
        "results, one tag": f"{results}?tag.plan=pro",
        "results, compared by tag": f"{results}?compare=tag.country",
        "responses": responses,
        "responses, a version": f"{responses}?version={versions}",
        "responses, admitted": f"{responses}?admission=admitted",
        "responses, a tag of a third": f"{responses}?tag.plan=pro",
        "responses, a tag of one in 10,000": f"{responses}?tag.seldom=yes",
        "responses, a tag without responses": f"{responses}?tag.plan=none",
        "responses, an answer": f"{responses}?answer.nps=10",
        "responses, a search": f"{responses}?search=spreadsheet",
        "responses, a search without matches": f"{responses}?search=zebra",
        "one response": f"{responses}/{last['responseId']}",
    }
