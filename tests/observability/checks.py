"""What is checked in every test run: metrics, rules, dashboard and the guide agree with each other and with real servers."""

import json
import re
import subprocess
import urllib.request

from prometheus import DASHBOARD, OBSERVABILITY, ROOT, RULE_TESTS, RULES
from causes import CAUSES

GUIDE = ROOT / "docs" / "operating.md"
NAME = re.compile(r"\b(?:sluice|process)_[a-z0-9_]+\b")
SUFFIXES = ("_bucket", "_sum", "_count")
HEAD = "| metric | type | store | meaning |"
# Servers with a metric of their own; the first two on any store.
TLS, TRACES, CITUS = "with TLS", "with traces", "with Citus"
SPECIAL = (TLS, TRACES, CITUS)
STORES = {("SQLite", "PostgreSQL"): "both", ("SQLite",): "SQLite", ("PostgreSQL",): "PostgreSQL",
          (TLS,): f"both, {TLS}", (TRACES,): f"both, {TRACES}", (CITUS,): f"PostgreSQL, {CITUS}"}
TARGETS_SECONDS_MAX = 60


def alerts():
    """The names of the alerts in the order of the file, and their links."""
    text = RULES.read_text()
    return dict(zip(re.findall(r"^ +- alert: (\S+)$", text, re.M), re.findall(r"^ +runbook_url: (\S+)$", text, re.M), strict=True))


def loaded_rules(prometheus):
    return [rule for group in prometheus.api("rules")["groups"] for rule in group["rules"]]


def panels():
    return [panel for panel in json.loads(DASHBOARD.read_text())["panels"] if panel["type"] != "row"]


def dashboard_expressions():
    dashboard = json.loads(DASHBOARD.read_text())
    expressions = [target["expr"] for panel in panels() for target in panel["targets"]]
    expressions += [it["expr"] for it in dashboard["annotations"]["list"] if "expr" in it]
    return [expression.replace("$__rate_interval", "1m").replace("$job", ".*").replace("$instance", ".*") for expression in expressions]


def families(server):
    """The name of every metric of a server, its type and its help."""
    text = server.call("GET", "/metrics")[1].decode()
    helps = dict(re.findall(r"^# HELP (\S+) (.*)$", text, re.M))
    return {name: (kind, helps[name].rstrip(".")) for name, kind in re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M)}


def all_families(servers):
    """Those of every server. Without a Citus cluster, the metrics that only it has are as in the guide."""
    found = {name: families(server) for name, server in servers.items()}
    if CITUS not in found:
        rows = re.findall(rf"^\| `(\w+)` \| (\w+) \| {STORES[(CITUS,)]} \| (.+) \|$", GUIDE.read_text(), re.M)
        found[CITUS] = {name: (kind, what) for name, kind, what in rows}
    return found


def promtool(*arguments, given=None):
    done = subprocess.run(["promtool", *map(str, arguments)], input=given, capture_output=True, text=True, cwd=OBSERVABILITY)
    # `check metrics` exits with 3 if it has found something to improve.
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def metrics_are_clean(servers, _):
    for name, server in servers.items():
        found = promtool("check", "metrics", given=server.call("GET", "/metrics")[1].decode())
        assert not found.strip(), f"{name}: {found}"


def rules_are_valid(_, __):
    promtool("check", "rules", RULES)
    promtool("check", "config", OBSERVABILITY / "prometheus" / "prometheus.yml")


def rules_fire_when_they_should(_, __):
    promtool("test", "rules", RULE_TESTS)
    text = RULE_TESTS.read_text()
    for alert in alerts():
        silent, fired = f"alertname: {alert}, exp_alerts: []", f"alertname: {alert}\n        exp_alerts:\n          -"
        assert silent in text and fired in text, f"{alert} is not tested both ways"


def a_real_prometheus_scrapes_and_evaluates(servers, prometheus):
    ups = lambda: len(prometheus.query('up{job="sluice"} == 1')) == len(servers)
    prometheus.until("all targets are up", ups, TARGETS_SECONDS_MAX)
    loaded = lambda: loaded_rules(prometheus)
    prometheus.until("all rules are evaluated", lambda: all(rule["health"] == "ok" for rule in loaded()), TARGETS_SECONDS_MAX)
    assert [rule["name"] for rule in loaded()] == list(alerts())
    prometheus.until("a healthy server causes no alert", lambda: not prometheus.alerts(), TARGETS_SECONDS_MAX)
    counted = prometheus.query('sum by (instance) (sluice_submissions_total{outcome="stored"}) > 0')
    assert len(counted) == len(servers.keys() - set(SPECIAL)), f"submissions are not counted: {counted}"


