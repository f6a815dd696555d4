"""What a fault is: a line of the table, made of tries and of a control."""

import contextlib
import dataclasses
import pathlib
import typing

from checker import Verdict
from places import Postgres, folder
from under_load import Server

PLAIN = pathlib.Path(__file__).with_name("plain.py")
EARLY = "acknowledged on receipt"
NO_CHECKS = "a plain server without the checks"


class Site:
    """What a try may use. Everything of it is gone when the try ends, except PostgreSQL."""

    def __init__(self, binary, stack, shared):
        self.binary, self.stack, self.shared, self.count = binary, stack, shared, 0

    def folder(self):
        return self.stack.enter_context(folder())

    @property
    def postgres(self):
        if "postgres" not in self.shared:
            self.shared["postgres"] = Postgres(self.shared["stack"])
        return self.shared["postgres"]

    def store(self, name, data=None):
        """The arguments for an empty store of this kind."""
        data = data or self.folder() / "data"
        data.mkdir(exist_ok=True)
        return ["--data", data, *(["--store", self.postgres.database()] if name == "PostgreSQL" else [])]

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
    control: typing.Callable[[Site], Verdict] | None
    without: str
    store: str = "SQLite"
    # In the short and in the long form.
    tries: tuple = (1, 5)
    # What comes before the seconds in the column of recovery.
    recovery: str = ""


def in_site(binary, shared, what):
    with contextlib.ExitStack() as stack:
        return what(Site(binary, stack, shared))
