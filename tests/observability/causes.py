"""Real causes for every alert. A cause gets a site and a function that shows Prometheus its servers, and makes something go wrong.

It returns when the cause is there; the alerts that it names must then fire.
"""

import contextlib
import dataclasses
import http.client
import json
import os
import shutil
import socket
import sqlite3
import subprocess
import threading
import time
import typing

from prometheus import free_port  # it also adds the folder of the faults to the path
from cases.clocks import faked
from cases.damage import flip
from cases.deliveries import SETTINGS as WEBHOOKS
from cases.disk_full import fill
from citus import Worker, cluster
from clients import Clients
from places import NotHere, need, run, small_disk
from receiver import Handler, Receiver
from under_load import AUTHORIZATION

MEBIBYTE = 1024 * 1024
LOG_BYTES = 256 * MEBIBYTE
# The floor of SluiceDiskNearlyFull is far above twice this reserve.
RESERVE_BYTES, FLOOR_BYTES = 8 * MEBIBYTE, 512 * MEBIBYTE
# They fill a disk slowly: the alert takes two minutes.
FILLING_BYTES, FILLING_SECONDS = 128 * 1024, 0.5
FILES_MAX = 400
DAILY_BYTES = 5_000
# The longest answer, which makes the log grow fastest.
ANSWER_CHARS = 4_000
BATCH = 100
# With 2 s, some write ends in every range of the scaled rules; with 5 s, the queue grows older than its limit.
COMMIT_DELAY_SECONDS, OVERLOAD_DELAY_SECONDS, QUEUE_DELAY_SECONDS = 2, 3, 5
# The background check begins five minutes after the start.
SECONDS_MAX, LOG_SECONDS_MAX, SCRUB_SECONDS_MAX = 120, 400, 600


@dataclasses.dataclass
class Cause:
    what: str
    make: typing.Callable
    alerts: tuple


def until(what, holds, seconds=SECONDS_MAX):
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError(f"not within {seconds} s: {what}")
        time.sleep(0.05)


def loaded(site, server, made=None, **how):
    """Clients that go on until the site ends."""
    clients = Clients(server, made or server.make_flow(), **how)
    site.stack.callback(clients.ended.set)
    until("something is stored", lambda: clients.history.keys("ok"))
    return clients


def healthy(site, show, store="SQLite", **how):
    server = site.server(site.store(store), **how)
    show({"server": server})
    return server


def killed(site, show):
    healthy(site, show).stop(9)


def killed_often(site, show):
    store = site.store("SQLite")
    for _ in range(4):
        server = site.server(store)
        show({"server": server})
        server.stop(9)
    show({"server": site.server(store)})


def postgres_stopped(site, show):
    loaded(site, healthy(site, show, "PostgreSQL"), count=4)
    postgres = site.postgres
    # A restart also starts one that is stopped, with the same options.
    site.stack.callback(postgres.restart)
    run(*as_postgres(), postgres.control, "stop", "-w", "-m", "immediate", "-D", postgres.folder, cwd="/")


def as_postgres():
    """PostgreSQL does not run as root."""
    return ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups", "--"] if os.geteuid() == 0 else []


def under_slow_syncs(site, show, seconds):
    """A server whose syncs take so much longer, once it has started."""
    need("strace")
    syncs = "fsync,fdatasync"
    strace = ["strace", "-f", "--seccomp-bpf", "-o", "/dev/null", "-e", f"trace={syncs}",
              "-e", f"inject={syncs}:delay_enter={seconds * 1_000_000}:when=60+"]
    return healthy(site, show, wrapper=strace)


def slow_commits(site, show):
    loaded(site, under_slow_syncs(site, show, COMMIT_DELAY_SECONDS), count=8)


def old_queue(site, show):
    loaded(site, under_slow_syncs(site, show, QUEUE_DELAY_SECONDS), count=8)


def overloaded(site, show):
    batches(site, under_slow_syncs(site, show, OVERLOAD_DELAY_SECONDS), 24, "x")


