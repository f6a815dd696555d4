"""Every sync takes 0.4 or 1 second longer, and three times the load is offered that the disk allows (tests/faults/overload)."""

import functools
import os
import pathlib
import re
import subprocess
import sys

from checker import Verdict
from faults import NO_CHECKS, PLAIN, Fault
from places import need

SCRIPT = pathlib.Path(__file__).parents[1] / "overload"


def once(site, delay, binary=None, further=()):
    need("strace")
    command = [sys.executable, SCRIPT, "--delay", str(delay), "--seconds", "15", *further]
    environment = {**os.environ, "SLUICE_BIN": str(binary or site.binary)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    figure = lambda pattern: re.search(pattern, done.stdout, re.M)
    if not figure(r"^acknowledged / stored"):
        raise SystemExit(f"no figures: {done.stderr[-500:]}")
    acknowledged, stored = map(int, figure(r"^acknowledged / stored\s+(\d+) / (\d+)").groups())
    recovery = float(figure(r"^recovered after, s\s+([\d.]+)")[1])
    broken = figure(r"^does not hold: (.*)")
    lost = max(0, acknowledged - stored)
    verdict = Verdict(acknowledged, stored, lost, 0, recovery, [broken[1]] if broken else [])
    verdict.notes.append("goodput is " + figure(r"^goodput / allowed\s+([\d.]+)")[1] + " of what the disk allows, at most " + figure(r"^peak memory, MiB\s+(\d+)")[1] + " MiB in memory with "
                         + figure(r"^connections at once\s+(\d+)")[1] + " connections")
    return verdict


# It stores one submission in a write, with a thread for each connection, and its queue has no limit.
control = functools.partial(once, delay=0.4, binary=PLAIN, further=("--write-rows", "1", "--patient", "20", "--undelayed", "0"))
FAULTS = [
    Fault(f"syncs {delay} s slower, 3 × the load", functools.partial(once, delay=delay), control, NO_CHECKS, tries=tries, fails="goodput")
    for delay, tries in ((0.4, (1, 2)), (1.0, (0, 1)))
]
