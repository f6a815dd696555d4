"""A real Citus cluster that the environment names, as for crates/store/tests/store/citus.rs."""

import os
import pathlib
import subprocess
import urllib.parse

from prometheus import ROOT  # it also adds the folder of the faults to the path
from places import NotHere, need, run

LAYOUT = ROOT / "crates" / "store" / "src" / "postgres" / "citus" / "layout.sql"
DATABASE = "sluice_observability"


def given(variable, what):
    if variable not in os.environ:
        raise NotHere(f"{variable} does not name {what}")
    return os.environ[variable]


def ask(*command, **how):
    try:
        return run(*command, **how)
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"{command[0]}: {error.stderr or error.stdout}") from error


def psql(url, *statements, script=""):
    """Runs each statement in a transaction of its own; without any, those of the script."""
    commands = [part for statement in statements for part in ("-c", statement)]
    return ask("psql", "-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-d", url, *commands, input=script)


def changed(url, **parts):
    return urllib.parse.urlsplit(url)._replace(**parts).geturl()


def own(url):
    """The URL of the database of these checks on the same node."""
    return changed(url, path=f"/{DATABASE}")


def drop(nodes):
    for node in nodes:
        psql(node, f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)")


def cluster(site):
    """The arguments for an empty store, whose database is on every node until the site ends."""
    coordinator = given("SLUICE_TEST_CITUS", "a database on a coordinator")
    need("psql")
    parts = urllib.parse.urlsplit(coordinator)
    user = parts.netloc.rpartition("@")[0]
    listed = psql(coordinator, "SELECT nodename, nodeport FROM pg_dist_node WHERE groupid <> 0").splitlines()
    workers = [line.split("|") for line in listed]
    nodes = [coordinator, *(changed(coordinator, netloc=f"{user}@{host}:{port}") for host, port in workers)]
    site.stack.callback(drop, nodes)
    drop(nodes)
    for node in nodes:
        psql(node, f"CREATE DATABASE {DATABASE}")
        psql(own(node), "CREATE EXTENSION citus")
    added = (f"SELECT citus_add_node('{host}', {port})" for host, port in workers)
    psql(own(coordinator), f"SELECT citus_set_coordinator_host('{parts.hostname}', {parts.port or 5432})", *added)
    store = ["--data", site.folder(), "--store", own(coordinator)]
    refused = refusal(site, store)
    assert "layout.sql" in refused, f"tables that are not placed: {refused}"
    # Over fewer shards than in production.
    psql(own(coordinator), script=LAYOUT.read_text().replace("shard_count => 64", "shard_count => 8"))
    return store


def refusal(site, store):
    """What a server says that does not start. It has created the tables."""
    try:
        site.server(store)
    except SystemExit as why:
        return str(why)
    return "the server started"


class Worker:
    """One of the workers, which is started again when the site ends."""

    def __init__(self, site):
        self.stack = site.stack
        self.folder = pathlib.Path(given("SLUICE_TEST_CITUS_WORKER", "the data folder of a worker")).resolve()
        # The line with which it was started: first the program, whose version pg_ctl must have.
        program = (self.folder / "postmaster.opts").read_text().split()[0]
        self.control = pathlib.Path(program).with_name("pg_ctl")

    def manage(self, *arguments):
        """As its owner: PostgreSQL refuses to run as root."""
        user = ("setpriv", "--reuid", self.folder.owner(), "--regid", self.folder.group(), "--clear-groups", "--")
        log = self.folder / "pg_ctl.log"
        ask(*(user if os.geteuid() == 0 else ()), self.control, *arguments, "-w", "-D", self.folder, "-l", log, cwd="/")

    def stop(self):
        # A restart also starts one that is stopped, with the same options.
        self.stack.callback(self.manage, "restart", "-m", "fast")
        self.manage("stop", "-m", "fast")
