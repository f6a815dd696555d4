"""What a cross-tabulation must be, computed from exported responses; see docs/summary.md."""

import collections
import decimal
import math

import expected


def sides(rows, columns):
    """The newest form of each question, and the row of a matrix."""
    found = []
    for side in (rows, columns):
        id, _, row = side.partition(":")
        found.append((next(thread for thread in expected.threads() if thread.id == id), row))
    return found


class Crosstab:
    """The expected numbers of two questions. Ranges of numbers and months have the edges of the reply."""

    def __init__(self, responses, filter, rows, columns, reply):
        self.reply = reply
        (row_thread, row), (column_thread, column) = sides(rows, columns)
        responses.select(filter.where)
        all_versions = dict(responses.rows("SELECT n, version FROM picked"))
        one = groups_of(responses, row_thread, row, reply["rows"]["groups"])
        other = groups_of(responses, column_thread, column, reply["columns"]["groups"])
        self.sums = collections.Counter()
        self.rows, self.columns, self.cells = collections.Counter(), collections.Counter(), collections.Counter()
        for n, version in all_versions.items():
            own, theirs = one.get(n, ()), other.get(n, ())
            self.sums[("neither", "onlyColumns", "onlyRows", "both")[2 * bool(own) + bool(theirs)]] += 1
            if version not in row_thread.forms or version not in column_thread.forms:
                continue
            if row_thread.kind == "text":
                own = own or ("notAnswered",)
            if column_thread.kind == "text":
                theirs = theirs or ("notAnswered",)
            if own and theirs:
                self.sums["counted"] += 1
                self.rows.update(own)
                self.columns.update(theirs)
                self.cells.update((a, b) for a in own for b in theirs)
        self.several = "multipleChoice" in (row_thread.type, column_thread.type)

    def check(self, check, place):
        reply = self.reply
        for name in ("both", "onlyRows", "onlyColumns", "neither", "counted"):
            check.equal(f"{place} {name}", reply[name], self.sums[name])
        for side, counts in (("rows", self.rows), ("columns", self.columns)):
            groups = [group["id"] for group in reply[side]["groups"]]
            for group in reply[side]["groups"]:
                check.equal(f"{place} {side} {group['id']}", group["responses"], counts[group["id"]])
            check.equal(f"{place} {side}: groups that are missing", sorted(set(counts) - set(groups)), [])
        for row, cells in zip(reply["rows"]["groups"], reply["cells"]):
            for column, cell in zip(reply["columns"]["groups"], cells):
                check.equal(f"{place} {row['id']} × {column['id']}", cell, self.cells[row["id"], column["id"]])
        self.check_significance(check, place)

    def check_significance(self, check, place):
        outcome, chi_square, degrees, p = self.significance()
        reply = self.reply["significance"]
        check.equal(f"{place} significance", reply["outcome"], outcome)
        check.equal(f"{place} degrees", reply["degrees"], degrees)
        check.equal(f"{place} chi square", reply["chiSquare"], chi_square)
        check.equal(f"{place} p", reply["p"], p)

    def significance(self):
        """The chi-square test of independence, by Cochran's rule only if enough responses are expected in the cells."""
        rows, columns = sorted(filter(self.rows.get, self.rows)), sorted(filter(self.columns.get, self.columns))
        if self.several or len(rows) < 2 or len(columns) < 2:
            return "notTested", None, None, None
        all = self.sums["counted"]
        expected_counts = {(row, column): self.rows[row] * self.columns[column] / all for row in rows for column in columns}
        large = sum(count >= 5 for count in expected_counts.values())
        if min(expected_counts.values()) < 1 or large < 0.8 * len(expected_counts):
            return "tooFew", None, None, None
        chi_square = sum((self.cells[key] - count) ** 2 / count for key, count in expected_counts.items())
        degrees = (len(rows) - 1) * (len(columns) - 1)
        p = upper_tail(chi_square, degrees)
        return ("unlikelyChance" if p < 0.05 else "couldBeChance"), chi_square, degrees, p


def upper_tail(x, degrees):
    """The probability that a chi-square variable exceeds x, by its recurrence over the degrees of freedom."""
    half = x / 2
    if degrees % 2:
        tail, term, start = math.erfc(math.sqrt(half)), math.exp(-half) * math.sqrt(half) / math.gamma(1.5), 1
    else:
        tail, term, start = math.exp(-half), math.exp(-half) * half, 2
    for at in range(start, degrees, 2):
        tail += term
        term *= half / (at / 2 + 1)
    return tail


def groups_of(responses, thread, row, groups):
    """The groups of each response that answers the question."""
    versions = ", ".join(map(str, thread.forms))
    rows = responses.rows(f"""SELECT n, place, value FROM answers JOIN picked USING (n)
        WHERE question = '{thread.id}' AND version IN ({versions})""")
    found = collections.defaultdict(set)
    for n, place, value in rows:
        group = group_of(thread, row, groups, place, value)
        if group is not None:
            found[n].add(group)
    return found


def group_of(thread, row, groups, place, value):
    match thread.kind:
        case "text":
            return "answered"
        case "nps":
            return "detractors" if int(value) <= 6 else "passives" if int(value) <= 8 else "promoters"
        case "options":
            return "other" if value.startswith("other:") else value
        case "ranking":
            return value if place == 0 else None
        case "matrix":
            own, _, column = value.partition(":")
            return column if own == row else None
        case "numbers":
            return range_of(groups, decimal.Decimal(value), decimal.Decimal)
        case "dates":
            return range_of(groups, value[:7] if 1900 <= int(value[:4]) <= 2099 else value[:4], str)
    return value


def range_of(groups, value, read):
    """The group `3`, `3 to 7`, `3 to under 7` or `over -7 to -3` that has this value."""
    for group in groups:
        low, _, high = group["id"].partition(" to ")
        is_above = read(low.removeprefix("over ")) < value if low.startswith("over ") else read(low) <= value
        is_below = value < read(high.removeprefix("under ")) if high.startswith("under ") else value <= read(high or low)
        if is_above and is_below:
            return group["id"]
    return f"a group with {value}"
