"""All goals: a figure of a scenario and its bound.

Names may contain `*`. A figure that is not listed has no goal and is still printed.
"""

import fnmatch

AT_LEAST, AT_MOST = "at least", "at most"

TARGETS = [
    ("submit-1", "sluice-sqlite / limit", AT_LEAST, 0.35),
    ("submit-1", "sluice-postgres / limit", AT_LEAST, 0.25),
    ("submit-64", "sluice-sqlite / limit", AT_LEAST, 0.70),
    ("submit-256", "sluice-sqlite / limit", AT_LEAST, 0.70),
    ("submit-64", "sluice-sqlite, processor time", AT_MOST, 22),
    ("submit-64", "sluice-postgres / reference", AT_LEAST, 20),
    ("submit-256", "sluice-postgres / reference", AT_LEAST, 20),
    ("resolve", "sluice-* / limit", AT_LEAST, 0.90),
    ("snapshot", "sluice-* / limit", AT_LEAST, 0.90),
    ("snapshot-gzip", "sluice-* / limit", AT_LEAST, 0.90),
    ("snapshot-304", "sluice-sqlite / sluice-sqlite 200", AT_LEAST, 1),
    ("many-apps", "*", AT_LEAST, 0.8),
    ("latency", "sluice-sqlite p99", AT_MOST, 5),
    ("webhooks", "* p99 with a hanging receiver / without", AT_MOST, 1.10),
    ("webhooks", "* p99 with an endpoint / without", AT_MOST, 1.5),
    ("webhooks", "* with an endpoint / without", AT_LEAST, 0.85),
    ("memory", "sluice-* idle", AT_MOST, 48),
    ("memory", "sluice-* under load", AT_MOST, 128),
    ("memory", "sluice-* growth", AT_MOST, 4),
    ("growth", "submit, large / small", AT_LEAST, 0.9),
    ("growth", "summary", AT_MOST, 50),
    ("growth", "page, *", AT_MOST, 20),
    ("growth", "memory after the pages", AT_MOST, 256),
    ("growth", "ready", AT_MOST, 100),
    ("postgres-growth", "submit, large / small", AT_LEAST, 0.9),
    ("postgres-growth", "summary", AT_MOST, 50),
    ("postgres-growth", "page, *", AT_MOST, 100),
    ("postgres-growth", "ready", AT_MOST, 100),
    ("console", "summary", AT_MOST, 50),
    ("console", "memory", AT_MOST, 256),
    ("console", "computed: *", AT_MOST, 2_000),
    ("console", "*", AT_MOST, 200),
    ("export", "sluice-sqlite csv", AT_LEAST, 300_000),
    ("export", "sluice-sqlite jsonl", AT_LEAST, 300_000),
    ("export", "*, memory", AT_MOST, 128),
    ("start-up", "*, large store", AT_MOST, 100),
]


def target(scenario, figure):
    """The sense and the bound, or None."""
    for of_scenario, of_figure, sense, bound in TARGETS:
        if scenario == of_scenario and fnmatch.fnmatchcase(figure, of_figure):
            return sense, bound
    return None


def is_met(value, sense, bound):
    return value >= bound if sense == AT_LEAST else value <= bound
