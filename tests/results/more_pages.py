"""Comparisons, cross-tabulations, the funnel and the number of matches, as the console prints them."""

import re

import expected
import funnel
import html_tree
from pages import Page, ResultsPage, day_of, thread_of


class ComparedPage(ResultsPage):
    """The results of several groups side by side. Each table has the rows of all groups, with their name first."""

    def __init__(self, check, place, text, responses, filter, group):
        super().__init__(check, place, text, responses, filter, responses.summary(filter))
        self.group = group

    def run(self):
        # Text questions have no table, but their number of answers by group.
        _, score, *cards = self.root.all("section", "card", "result")
        self.check.equal(f"{self.place} has a score", score.first("h2").text, "Score")
        names, tables = [], []
        for card, question in zip(cards, self.summary["questions"]):
            if thread_of(question).kind == "text":
                names += [term.text for term in card.first("dl", "group-answers").all("dt")]
            else:
                tables.append((question, html_tree.rows(card.first("table"))))
                names += [row[0] for row in tables[-1][1][1:]]
        self.check.equal(f"{self.place} has groups", len(set(names)) > 1, True)
        for name in dict.fromkeys(names):
            filter = self.filter.and_also(*self.group(name))
            summary = self.responses.summary(filter)
            self.responses.select(filter.where)
            answers = expected.Answers(self.responses, "day")
            for card, question in zip(cards, self.summary["questions"]):
                self.card_of(name, card, question, summary, answers)
            own = summary["score"] and {"answered": summary["score"]["responses"], "distribution": summary["score"]["distribution"]}
            self.table_of(name, f"{name}, score", score, expected.score_thread(), own, answers)

    def card_of(self, name, card, question, summary, answers):
        thread = thread_of(question)
        own = next((it for it in summary["questions"] if thread_of(it).is_about(thread.newest)), None)
        place = f"{name}, card {thread.id}"
        if thread.kind == "text":
            for term, found in zip(card.first("dl", "group-answers").all("dt"), card.first("dl", "group-answers").all("dd")):
                if term.text == name:
                    found = re.fullmatch(r"([\d,]+) of ([\d,]+) responses? \((\S+)\)", found.text)
                    self.count(f"{place} answered", found[1], own["answered"])
                    self.count(f"{place} of", found[2], own["of"])
            return
        self.table_of(name, place, card, thread, own, answers)

    def table_of(self, name, place, card, thread, own, answers):
        header, *rows = html_tree.rows(card.first("table"))
        rows = [row[1:] for row in rows if row[0] == name]
        self.check.equal(f"{self.place} {place} has rows", bool(rows), own is not None)
        if rows:
            self.distribution(place, [header[1:], *rows], thread, own, answers)


def version_group(ids):
    return lambda name: [expected.by_version(int(name.removeprefix("Version ")), ids)]


def tag_group(tag):
    return lambda name: [expected.by_tag(tag, name)]


def period_group(name):
    first, _, last = name.partition(" to ")
    return [expected.by_day("from", day_of(first)), expected.by_day("to", day_of(last))]


class CrosstabPage(Page):
    """A cross-tabulation; `table` has the expected numbers and the reply of the API with the labels."""

    def run(self, table):
        reply, sums = table.reply, table.sums
        rows = {it["label"]: it["id"] for it in reply["rows"]["groups"]}
        columns = {it["label"]: it["id"] for it in reply["columns"]["groups"]}
        (_, *names, _), *lines = html_tree.rows(self.root.first("table", "crosstab-table"))
        self.check.equal(f"{self.place} columns", names, list(columns))
        self.check.equal(f"{self.place} rows", [line[0] for line in lines], [*rows, "All"])
        for label, *cells, all in lines:
            of = sums["counted"] if label == "All" else table.rows[rows[label]]
            self.cell(f"{label} all", all, of, sums["counted"])
            for name, cell in zip(names, cells):
                count = table.columns[columns[name]] if label == "All" else table.cells[rows[label], columns[name]]
                self.cell(f"{label} × {name}", cell, count, of)
        base = self.root.first("section", "result").first("p", "hint").text
        self.count("both", re.match(r"[\d,]+", base)[0], sums["both"])
        left_out = re.search(r"; ([\d,]+) without", base)
        self.count("left out", left_out[1] if left_out else "0", sum(sums.values()) - 2 * sums["counted"])
        if figure := self.root.first("figure"):
            self.bars(html_tree.rows(figure.first("table")), rows, columns, table)

    def bars(self, lines, rows, columns, table):
        (_, *names, _), *lines = lines
        for label, *cells, all in lines:
            counts = [table.cells[rows[label], columns[name]] for name in names]
            self.count(f"bar {label}", all, sum(counts))
            for name, cell, count in zip(names, cells, counts):
                found = re.fullmatch(r"([\d,]+) \((\S+)\)", cell)
                self.count(f"bar {label} × {name}", found[1], count)
                self.share(f"bar {label} × {name}", found[2], count, sum(counts))

    def cell(self, place, text, count, of):
        number, share = text.split()
        self.count(place, number, count)
        self.share(place, share, count, of)


class FunnelPage(Page):
    def run(self, visits, chosen, version):
        opened = visits.count(chosen, "opened")
        steps = [("opened", None), *(("seen", question["id"]) for question, _ in funnel.questions(version)), ("finished", None)]
        steps.insert(2, ("started", None))
        _, *rows = html_tree.rows(self.root.first("figure").first("table"))
        self.check.equal(f"{self.place} rows", len(rows), len(steps))
        for (label, count, share, left), (step, question) in zip(rows, steps):
            wanted = visits.count(chosen, step, question)
            self.count(label, count, wanted)
            self.share(label, share, wanted, opened)
            if question:
                self.count(f"{label} left", left, wanted - visits.count(chosen, "passed", question))
        stats = {it.first("dt").text: it.first("dd", "big").text for it in self.root.first("dl", "stats").all("div", "stat")}
        for name in ("Opened", "Started", "Finished"):
            self.count(name, stats[name], visits.count(chosen, name.lower()))


class ResponsesPage(Page):
    def run(self, matching):
        found = self.root.first("span", "match-count").first("strong").text
        self.count("matches", found.removesuffix(" responses").removesuffix(" response"), matching)
