"""Draws the dashboard from a real Prometheus: every panel with its expressions, in its place, as one page that Chromium turns into a picture."""

import html
import json
import math
import pathlib
import re
import shutil
import subprocess
import time

from checks import panels
from prometheus import DASHBOARD

COLUMN, ROW, GAP = 60, 30, 8
POINTS = 240
RATE_SECONDS = 15
COLOURS = ("#2f7ed8", "#d9822b", "#2e9e5b", "#c23b5a", "#7b5cc4", "#0f8b8d", "#9a7b1c", "#6b7280")
SERIES_MAX, LEGEND_CHARS = 8, 44


def number(value, unit):
    """A value with its unit, as people write it."""
    if value is None or not math.isfinite(value):
        return "–"
    if unit == "percentunit":
        return f"{value:.1%}"
    if unit == "s":
        if value == 0:
            return "0 s"
        step = min(range(4), key=lambda at: abs(math.log10(abs(value) * 10 ** (3 * at)) - 1.5))
        return f"{value * 10 ** (3 * step):.3g} {('s', 'ms', 'µs', 'ns')[step]}"
    base = 1024 if unit == "bytes" else 1000
    marks = ("", "Ki", "Mi", "Gi", "Ti") if unit == "bytes" else ("", "k", "M", "G", "T")
    at = 0
    while abs(value) >= base and at < 4:
        value, at = value / base, at + 1
    end = {"bytes": "B", "reqps": "/s"}.get(unit, "")
    return f"{value:.3g} {marks[at]}{end}".strip() if end != "/s" else f"{value:.3g}{marks[at]}/s"


class Reader:
    def __init__(self, prometheus, start, end):
        self.prometheus, self.start, self.end = prometheus, start, end
        self.step = max(1, round((end - start) / POINTS))

    def expression(self, text):
        return text.replace("$__rate_interval", f"{RATE_SECONDS}s").replace("$job", ".*").replace("$instance", ".*")

    def series(self, target):
        """Names and points of an expression."""
        found = self.prometheus.api("query_range", query=self.expression(target["expr"]), start=self.start, end=self.end, step=self.step)
        for one in found["result"]:
            name = re.sub(r"\{\{(\w+)\}\}", lambda label: one["metric"].get(label[1], ""), target["legendFormat"])
            yield name.strip(), [(float(at), float(value)) for at, value in one["values"] if math.isfinite(float(value))]

    def now(self, target):
        found = self.prometheus.api("query", query=self.expression(target["expr"]), time=self.end)["result"]
        return [(one["metric"], float(one["value"][1])) for one in found]


