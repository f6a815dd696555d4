"""A store with many responses, filled through the API.

Both stores are thus filled the same way, whatever their schema, and rows are in the order in which a server writes
them. Two versions of the flow alternate, one response in ten thousand has a separate tag, and the first `RARE`
responses have a tag that no later one has: the slowest page to find.
"""

import contextlib
import dataclasses
import json
import pathlib
import shutil
import sys
import threading
import time
import typing

import contestants
import sent

CALLS = 100
THREADS = 4
RARE = 10
PLANS = ("free", "pro", "team")


@dataclasses.dataclass
class Filled:
    store: str
    rows: int
    # Starts a contestant on it; the stack stops it.
    start: typing.Callable[[contextlib.ExitStack], contestants.Contestant]
    # Runs a statement and returns the first number of its result, or 0.
    sql: typing.Callable[[str], int]


@contextlib.contextmanager
def filled(bench, name, rows):
    """Creates the store, or reuses the one that was kept."""
    with contextlib.ExitStack() as stack:
        if name == "sluice-postgres":
            database = f"filled_{rows}"
            stack.enter_context(bench.postgres().database(database))
            store, files = bench.postgres().url(database), None
            sql = lambda statement: int(bench.postgres().sql(database, statement) or 0)
            count = lambda: sql("SELECT count(*) FROM responses")
            about_file = bench.folder / f"{database}.json"
        else:
            files = pathlib.Path(bench.options.stores or bench.folder) / f"sluice-{rows}"
            store, count = f"sqlite:{files / 'sluice.db'}", lambda: contestants.count_in_file(files / "sluice.db")
            sql = lambda statement: contestants.in_file(files / "sluice.db", statement)
            about_file = files / "about.json"
            if files.exists() and not about_file.exists():
                shutil.rmtree(files)  # an interrupted fill
            files.mkdir(parents=True, exist_ok=True)
        if not about_file.exists():
            with contextlib.ExitStack() as server:
                about = fill(contestants.sluice(server, name, store, count), rows)
            about_file.write_text(json.dumps(about))
        about = json.loads(about_file.read_text())
        size = sum(file.stat().st_size for file in files.iterdir()) if files else int(
            bench.postgres().sql(database, f"SELECT pg_database_size('{database}')"))
        say(f"{rows:,} responses take {size / 2**20:,.0f} MiB on disk\n")
        start = lambda its_stack: contestants.sluice(its_stack, name, store, count, about)
        yield Filled(store, rows, start, sql)


def fill(one, rows):
    about = dict(one.about)
    new = {"definition": {**sent.DEFINITION, "title": "Measured again"}}
    contestants.admin(one.url, "PUT", f"/flows/{about['flowId']}/draft", new["definition"])
    second = contestants.admin(one.url, "POST", f"/flows/{about['flowId']}/publish")["flowVersionId"]
    versions = [about["flowVersionId"], second]
    about["flowVersionId"], about["olderVersionId"] = second, versions[0]
    procedures = f"/api/v1/{about['apiKey']}/trpc"
    rare = [sent.submission(second, {"plan": "pro", "rare": "yes"})] * RARE
    sent.Client(one.url).insist(sent.batch(procedures, rare))
    requests = [sent.batch(procedures, some(versions, start)) for start in range(0, 10_000, CALLS)]
    left = -(-(rows - RARE) // CALLS)
    work = iter(range(left))
    lock, failed = threading.Lock(), []

    def send():
        client = sent.Client(one.url)
        try:
            while (number := take()) is not None:
                client.insist(requests[number % len(requests)])
        except BaseException as error:
            failed.append(error)

    def take():
        with lock:
            number = None if failed else next(work, None)
        if number is not None and number % 2_000 == 0:
            say(f"\rfilled {number * CALLS:,} of {rows:,}")
        return number

    start = time.monotonic()
    threads = [threading.Thread(target=send) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        sys.exit(f"the store could not be filled: {failed[0]}")
    say(f"\rfilled {rows:,} in {time.monotonic() - start:,.0f} s; ")
    return about


def some(versions, start):
    """A hundred submissions: every tenth to the older version, one in ten thousand with the rare tag."""
    for_one = lambda number: sent.submission(
        versions[0 if number % 10 == 0 else 1],
        {"plan": PLANS[number % 3], "release": f"2026.{number % 12 + 1}"} | ({"seldom": "yes"} if number == 77 else {}),
    )
    return [for_one(number) for number in range(start, start + CALLS)]


def say(text):
    """Progress; the figures go to standard output."""
    print(text, end="", file=sys.stderr, flush=True)