def batches(site, server, count, answer):
    """Clients that submit 100 at a time, until the site ends or the returned event is set."""
    key, _, version = server.make_flow()
    ended = threading.Event()
    site.stack.callback(ended.set)
    item = {"flowVersionId": version, "flowVersionPayloadGeneration": "4",
            "respondentAnalyticsAdmission": "collection_only", "answers": {"why": answer}}
    body = json.dumps({str(number): item for number in range(BATCH)}).encode()
    path = f"/api/v1/{key}/trpc/{','.join(['response.submit'] * BATCH)}?batch=1"

    def submit():
        while not ended.is_set():
            connection = http.client.HTTPConnection(*server.address, timeout=60)
            with contextlib.suppress(OSError, http.client.HTTPException):
                connection.request("POST", path, body, {"content-type": "application/json"})
                connection.getresponse().read()
            connection.close()

    for _ in range(count):
        threading.Thread(target=submit, daemon=True).start()
    return ended


def on_small_disk(site, show, mebibytes):
    disk = site.stack.enter_context(small_disk(mebibytes))
    server = site.server(site.store("SQLite", disk / "data"), settings={"SLUICE_DISK_RESERVE": str(RESERVE_BYTES)})
    show({"server": server})
    return disk


def disk_filled(site, show):
    fill(on_small_disk(site, show, 600), FLOOR_BYTES - MEBIBYTE)


def disk_filling(site, show):
    disk = on_small_disk(site, show, 1024)
    ended = threading.Event()
    site.stack.callback(ended.set)

    def grow():
        with open(disk / "filler", "wb") as file:
            while not ended.wait(FILLING_SECONDS):
                file.write(bytes(FILLING_BYTES))
                file.flush()

    threading.Thread(target=grow, daemon=True).start()


def transaction_left_open(site, show):
    store = site.store("SQLite")
    server = site.server(store)
    show({"server": server})
    reader = sqlite3.connect(store[1] / "sluice.db", isolation_level=None, check_same_thread=False)
    site.stack.callback(reader.close)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM apps").fetchone()
    ended = batches(site, server, 4, "x" * ANSWER_CHARS)
    log = store[1] / "sluice.db-wal"
    until("the log is large", lambda: log.stat().st_size > LOG_BYTES * 1.1, LOG_SECONDS_MAX)
    ended.set()


def quota_used_up(site, show):
    server = healthy(site, show, settings={"SLUICE_DAILY_BYTES_PER_APP": str(DAILY_BYTES)})
    loaded(site, server, count=1)
    until("a submission is refused", lambda: metric(server, 'sluice_limited_requests_total{reason="bytes"}') > 0)


def connections_held_open(site, show):
    """More than nine tenths of the files that a server may open, by clients that send nothing. It closes each after a while."""
    need("prlimit")
    server = healthy(site, show, wrapper=["prlimit", f"--nofile={FILES_MAX}:{FILES_MAX}"])
    used = metric(server, "process_open_fds")
    ended = threading.Event()
    site.stack.callback(ended.set)

    def hold():
        while not ended.is_set():
            with contextlib.suppress(OSError), socket.create_connection(server.address, timeout=1) as held:
                held.settimeout(SECONDS_MAX)
                held.recv(1)

    for _ in range(int(FILES_MAX * 0.96 - used)):
        threading.Thread(target=hold, daemon=True).start()


def record_of_a_newer_version(site, show):
    """A newer node has written a kind of flow that this one does not know. It finds the row with its first check of everything."""
    store = site.store("SQLite")
    server = site.server(store)
    show({"server": server})
    server.make_flow()
    with contextlib.closing(sqlite3.connect(store[1] / "sluice.db")) as connection, connection:
        connection.execute("UPDATE flows SET kind = 'puzzle'")
    until("it is found", lambda: metric(server, "sluice_unreadable_records_total") > 0, SCRUB_SECONDS_MAX)