def chart(panel, reader, width, height):
    unit = panel["fieldConfig"]["defaults"]["unit"]
    stacked = panel["fieldConfig"]["defaults"]["custom"]["stacking"]["mode"] == "normal"
    found = [one for target in panel["targets"] for one in reader.series(target)]
    found = sorted((one for one in found if one[1]), key=lambda one: -max(value for _, value in one[1]))
    more, found = found[SERIES_MAX:], found[:SERIES_MAX]
    left, right, top, bottom = 62, 6, 6, 18
    legend = 15 * math.ceil(max(1, len(found)) / 2)
    inner, tall = width - left - right, height - top - bottom - legend
    if not found:
        return f'<text x="{width / 2}" y="{height / 2}" class="none">No data</text>'
    drawn, below = [], {}
    for name, points in found:
        if stacked:
            points = [(at, value + below.get(at, 0)) for at, value in points]
            below.update(points)
        drawn.append((name, points))
    values = [value for _, points in drawn for _, value in points]
    low, high = min(0, *values) if len(values) > 1 else min(0, values[0]), max(values) if max(values) > 0 else 1
    x = lambda at: left + inner * (at - reader.start) / (reader.end - reader.start)
    y = lambda value: top + tall * (1 - (value - low) / (high - low))
    parts = []
    for share in (0, 0.5, 1):
        value = low + (high - low) * share
        parts.append(f'<line x1="{left}" x2="{width - right}" y1="{y(value):.1f}" y2="{y(value):.1f}" class="grid"/>'
                     f'<text x="{left - 6}" y="{y(value) + 4:.1f}" class="y">{number(value, unit)}</text>')
    for share in (0, 0.5, 1):
        at = reader.start + (reader.end - reader.start) * share
        text = time.strftime("%H:%M:%S", time.gmtime(at))
        anchor = ("start", "middle", "end")[round(share * 2)]
        parts.append(f'<text x="{x(at):.1f}" y="{top + tall + 13}" class="x" text-anchor="{anchor}">{text}</text>')
    for index, (_, points) in reversed(list(enumerate(drawn))):
        colour = COLOURS[index % len(COLOURS)]
        line = " ".join(f"{x(at):.1f},{y(value):.1f}" for at, value in points)
        if stacked:
            area = f"{x(points[0][0]):.1f},{y(low):.1f} {line} {x(points[-1][0]):.1f},{y(low):.1f}"
            parts.append(f'<polygon points="{area}" fill="{colour}" opacity="0.25"/>')
        parts.append(f'<polyline points="{line}" stroke="{colour}" class="line"/>')
        if len(points) == 1:
            parts.append(f'<circle cx="{x(points[0][0]):.1f}" cy="{y(points[0][1]):.1f}" r="2" fill="{colour}"/>')
    for index, (name, points) in enumerate(found):
        across, down = left + (index % 2) * inner / 2, top + tall + bottom + 13 + 15 * (index // 2)
        limit = LEGEND_CHARS if width > 500 else 26 if width > 400 else 17
        shown = name if len(name) <= limit else f"…{name[-limit + 1:]}"
        shown += f" +{len(more)}" if more and index == len(found) - 1 else ""
        parts.append(f'<rect x="{across}" y="{down - 8}" width="9" height="9" rx="2" fill="{COLOURS[index % len(COLOURS)]}"/>'
                     f'<text x="{across + 13}" y="{down}" class="name">{html.escape(shown)}</text>')
    return "".join(parts)


def stat(panel, reader, width, height):
    defaults = panel["fieldConfig"]["defaults"]
    found = reader.now(panel["targets"][0])
    if panel["options"]["textMode"] == "name":
        legend = panel["targets"][0]["legendFormat"]
        texts = [re.sub(r"\{\{(\w+)\}\}", lambda label: labels.get(label[1], ""), legend) for labels, _ in found]
        top = height / 2 + 5 - 9 * (len(texts) - 1)
        return "".join(f'<text x="{width / 2}" y="{top + 18 * at}" class="small">{html.escape(text)}</text>' for at, text in enumerate(texts))
    value = found[0][1] if found else None
    text = number(value, defaults["unit"])
    for mapping in defaults["mappings"]:
        text = mapping["options"].get(f"{value:.0f}" if value is not None else "", {"text": text})["text"]
    if defaults["unit"] == "dateTimeFromNow" and value:
        text = f"{round((reader.end - value / 1000) / 60)} minutes ago"
    colour = "green"
    for step in defaults["thresholds"]["steps"]:
        if value is not None and (step["value"] is None or value >= step["value"]):
            colour = step["color"]
    size = "big" if len(text) < 9 else "small"
    return f'<text x="{width / 2}" y="{height / 2 + 9}" class="{size} {colour}">{html.escape(text)}</text>'


def page(prometheus, start, end):
    reader, parts, bottom = Reader(prometheus, start, end), [], 0
    shown = {panel["id"] for panel in panels()}
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        at = panel["gridPos"]
        x, y, width, height = at["x"] * COLUMN, at["y"] * ROW + 44, at["w"] * COLUMN - GAP, at["h"] * ROW - GAP
        bottom = max(bottom, y + height)
        if panel["id"] not in shown:
            parts.append(f'<text x="{x + 4}" y="{y + 19}" class="row">{html.escape(panel["title"])}</text>')
            continue
        draw = chart if panel["type"] == "timeseries" else stat
        parts.append(f'<g transform="translate({x},{y})"><rect width="{width}" height="{height}" rx="4" class="panel"/>'
                     f'<text x="10" y="19" class="title">{html.escape(panel["title"])}</text>'
                     f'<g transform="translate(0,24)">{draw(panel, reader, width, height - 28)}</g></g>')
    width = 24 * COLUMN + GAP
    span = " to ".join(time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(at)) for at in (start, end))
    style = """
      body { margin: 0; background: #f4f5f7 } svg { font: 12px "DejaVu Sans", sans-serif; fill: #24292f; display: block }
      .panel { fill: #fff; stroke: #d8dce3 } .title { font-weight: 600; font-size: 13px } .row { font-weight: 700; font-size: 15px }
      .head { font-size: 20px; font-weight: 700 } .span { text-anchor: end; fill: #57606a }
      .grid { stroke: #e6e9ee } .line { fill: none; stroke-width: 1.6 } .y { text-anchor: end; fill: #57606a; font-size: 11px }
      .x { fill: #57606a; font-size: 11px } .name { font-size: 11px } .none { text-anchor: middle; fill: #8b949e }
      .big { text-anchor: middle; font-size: 26px; font-weight: 700 } .small { text-anchor: middle; font-size: 13px; font-weight: 600 }
      .green { fill: #1a7f4b } .red { fill: #c22f4a }"""
    return width, bottom + 10, (
        f'<!doctype html><meta charset="utf-8"><style>{style}</style><svg width="{width}" height="{bottom + 10}">'
        f'<text x="12" y="28" class="head">Sluice</text><text x="{width - 14}" y="28" class="span">{span} UTC</text>'
        f'<g transform="translate({GAP},0)">{"".join(parts)}</g></svg>')


def take(prometheus, start, end, file):
    width, height, text = page(prometheus, start, end)
    source = pathlib.Path(file).resolve().with_suffix(".html")
    source.write_text(text)
    browser = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={width},{height}",
                    f"--screenshot={pathlib.Path(file).resolve()}", source.as_uri()], check=True, capture_output=True)
    source.unlink()
