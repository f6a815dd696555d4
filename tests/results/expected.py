"""What the results must be, computed by DuckDB from exported responses.

Follows docs/summary.md, docs/api.md and docs/funnel.md only. It takes from the server the edges of bins and of ranges,
which the documents leave open, and counts itself what is in them.
"""

import collections
import datetime
import decimal
import functools
import json

import duckdb
import pyarrow

import survey

DAYS_MAX = 200
TAG_BYTES_MAX = 120
TAG_VALUES_MAX = 100
NO_REPLY = {"questions": [], "versions": [], "asOf": None, "score": None}
# What the results of each type are, besides texts.
KINDS = {
    "nps": "nps", "rating": "scale", "ranking": "ranking", "matrix": "matrix", "number": "numbers", "date": "dates",
    "singleChoice": "options", "dropdown": "options", "multipleChoice": "options", "yesNo": "options", "consent": "options",
}
# Stored beside the answers; no question has this id.
SCORE = ".score"


class Thread:
    """A question over all versions that ask it with the same type and scale."""

    def __init__(self, question):
        self.id, self.type, self.max = question["id"], question["type"], question.get("max")
        self.forms = {}  # by the number of the version, newest first

    def is_about(self, question):
        return (self.id, self.type) == (question["id"], question["type"]) and (self.type != "rating" or self.max == question["max"])

    @property
    def newest(self):
        return self.forms[max(self.forms)]

    def choices(self, field):
        """The label of each option of any version; those of the newest version come first."""
        labels = {}
        for number in sorted(self.forms, reverse=True):
            for choice in self.forms[number][field]:
                labels.setdefault(choice["id"], choice["label"])
        return labels

    @property
    def kind(self):
        if self.type in survey.TEXTS:
            return "text"
        return KINDS[self.type]


@functools.cache
def threads():
    """In the order of the newest version; then those that it does not ask."""
    found = []
    for number, (_, questions) in reversed(list(enumerate(survey.VERSIONS, 1))):
        for question in questions:
            if question["type"] == "statement":
                continue
            thread = next((it for it in found if it.is_about(question)), None)
            if thread is None:
                thread = Thread(question)
                found.append(thread)
            thread.forms[number] = question
    return found


@functools.cache
def score_thread():
    """The score, like a number question of the versions with scores."""
    thread = Thread({"id": SCORE, "type": "number"})
    for number, (_, questions) in enumerate(survey.VERSIONS, 1):
        if any("score" in part for question in questions for part in [question, *question.get("options", [])]):
            thread.forms[number] = {"id": SCORE, "type": "number", "prompt": "Score"}
    return thread


def score_of(answers, number):
    """The sum of the scores of the answers to a version (docs/flows.md)."""
    total = decimal.Decimal(0)
    for question in survey.VERSIONS[number - 1][1]:
        given = answers.get(question["id"]) or []
        given = given if isinstance(given, list) else [given]
        if question.get("score") == "value":
            total += sum(map(int, given))
        scores = {option["id"]: decimal.Decimal(str(option["score"])) for option in question.get("options", []) if "score" in option}
        total += sum(scores.get(id, 0) for id in given)
    return total


class Filter:
    """Query parameters, and what they mean in SQL."""

    def __init__(self, *parts):
        self.parts = parts
        self.query, self.where, self.version, self.without_tag, self.without_version = [], ["true"], None, ["true"], ["true"]
        for query, where in parts:
            self.query.append(query)
            self.where.append(where)
            if query[0] == "version":
                self.version = query[1]
            else:
                self.without_version.append(where)
            if not query[0].startswith("tag."):
                self.without_tag.append(where)

    @property
    def is_counted(self):
        names = [name for name, _ in self.query]
        return sum(name.startswith("tag.") for name in names) <= 1 and not any(name == "admission" or name.startswith("answer.") for name in names)

    def and_also(self, *parts):
        return Filter(*self.parts, *parts)

    def __str__(self):
        return "&".join(f"{name}={value}" for name, value in self.query) or "everything"


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def by_day(name, day):
    return (name, str(day)), f"day {'>=' if name == 'from' else '<='} DATE '{day}'"


