"""kill -9 of the leader of a Patroni cluster with three nodes, under load on two nodes (tests/faults/patroni)."""

import functools
import os
import pathlib
import re
import subprocess
import sys

from checker import Verdict
from faults import EARLY, Fault
from places import NotHere

SCRIPT = pathlib.Path(__file__).parents[1] / "patroni" / "run"


def once(site, count=1, early=False):
    command = [sys.executable, SCRIPT, "--rounds", str(count), *(["--early"] if early else [])]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "SLUICE_BIN": str(site.binary)})
    if done.stderr.startswith("missing:"):
        raise NotHere(done.stderr.strip())
    figure = lambda name: int(re.search(rf"^{name}\s+(\d+)$", done.stdout, re.M)[1])
    if "violations" not in done.stdout:
        raise SystemExit(f"no figures: {(done.stderr + done.stdout)[-500:]}")
    lost, doubled = done.stdout.count("acknowledged and lost"), len(re.findall("stored \\d+ times", done.stdout))
    outage = float(re.search(r"^outage.*/ ([\d.]+)$", done.stdout, re.M)[1])
    verdict = Verdict(figure("acknowledged"), figure("stored"), lost, doubled, outage)
    return verdict.must(not figure("violations"), f"{figure('violations'):,} acknowledged and lost, or never resolved")


FAULTS = [
    Fault("Patroni: leader killed", once, functools.partial(once, early=True), EARLY, "PostgreSQL", tries=(0, 5), series=5),
]
