"""Where stores are in the fault tests: folders, small and failing disks, and a PostgreSQL that can be restarted."""

import array
import contextlib
import fcntl
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time

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
    """A separate disk, as a file with ext4 in `here`, whose power can be cut."""

    def __init__(self, stack, here=None):
        need("mke2fs", "mount")
        here = here or stack.enter_context(folder())
        # PostgreSQL runs as another user.
        here.chmod(0o755)
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
    """A temporary PostgreSQL, started by scripts/postgres; `settings` are further ones, `here` is where its folder is."""

    def __init__(self, stack, settings=(), here=None, environment=()):
        options = " ".join(f"-c {name}={value}" for name, value in dict(settings).items())
        environment = {**os.environ, "SLUICE_POSTGRES_OPTIONS": options, **({"TMPDIR": str(here)} if here else {}), **dict(environment)}
        command = [ROOT / "scripts" / "postgres"]
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        stack.callback(self.stop)
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            # The script says why, and has tried to install what is missing.
            if not shutil.which("initdb") and not list(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb")):
                raise NotHere("PostgreSQL is not installed")
            raise SystemExit("PostgreSQL does not start")
        self.count, self.lock = 0, threading.Lock()
        self.folder = self.ask("SHOW data_directory")
        programs = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
        self.control = programs[-1] if programs else shutil.which("pg_ctl")
        self.first = self.read_first()
        # As it was started, without the program and its folder.
        self.options = pathlib.Path(self.folder, "postmaster.opts").read_text().split('"-p"', 1)[1].strip()

    def stop(self):
        self.process.stdin.close()
        self.process.wait(timeout=300)

    def ask(self, sql, url=None):
        return run("psql", "-X", "-A", "-t", "-q", "-d", url or self.url, "-c", sql).strip()

    def database(self):
        """The URL of a new empty one."""
        with self.lock:
            self.count += 1
            name = f"fault_{os.getpid()}_{self.count}"
        self.ask(f"CREATE DATABASE {name}")
        return re.sub(r"/postgres\?", f"/{name}?", self.url)

    def manage(self, *arguments, folder=None):
        run(*as_user(), self.control, *arguments, "-w", "-D", folder or self.folder, "-l", f"{self.folder}/../log", cwd="/")

    def restart(self):
        """As after a crash."""
        self.manage("restart", "-m", "immediate")
        self.first = self.read_first()

    def start(self):
        """After a kill: the files that name its process are removed, since a killed one may not have been reaped yet."""
        for file in (pathlib.Path(self.folder, "postmaster.pid"), *pathlib.Path(self.folder).parent.glob(".s.PGSQL.*")):
            file.unlink(missing_ok=True)
        self.manage("start", "-o", '"-p" ' + self.options)
        self.first = self.read_first()

    def read_first(self):
        """The id of the server's first process."""
        return int(pathlib.Path(self.folder, "postmaster.pid").read_text().split()[0])

    def processes(self):
        """The ids of the server and of its children."""
        return with_children(self.first)

    def kill(self):
        """kill -9 for all its processes."""
        processes = self.processes()
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        until(lambda: not any(is_alive(process) for process in processes))


def with_children(process):
    children = pathlib.Path(f"/proc/{process}/task/{process}/children")
    return [process, *map(int, children.read_text().split() if children.exists() else ())]


def attach(stack, first, inject):
    """Changes what the syncs of a PostgreSQL with this first process do, until the result is called."""
    need("strace")
    processes, syncs = with_children(first), "fsync,fdatasync"
    command = ["strace", "-f", "-o", "/dev/null", "-e", f"trace={syncs}", "-e", f"inject={syncs}:{inject}"]
    strace = subprocess.Popen([*command, *(part for process in processes for part in ("-p", str(process)))], stderr=subprocess.DEVNULL)

    def detach():
        if strace.poll() is None:
            strace.send_signal(signal.SIGINT)
            strace.wait(timeout=60)

    stack.callback(detach)
    until(lambda: all(map(is_traced, filter(is_alive, processes))))
    return detach


def is_alive(process):
    """Whether it has not ended, or only waits for its parent to notice."""
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def is_traced(process):
    """Whether strace has attached to it."""
    with open(f"/proc/{process}/status") as status:
        return "TracerPid:\t0\n" not in status.read()


def until(is_met, seconds=300):
    """Waits until this holds; returns whether it does."""
    end = time.monotonic() + seconds
    while not is_met():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def as_user():
    """PostgreSQL refuses to run as root."""
    return ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups", "--"] if os.geteuid() == 0 else []