def table_locked(site, show):
    need("psql")
    store = site.store("PostgreSQL")
    server = site.server(store, settings={"SLUICE_PG_CONNECTIONS": "6"})
    show({"server": server})
    flow = server.make_flow()[1]
    lock = subprocess.Popen(["psql", "-X", "-q", "-d", store[-1]], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    site.stack.callback(lock.kill)
    lock.stdin.write("BEGIN; LOCK TABLE flows IN ACCESS EXCLUSIVE MODE;\n")
    lock.stdin.flush()
    ended = threading.Event()
    site.stack.callback(ended.set)

    def read():
        while not ended.is_set():
            with contextlib.suppress(OSError, http.client.HTTPException):
                server.call("GET", f"/api/admin/v1/flows/{flow}", headers=AUTHORIZATION)

    for _ in range(40):
        threading.Thread(target=read, daemon=True).start()


def worker_stopped(site, show):
    worker = Worker(site)
    server = site.server(cluster(site))
    show({"server": server})
    of = lambda state: metric(server, f'sluice_store_workers{{state="{state}"}}')
    until("all workers are up", lambda: of("up") > 0 and of("away") + of("weak") == 0)
    worker.stop()


def partitions_dropped(site, show):
    store = site.store("PostgreSQL")
    server = site.server(store)
    show({"server": server})
    names = ("SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = 'responses'::regclass "
             "AND inhrelid::regclass::text <> 'responses_default' ORDER BY inhrelid::regclass::text DESC LIMIT 2")
    for name in site.postgres.ask(names, store[-1]).split():
        site.postgres.ask(f"DROP TABLE {name}", store[-1])


def clock_file(site):
    """A clock that can be moved while a server runs."""
    clock = site.folder() / "clock"
    clock.write_text("+0s")
    return clock, faked(FAKETIME_TIMESTAMP_FILE=str(clock), FAKETIME_NO_CACHE="1")


def deliver_to(server, url):
    """An endpoint, and an event for it."""
    app = json.loads(server.admin("POST", "/apps", {"name": "Webhooks"}))
    server.admin("POST", f"/apps/{app['appId']}/webhooks", {"url": url, "events": ["response.created", "flow.published"]})
    server.make_flow(app)


def receiver_away(site, show):
    clock, settings = clock_file(site)
    server = healthy(site, show, settings={**WEBHOOKS, **settings})
    deliver_to(server, f"http://127.0.0.1:{free_port()}/")
    waiting = lambda: metric(server, "sluice_webhook_deliveries_waiting") > 0
    until("a delivery waits", waiting)
    clock.write_text("+2h")


class Gone(Handler):
    """Wants nothing more."""

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_error(410)


def receiver_gone(site, show):
    receiver = Receiver()
    site.stack.callback(receiver.stop)
    receiver.server.RequestHandlerClass = Gone
    server = healthy(site, show, settings=WEBHOOKS)
    deliver_to(server, receiver.url)
    until("a delivery is given up", lambda: metric(server, 'sluice_webhook_attempts_total{outcome="failed"}') > 0)


def mail_server_away(site, show):
    settings = {**WEBHOOKS, "SLUICE_SMTP_URL": f"smtp://127.0.0.1:{free_port()}?tls=none", "SLUICE_MAIL_FROM": "a@example.com",
                "SLUICE_PUBLIC_URL": "https://feedback.example.com"}
    server = healthy(site, show, settings=settings)
    flow = server.make_flow()[1]
    server.admin("POST", f"/flows/{flow}/invitations?sendEmail=true",
                 {"identities": [{"type": "traits.email", "value": "a@example.com"}]})


def sink_away(site, show):
    clock, settings = clock_file(site)
    port = free_port()
    folder = site.folder()
    program = shutil.which("nats-server") or "/usr/sbin/nats-server"
    if not os.path.exists(program):
        raise NotHere("nats-server is not installed")
    nats = subprocess.Popen([program, "-js", "-sd", str(folder), "-a", "127.0.0.1", "-p", str(port)], stderr=subprocess.DEVNULL)
    site.stack.callback(nats.wait)
    site.stack.callback(nats.kill)
    server = healthy(site, show, settings={**settings, "SLUICE_NATS_URL": f"nats://127.0.0.1:{port}"})
    clients = loaded(site, server, count=1)
    until("events are published", lambda: metric(server, 'sluice_sink_events_total{outcome="published"}') > 0)
    nats.kill()
    clients.end()
    until("events wait", lambda: metric(server, "sluice_sink_lag_seconds") > 0)
    clock.write_text("+10m")


def clock_apart(site, show):
    healthy(site, show, "PostgreSQL", settings=faked(FAKETIME="+30s"))


def letter_flipped(site, show):
    store = site.store("SQLite")
    server = site.server(store)
    clients = loaded(site, server, count=4)
    clients.end()
    server.stop()
    database = store[1] / "sluice.db"
    with contextlib.closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data = bytearray(database.read_bytes())
    flip(data, clients.history.keys("ok")[-1])
    database.write_bytes(data)
    server = site.server(store)
    show({"server": server})
    # It is noticed when it is read.
    with contextlib.suppress(SystemExit, OSError, http.client.HTTPException):
        server.texts(clients.flow)


def metric(server, name):
    """The value of a series, 0 if there is none."""
    for line in server.call("GET", "/metrics")[1].decode().splitlines():
        if line.startswith(f"{name} "):
            return float(line.rsplit(" ", 1)[1])
    return 0.0


def certificate(site, days):
    """The settings of a server with a certificate for so many days."""
    need("openssl")
    folder = site.folder()
    names = {"SLUICE_TLS_CERT": str(folder / "cert.pem"), "SLUICE_TLS_KEY": str(folder / "key.pem")}
    run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", days,
        "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
        "-out", names["SLUICE_TLS_CERT"], "-keyout", names["SLUICE_TLS_KEY"])
    return names


