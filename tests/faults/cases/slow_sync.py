"""Every sync takes 0.4 seconds longer, and three times the load is offered that the disk allows."""

import os
import pathlib
import re
import subprocess
import sys

from checker import Verdict
from faults import Fault
from places import need

SCRIPT = pathlib.Path(__file__).parents[1] / "overload"


def once(site):
    need("strace")
    done = subprocess.run([sys.executable, SCRIPT, "--delay", "0.4", "--seconds", "15"], capture_output=True, text=True,
                          env={**os.environ, "SLUICE_BIN": str(site.binary)})
    figure = lambda pattern: re.search(pattern, done.stdout, re.M)
    acknowledged, stored = map(int, figure(r"^acknowledged / stored\s+(\d+) / (\d+)").groups())
    recovery = float(figure(r"^recovered after, s\s+([\d.]+)")[1])
    broken = figure(r"^does not hold: (.*)")
    lost = max(0, acknowledged - stored)
    return Verdict(acknowledged, stored, lost, 0, recovery, [broken[1]] if broken else [])


FAULTS = [Fault("syncs 0.4 s slower, 3 × the load", once, None, "no build has an unbounded queue any more", tries=(1, 2))]
