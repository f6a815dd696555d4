"""Computes results from exported responses, independently of the server.

Usage: results.py FILE < QUERIES. FILE is an export as JSON Lines. QUERIES is a JSON list of queries, each with
`answers` (lists of question, operator and value), `tags` and `admission` as filters, `questions` to distribute, and
`rows` and `columns` to cross-tabulate. Prints one result for each query.
"""

import datetime
import decimal
import json
import sys


def main(file):
    with open(file, encoding="utf-8") as opened:
        responses = [json.loads(line) for line in opened]
    queries = json.load(sys.stdin)
    json.dump([result(responses, query) for query in queries], sys.stdout)


def result(responses, query):
    found = [response for response in responses if passes(response, query)]
    return {
        "responses": len(found),
        "admitted": sum(response["respondentAnalyticsAdmission"] == "admitted" for response in found),
        "answered": {id: sum(answer(response, id) != [] for response in found) for id in query["questions"]},
        "counts": {id: counts(found, id) for id in query["questions"]},
        "mean": {id: mean(found, id) for id in query["questions"]},
        "crosstab": crosstab(found, query["rows"], query["columns"]),
    }


def answer(response, id):
    """The answer as a list of texts; empty without an answer."""
    value = response["answers"].get(id, [])
    texts = value if isinstance(value, list) else [value]
    return [] if texts == [""] else texts


def passes(response, query):
    tags = response["metadata"].get("tags", {})
    return (
        all(compare(answer(response, id), operator, value) for id, operator, value in query["answers"])
        and all(value in (tags.get(name) if isinstance(tags.get(name), list) else [tags.get(name)]) for name, value in query["tags"])
        and query["admission"] in (None, response["respondentAnalyticsAdmission"])
    )


def compare(texts, operator, value):
    if operator == "answered":
        return (texts != []) == (value == "true")
    if texts == []:
        return False
    if operator in ("", "ne"):
        return (value in texts) == (operator == "")
    if operator == "contains":
        return any(value.casefold() in text.casefold() for text in texts)
    one, other = typed(texts[0]), typed(value)
    return {"lt": one < other, "lte": one <= other, "gt": one > other, "gte": one >= other}[operator]


def typed(text):
    try:
        return decimal.Decimal(text)
    except decimal.InvalidOperation:
        return datetime.date.fromisoformat(text)


def counts(responses, id):
    found = {}
    for response in responses:
        for text in answer(response, id):
            found[text] = found.get(text, 0) + 1
    return found


def mean(responses, id):
    try:
        numbers = [decimal.Decimal(answer(response, id)[0]) for response in responses if answer(response, id)]
    except decimal.InvalidOperation:
        return None
    return float(sum(numbers) / len(numbers)) if numbers else None


def crosstab(responses, rows, columns):
    """How often two answers occur together; an NPS counts as one of three groups."""
    cells, both = {}, 0
    for response in responses:
        one, other = groups(response, rows), groups(response, columns)
        both += one != [] and other != []
        for row in one:
            for column in other:
                cells[f"{row}|{column}"] = cells.get(f"{row}|{column}", 0) + 1
    return {"both": both, "cells": cells}


def groups(response, id):
    texts = answer(response, id)
    if id != "nps" or texts == []:
        return sorted(set(texts))
    mark = int(texts[0])
    return ["detractors" if mark <= 6 else "passives" if mark <= 8 else "promoters"]


main(*sys.argv[1:])
