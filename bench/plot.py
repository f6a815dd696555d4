"""Draws the figures as one SVG: rates as bars with their spread, and goals next to the results.

Its width fits a phone, and its colours follow the reader's light or dark mode.
"""

import statistics
from xml.sax.saxutils import escape

from targets import AT_LEAST

WIDTH, MARGIN, LABEL, VALUE = 480, 12, 128, 92
BAR, GAP, HEADING = 20, 8, 40
# By scenario: the heading of its bars.
PANELS = {
    "submit-64": "Submissions per second, durable, 64 connections",
    "batch-64": "Batches of ten per second, 64 connections",
    "snapshot": "Reads of a survey per second, 64 connections",
    "mixed": "80 % reads, 20 % submissions, per second",
}
STYLE = """
  text { font: 14px system-ui, sans-serif; fill: #1f2328 }
  .title { font-weight: 600 } .small { font-size: 12px; fill: #59636e }
  .limit { fill: #9aa4af } .sluice { fill: #0969da } .reference { fill: #c98a1b }
  .spread { stroke: #1f2328; stroke-width: 1.5 }
  .reached { fill: #1a7f37 } .missed { fill: #cf222e }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .small { fill: #9198a1 } .limit { fill: #656c76 } .sluice { fill: #4493f8 }
    .reference { fill: #d29922 } .spread { stroke: #e6edf3 } .reached { fill: #3fb950 } .missed { fill: #f85149 }
  }"""


def draw(run):
    parts, y = [], MARGIN
    for scenario in run["scenarios"]:
        if scenario["name"] in PANELS:
            y = bars(parts, y, PANELS[scenario["name"]], scenario["lanes"])
    y = goals(parts, y, run["scenarios"])
    note = f"{run['rounds']} rounds of {run['seconds']} s, {run['cores']} cores, shared with the load; line: min to max"
    if run.get("quick"):
        note = "A smoke test: these figures are not measurements"
    parts.append(text(MARGIN, y + 14, note, "small"))
    height = y + 14 + MARGIN
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img">'
    return "\n".join([head, "<title>Sluice next to other servers</title>", f"<style>{STYLE}\n</style>", *parts, "</svg>\n"])


def bars(parts, y, heading, lanes):
    lanes = [lane for lane in lanes if lane["rates"]]
    if not lanes:
        return y
    parts.append(text(MARGIN, y + 18, heading, "title"))
    y += HEADING - 8
    scale = (WIDTH - 2 * MARGIN - LABEL - VALUE) / max(max(lane["rates"]) for lane in lanes)
    left = MARGIN + LABEL
    for lane in lanes:
        rates, label = lane["rates"], lane["label"]
        rate, kind = statistics.median(rates), label.split("-")[0]
        parts.append(text(MARGIN, y + 15, label))
        parts.append(f'<rect class="{kind}" x="{left}" y="{y}" width="{max(1, rate * scale):.1f}" height="{BAR}" rx="3"/>')
        low, high = left + min(rates) * scale, left + max(rates) * scale
        middle = y + BAR / 2
        if len(rates) > 1:
            parts.append(f'<line class="spread" x1="{low:.1f}" y1="{middle}" x2="{high:.1f}" y2="{middle}"/>')
        parts.append(text(max(high, left + rate * scale) + 8, y + 15, f"{rate:,.0f}"))
        y += BAR + GAP
    return y + 12


def goals(parts, y, scenarios):
    """One line per goal: the result and the bound."""
    found = [(one["name"], figure) for one in scenarios for figure in one["figures"] if "goal" in figure]
    if not found:
        return y
    parts.append(text(MARGIN, y + 18, "Goals", "title"))
    y += HEADING - 6
    for name, figure in found:
        mark, kind = ("✓", "reached") if figure["reached"] else ("✗", "missed")
        value, bound = statistics.median(figure["values"]), figure["goal"]["bound"]
        sense = "≥" if figure["goal"]["sense"] == AT_LEAST else "≤"
        unit = "" if figure["unit"] == "×" else f" {figure['unit']}".replace(" a minute", "/min")
        parts.append(text(MARGIN, y + 12, mark, kind))
        parts.append(text(MARGIN + 18, y + 12, shorter(f"{name}: {figure['name']}"), "small"))
        parts.append(text(WIDTH - MARGIN, y + 12, f"{value:.3g}{unit}  ({sense} {bound:g})", "small", "end"))
        y += 20
    return y + 10


def shorter(name):
    return name.replace("sluice-", "").replace("reference", "ref.")


def text(x, y, content, kind=None, anchor=None):
    attributes = (f' class="{kind}"' if kind else "") + (f' text-anchor="{anchor}"' if anchor else "")
    return f'<text x="{x:.1f}" y="{y}"{attributes}>{escape(content)}</text>'
