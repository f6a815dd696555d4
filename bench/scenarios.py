"""The table of scenarios. A new one is a line here; one that is more than plain load is a separate file.

`run` takes the bench and returns a dictionary: `figures` (each a name, a unit and its values by round), and
optionally `lanes`, `notes` and `problems`. Goals are in targets.py.
"""

import dataclasses
import typing

import apps
import console
import export
import growth
import latency
import memory
import nodes
import webhooks
from closed import PAIRS, Lane, lanes, measure
from contestants import NAMES, SLUICES

WITHOUT_REFERENCE = ("limit", *SLUICES)
# Four reads of the flow and four of its questions for every two submissions.
MIXED = ["resolve", "snapshot", "submit", "resolve", "snapshot", "resolve", "snapshot", "submit", "resolve", "snapshot"]


@dataclasses.dataclass
class Scenario:
    name: str
    about: str
    run: typing.Callable
    contestants: tuple[str, ...]
    # Whether it runs by default, or only if named.
    usual: bool = True


def of_file(name, about, run, contestants, usual=True):
    return Scenario(name, about, lambda bench: run(bench, contestants), contestants, usual)


def closed(name, about, its_lanes, connections=64, pairs=PAIRS):
    names = tuple(dict.fromkeys(lane.contestant for lane in its_lanes))
    return Scenario(name, about, lambda bench: measure(bench, its_lanes, connections, pairs), names)


SNAPSHOT_304 = lanes(WITHOUT_REFERENCE, "snapshot-304") + [Lane("sluice-sqlite 200", "sluice-sqlite", ["snapshot"])]

# A page is rendered and compressed for each reader, because it has a unique key; the questions are cached.
PAGES = [Lane("page", "sluice-sqlite", ["page"]), Lane("snapshot-gzip", "sluice-sqlite", ["snapshot-gzip"])]

SCENARIOS = [
    *(
        closed(f"submit-{count}", "submissions", lanes(NAMES, "submit"), count)
        for count in (1, 64, 256)
    ),
    *(
        closed(f"batch-{count}", "batches of ten submissions", lanes(NAMES, "batch"), count)
        for count in (1, 64, 256)
    ),
    closed("refused", "submissions without a required answer", lanes(WITHOUT_REFERENCE, "refused")),
    closed("replay", "the same submission repeatedly, with its key", lanes(WITHOUT_REFERENCE, "replay")),
    closed("resolve", "which version is the latest", lanes(WITHOUT_REFERENCE, "resolve")),
    closed("snapshot", "the questions of a version", lanes(WITHOUT_REFERENCE, "snapshot")),
    closed("snapshot-gzip", "the questions, compressed", lanes(WITHOUT_REFERENCE, "snapshot-gzip")),
    closed(
        "snapshot-304", "the questions, not modified", SNAPSHOT_304,
        pairs=[*PAIRS, ("sluice-sqlite", "sluice-sqlite 200")],
    ),
    closed("mixed", "80 % reads, 20 % submissions", lanes(WITHOUT_REFERENCE, *MIXED)),
    closed(
        "hosted", "the page of a flow next to its questions, one reader at a time", PAGES, 1,
        pairs=[("page", "snapshot-gzip")],
    ),
    of_file("many-apps", "submissions to 1, 10, 100 and 1,000 apps in turn", apps.measure, SLUICES),
    of_file("nodes", "submissions to 1, 2 and 4 nodes over one PostgreSQL", nodes.measure, ("sluice-postgres",)),
    of_file("latency", "at a constant rate, half of the peak", latency.measure, NAMES),
    of_file("webhooks", "submissions with and without a webhook endpoint", webhooks.measure, SLUICES),
    of_file("memory", "resident, idle and under load", memory.measure, SLUICES),
    of_file("start-up", "until ready, with many responses stored", growth.start_up, ("sluice-sqlite",)),
    of_file("growth", "a large store next to a small one", growth.measure, ("sluice-sqlite",)),
    of_file("export", "all responses as a file", export.measure, ("sluice-sqlite",)),
    of_file("console", "pages of the console, of ninety days of responses", console.measure, ("sluice-sqlite",)),
    of_file("memory-hour", "resident, during an hour of 400 submissions a second", memory.hour, SLUICES, usual=False),
    # Filling PostgreSQL takes a quarter of an hour.
    of_file("postgres-growth", "the same on PostgreSQL", growth.measure, ("sluice-postgres",), usual=False),
]


def usual():
    return [one for one in SCENARIOS if one.usual]


def choose(names):
    """The scenarios with these names or prefixes: `submit` is all three of them. The longest ones only by their whole names."""
    unknown = [name for name in names if not any(fits(one, name) for one in SCENARIOS)]
    if unknown:
        raise ValueError(f"no scenario {', '.join(unknown)}; available: {', '.join(one.name for one in SCENARIOS)}")
    return [one for one in SCENARIOS if any(fits(one, name) for name in names)]


def fits(scenario, name):
    return scenario.name == name or scenario.usual and scenario.name.startswith(f"{name}-")
