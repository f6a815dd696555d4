"""The disk fails: it refuses to write new blocks, or all of it fails, or single writes of a checkpoint fail.

The server stops with exit code 4 and acknowledges nothing more. When the disk works again, everything acknowledged is there.
"""

import contextlib
import functools
import http.client
import os
import pathlib
import random
import signal
import subprocess
import time

from checker import OK, Verdict
from clients import Clients
from faults import NO_CHECKS, PLAIN, Fault
from places import Disk, NotHere, is_traced, need, run, small_disk, until
from under_load import AUTHORIZATION, SETTINGS, START_SECONDS_MAX

STOP_SECONDS_MAX, CHECKPOINT_SECONDS_MAX, EXPORTS = 30, 180, 10
# Of the file system in which the disk is; and the syncs after which it is full.
AROUND_MEBIBYTES = 96


class Refusing(Disk):
    """A disk whose file is in a file system that can be filled: then blocks that were never written cannot be."""

    def __init__(self, stack):
        self.around = stack.enter_context(small_disk(AROUND_MEBIBYTES))
        super().__init__(stack, self.around)
        # Blocks of its journal and of its tables are written once; new ones of files are not.
        run("sync", "-f", self.path)

    def fail(self):
        space = os.statvfs(self.around)
        with open(self.around / "filler", "wb") as file, contextlib.suppress(OSError):
            os.posix_fallocate(file.fileno(), 0, space.f_bavail * space.f_frsize)

    def repair(self):
        (self.around / "filler").unlink()
        self.power_on()


class Mapped(Disk):
    """A disk behind the device mapper, which can be made to fail as a whole."""

    def __init__(self, stack):
        need("dmsetup", "losetup")
        if subprocess.run(["dmsetup", "targets"], capture_output=True).returncode:
            raise NotHere("this kernel has no device mapper")
        self.name = f"sluice-fault-{os.getpid()}-{time.monotonic_ns()}"
        super().__init__(stack)

    def mount(self):
        if not pathlib.Path(f"/dev/mapper/{self.name}").exists():
            self.loop = run("losetup", "--find", "--show", self.image).strip()
            self.stack.callback(run, "losetup", "-d", self.loop)
            self.sectors = int(run("blockdev", "--getsz", self.loop))
            run("dmsetup", "create", self.name, "--table", f"0 {self.sectors} linear {self.loop} 0")
            self.stack.callback(run, "dmsetup", "remove", "--force", self.name)
        run("mount", f"/dev/mapper/{self.name}", self.path)

    def load(self, table):
        run("dmsetup", "suspend", "--nolockfs", "--noflush", self.name)
        run("dmsetup", "load", self.name, "--table", table)
        run("dmsetup", "resume", self.name)

    def fail(self):
        self.load(f"0 {self.sectors} error")

    def repair(self):
        self.load(f"0 {self.sectors} linear {self.loop} 0")
        self.power_on()


def ended(server, seconds=STOP_SECONDS_MAX):
    """The exit code, if it ends in time."""
    try:
        return server.process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        return None


def on_disk(site, kind, binary=None):
    binary = binary or site.binary
    disk = kind(site.stack)
    where = site.store("SQLite", disk.path / "data")
    server = site.server(where, binary=binary)
    made = server.make_flow()
    clients = Clients(server, made)
    until(lambda: len(clients.history.keys(OK)) > 300)
    disk.fail()
    code = ended(server)
    clients.end()
    server.stop(signal.SIGKILL)
    disk.repair()
    again = site.server(where, binary=binary)
    clients.settle(again)
    verdict = clients.judge(again, recovery=again.start_seconds)
    again.stop()
    return verdict.must(code == 4, "it goes on" if code is None else f"exit code {code}")