def by_version(number, ids):
    return ("version", ids[number]), f"version = {number}"


def by_admission(value):
    return ("admission", value), f"admission = '{value}'"


def by_tag(name, value):
    return (f"tag.{name}", value), f"n IN (SELECT n FROM tags WHERE name = {quoted(name)} AND value = {quoted(value)})"


def by_answer(question, operator, value):
    key = f"answer.{question}[{operator}]" if operator else f"answer.{question}"
    among = f"n {{}} (SELECT n FROM answers WHERE question = '{question}' AND ({{}}))"
    types = {form["type"] for thread in threads() if thread.id == question for form in thread.forms.values()}
    match operator:
        case "answered":
            where = among.format("IN" if value == "true" else "NOT IN", "true")
        case "" if value == "other":
            where = among.format("IN", "value = 'other' OR starts_with(value, 'other:')")
        case "":
            where = among.format("IN", f"value = {quoted(value)}")
        case "ne":
            same = among.format("NOT IN", f"value = {quoted(value)}")
            where = f"{among.format('IN', 'true')} AND {same}"
        case "contains" if types & set(survey.TEXTS):
            where = among.format("IN", f"contains(folded, {quoted(value.casefold())})")
        case "contains":
            where = among.format("IN", f"starts_with(value, 'other:') AND contains(folded[7:], {quoted(value.casefold())})")
        case _:
            sign = {"lt": "<", "lte": "<=", "gt": ">", "gte": ">="}[operator]
            kind = "DATE" if types == {"date"} else "DECIMAL(18, 6)"
            where = among.format("IN", f"TRY_CAST(value AS {kind}) {sign} CAST('{value}' AS {kind})")
    return (key, value), where


