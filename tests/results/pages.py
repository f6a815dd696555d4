"""The numbers that the pages of the console print, compared with those that were computed.

Printed numbers are rounded: a share of 33% is right if the share is between 32.5% and 33.5%.
"""

import collections
import datetime
import decimal
import functools
import re

import expected
import html_tree
import survey

MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
# docs/console.md: the words of the latest responses, and the newest answers.
LATEST, NEWEST = 1_000, 5


def number(text):
    """A printed number, and half of its last digit."""
    text = text.replace(",", "").replace("−", "-").replace("+", "").removesuffix("%").strip()
    decimals = len(text.partition(".")[2])
    return decimal.Decimal(text), decimal.Decimal(1).scaleb(-decimals) / 2


def day_of(text):
    day, month, year = text.split()
    return datetime.date(int(year), MONTHS.index(month) + 1, int(day))


class Page:
    """A page, and the check that its numbers go to."""

    def __init__(self, check, place, text):
        self.check, self.place, self.root = check, place, html_tree.parse(text)

    def count(self, place, text, wanted):
        self.check.equal(f"{self.place} {place}", int(text.replace(",", "")) if re.fullmatch(r"[\d,]+", text) else text, wanted)

    def rounded(self, place, text, wanted, decimals=2):
        """A printed number is right if it is the nearest one with its digits. Trailing zeros are not printed."""
        self.check.figures += 1
        place = f"{self.place} {place}"
        if wanted is None:
            if text != "–":
                self.check.differ(place, text, "–")
            return
        try:
            found, _ = number(text)
        except decimal.InvalidOperation:
            return self.check.differ(place, text, wanted)
        places = min(decimals, 1) if abs(wanted) >= 1000 else decimals
        if abs(found - decimal.Decimal(wanted)) > decimal.Decimal(1).scaleb(-places) / 2 + decimal.Decimal("1e-6"):
            self.check.differ(place, text, wanted)

    def share(self, place, text, part, of):
        if of == 0:
            return self.check.equal(f"{self.place} {place}", text, "–")
        percent = 100 * part / of
        self.check.figures += 1
        match text:
            case "<1%":
                right = 0 < percent < 1
            case ">99%":
                right = 99 < percent < 100
            case _:
                right = re.fullmatch(r"\d+%", text) and abs(int(text[:-1]) - percent) <= 0.5 and (percent == 0) == (text == "0%")
        if not right:
            self.check.differ(f"{self.place} {place}", text, f"{part} of {of}")

    def table(self, place, rows, wanted, of):
        """Rows of a name, a count and its share; `wanted` returns the count of a name."""
        for name, count, share in rows[1:]:
            self.count(f"{place} {name}", count, wanted(name))
            self.share(f"{place} {name}", share, wanted(name), of)
        return [name for name, *_ in rows[1:]]


