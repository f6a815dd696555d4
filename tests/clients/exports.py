"""Reads exports with independent libraries. For each line `{"format": …, "file": …}` it prints a line with the rows and types.

The format `lines` is for the cells of a CSV file. Every format is converted to the same form: texts, numbers, lists of texts;
empty cells are omitted. Lists and formulas are decoded as described in docs/exports.md.
"""

import csv
import datetime
import io
import json
import re
import sys


def main():
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(read(request["format"], request["file"])), flush=True)


def read(form, file):
    if form == "lines":
        return lines(file)
    rows, types = {"csv": from_csv, "parquet": from_parquet, "xlsx": from_xlsx}[form](file)
    return {"rows": rows, "types": types}


def from_csv(file):
    with open(file, encoding="utf-8", newline="") as opened:
        raw = opened.read()
    assert not raw.startswith("\ufeff"), "there is a byte-order mark"
    assert raw.endswith("\r\n"), "the last line is incomplete"
    lines = csv.reader(io.StringIO(raw, newline=""), strict=True)
    names = next(lines)
    rows = []
    for line in lines:
        assert len(line) == len(names), line
        rows.append({name: plain(cell) for name, cell in zip(names, line) if cell != ""})
    return rows, {"columns": names}


def lines(file):
    """The cells of each line of a CSV file."""
    with open(file, encoding="utf-8", newline="") as opened:
        return [[plain(cell) for cell in line] for line in csv.reader(opened, strict=True)]


def plain(cell):
    """A cell without the apostrophes that prevent formulas."""
    return re.sub(r"(^|[;\t\r\n])'(?='*[=+\-@＝＋－＠\t\r])", r"\1", cell)


def from_parquet(file):
    import pyarrow.parquet

    opened = pyarrow.parquet.ParquetFile(file)
    table = opened.read()
    table.validate(full=True)
    rows = []
    for row in table.to_pylist():
        rows.append({name: shown(value) for name, value in row.items() if value is not None})
    types = {field.name: str(field.type) for field in table.schema}
    questions = json.loads(opened.metadata.metadata[b"sluice.questions"])
    groups = [opened.metadata.row_group(at).num_rows for at in range(opened.num_row_groups)]
    return rows, {"columns": table.schema.names, "types": types, "questions": questions, "groups": groups}


def from_xlsx(file):
    import openpyxl

    book = openpyxl.load_workbook(file, read_only=True)
    lines = book["Responses"].iter_rows(values_only=True)
    names = list(next(lines))
    rows = [{name: in_sheet(name, cell) for name, cell in zip(names, line) if cell is not None} for line in lines]
    questions = [list(line) for line in book["Questions"].iter_rows(values_only=True)]
    # Empty cells at the end of a row are not stored.
    questions = [line + [None] * (len(questions[0]) - len(line)) for line in questions]
    cells = openpyxl.load_workbook(file)["Responses"].iter_rows(min_row=2)
    formulas = sum(cell.data_type == "f" for row in cells for cell in row)
    return rows, {"columns": names, "questions": questions, "formulas": formulas}


def in_sheet(name, value):
    """A cell as a spreadsheet shows it: XML cannot hold every character, so some are escaped as _xHHHH_."""
    from openpyxl.utils.escape import unescape

    if isinstance(value, datetime.datetime) and name != "receivedAt":
        return value.date().isoformat()
    return unescape(value) if isinstance(value, str) else shown(value)


def shown(value):
    if isinstance(value, datetime.datetime):
        return value.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
    if isinstance(value, datetime.date):
        return value.isoformat()
    return value


main()