class Responses:
    """Exported responses as tables: one row per response, per item of an answer, and per value of a tag."""

    def __init__(self, lines, ids):
        self.ids = ids
        self.other_scores = 0  # of responses whose exported score is not the computed one
        numbers = {id: number for number, id in ids.items()}
        responses, answers, tags = ([[] for _ in range(width)] for width in (5, 5, 3))
        for n, line in enumerate(lines):
            item = json.loads(line)
            day = datetime.datetime.fromisoformat(item["receivedAt"]).date()
            version = numbers[item["flowVersionId"]]
            add(responses, n, item["responseId"], day, version, item["respondentAnalyticsAdmission"])
            score = score_of(item["answers"], version) if version in score_thread().forms else None
            self.other_scores += item["score"] != (score if score is None else float(score))
            if score is not None:
                add(answers, n, SCORE, 0, str(score), str(score))
            for question, value in item["answers"].items():
                for place, text in enumerate(value if isinstance(value, list) else [value]):
                    if text != "":
                        add(answers, n, question, place, text, text.casefold())
            for name, value in item["metadata"].get("tags", {}).items():
                for text in dict.fromkeys(value if isinstance(value, list) else [value]):
                    add(tags, n, name, text)
        self.database = duckdb.connect()
        self.create("responses", responses, ["n", "id", "day", "version", "admission"])
        self.create("answers", answers, ["n", "question", "place", "value", "folded"])
        self.create("tags", tags, ["n", "name", "value"])

    def create(self, name, columns, names):
        table = pyarrow.table(columns, names=names)
        self.database.register("incoming", table)
        self.database.execute(f"CREATE TABLE {name} AS SELECT * FROM incoming")
        self.database.unregister("incoming")

    def rows(self, sql):
        return self.database.execute(sql).fetchall()

    def alter(self, thread):
        """Changes the first answer to a question, or removes it if no other value would be counted otherwise."""
        where = f"question = '{thread.id}' AND n IN (SELECT n FROM responses WHERE version IN ({', '.join(map(str, thread.forms))}))"
        [(row, value)] = self.rows(f"SELECT rowid, value FROM answers WHERE {where} ORDER BY n, place LIMIT 1")
        others = self.rows(f"SELECT value FROM answers WHERE {where} AND value <> {quoted(value)} ORDER BY n, place LIMIT 1")
        if thread.kind == "text" or not others:
            self.database.execute(f"DELETE FROM answers WHERE rowid = {row}")
        else:
            self.database.execute(f"UPDATE answers SET value = {quoted(others[0][0])} WHERE rowid = {row}")

    def select(self, where):
        self.database.execute(f"CREATE OR REPLACE TABLE picked AS SELECT * FROM responses WHERE {' AND '.join(where)}")

    def found(self, filter):
        """The ids of the responses that pass, oldest first."""
        return [id for id, in self.rows(f"SELECT id FROM responses WHERE {' AND '.join(filter.where)} ORDER BY n")]

    def summary(self, filter, reply=NO_REPLY):
        """The summary of a filter, in the form of the reply, which has the edges of bins."""
        self.select(filter.where)
        days = collections.Counter(dict(self.rows("SELECT day, count(*) FROM picked GROUP BY day")))
        step = "week" if days and (max(days) - min(days)).days + 1 > DAYS_MAX else "day"
        [(responses, admitted)] = self.rows("SELECT count(*), count(*) FILTER (admission = 'admitted') FROM picked")
        bins = {it["id"]: it["distribution"]["bins"] for it in reply["questions"] if it["type"] == "number"}
        answers = Answers(self, step)
        questions = []
        for thread in threads():
            if filter.version is None or any(self.ids[number] == filter.version for number in thread.forms):
                questions.append(answers.question(thread, bins.get(thread.id, [])))
        return {
            "responses": responses, "admitted": admitted, "step": step, "days": gap_free(days, step), "versions": self.versions(filter, reply),
            "score": self.score(filter, answers, reply), "tags": self.tags(filter), "questions": questions, "partial": False, "counting": None, "asOf": reply["asOf"],
        }

    def score(self, filter, answers, reply):
        if filter.version and not any(self.ids[number] == filter.version for number in score_thread().forms):
            return None
        edges = reply["score"]["distribution"]["bins"] if reply["score"] else []
        found = answers.question(score_thread(), edges)
        return {"responses": found["answered"], "distribution": found["distribution"], "overTime": found["overTime"]}

    def versions(self, filter, reply):
        counts = dict(self.rows(f"SELECT version, count(*) FROM responses WHERE {' AND '.join(filter.without_version)} GROUP BY version"))
        times = {it["flowVersionId"]: it["publishedAt"] for it in reply["versions"]}
        return [
            {"flowVersionId": self.ids[number], "number": number, "publishedAt": times.get(self.ids[number]), "responses": counts.get(number, 0)}
            for number in sorted(self.ids, reverse=True)
        ]

    def tags(self, filter):
        where = filter.without_tag if filter.is_counted else filter.where
        rows = self.rows(f"""SELECT name, if(octet_length(encode(value)) > {TAG_BYTES_MAX}, NULL, value) AS short, count(DISTINCT n) AS times FROM tags
            WHERE n IN (SELECT n FROM responses WHERE {' AND '.join(where)}) GROUP BY ALL""")
        found = collections.defaultdict(lambda: ([], 0))
        for name, value, times in rows:
            values, others = found[name]
            found[name] = (values, others + times) if value is None else ([*values, (value, times)], others)
        return [
            {"name": name, "values": [{"value": value, "responses": times} for value, times in ordered(values)[:TAG_VALUES_MAX]],
             "others": others + sum(times for _, times in ordered(values)[TAG_VALUES_MAX:])}
            for name, (values, others) in sorted(found.items(), key=lambda it: it[0].encode())
        ]


def ordered(values):
    return sorted(values, key=lambda it: (-it[1], it[0].encode()))


def add(columns, *values):
    for column, value in zip(columns, values):
        column.append(value)


def start_of(day, step):
    return day - datetime.timedelta(days=day.weekday()) if step == "week" else day


