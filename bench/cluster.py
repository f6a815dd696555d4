"""A temporary PostgreSQL for the benchmark: durable, on loopback, in a temporary folder.

It is the server of the Debian package with its default settings. PostgreSQL refuses to run as root, so
root runs it as another user.
"""

import contextlib
import os
import pathlib
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile

USER = "bench"
# Settings that make a commit durable. They are the defaults; this checks them and does not set them.
DURABLE = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}


class Cluster:
    def __init__(self, folder):
        self.folder = folder
        self.programs = programs()
        self.port = free_port()

    def url(self, database):
        return f"postgres://{USER}@127.0.0.1:{self.port}/{database}"

    def sql(self, database, statement):
        """Runs a statement and returns its result as text."""
        psql = [self.programs / "psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", self.url(database)]
        return subprocess.run([*psql, "-c", statement], check=True, capture_output=True, text=True).stdout.strip()

    @contextlib.contextmanager
    def database(self, name):
        """A database for one contestant, dropped when it ends, to save disk space."""
        self.sql("postgres", f"CREATE DATABASE {name}")
        try:
            yield
        finally:
            self.sql("postgres", f"DROP DATABASE {name} WITH (FORCE)")

    def run(self, program, *arguments):
        command = [*as_other_user(), self.programs / program, "-D", self.folder / "data", *arguments]
        done = subprocess.run(command, cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{program} failed:\n{done.stdout}{done.stderr}")


@contextlib.contextmanager
def cluster():
    with tempfile.TemporaryDirectory(prefix="sluice-bench-", dir=os.environ.get("SLUICE_BENCH_DIR")) as folder:
        if user := other_user():
            os.chown(folder, user.pw_uid, user.pw_gid)
        made = Cluster(pathlib.Path(folder))
        made.run("initdb", "-A", "trust", "-E", "UTF8", "--locale=C", "-U", USER)
        settings = f"-p {made.port} -k {folder} -c listen_addresses=127.0.0.1"
        # The log is a file: a server that inherits this process's pipe would keep it open.
        made.run("pg_ctl", "start", "-w", "-l", f"{folder}/log", "-o", settings)
        try:
            for name, wanted in DURABLE.items():
                if (found := made.sql("postgres", f"SHOW {name}")) != wanted:
                    sys.exit(f"PostgreSQL runs with {name}={found}: its figures would be meaningless")
            yield made
        finally:
            made.run("pg_ctl", "stop", "-w", "-m", "fast")


def programs():
    """The folder of the server's programs: the newest package, or those on the PATH."""
    versions = pathlib.Path("/usr/lib/postgresql").glob("[0-9]*/bin/initdb")
    found = sorted(versions, key=lambda path: int(path.parts[-3]))
    on_path = shutil.which("initdb")
    if not found and not on_path:
        return None
    return found[-1].parent if found else pathlib.Path(on_path).parent


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def other_user():
    """The user as which root runs the server."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam("postgres")
    except KeyError:
        return pwd.getpwnam("nobody")


def as_other_user():
    user = other_user()
    if user is None:
        return []
    return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", "--"]