def expressions_are_valid_and_name_existing_metrics(servers, prometheus):
    known = set().union(*all_families(servers).values())
    for expression in [rule["query"] for rule in loaded_rules(prometheus)] + dashboard_expressions():
        try:
            prometheus.query(expression)
        except ValueError as error:
            raise AssertionError(f"{expression}: {error}") from error
        for name in NAME.findall(expression):
            base = next((name.removesuffix(suffix) for suffix in SUFFIXES if name.endswith(suffix)), name)
            assert name in known or base in known, f"no server has {name}: {expression}"


def every_metric_is_on_the_dashboard(servers, _):
    shown = {name for expression in dashboard_expressions() for name in NAME.findall(expression)}
    shown |= {name.removesuffix(suffix) for name in shown for suffix in SUFFIXES}
    absent = set().union(*all_families(servers).values()) - shown
    assert not absent, f"not on the dashboard: {absent}"


def the_dashboard_is_well_formed(_, __):
    dashboard = json.loads(DASHBOARD.read_text())
    variables = {it["name"] for it in dashboard["templating"]["list"]}
    assert variables == {"datasource", "job", "instance"}, variables
    assert dashboard["uid"] and dashboard["title"] and dashboard["schemaVersion"] >= 36 and dashboard["id"] is None
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(ids) == len(set(ids)), "two panels have the same id"
    taken = set()
    for panel in dashboard["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken and at["x"] + at["w"] <= 24, f"{panel['title']} overlaps another panel"
        taken |= cells
        for target in panel.get("targets", []):
            assert target["datasource"]["uid"] == "${datasource}" and target["legendFormat"], panel["title"]


def every_alert_has_its_section_and_link(servers, _):
    guide = GUIDE.read_text()
    part = guide[guide.index("\n## Alerts"):guide.index("\n## Metrics")]
    sections = re.findall(r"^### (\S+)$", part, re.M)
    assert sections == list(alerts()), "the sections are not the alerts in their order"
    for section in re.split(r"^### ", part, flags=re.M)[1:]:
        for title in ("**Meaning.**", "**Likely causes.**", "**What to do.**", "**Confirm.**"):
            assert section.count(title) == 1, f"{section.split()[0]} has no {title}"
    base = "http://{}:{}".format(*next(iter(servers.values())).address)
    with urllib.request.urlopen(f"{base}/docs/operating", timeout=30) as reply:
        page = reply.read().decode()
    for alert, link in alerts().items():
        path, anchor = link.removeprefix("https://sluice.example.com").split("#")
        assert path == "/docs/operating" and anchor == alert.lower() and f'id="{anchor}"' in page, alert


def the_guide_lists_every_alert_with_its_cause(_, __):
    causes = {alert: cause.what for cause in CAUSES for alert in cause.alerts}
    rows = re.findall(r"^\| (Sluice\w+) \| (.+) \| .+ \|$", GUIDE.read_text(), re.M)
    wanted = [(alert, causes.get(alert)) for alert in alerts()]
    assert rows == wanted, f"the table of alerts has {set(rows) - set(wanted)} instead of {set(wanted) - set(rows)}, or another order"


def table(servers):
    """The table of metrics of the guide."""
    found = all_families(servers)
    lines = [HEAD, "|---|---|---|---|"]
    for metric in sorted(set().union(*found.values())):
        having = tuple(name for name in found if metric in found[name])
        stores = tuple(name for name in having if name not in SPECIAL) or having
        kind, what = found[stores[0]][metric]
        lines.append(f"| `{metric}` | {kind} | {STORES[stores]} | {what} |")
    return "\n".join(lines) + "\n"


def the_guide_lists_every_metric(servers, _):
    written = GUIDE.read_text()[GUIDE.read_text().index(HEAD):]
    assert written == table(servers), "docs/operating.md is out of date: tests/observability/run --update-docs"


def update_guide(servers):
    text = GUIDE.read_text()
    GUIDE.write_text(text[:text.index(HEAD)] + table(servers))


CHECKS = [
    metrics_are_clean, rules_are_valid, rules_fire_when_they_should, a_real_prometheus_scrapes_and_evaluates,
    expressions_are_valid_and_name_existing_metrics, every_metric_is_on_the_dashboard,
    the_dashboard_is_well_formed, every_alert_has_its_section_and_link, the_guide_lists_every_alert_with_its_cause,
    the_guide_lists_every_metric,
]