def gap_free(days, step):
    """All days or weeks from the first to the last."""
    if not days:
        return []
    sums = collections.Counter()
    for day, count in days.items():
        sums[start_of(day, step)] += count
    found, day = [], min(sums)
    while day <= max(sums):
        found.append({"day": str(day), "responses": sums[day]})
        day += datetime.timedelta(days=7 if step == "week" else 1)
    return found


class Answers:
    """The answers of the picked responses, counted by DuckDB per version, day, question, place and value."""

    def __init__(self, responses, step):
        self.step = step
        self.of = dict(responses.rows("SELECT version, count(*) FROM picked GROUP BY version"))
        texts = ", ".join(f"'{thread.id}'" for thread in threads() if thread.kind == "text")
        self.answered, self.values = collections.defaultdict(list), collections.defaultdict(list)
        for version, day, question, count in responses.rows(
                "SELECT version, day, question, count(DISTINCT n) FROM answers JOIN picked USING (n) GROUP BY ALL ORDER BY ALL"):
            self.answered[question].append((version, day, count))
        for version, day, question, place, value, count in responses.rows(
                f"""SELECT version, day, question, place, value, count(*) FROM answers JOIN picked USING (n)
                WHERE question NOT IN ({texts}) GROUP BY ALL ORDER BY ALL"""):
            self.values[question].append((version, day, place, value, count))

    def question(self, thread, edges):
        newest = thread.newest
        days = collections.Counter()
        for version, day, count in self.answered[thread.id]:
            if version in thread.forms:
                days[start_of(day, self.step)] += count
        values = [it for it in self.values[thread.id] if it[0] in thread.forms]
        by_step = collections.defaultdict(list)
        for it in values:
            by_step[start_of(it[1], self.step)].append(it)
        return {
            "id": thread.id, "type": thread.type, "prompt": newest["prompt"],
            "askedUntil": None if len(survey.VERSIONS) in thread.forms else max(thread.forms),
            "wordedBefore": worded_before(thread), "answered": days.total(),
            "of": sum(self.of.get(version, 0) for version in thread.forms),
            "distribution": distribution(thread, values, days.total(), edges),
            "overTime": [over_time(thread, day, days[day], by_step[day]) for day in sorted(days)],
        }


def worded_before(thread):
    found = {}
    for number in sorted(thread.forms, reverse=True):
        found.setdefault(thread.forms[number]["prompt"], number)
    return [{"version": number, "prompt": prompt} for prompt, number in found.items() if prompt != thread.newest["prompt"]]


def counted(values, key):
    counts = collections.Counter()
    for _, _, place, value, count in values:
        counts[key(place, value)] += count
    return counts


def option_counts(thread, values):
    """How often each option, and last any free text, was chosen."""
    labels = option_labels(thread)
    counts = counted(values, lambda _, value: value if value in labels else None)
    return [counts[id] for id in labels], counts[None]


def option_labels(thread):
    match thread.type:
        case "yesNo":
            return {"yes": "Yes", "no": "No"}
        case "consent":
            return {"accepted": "Accepted"}
    return thread.choices("options")


def ratio(sum, count):
    return float(sum / count) if count else None


def score(marks):
    return ratio(100 * (sum(marks[9:]) - sum(marks[:7])), sum(marks))


def mean_mark(marks):
    return ratio(sum(mark * count for mark, count in enumerate(marks, 1)), sum(marks))


def marks(thread, values):
    counts = counted(values, lambda _, value: int(value))
    return [counts[mark] for mark in (range(11) if thread.kind == "nps" else range(1, thread.max + 1))]


def numbers(values):
    """Each number with its count."""
    counts = counted(values, lambda _, value: value)
    return [(decimal.Decimal(value), count) for value, count in counts.items()]


def mean(values):
    return ratio(sum(number * count for number, count in numbers(values)), sum(count for *_, count in values))


