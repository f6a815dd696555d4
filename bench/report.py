"""What the loads come to: rates, latencies, ratios with their spread, and whether all that counts is there."""

import os
import statistics

# What is compared with what, and the least that it should come to; see bench/README.md.
RATIOS = [
    ("sluice-sqlite", "limit", 0.80),
    ("sluice-sqlite", "reference", 40),
    ("sluice-postgres", "limit", None),
    ("sluice-postgres", "reference", 15),
]


def figures(options, loads, stored, body_bytes):
    return {
        "bodyBytes": body_bytes,
        "connections": options.connections,
        "seconds": options.seconds,
        "rounds": options.rounds,
        "cores": os.cpu_count(),
        "loadBefore": options.load_before,
        "contestants": {name: of_contestant(all, stored.get(name)) for name, all in loads.items()},
        "ratios": [ratio for pair in RATIOS if (ratio := of_pair(loads, *pair))],
    }


def of_contestant(loads, stored):
    measured = [load for load in loads[1:] if is_valid(load)]
    return {
        "rates": [rate(load) for load in measured],
        "p50Ms": [load["p50_ms"] for load in measured],
        "p99Ms": [load["p99_ms"] for load in measured],
        "roundsInvalid": sum(not is_valid(load) for load in loads),
        "acknowledged": sum(load["requests"] - load["refused"] for load in loads),
        "stored": stored,
        # A submission that was under way when its load ended may be stored, and nobody was told.
        "loads": len(loads),
    }


def of_pair(loads, one, other, wanted):
    if one not in loads or other not in loads:
        return None
    rounds = list(zip(loads[one], loads[other]))[1:]
    values = [rate(mine) / rate(theirs) for mine, theirs in rounds if is_valid(mine) and is_valid(theirs)]
    return {"of": one, "to": other, "values": values, "wanted": wanted}


def is_valid(load):
    return load["refused"] == 0 and load["lost"] == 0 and load["requests"] > 0


def rate(load):
    return load["requests"] * 1e6 / load["microseconds"]


def show(figures):
    wrk = f"wrk -t1 -c{figures['connections']} -d{figures['seconds']}s, {figures['rounds']} rounds"
    print(f"{figures['bodyBytes']} bytes a submission, {wrk}, {figures['cores']} cores")
    print(f"load of the machine before: {figures['loadBefore']:.1f}\n")
    print(f"{'':16}{'a second':>10}  {'least to most':>18}{'p50 ms':>9}{'p99 ms':>9}{'acknowledged':>14}{'stored':>10}")
    for name, of in figures["contestants"].items():
        stored = "-" if of["stored"] is None else f"{of['stored']:,}"
        print(f"{name:16}{spread(of['rates'], ',.0f', 10)}{middle(of['p50Ms'], '.2f'):>9}"
              f"{middle(of['p99Ms'], '.2f'):>9}{of['acknowledged']:>14,}{stored:>10}")
    print()
    for ratio in figures["ratios"]:
        wanted = f"   (to reach: {ratio['wanted']:g})" if ratio["wanted"] else ""
        print(f"{ratio['of'] + ' / ' + ratio['to']:32}{spread(ratio['values'], '.2f', 8)}{wanted}")


def spread(values, form, width):
    edges = f"{min(values):{form}} to {max(values):{form}}" if values else "no valid round"
    return f"{middle(values, form):>{width}}  {edges:>18}"


def middle(values, form):
    return f"{statistics.median(values):{form}}" if values else "-"


def complaint(figures):
    """What makes the run void, or None. A ratio that is not reached is not that: machines differ."""
    complaints = []
    for name, of in figures["contestants"].items():
        if of["roundsInvalid"]:
            complaints.append(f"{name}: {of['roundsInvalid']} rounds met refusals or lost connections")
        most = of["acknowledged"] + of["loads"] * figures["connections"]
        if of["stored"] is not None and not of["acknowledged"] <= of["stored"] <= most:
            complaints.append(f"{name}: the store does not hold exactly what was acknowledged")
    return "\n".join(complaints) or None
