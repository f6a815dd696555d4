"""What the scenarios share that read pages: signing in, waiting, timing."""

import time
import urllib.parse

import contestants
import sent

# Number of requests per page, and the time limit in seconds for all of them.
ASKED, ASKED_SECONDS = 20, 10
# The store's block size.
BLOCK_ROWS = 1_024


def wait(what, is_so, seconds=900):
    end = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > end:
            raise SystemExit(f"the responses were not {what} in time")
        time.sleep(0.5)


def signed_in(client, url):
    form = urllib.parse.urlencode({"token": contestants.TOKEN})
    headers = {"content-type": "application/x-www-form-urlencoded", "origin": url.rstrip("/")}
    reply, _ = client.insist(sent.Request("/console/sign-in", "POST", headers, form, status=303))
    return reply["set-cookie"].split(";")[0]


def console(client, one):
    """The console's pages of the flow, by title."""
    headers = {"cookie": signed_in(client, one.url), "accept-encoding": "gzip"}
    results, responses = (f"/console/flows/{one.about['flowId']}/{page}" for page in ("results", "responses"))
    paths = {
        "results": results, "results, one version": f"{results}?version={one.about['olderVersionId']}",
        "results, one tag": f"{results}?tag.plan=team", "results, compared by tag": f"{results}?compare=tag.release",
        "responses": responses, "responses, a rare tag": f"{responses}?tag.seldom=yes",
        "responses, a search": f"{responses}?search=coffee",
    }
    return {f"console, {title}": sent.Request(path, headers=headers) for title, path in paths.items()}


def computed_ms(client, flow):
    """The durations of results that counts cannot answer, each from the first request to the complete result, by title.

    Every request has another filter, because a result is kept for a minute."""
    found = {
        "summary, NPS from": [f"summary?answer.nps[gte]={score}" for score in (3, 5, 7, 9)],
        "cross-tabulation, NPS from": [f"crosstab?rows=docs&columns=nps&answer.nps[gte]={score}" for score in (3, 5, 7, 9)],
    }
    return {title: [completed_ms(client, f"/flows/{flow}/{path}") for path in paths] for title, paths in found.items()}


def completed_ms(client, path):
    request, start = contestants.admin_request("GET", path), time.perf_counter()
    while True:
        status, _, body = client.send(request)
        if status == 200:
            return (time.perf_counter() - start) * 1000
        if status != 202:
            raise SystemExit(f"{path} returned {status}: {body[:500].decode(errors='replace')}")


def times_ms(client, request):
    """The duration of each request, and whether one timed out: that is a missed goal, not an invalid run."""
    values, given_up, end = [], False, time.monotonic() + ASKED_SECONDS
    while len(values) < ASKED and (not values or time.monotonic() < end):
        start = time.perf_counter()
        status, _, body = client.send(request)
        values.append((time.perf_counter() - start) * 1000)
        if status == 503 and b'"timed_out"' in body:
            given_up = True
        elif status != request.status:
            raise SystemExit(f"{request.path} returned {status}: {body[:500].decode(errors='replace')}")
    return values, given_up
