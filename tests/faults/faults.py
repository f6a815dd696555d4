"""What a fault is: a line of the table, made of tries and of a control."""

import contextlib
import dataclasses
import functools
import pathlib
import typing

from checker import Verdict
from places import Postgres, folder
from under_load import Server

PLAIN = pathlib.Path(__file__).with_name("plain.py")
EARLY = "acknowledged on receipt"
NO_CHECKS = "a plain server without the checks"


class Site:
    """What a try may use. Everything of it is gone when the try ends, except the PostgreSQL that tries share."""

    def __init__(self, binary, stack, shared):
        self.binary, self.stack, self.shared = binary, stack, shared

    def folder(self):
        return self.stack.enter_context(folder())

    @property
    def postgres(self):
        """Shared by all tries: for faults that do not touch it."""
        if "postgres" not in self.shared:
            self.shared["postgres"] = Postgres(self.shared["stack"])
        return self.shared["postgres"]

    def own_postgres(self, **how):
        """For faults of PostgreSQL itself."""
        return Postgres(self.stack, **how)

    def store(self, name, data=None, postgres=None):
        """The arguments for an empty store of this kind."""
        data = data or self.folder() / "data"
        data.mkdir(exist_ok=True)
        return ["--data", data, *(["--store", (postgres or self.postgres).database()] if name == "PostgreSQL" else [])]

    def server(self, store, **how):
        server = Server(how.pop("binary", self.binary), store, self.folder() / "server.log", **how)
        self.stack.callback(end, server)
        return server


def end(server):
    if server.process.poll() is None:
        server.stop(9)


@dataclasses.dataclass
class Fault:
    """`once` makes a try on a site. `control` is the same without the protection that `without` names."""

    name: str
    once: typing.Callable[[Site], Verdict]
    control: typing.Callable[[Site], Verdict]
    without: str
    store: str = "SQLite"
    # In the short and in the long form; 0 if that form does not have it.
    tries: tuple = (1, 5)
    # What comes before the seconds in the column of recovery.
    recovery: str = ""
    # The most of these seconds in the long form, whose tries are one at a time; None if they are only recorded.
    recovery_max: float | None = None
    # If set, `once` makes up to so many of the tries, by the argument `count`.
    series: int = 0
    # A part of what the control must be seen to break.
    fails: str = " lost"
    # Whether it belongs to the selection that runs with all other tests.
    in_ci: bool = False

    def __str__(self):
        return f"{self.name} ({self.store})"

    def run(self, tries, made):
        """Makes so many tries; `made` runs a function on a site. Returns their verdicts."""
        if not self.series:
            return [made(self.once) for _ in range(tries)]
        counts = [min(self.series, tries - done) for done in range(0, tries, self.series)]
        verdicts = [made(functools.partial(self.once, count=count)) for count in counts]
        for verdict, count in zip(verdicts, counts):
            verdict.tries = count
        return verdicts


def in_site(binary, shared, what):
    with contextlib.ExitStack() as stack:
        return what(Site(binary, stack, shared))
