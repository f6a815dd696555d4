"""A backup of many responses at 1,500 submissions a second (tests/faults/backup)."""

import functools
import os
import pathlib
import re
import subprocess
import sys

from checker import Verdict
from faults import Fault

SCRIPT = pathlib.Path(__file__).parents[1] / "backup"
ROWS, RATE = 300_000, 1_500
# The control needs none of them.
ROWS_OF_CONTROL = 4_000


def once(site, store, rows=ROWS, further=()):
    to = ["--store", site.postgres.database(), "--restore-to", site.postgres.database()] if store == "PostgreSQL" else []
    command = [sys.executable, SCRIPT, "--rows", str(rows), "--rate", str(RATE), *to, *further]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "SLUICE_BIN": str(site.binary)})
    figures = re.search(r"^acknowledged before / missing\s+([\d,]+) / (\d+)", done.stdout, re.M)
    if not figures:
        raise SystemExit(f"no figures: {(done.stderr + done.stdout)[-500:]}")
    number = lambda text: int(text.replace(",", ""))
    acknowledged, lost = number(figures[1]), number(figures[2])
    doubled = number(re.search(r"^doubled / never sent\s+([\d,]+)", done.stdout, re.M)[1])
    verdict = Verdict(rows + acknowledged, rows + acknowledged - lost, lost, doubled)
    verdict.notes += [re.sub(r"\s{2,}", ": ", line) for line in done.stdout.splitlines() if re.match("backup, s|submit p50|restore|odd reply", line)]
    verdict.must(not lost, f"{lost:,} lost").must(not doubled, f"{doubled:,} doubled")
    return verdict.must(done.returncode == 0, done.stdout.splitlines()[-1])


FAULTS = [
    Fault(f"backup of {ROWS:,} at {RATE:,} submissions/s", functools.partial(once, store=store),
          functools.partial(once, store=store, rows=ROWS_OF_CONTROL, further=("--early",)), "the backup from before", store, tries=(0, 1))
    for store in ("SQLite", "PostgreSQL")
]
