"""The context of every scenario: options, setup, and how to start contestants."""

import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import cluster
import contestants
from contestants import ON_POSTGRES, ROOT

REFERENCE = ROOT / "bench" / "reference"
EXAMPLES = ("limit", "pace", "fill")


class Bench:
    """Stops everything it started on exit."""

    def __init__(self, options):
        self.options = options
        self.only = options.only
        self.rounds, self.seconds = options.rounds, options.seconds
        self.stack = contextlib.ExitStack()
        self.started = 0

    def __enter__(self):
        place = os.environ.get("SLUICE_BENCH_DIR")
        made = tempfile.TemporaryDirectory(prefix="sluice-bench-", dir=place)
        self.folder = pathlib.Path(self.stack.enter_context(made))
        self.cluster = None
        return self

    def __exit__(self, *_):
        self.stack.close()

    def warm_up(self, seconds):
        return 1 if self.options.quick else seconds

    def postgres(self):
        """The PostgreSQL of this run, started on first use."""
        if not self.cluster:
            self.cluster = self.stack.enter_context(cluster.cluster())
        return self.cluster

    def start(self, stack, name, sizes=None, arguments=()):
        """A contestant with an empty store. `arguments` are further ones of `sluice serve`."""
        if name == "limit":
            return contestants.limit(stack, sizes or {})
        if name == "reference":
            return contestants.reference(stack, self.postgres())
        if name == "sluice-postgres":
            return contestants.sluice_on_postgres(stack, self.postgres(), arguments=arguments)
        made = stack.enter_context(tempfile.TemporaryDirectory(dir=self.folder))
        return contestants.sluice_on_sqlite(stack, pathlib.Path(made) / "sluice.db", arguments)


def set_up(needed):
    """Installs and builds what these contestants and the load need."""
    if not shutil.which("wrk"):
        install("wrk")
    if ON_POSTGRES & needed and not cluster.programs():
        install("postgresql")
    if "reference" in needed:
        installed, locked = REFERENCE / "node_modules" / ".package-lock.json", REFERENCE / "package-lock.json"
        if not installed.exists() or installed.stat().st_mtime < locked.stat().st_mtime:
            subprocess.run(["npm", "ci", "--silent"], cwd=REFERENCE, check=True)
    build()


def build():
    if contestants.OTHER_BINARIES:
        return
    command = ["cargo", "build", "--profile", "dist", "--quiet", "-p", "sluice", "-p", "sluice-web", "-p", "sluice-store", "--bin", "sluice"]
    for example in EXAMPLES:
        command += ["--example", example]
    subprocess.run(command, cwd=ROOT, check=True)


def install(package):
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        sys.exit(f"{package} is missing; on Debian, as root: apt-get install {package}")
    subprocess.run(["apt-get", "update", "-qq"], check=True)
    subprocess.run(["apt-get", "install", "-y", "-qq", package], check=True)
