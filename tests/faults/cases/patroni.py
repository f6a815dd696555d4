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
    # The sentences below the figures are only the first of them.
    lost, doubled = figure("acknowledged and lost"), figure("stored more than once")
    others = figure("violations") - lost - doubled
    outage = float(re.search(r"^outage.*/ ([\d.]+)$", done.stdout, re.M)[1])
    verdict = Verdict(figure("acknowledged"), figure("stored"), lost, doubled, outage)
    verdict.must(not lost, f"{lost:,} lost").must(not doubled, f"{doubled:,} doubled")
    first = re.search("^VIOLATION: (?!.*(acknowledged and lost|times)$).*", done.stdout, re.M)
    return verdict.must(not others, f"{others:,} other violations" + (f", such as {first[0]}" if first else ""))


FAULTS = [
    Fault("Patroni: leader killed", once, functools.partial(once, early=True), EARLY, "PostgreSQL", tries=(0, 5), series=5),
]
