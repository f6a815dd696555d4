"""The printed report: lanes, and figures next to their goals."""

import statistics

from targets import is_met, target


def show_head(run):
    print(f"{run['bodyBytes']} bytes per submission, {run['rounds']} rounds of {run['seconds']} s, {run['cores']} cores")
    print(f"load average before: {run['loadBefore']:.1f}", flush=True)


def show(result):
    at = f", {result['connections']} connections" if "connections" in result else ""
    print(f"\n== {result['name']}: {result['about']}{at}")
    if result.get("lanes"):
        print(f"   {'':24}{'per second':>10}  {'min to max':>20}{'p50 ms':>9}{'p99 ms':>9}")
    for lane in result.get("lanes", []):
        print(f"   {lane['label']:24}{spread(lane['rates'], 10, 20)}"
              f"{middle(lane['p50Ms']):>9}{middle(lane['p99Ms']):>9}")
    for figure in result["figures"]:
        name = f"{figure['name']}, {figure['unit']}" if figure["unit"] != "×" else figure["name"]
        print(f"   {name:42}{spread(figure['values'], 9, 20)}{verdict(result['name'], figure)}")
    for note in result.get("notes", []):
        print(f"   {note}")
    for problem in result.get("problems", []):
        print(f"   VOID: {problem}")
    print(end="", flush=True)


def verdict(scenario, figure):
    goal = target(scenario, figure["name"])
    if not goal or not figure["values"]:
        return ""
    sense, bound = goal
    met = "met" if is_met(statistics.median(figure["values"]), sense, bound) else "MISSED"
    return f"   {met}: {sense} {bound:g}"


def with_goals(result):
    """The same with the goal of each figure and whether it is met, for the JSON file."""
    for figure in result["figures"]:
        if (goal := target(result["name"], figure["name"])) and figure["values"]:
            sense, bound = goal
            figure["goal"] = {"sense": sense, "bound": bound}
            figure["reached"] = is_met(statistics.median(figure["values"]), sense, bound)
    return result


def show_goals(results):
    goals = [(one["name"], figure) for one in results for figure in one["figures"] if "goal" in figure]
    missed = [f"   {name}: {figure['name']}" for name, figure in goals if not figure["reached"]]
    print(f"\n{len(goals) - len(missed)} of {len(goals)} goals met" + (", missed:" if missed else ""))
    print("\n".join(missed))


def spread(values, width, edges_width):
    edges = f"{form(min(values))} to {form(max(values))}" if len(values) > 1 else "" if values else "no valid round"
    return f"{middle(values):>{width}}  {edges:>{edges_width}}"


def middle(values):
    return form(statistics.median(values)) if values else "-"


def form(value):
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.1f}" if abs(value) >= 100 else f"{value:.2f}"
