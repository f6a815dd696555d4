"""kill -9 in the middle of the creation of the schema: the next start completes it. A schema of a newer version is refused."""

import functools
import random
import re
import sqlite3
import subprocess
import time

from checker import Verdict
from clients import Clients
from faults import Fault
from places import need
from under_load import SETTINGS

# The calls by which each store writes, and about how many a first start makes.
CALLS = {"SQLite": ("pwrite64", 30), "PostgreSQL": ("sendto,write,writev", 60)}
LATER = "INSERT INTO schema_history VALUES (99, 'later', '1', 0)"


def begin(site, where, store):
    """A first start that is killed at one of its writes."""
    need("strace")
    calls, most = CALLS[store]
    command = ["strace", "-f", "-o", "/dev/null", "-e", f"trace={calls}",
               "-e", f"inject={calls}:signal=KILL:when={random.randint(1, most)}+"]
    command += [site.binary, "serve", "--listen", "127.0.0.1:0", *where, "--no-demo"]
    process = subprocess.Popen([str(part) for part in command], env=SETTINGS, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    # A start that made fewer writes is killed as soon as it serves.
    process.stdout.readline()
    children = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True).stdout.split()
    for child in children:
        subprocess.run(["kill", "-9", child], check=False)
    process.wait(timeout=60)


def serves(site, where):
    """The verdict on a store that a start completes."""
    try:
        server = site.server(where)
    except SystemExit:
        return Verdict(broken=["it does not start"])
    clients = Clients(server, server.make_flow(), count=4)
    time.sleep(0.3)
    clients.end()
    clients.settle(server)
    verdict = clients.judge(server, recovery=server.start_seconds)
    server.stop()
    verify = subprocess.run([str(part) for part in (site.binary, "verify", *where)], env=SETTINGS, capture_output=True)
    return verdict.must(verify.returncode == 0, f"verify exits with {verify.returncode}")


def half_way(site, store):
    where = site.store(store)
    begin(site, where, store)
    return serves(site, where)


def ask(site, where, store, sql):
    if store == "PostgreSQL":
        return site.postgres.ask(sql, where[-1])
    with sqlite3.connect(where[1] / "sluice.db") as connection:
        connection.executescript(sql)
    connection.close()


def half_made(site, store):
    """Tables without their history, as a migration outside of a transaction leaves them."""
    where = site.store(store)
    ask(site, where, store, "CREATE TABLE apps (app_id text); CREATE TABLE responses (response_id text)")
    return serves(site, where)


def newer(site, store, sql=LATER):
    where = site.store(store)
    verdict = serves(site, where)
    if sql:
        ask(site, where, store, sql)
    command = [str(part) for part in (site.binary, "serve", "--listen", "127.0.0.1:0", *where, "--no-demo")]
    try:
        done = subprocess.run(command, env=SETTINGS, capture_output=True, text=True, timeout=10)
        code, text = done.returncode, done.stderr
    except subprocess.TimeoutExpired:
        code, text = None, ""
    verdict.must(code == 1, "it starts" if code is None else f"exit code {code}")
    return verdict.must(code is None or re.search(r"newer Sluice \(schema 99.*upgrade this binary", text, re.S), f"it prints {text[:200]!r}")


FAULTS = [
    fault
    for store in ("SQLite", "PostgreSQL")
    for fault in (
        Fault("kill -9 while the schema is created", functools.partial(half_way, store=store), functools.partial(half_made, store=store),
              "tables without a transaction", store, tries=(2, 50), fails="it does not start"),
        Fault("a schema of a newer version", functools.partial(newer, store=store), functools.partial(newer, store=store, sql=""),
              "the same without the newer version", store, tries=(1, 3), fails="it starts"),
    )
]
