"""PostgreSQL restarts as after a crash, or ends the connections of the servers, under load on two nodes."""

import random
import subprocess
import threading
import time

from checker import OK, History, judge
from clients import Clients
from faults import EARLY, Fault
from places import until


def once(site, fault, early=False):
    postgres = site.own_postgres()
    store = site.store("PostgreSQL", postgres=postgres)
    nodes = [site.server(store) for _ in range(2)]
    clients = Clients(nodes, nodes[0].make_flow(), early=early)
    clients.acknowledge(100)
    time.sleep(random.random())
    fault(postgres, store[-1])
    at = time.monotonic()
    until(lambda: clients.history.first_ok_after(at) is not None)
    recovery = clients.history.first_ok_after(at)
    clients.end()
    clients.settle(nodes[1])
    verdict = clients.judge(nodes[0], recovery=recovery)
    return verdict.must(recovery is not None, "nothing is stored any more")


def restarted(postgres, _url):
    postgres.restart()


def terminated(postgres, url):
    name = url.rsplit("/", 1)[1].split("?")[0]
    for _ in range(5):
        postgres.ask(f"SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = '{name}'")
        time.sleep(0.3)


def without_waiting(site):
    """A program with `synchronous_commit=off`, which the sessions of Sluice never have."""
    # The log is written in the background; rarely, so that a busy machine cannot hide what is lost.
    postgres = site.own_postgres(settings={"wal_writer_delay": "10s"})
    url = postgres.database()
    postgres.ask("CREATE TABLE responses (text text)", url)
    history = History()
    process = subprocess.Popen(["psql", "-X", "-q", "-A", "-t", "-d", url], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True)
    process.stdin.write("SET synchronous_commit = off;\n")

    def submit():
        try:
            for number in range(1_000_000):
                key = f"plain-{number}"
                history.invoke(key, f"{key} text")
                process.stdin.write(f"INSERT INTO responses VALUES ('{key} text') RETURNING 1;\n")
                process.stdin.flush()
                if process.stdout.readline().strip() != "1":
                    return
                history.note(key, OK)
        except OSError:
            return

    thread = threading.Thread(target=submit)
    thread.start()
    until(lambda: len(history.keys(OK)) > 100)
    postgres.restart()
    process.kill()
    process.wait()
    thread.join()
    return judge(history, postgres.ask("SELECT text FROM responses", url).splitlines())


FAULTS = [
    Fault("PostgreSQL restarted (immediate) under load", lambda site: once(site, restarted), without_waiting,
          "a program with synchronous_commit=off", "PostgreSQL", tries=(1, 10), in_ci=True),
    Fault("connections to PostgreSQL terminated", lambda site: once(site, terminated),
          lambda site: once(site, terminated, early=True), EARLY, "PostgreSQL", tries=(1, 10)),
]
