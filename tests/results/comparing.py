"""Counts the figures that were compared, and keeps every difference with its place."""

import math

# Of numbers that are computed: a mean is exact to six decimals (docs/summary.md).
TOLERANCE = 2e-6


class Check:
    def __init__(self):
        self.figures = 0
        self.differences = []

    def equal(self, place, found, wanted):
        """Compares two values of any depth. Each number in them is a figure."""
        if isinstance(wanted, dict) and isinstance(found, dict):
            for name in wanted.keys() | found.keys():
                self.equal(f"{place} {name}", found.get(name, "nothing"), wanted.get(name, "nothing"))
        elif isinstance(wanted, list) and isinstance(found, list):
            if len(wanted) != len(found):
                self.differ(f"{place}: the number of entries", len(found), len(wanted))
            for at, (one, other) in enumerate(zip(found, wanted)):
                self.equal(f"{place} {self.name(one, at)}", one, other)
        else:
            self.figures += is_number(wanted)
            if not is_same(found, wanted):
                self.differ(place, found, wanted)

    @staticmethod
    def name(entry, at):
        names = ("id", "name", "value", "day", "month", "number", "from")
        return next((str(entry[name]) for name in names if isinstance(entry, dict) and name in entry), str(at))

    def differ(self, place, found, wanted):
        self.differences.append(f"{place}: found {found!r}, computed {wanted!r}")


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_same(found, wanted):
    if is_number(found) and is_number(wanted) and float in (type(found), type(wanted)):
        return math.isclose(found, wanted, rel_tol=1e-6, abs_tol=TOLERANCE)
    return found == wanted