def distribution(thread, values, answered, edges):
    match thread.kind:
        case "nps":
            points = marks(thread, values)
            return {"kind": "nps", "points": points, "promoters": sum(points[9:]), "passives": sum(points[7:9]),
                    "detractors": sum(points[:7]), "score": score(points)}
        case "scale":
            points = marks(thread, values)
            return {"kind": "scale", "points": points, "mean": mean_mark(points), "max": thread.max}
        case "options":
            counts, other = option_counts(thread, values)
            offered = option_labels(thread) if "options" not in thread.newest else [it["id"] for it in thread.newest["options"]]
            listed = [{"id": id, "label": label, "count": count, "stillOffered": id in offered}
                      for (id, label), count in zip(option_labels(thread).items(), counts)]
            return {"kind": "options", "options": listed, "other": other, "several": thread.type == "multipleChoice"}
        case "ranking":
            return {"kind": "ranking", "options": ranking(thread, values)}
        case "matrix":
            cells = counted(values, lambda _, value: tuple(value.split(":")))
            rows, columns = thread.choices("rows"), thread.choices("columns")
            listed = lambda labels: [{"id": id, "label": label} for id, label in labels.items()]
            return {"kind": "matrix", "rows": listed(rows), "columns": listed(columns),
                    "cells": [[cells[row, column] for column in columns] for row in rows]}
        case "numbers":
            return number_distribution(values, edges)
        case "dates":
            months = counted(values, lambda _, value: value[:7] if 1900 <= int(value[:4]) <= 2099 else value[:4])
            return {"kind": "dates", "months": [{"month": month, "count": months[month]} for month in sorted(months)]}
        case "text":
            return {"kind": "text"}


def ranking(thread, values):
    counts = counted(values, lambda place, value: (value, place))
    labels = thread.choices("options")
    places = max([len(thread.newest["options"]), *(place + 1 for _, place in counts)])
    found = []
    for id, label in labels.items():
        own = [counts[id, place] for place in range(places)]
        found.append({"id": id, "label": label, "places": own, "meanPlace": mean_mark(own)})
    return found


def rounded(number):
    """A whole number below 1,000 as it is, any other by its first two digits."""
    if number == number.to_integral_value() and abs(number) < 1000:
        return number
    return number.scaleb(-number.adjusted() + 1).to_integral_value(decimal.ROUND_DOWN).scaleb(number.adjusted() - 1)


def number_distribution(values, edges):
    given = numbers(values)
    sorted_given = sorted((rounded(number), count) for number, count in given)
    total = sum(count for _, count in given)

    def at(place):
        for number, count in sorted_given:
            place -= count
            if place < 0:
                return number
    median = ratio(at((total - 1) // 2) + at(total // 2), 2) if total else None
    return {
        "kind": "numbers", "mean": mean(values), "median": median,
        "min": ratio(sorted_given[0][0], 1) if total else None, "max": ratio(sorted_given[-1][0], 1) if total else None,
        "bins": in_bins(given, edges),
    }


def in_bins(given, edges):
    """Each number is in one bin: the one that is only this number, or the range around it."""
    single = {bin["from"] for bin in edges if bin["from"] == bin["to"]}
    ranged = [(number, count) for number, count in given if float(number) not in single]
    count = lambda low, high: sum(count for number, count in (given if low == high else ranged) if is_within(float(number), low, high))
    return [bin | {"count": count(bin["from"], bin["to"])} for bin in edges]


def is_within(number, low, high):
    """A range includes its start and not its end; below zero it includes its end and not its start. Zero is above."""
    if low == high:
        return number == low
    return low < number <= high and number != 0 if high <= 0 else low <= number < high


def over_time(thread, day, answered, values):
    mean_of_day, score_of_day, parts = None, None, []
    match thread.kind:
        case "nps":
            parts = marks(thread, values)
            score_of_day = score(parts)
        case "scale":
            parts = marks(thread, values)
            mean_of_day = mean_mark(parts)
        case "options":
            counts, other = option_counts(thread, values)
            parts = counts if thread.type in ("yesNo", "consent") else [*counts, other]
        case "numbers":
            mean_of_day = mean(values)
    return {"day": str(day), "answered": answered, "mean": mean_of_day, "nps": score_of_day, "parts": parts}