def certificate_not_renewed(site, show):
    healthy(site, show, settings=certificate(site, 5))


CAUSES = [
    Cause("kill -9 of the server", killed, ("SluiceDown",)),
    Cause("kill -9, four times", killed_often, ("SluiceRestartedOften",)),
    Cause("PostgreSQL stopped under load", postgres_stopped,
          ("SluiceNotReady", "SluiceSubmissionsFailing", "SluiceServerErrors")),
    Cause("a letter of a stored answer flipped", letter_flipped, ("SluiceDamaged",)),
    Cause("a flow of a kind that this build does not know", record_of_a_newer_version, ("SluiceUnreadableRecords",)),
    Cause(f"an app that may store {DAILY_BYTES:,} bytes a day", quota_used_up, ("SluiceDailyQuotaReached",)),
    Cause(f"each sync {OVERLOAD_DELAY_SECONDS} s slower (strace), 2,400 submissions at once", overloaded, ("SluiceOverloaded",)),
    Cause(f"each sync {COMMIT_DELAY_SECONDS} s slower (strace), 8 clients", slow_commits, ("SluiceSlowCommits",)),
    Cause(f"each sync {QUEUE_DELAY_SECONDS} s slower (strace), 8 clients", old_queue, ("SluiceQueueOld",)),
    Cause("a small disk filled up to 511 MiB", disk_filled, ("SluiceDiskNearlyFull",)),
    Cause("a small disk fills by 256 KiB a second", disk_filling, ("SluiceDiskFilling",)),
    Cause("another program keeps a transaction open", transaction_left_open, ("SluiceLogLarge",)),
    Cause("a table of PostgreSQL locked", table_locked, ("SluicePoolExhausted",)),
    Cause(f"a limit of {FILES_MAX} files, and clients that only connect", connections_held_open, ("SluiceOpenFilesNearLimit",)),
    Cause("a worker of a Citus cluster stopped", worker_stopped, ("SluiceWorkersNotUp",)),
    Cause("two partitions dropped", partitions_dropped, ("SluicePartitionsMissing",)),
    Cause("receiver away, clock 2 h on (faketime)", receiver_away, ("SluiceWebhooksLagging",)),
    Cause("a receiver that answers 410", receiver_gone, ("SluiceWebhooksGivenUp",)),
    Cause("mail server away", mail_server_away, ("SluiceMailsDelayed",)),
    Cause("NATS killed, clock 10 min on (faketime)", sink_away, ("SluiceSinkLagging",)),
    Cause("clock 30 s ahead of PostgreSQL's (faketime)", clock_apart, ("SluiceClockOffset",)),
    Cause("a certificate with 5 days left", certificate_not_renewed, ("SluiceCertificateExpires",)),
]