def checkpoint(site, inject="error=EIO", seconds=CHECKPOINT_SECONDS_MAX, ready_seconds=START_SECONDS_MAX):
    """Writes to the database itself fail, which only checkpoints make; the log is sound."""
    need("strace")
    where = site.store("SQLite")
    database = where[1] / "sluice.db"
    # The path must exist for strace to follow it.
    first = site.server(where)
    made = first.make_flow()
    first.stop()
    wrapper = ("strace", "-f", "-o", "/dev/null", "-P", str(database), "-e", "trace=pwrite64", "-e", f"inject=pwrite64:{inject}")
    server = site.server(where, wrapper=wrapper)
    clients = Clients(server, made)
    code = ended(server, seconds)
    clients.end()
    server.stop(signal.SIGKILL)
    goes_on = "it goes on" if code is None else f"exit code {code}"
    try:
        again = site.server(where, ready_seconds=ready_seconds)
    except SystemExit:
        verdict = Verdict(len(clients.history.keys(OK)), broken=["it does not get ready any more"])
        return verdict.must(code == 4, goes_on)
    clients.settle(again)
    verdict = clients.judge(again, recovery=again.start_seconds)
    again.stop()
    verify = subprocess.run([str(part) for part in (site.binary, "verify", *where)], env=SETTINGS, capture_output=True)
    verdict.must(verify.returncode == 0, f"verify exits with {verify.returncode}")
    return verdict.must(code == 4, goes_on)


def reads(site, is_short=False):
    """Reads of the database fail while it is exported under load: the export breaks off, and never looks complete."""
    need("strace")
    where = site.store("SQLite")
    first = site.server(where)
    clients = Clients(first, first.make_flow())
    until(lambda: len(clients.history.keys(OK)) > 1_000)
    clients.end()
    clients.settle(first)
    first.stop()
    server = site.server(where)
    strace = subprocess.Popen(["strace", "-f", "-o", "/dev/null", "-p", str(server.pid()), "-P", str(where[1] / "sluice.db"),
                               "-e", "trace=pread64", "-e", f"inject=pread64:error=EIO:when={random.randint(1, 20)}+"], stderr=subprocess.DEVNULL)
    until(lambda: is_traced(server.pid()))
    counts = []
    for _ in range(EXPORTS):
        with contextlib.suppress(OSError):
            counts.append(exported(server, clients.flow, is_short))
    server.stop(signal.SIGKILL)
    strace.wait()
    broken, short = counts.count(None) + EXPORTS - len(counts), sum(1 for count in counts if count not in (None, len(clients.history.keys(OK))))
    # A page that cannot be read counts as damage, which a start does not forget until `verify` finds everything sound.
    verify = subprocess.run([str(part) for part in (site.binary, "verify", *where)], env=SETTINGS, capture_output=True)
    again = site.server(where)
    verdict = clients.judge(again, recovery=again.start_seconds)
    again.stop()
    verdict.must(verify.returncode == 0, f"verify exits with {verify.returncode}")
    verdict.must(broken or short, "no read has failed")
    return verdict.must(not short, f"{short} exports look complete, and are not")


def exported(server, flow, is_short):
    """How many lines a complete export has; none if it breaks off, unless `is_short` takes that for complete."""
    connection = http.client.HTTPConnection(*server.address, timeout=30)
    try:
        connection.request("GET", f"/api/admin/v1/flows/{flow}/export?format=jsonl", headers=AUTHORIZATION)
        reply = connection.getresponse()
        return len(reply.read().splitlines()) if reply.status == 200 or is_short else None
    except http.client.HTTPException:
        return 0 if is_short else None
    finally:
        connection.close()


FAULTS = [
    Fault("reads of the database fail (EIO)", reads, functools.partial(reads, is_short=True), "a reader that treats a partial read as complete",
          tries=(1, 10), fails="look complete, and are not"),
    Fault("a write of a checkpoint fails (EIO)", checkpoint, functools.partial(checkpoint, inject="retval=4096", seconds=8, ready_seconds=15),
          "the error swallowed", tries=(1, 10), fails="it goes on"),
    Fault("the disk refuses new blocks (loop)", functools.partial(on_disk, kind=Refusing),
          functools.partial(on_disk, kind=Refusing, binary=PLAIN), NO_CHECKS, tries=(1, 10), fails="it goes on"),
    Fault("the disk fails (device mapper)", functools.partial(on_disk, kind=Mapped), functools.partial(on_disk, kind=Mapped, binary=PLAIN),
          NO_CHECKS, tries=(1, 10), fails="it goes on"),
]