class ResultsPage(Page):
    """The page of results; `summary` is the computed summary of the same filter."""

    def __init__(self, check, place, text, responses, filter, summary):
        super().__init__(check, place, text)
        self.responses, self.filter, self.summary = responses, filter, summary

    def run(self):
        self.stats()
        self.responses.select(self.filter.where)
        days = dict(self.responses.rows("SELECT day, count(*) FROM picked GROUP BY day"))
        cards = list(self.root.all("section", "card", "result"))
        self.over_days("over time", html_tree.rows(cards[0].first("table")), days)
        answers = expected.Answers(self.responses, "day")
        _, *cards = self.score_card(cards, answers)
        self.check.equal(f"{self.place} number of cards", len(cards), len(self.summary["questions"]))
        for card, question in zip(cards, self.summary["questions"]):
            self.card(card, thread_of(question), question, answers)

    def score_card(self, cards, answers):
        """Checks the card after the first, if there are scores; returns the others."""
        score = self.summary["score"]
        self.check.equal(f"{self.place} has a score", cards[1].first("h2").text == "Score", score is not None)
        if score is None:
            return cards
        thread, question = expected.score_thread(), {"answered": score["responses"], "distribution": score["distribution"]}
        hint = re.search(r"· ([\d,]+) responses?$", cards[1].first("p", "hint").text)
        self.count("score, responses", hint[1], score["responses"])
        self.check.equal(f"{self.place} scored until", cards[1].first("span", "tag").text, f"Scored until version {max(thread.forms)}")
        self.figures("score", cards[1], thread, question, answers)
        return [cards[0], *cards[2:]]

    def stats(self):
        stats = {it.first("dt").text: it for it in self.root.first("dl", "stats").all("div", "stat")}
        self.count("Responses", stats["Responses"].first("dd", "big").text, self.summary["responses"])
        linked = stats["Linked to a respondent"]
        self.share("linked", linked.first("dd", "big").text, self.summary["admitted"], self.summary["responses"])
        found = re.fullmatch(r"([\d,]+) of ([\d,]+) responses?", linked.first("dd", "hint").text)
        self.count("linked", found[1], self.summary["admitted"])
        self.count("linked of", found[2], self.summary["responses"])
        [(first, last)] = self.responses.rows(f"SELECT min(day), max(day) FROM responses WHERE {' AND '.join(self.filter.where)}")
        shown = re.fullmatch(r"(.*?)(?: to (.*))? \(UTC\)", stats["Responses"].first("span", "stat-days").text)
        self.check.equal(f"{self.place} first", day_of(shown[1]), first)
        self.check.equal(f"{self.place} last", day_of(shown[2] or shown[1]), last)
        if not self.filter.query:
            today = survey.FIRST_DAY + datetime.timedelta(days=survey.DAYS - 1)
            week = [self.in_week(today), self.in_week(today - datetime.timedelta(days=7))]
            recent = stats["Responses in the last 7 days"]
            self.count("last 7 days", recent.first("dd", "big").text, week[0])
            self.count("7 days before", re.search(r"\(([\d,]+)\)", recent.first("dd", "hint").text)[1], week[1])

    def in_week(self, last):
        first = last - datetime.timedelta(days=6)
        return self.responses.rows(f"SELECT count(*) FROM responses WHERE day BETWEEN '{first}' AND '{last}'")[0][0]

    def over_days(self, place, rows, days):
        """Every bucket has the responses of its days."""
        wanted = lambda name: sum(days.get(day, 0) for day in bucket(name))
        names = self.table(place, rows, wanted, sum(days.values()))
        shown = {day for name in names for day in bucket(name)}
        self.check.equal(f"{self.place} {place}: days without a row", sorted(map(str, set(days) - shown)), [])

    def card(self, card, thread, question, answers):
        place = f"card {thread.id}"
        hint = re.search(r"answered in ([\d,]+) of ([\d,]+) responses? \((\S+)\)", card.first("p", "hint").text)
        self.count(f"{place} answered", hint[1], question["answered"])
        self.count(f"{place} of", hint[2], question["of"])
        self.share(f"{place} answered", hint[3], question["answered"], question["of"])
        self.figures(place, card, thread, question, answers)

    def figures(self, place, card, thread, question, answers):
        if thread.kind != "nps":
            self.headline(place, card, thread, question)
        tables = [html_tree.rows(table) for table in card.all("table")]
        if thread.kind != "text" and tables:
            self.distribution(place, tables[0], thread, question, answers)
        if thread.kind == "text" and not self.filter.query:
            self.texts(place, card, thread)
        if thread.kind == "nps":
            points = question["distribution"]["points"]
            self.table(f"{place} points", tables[1], lambda name: points[int(name)], question["answered"])
        if timed := card.first("div", "result-time"):
            self.line(f"{place} over time", html_tree.rows(timed.first("table")), thread, question, answers)

    def texts(self, place, card, thread):
        """The newest answers, and the words of the latest responses; a word counts once per answer."""
        [(all,)] = self.responses.rows("SELECT count(*) FROM responses")
        rows = self.responses.rows(f"""SELECT value FROM answers WHERE question = '{thread.id}' AND n >= {all - LATEST}
            AND n IN (SELECT n FROM responses WHERE version IN ({', '.join(map(str, thread.forms))})) ORDER BY n DESC""")
        quotes = card.first("ul", "quotes")
        found = [quote.text for quote in quotes.all("blockquote")] if quotes else []
        self.check.equal(f"{self.place} {place} newest", found, [" ".join(text.split()) for text, in rows[:NEWEST]])
        latest = [set(re.findall(r"[\w']+", text.lower())) for text, in rows]
        for item in card.first("ul", "words").all("li") if card.first("ul", "words") else ():
            word = item.first("bdi").text
            self.count(f"{place} word {word}", item.first("span", "number").text, sum(word.lower() in words for words in latest))

    def headline(self, place, card, thread, question):
        figure, told = card.first("p", "big").text, question["distribution"]
        match thread.kind:
            case "scale" | "numbers":
                self.rounded(f"{place} headline", figure, told["mean"])
            case "ranking":
                self.rounded(f"{place} headline", figure, min((it["meanPlace"] for it in told["options"] if it["meanPlace"]), default=None))
            case "options":
                most = max([it["count"] for it in told["options"]] + [told["other"]])
                self.share(f"{place} headline", figure, most, question["answered"])
            case "dates":
                self.share(f"{place} headline", figure, max(it["count"] for it in told["months"]), question["answered"])
            case _:
                self.count(f"{place} headline", figure, question["answered"])
        if thread.kind == "numbers" and question["answered"]:
            numbers = re.fullmatch(r"Median (\S+) · from (\S+) to (\S+)", card.first("div", "headline").first("p", "hint").text)
            for at, name in enumerate(("median", "min", "max"), 1):
                self.rounded(f"{place} {name}", numbers[at], told[name])

    def distribution(self, place, rows, thread, question, answers):
        told, answered = question["distribution"], question["answered"]
        values = [it for it in answers.values[thread.id] if it[0] in thread.forms]
        match thread.kind:
            case "ranking":
                self.ranks(place, rows, told)
            case "matrix":
                self.cells(place, rows, told)
            case _:
                self.table(place, rows, counter(thread, told, values), answered)

    def ranks(self, place, rows, told):
        _, *rows = rows
        options = {it["label"]: it for it in told["options"]}
        self.check.equal(f"{self.place} {place} options", sorted(row[0] for row in rows), sorted(options))
        for label, mean, *places in rows:
            self.rounded(f"{place} {label}", mean, options[label]["meanPlace"])
            for at, text in enumerate(places):
                own = options[label]["places"]
                self.count(f"{place} {label} {at + 1}", text, own[at] if at < len(own) else 0)

    def cells(self, place, rows, told):
        (_, *names, _), *rows = rows
        self.check.equal(f"{self.place} {place} columns", names, [it["label"] for it in told["columns"]])
        for (label, *cells, all), row, counts in zip(rows, told["rows"], told["cells"]):
            self.check.equal(f"{self.place} {place} row", label, row["label"])
            self.count(f"{place} {label}", all, sum(counts))
            for name, cell, count in zip(names, cells, counts):
                found = re.fullmatch(r"([\d,]+) \((\S+)\)", cell)
                self.count(f"{place} {label} {name}", found[1], count)
                self.share(f"{place} {label} {name}", found[2], count, sum(counts))

    def line(self, place, rows, thread, question, answers):
        """The key figure over time."""
        told = question["distribution"]
        answered_on, values_on = collections.Counter(), collections.defaultdict(list)
        for version, day, number in answers.answered[thread.id]:
            answered_on[day] += number if version in thread.forms else 0
        for it in answers.values[thread.id]:
            if it[0] in thread.forms:
                values_on[it[1]].append(it)
        for name, value, count in rows[1:]:
            answered = sum(answered_on[day] for day in bucket(name))
            self.count(f"{place} {name}", count, answered)
            values = [it for day in bucket(name) for it in values_on.get(day, ())]
            wanted = expected.over_time(thread, "", answered, values)
            figure = wanted["nps"] if thread.kind == "nps" else wanted["mean"]
            if thread.kind == "options":
                counts = [*(it["count"] for it in told["options"]), told["other"]]
                most = counts.index(max(counts))
                figure = 100 * wanted["parts"][most] / answered if most < len(wanted["parts"]) else 0
            self.rounded(f"{place} {name}", value, figure)


