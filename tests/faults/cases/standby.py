"""The primary of PostgreSQL is lost, and its synchronous standby is promoted: every acknowledged response is on it.

If the standby is away, nothing may be acknowledged, not even if the wait for it is cancelled: PostgreSQL then reports success with a
warning, and the row can be lost with the primary.
"""

import contextlib
import functools
import pathlib
import re
import subprocess
import time

from checker import History, judge, OK
from clients import Clients
from faults import Fault
from places import as_user, run, until

AWAY_SECONDS = 3
WAITING = "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"


class Standby:
    """A copy of a primary, which follows it."""

    def __init__(self, site, primary):
        self.primary, self.folder = primary, f"{primary.folder}-standby"
        port = re.search(r":(\d+)/", primary.url)[1]
        copy = pathlib.Path(primary.control).with_name("pg_basebackup")
        run(*as_user(), copy, "-D", self.folder, "-R", "-c", "fast", "-h", "127.0.0.1", "-p", port, "-U", "sluice", cwd="/")
        self.port = next(number for number in range(int(port) + 1, 65_535) if not is_used(number))
        self.options = re.sub(r'"\d+"', f'"{self.port}"', '"-p" ' + primary.options, count=1)
        site.stack.callback(self.stop)
        self.start()

    def start(self):
        self.primary.manage("start", "-o", self.options, folder=self.folder)

    def stop(self):
        with contextlib.suppress(subprocess.CalledProcessError):
            self.primary.manage("stop", "-m", "immediate", folder=self.folder)

    def promote(self):
        self.primary.manage("promote", folder=self.folder)

    def url(self, of_primary):
        """The URL of the same database, here and there; clients go to the one that may be written."""
        both = re.sub(r"(127\.0\.0\.1:\d+)", rf"\1,127.0.0.1:{self.port}", of_primary)
        return both + "&target_session_attrs=read-write"

    def only(self, of_primary):
        return re.sub(r"127\.0\.0\.1:\d+", f"127.0.0.1:{self.port}", of_primary)

    def is_followed(self):
        state = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'"
        return self.primary.ask(f"{state} AND sync_state IN ('sync', 'quorum')") == "1"


def is_used(port):
    return subprocess.run(["bash", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{port}"], capture_output=True).returncode == 0


def pair(site, is_synchronous=True):
    primary = site.own_postgres()
    url, standby = primary.database(), Standby(site, primary)
    if is_synchronous:
        primary.ask("ALTER SYSTEM SET synchronous_standby_names = '*'")
        primary.ask("SELECT pg_reload_conf()")
        assert until(standby.is_followed), "the standby does not follow"
    return primary, standby, url


def cancel(primary, seconds):
    """Cancels every wait for the standby, again and again."""
    end, count = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        count += int(primary.ask(WAITING))
        time.sleep(0.05)
    return count


def once(site, is_away=False, is_synchronous=True):
    primary, standby, url = pair(site, is_synchronous)
    where = ["--data", site.folder(), "--store", standby.url(url)]
    nodes = [site.server(["--data", site.folder(), *where[2:]]) for _ in range(2)]
    clients = Clients(nodes, nodes[0].make_flow())
    until(lambda: len(clients.history.keys(OK)) > 200)
    acknowledged_away, cancelled = 0, 0
    if is_away or not is_synchronous:
        standby.stop()
        # What was sent to it and not yet answered.
        time.sleep(0.5)
        at = time.monotonic()
        cancelled = cancel(primary, AWAY_SECONDS)
        acknowledged_away = sum(1 for entry in list(clients.history.entries.values()) if entry.outcome == OK and entry.sent > at)
    primary.kill()
    if is_away or not is_synchronous:
        standby.start()
    standby.promote()
    at = time.monotonic()
    until(lambda: clients.history.first_ok_after(at) is not None, 40)
    recovery = clients.history.first_ok_after(at)
    clients.end()
    if is_synchronous:
        clients.settle(nodes[1])
    verdict = clients.judge(nodes[0], recovery=recovery)
    if is_away:
        verdict.must(cancelled, "no wait was cancelled")
        verdict.notes.append(f"{cancelled} waits were cancelled")
    verdict.must(not (is_away and acknowledged_away), f"{acknowledged_away} acknowledged without the standby")
    return verdict.must(recovery is not None, "nothing is stored any more")


def without_the_warning(site):
    """A program that takes a COMMIT with a warning for a success."""
    primary, standby, url = pair(site)
    primary.ask("CREATE TABLE responses (text text)", url)
    standby.stop()
    history = History()
    for number in range(5):
        history.invoke(f"plain-{number}", f"plain-{number} text")
        insert = f"INSERT INTO responses VALUES ('plain-{number} text')"
        process = subprocess.Popen(["psql", "-X", "-q", "-d", url, "-c", insert], stderr=subprocess.DEVNULL)
        until(lambda: int(primary.ask(WAITING)) or process.poll() is not None)
        if process.wait(timeout=60) == 0:
            history.note(f"plain-{number}", OK)
    primary.kill()
    standby.start()
    standby.promote()
    return judge(history, primary.ask("SELECT text FROM responses", standby.only(url)).splitlines())


FAULTS = [
    Fault("primary killed, synchronous standby promoted", once, functools.partial(once, is_synchronous=False),
          "a standby that is not synchronous, and behind", "PostgreSQL", tries=(1, 5)),
    Fault("standby stopped, waits for it cancelled, primary killed", functools.partial(once, is_away=True), without_the_warning,
          "a program that ignores the warning", "PostgreSQL", tries=(1, 5)),
]
