"""Three Patroni nodes and three etcd members, on loopback, in one folder.

All programs are distribution packages except Patroni, which comes from PyPI into a separate folder.
PostgreSQL refuses to run as root, so root runs all of this as the user `postgres`.
Deliberately absent: a watchdog, TLS and a proxy; the service finds the leader by its connection URL.
"""

import json
import os
import pathlib
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

PATRONI = "patroni[etcd3]==4.1.5"
DRIVER = "psycopg[binary]>=3.2,<4"
NODES = ("a", "b", "c")
# Patroni accepts no ttl below 20 s; loop_wait + 2 × retry_timeout must not exceed it.
TTL, LOOP_WAIT, RETRY_TIMEOUT = 20, 5, 5
START_SECONDS_MAX = 180
STOP_SECONDS_MAX = 30
# The defaults (100 and 1000) are too short for a machine whose cores are shared with the load.
ETCD_HEARTBEAT_MS, ETCD_ELECTION_MS = 250, 2500

POSTGRES_SETTINGS = {
    "max_connections": 60,
    "shared_buffers": "64MB",
    "synchronous_commit": "on",
    "unix_socket_directories": "",
    "wal_log_hints": "on",
}


class Missing(Exception):
    """Something that must be installed by the user first."""


def install(tools):
    """Finds or installs the requirements: the server's programs, etcd, and a Python with Patroni."""
    missing = [] if shutil.which("etcd") else ["etcd-server"]
    missing += [] if server_programs() else ["postgresql"]
    missing += [] if has_venv() else ["python3-venv"]
    if missing and os.geteuid() != 0:
        raise Missing(f"as root on Debian: apt-get install {' '.join(missing)}")
    if missing:
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(["apt-get", "update", "-qq"], check=True, env=quiet)
        subprocess.run(["apt-get", "install", "-y", "-qq", *missing], check=True, env=quiet, stdout=subprocess.DEVNULL)
    python = tools / "patroni" / "bin" / "python"
    if not runs([python, "-c", "import patroni, psycopg"]):
        subprocess.run(["/usr/bin/python3", "-m", "venv", "--clear", tools / "patroni"], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", PATRONI, DRIVER], check=True)
    if not runs([python, "-c", ""], **as_user()):
        raise Missing(f"a path to {python} that the user {user_name()} may read")
    return python, server_programs()


def has_venv():
    """Checks the system's Python: the user `postgres` may not be able to read another one."""
    return runs(["/usr/bin/python3", "-c", "import ensurepip"])


def runs(command, **options):
    try:
        return subprocess.run(command, capture_output=True, **options).returncode == 0
    except OSError:
        return False


def server_programs():
    """The folder of the newest server, 15 or later."""
    found = [path for path in pathlib.Path("/usr/lib/postgresql").glob("*/bin") if (path / "postgres").exists()]
    found = [path for path in found if path.parent.name.isdigit() and int(path.parent.name) >= 15]
    return max(found, key=lambda path: int(path.parent.name), default=None)


def user_name():
    return "postgres" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name


def as_user():
    """Popen options for a process that must not run as root."""
    if os.geteuid() != 0:
        return {}
    return {"user": "postgres", "group": "postgres", "extra_groups": []}


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [it.getsockname()[1] for it in sockets]
    for it in sockets:
        it.close()
    return ports


def wait_for(what, condition, seconds=START_SECONDS_MAX):
    """Waits until `condition` returns a true value, and returns it."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.2)
    raise TimeoutError(f"{what}: not within {seconds} s")


class Cluster:
    def __init__(self, folder, python, programs):
        self.folder, self.python, self.programs = folder, python, programs
        ports = free_ports(12)
        self.etcd_ports = list(zip(ports[0:3], ports[3:6]))
        self.rest = dict(zip(NODES, ports[6:9]))
        self.port = dict(zip(NODES, ports[9:12]))
        self.password = secrets.token_hex(16)
        self.etcd, self.patroni = [], {}
        if os.geteuid() == 0:
            shutil.chown(folder, "postgres", "postgres")

    def start(self):
        peers = ",".join(f"{i}=http://127.0.0.1:{peer}" for i, (_, peer) in enumerate(self.etcd_ports))
        for i, (client, peer) in enumerate(self.etcd_ports):
            urls = {"client-urls": f"http://127.0.0.1:{client}", "peer-urls": f"http://127.0.0.1:{peer}"}
            options = [f"--name={i}", f"--data-dir={self.folder}/etcd-{i}", f"--initial-cluster={peers}"]
            options += [f"--listen-{name}={url}" for name, url in urls.items()]
            options += [f"--advertise-client-urls={urls['client-urls']}"]
            options += [f"--initial-advertise-peer-urls={urls['peer-urls']}"]
            options += [f"--heartbeat-interval={ETCD_HEARTBEAT_MS}", f"--election-timeout={ETCD_ELECTION_MS}"]
            self.etcd.append(self.spawn(["etcd", *options], f"etcd-{i}"))
        for name in NODES:
            self.start_node(name)
        wait_for("a cluster with a synchronous standby", lambda: self.is_whole())
        self.sql("postgres", f"CREATE ROLE sluice LOGIN PASSWORD '{self.password}'")
        self.sql("postgres", "CREATE DATABASE sluice OWNER sluice")

    def spawn(self, command, log):
        with open(self.folder / f"{log}.log", "a") as out:
            return subprocess.Popen(command, stdout=out, stderr=out, cwd=self.folder, **as_user())

    def start_node(self, name):
        path = self.folder / f"{name}.json"
        path.write_text(json.dumps(self.settings(name), indent=1))  # JSON is YAML
        path.chmod(0o644)
        self.patroni[name] = self.spawn([self.python, "-m", "patroni", path], f"patroni-{name}")

    def settings(self, name):
        account = {"username": "postgres", "password": self.password}
        of_cluster = {
            "ttl": TTL,
            "loop_wait": LOOP_WAIT,
            "retry_timeout": RETRY_TIMEOUT,
            "synchronous_mode": True,
            "synchronous_mode_strict": True,
            "postgresql": {"use_pg_rewind": True, "parameters": POSTGRES_SETTINGS},
        }
        rules = [f"host {database} all 127.0.0.1/32 scram-sha-256" for database in ("all", "replication")]
        return {
            "scope": "sluice",
            "name": name,
            "restapi": {key: f"127.0.0.1:{self.rest[name]}" for key in ("listen", "connect_address")},
            "etcd3": {"hosts": [f"127.0.0.1:{client}" for client, _ in self.etcd_ports]},
            "bootstrap": {"dcs": of_cluster, "initdb": [{"encoding": "UTF8"}, {"locale": "C"}, "data-checksums"]},
            "postgresql": {
                **{key: f"127.0.0.1:{self.port[name]}" for key in ("listen", "connect_address")},
                "data_dir": f"{self.folder}/data-{name}",
                "bin_dir": str(self.programs),
                "pgpass": f"{self.folder}/pgpass-{name}",
                "authentication": {role: account for role in ("superuser", "replication", "rewind")},
                "pg_hba": rules,
            },
        }

    def members(self):
        """The roles of running nodes by name, as reported by any live node."""
        for name in NODES:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.rest[name]}/cluster", timeout=3) as reply:
                    members = json.load(reply)["members"]
            except (OSError, ValueError, KeyError):
                continue
            return {it["name"]: it["role"] for it in members if it["state"] in ("running", "streaming")}
        return {}

    def leader(self):
        return next((name for name, role in self.members().items() if role == "leader"), None)

    def is_whole(self):
        roles = self.members()
        return len(roles) == len(NODES) and "leader" in roles.values() and "sync_standby" in roles.values()

    def kill_leader(self):
        """kill -9 for Patroni, so that it cannot release its key, and for its PostgreSQL."""
        name = wait_for("a leader", self.leader)
        postmaster = self.postmaster(name)
        self.patroni[name].kill()
        os.kill(postmaster, signal.SIGKILL)
        at = time.monotonic()
        self.patroni[name].wait()
        return name, at

    def postmaster(self, name):
        path = self.folder / f"data-{name}" / "postmaster.pid"
        return int(path.read_text().split()[0]) if path.exists() else None

    def url(self):
        hosts = ",".join(f"127.0.0.1:{self.port[name]}" for name in NODES)
        return f"postgres://sluice:{self.password}@{hosts}/sluice?target_session_attrs=read-write&sslmode=disable"

    def sql(self, database, statement):
        hosts, ports = ",".join(["127.0.0.1"] * 3), ",".join(str(self.port[name]) for name in NODES)
        place = f"host={hosts} port={ports} user=postgres dbname={database} target_session_attrs=read-write"
        command = [self.programs / "psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", place, "-c", statement]
        done = subprocess.run(command, env={"PGPASSWORD": self.password}, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def stop(self):
        """Stops every process of this cluster, each by its id."""
        for process in self.patroni.values():
            end(process)
        for name in NODES:
            # Patroni stops its server; one that it left behind is stopped here.
            pid = self.postmaster(name)
            if pid and pathlib.Path(f"/proc/{pid}/cwd").exists() and os.readlink(f"/proc/{pid}/cwd") == f"{self.folder}/data-{name}":
                os.kill(pid, signal.SIGQUIT)
        for process in self.etcd:
            end(process)


def end(process):
    process.terminate()
    try:
        process.wait(STOP_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