def thread_of(question):
    return next(it for it in expected.threads() if (it.id, it.type) == (question["id"], question["type"])
                and (it.kind != "scale" or it.max == question["distribution"]["max"]))


def bucket(name):
    """The days of a row over time: a day, a week, or several weeks. If not all of it is counted, the part that is follows in brackets."""
    found = re.fullmatch(r"(?:(?:(\d+) weeks|Week) from )?(\d+ \w+ \d+)(?: \((.*)\))?", name)
    length = 7 * int(found[1]) if found[1] else 7 if name.startswith("Week") else 1
    first, part = day_of(found[2]), found[3] or ""
    last = first + datetime.timedelta(days=length - 1)
    match re.sub(r"\d+ \w+ \d+", "DAY", part):
        case "" | "so far":
            pass
        case "until DAY":
            last = day_of(part.removeprefix("until "))
        case "only from DAY":
            first = day_of(part.removeprefix("only from "))
        case "only DAY":
            first = last = day_of(part.removeprefix("only "))
        case "only DAY to DAY":
            first, last = map(day_of, part.removeprefix("only ").split(" to "))
        case _:
            raise ValueError(name)
    return [first + datetime.timedelta(days=at) for at in range((last - first).days + 1)]


def counter(thread, told, values):
    """How many answers a row of the table has, by its name."""
    match thread.kind:
        case "nps":
            groups = {"Promoters": "promoters", "Passives": "passives", "Detractors": "detractors"}
            return lambda name: told[groups[name.split()[0]]] if name.split()[0] in groups else told["points"][int(name)]
        case "scale":
            return lambda name: told["points"][int(name) - 1]
        case "options":
            labels = {it["label"]: it["count"] for it in told["options"]} | {"Other": told["other"]}
            return lambda name: labels[name.removesuffix(" (no longer offered)")]
        case "numbers":
            given = expected.numbers(values)
            return lambda name: sum(count for number, count in given if is_in_range(number, *ends(name)))
        case "dates":
            months = collections.Counter()
            for *_, value, count in values:
                months[int(value[:4]), int(value[5:7])] += count
            return lambda name: sum(count for month, count in months.items() if is_in_months(month, name))


@functools.cache
def ends(name):
    """The ends of `3`, `3 to 7`, `3 to under 7`, `over 3 to 7` or `over 3 to under 7`, and whether each is excluded."""
    low, _, high = name.partition(" to ")
    return (number(low.removeprefix("over "))[0], low.startswith("over "),
            number(high.removeprefix("under ") or low)[0], high.startswith("under "))


def is_in_range(value, low, is_above, high, is_below):
    return (value > low if is_above else value >= low) and (value < high if is_below else value <= high)


def is_in_months(month, name):
    """`Nov 2026`, `Oct to Dec 2026`, `2026`, `2020 to 2029`."""
    year, own = month
    if found := re.fullmatch(r"(\d+)(?: to (\d+))?", name):
        return int(found[1]) <= year <= int(found[2] or found[1])
    found = re.fullmatch(r"(\w{3})(?: to (\w{3}))? (\d+)", name)
    first, last = MONTHS.index(found[1]) + 1, MONTHS.index(found[2] or found[1]) + 1
    return year == int(found[3]) and first <= own <= last
