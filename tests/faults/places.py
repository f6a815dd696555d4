"""Where stores are in the fault tests: folders, small and failing disks, and a PostgreSQL that can be restarted."""

import array
import contextlib
import fcntl
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# _IOR('X', 125, __u32), and its flag: the journal is not written either, as when the power fails.
EXT4_IOC_SHUTDOWN, NO_LOG_FLUSH = 0x8004587D, 2
DISK_MEBIBYTES = 256


class NotHere(Exception):
    """The fault cannot be made on this machine; the text says why."""


@contextlib.contextmanager
def folder():
    with tempfile.TemporaryDirectory(prefix="sluice-fault-") as path:
        yield pathlib.Path(path)


def run(*command, **how):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True, **how).stdout


def need(*programs):
    missing = [program for program in programs if not shutil.which(program)]
    if missing:
        raise NotHere(f"{', '.join(missing)} is not installed")


@contextlib.contextmanager
def mounted(*arguments):
    """A folder with something mounted, which needs root."""
    with folder() as path:
        try:
            run("mount", *arguments, path)
        except (OSError, subprocess.CalledProcessError) as error:
            raise NotHere(f"nothing can be mounted: {getattr(error, 'stderr', error)}") from error
        try:
            yield path
        finally:
            subprocess.run(["umount", "-l", path], check=False)


def small_disk(mebibytes):
    return mounted("-t", "tmpfs", "-o", f"size={mebibytes}m", "tmpfs")


class Disk:
    """A disk of its own, as a file with ext4, whose power can be cut."""

    def __init__(self, stack):
        need("mke2fs", "mount")
        here = stack.enter_context(folder())
        self.image, self.path, self.stack = here / "disk", here / "mounted", stack
        self.path.mkdir()
        with open(self.image, "wb") as image:
            image.truncate(DISK_MEBIBYTES * 1024 * 1024)
        run("mke2fs", "-q", "-t", "ext4", self.image)
        self.mount()
        stack.callback(subprocess.run, ["umount", "-l", self.path], check=False)

    def mount(self):
        try:
            run("mount", "-o", "loop", self.image, self.path)
        except subprocess.CalledProcessError as error:
            raise NotHere(f"no disk can be mounted: {error.stderr.strip()}") from error

    def cut_power(self):
        """From here on nothing reaches the disk, not even what the kernel already has."""
        directory = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.ioctl(directory, EXT4_IOC_SHUTDOWN, array.array("I", [NO_LOG_FLUSH]))
        except OSError as error:
            raise NotHere(f"the power cannot be cut: {error}") from error
        finally:
            os.close(directory)

    def power_on(self):
        run("umount", self.path)
        self.mount()


class Postgres:
    """A temporary PostgreSQL, started by scripts/postgres."""

    def __init__(self, stack):
        self.process = subprocess.Popen([ROOT / "scripts" / "postgres"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        stack.callback(self.stop)
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            raise NotHere("PostgreSQL does not start")
        self.count = 0
        self.folder = self.ask("SHOW data_directory")
        programs = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
        self.control = shutil.which("pg_ctl") or (programs and programs[-1])

    def stop(self):
        self.process.stdin.close()
        self.process.wait(timeout=300)

    def ask(self, sql, url=None):
        return run("psql", "-X", "-A", "-t", "-q", "-d", url or self.url, "-c", sql).strip()

    def database(self):
        """The URL of a new empty one."""
        self.count += 1
        self.ask(f"CREATE DATABASE fault_{os.getpid()}_{self.count}")
        return re.sub(r"/postgres\?", f"/fault_{os.getpid()}_{self.count}?", self.url)

    def restart(self):
        """As after a crash."""
        as_user = ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups", "--"] if os.geteuid() == 0 else []
        run(*as_user, self.control, "restart", "-w", "-m", "immediate", "-D", self.folder, "-l", f"{self.folder}/../log", cwd="/")
