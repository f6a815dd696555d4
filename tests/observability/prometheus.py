"""A real Prometheus on loopback, and the alert rules with shorter times."""

import json
import pathlib
import random
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "faults"))
OBSERVABILITY = ROOT / "observability"
RULES = OBSERVABILITY / "prometheus" / "alerts.yml"
RULE_TESTS = OBSERVABILITY / "prometheus" / "alerts.test.yml"
DASHBOARD = OBSERVABILITY / "grafana" / "sluice.json"
JOB = "sluice"
# The instance that must cause no alert, and a job of its own.
HEALTHY = "healthy"
START_SECONDS_MAX = 60
PORT_TRIES_MAX = 1_000
SECONDS = {"s": 1, "m": 60, "h": 3600}
# A rate needs at least two samples, which are a second apart here.
RANGE_SECONDS_MIN, FOR_SECONDS_MIN = 5, 1

CONFIGURATION = """
global: {{ scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s }}
rule_files: [{rules}]
scrape_configs:
  - job_name: {job}
    tls_config: {{ insecure_skip_verify: true }}
    file_sd_configs: [{{ files: [{targets}], refresh_interval: 1s }}]
"""


def scaled(text, factor):
    """The rules with every `for`, range, offset and time of a prediction divided by the factor. Thresholds and all else stay as they are."""

    def shorter(least):
        return lambda found: found[1] + f"{max(least, round(int(found[2]) * SECONDS[found[3]] / factor))}s" + found[4]

    text = re.sub(r"(^ +for: )(\d+)([smh])()$", shorter(FOR_SECONDS_MIN), text, flags=re.M)
    text = re.sub(r"( offset )(\d+)([smh])()", shorter(FOR_SECONDS_MIN), text)
    text = re.sub(r"(?<=\], )(\d+) \* 86400(?=\))", lambda found: str(int(found[1]) * 86400 // factor), text)
    return re.sub(r"(\[)(\d+)([smh])(\])", shorter(RANGE_SECONDS_MIN), text)


def is_of_healthy(alert):
    return HEALTHY in (alert.get("instance"), alert.get("job"))


GIVEN_PORTS = set()


def free_port():
    """A free port, never the same twice. It is below those that the system gives to others."""
    for port in random.sample(range(10_000, 15_000), PORT_TRIES_MAX):
        if port in GIVEN_PORTS:
            continue
        with socket.socket() as tested:
            tested.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                tested.bind(("127.0.0.1", port))
            except OSError:
                continue
        GIVEN_PORTS.add(port)
        return port
    raise OSError("no port is free")


class Prometheus:
    """Scrapes the targets that it is given: the name of an instance, and its server."""

    def __init__(self, folder, rules):
        self.targets_file, self.log = folder / "targets.json", folder / "prometheus.log"
        self.targets({})
        (folder / "alerts.yml").write_text(rules)
        configuration = folder / "prometheus.yml"
        configuration.write_text(CONFIGURATION.format(
            rules=folder / "alerts.yml", targets=self.targets_file, job=JOB))
        port = free_port()
        self.base = f"http://127.0.0.1:{port}"
        command = [shutil.which("prometheus"), f"--config.file={configuration}", f"--storage.tsdb.path={folder / 'data'}",
                   f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn"]
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        self.until("Prometheus starts", lambda: self.get("/-/ready"), START_SECONDS_MAX)

    def targets(self, servers):
        """Returns how many there are. The healthy server is in both jobs: some rules name the job `sluice`, some drop the instance."""
        listed = [{"targets": ["{}:{}".format(*server.address)], "labels": {"job": job, "instance": name, "__scheme__": server.scheme}}
                  for name, server in servers.items() for job in ((JOB, HEALTHY) if name == HEALTHY else (JOB,))]
        # Replaced at once: it may be read at any time.
        new = self.targets_file.with_suffix(".new")
        new.write_text(json.dumps(listed))
        new.rename(self.targets_file)
        return len(listed)

    def get(self, path, **parameters):
        query = f"?{urllib.parse.urlencode(parameters)}" if parameters else ""
        try:
            with urllib.request.urlopen(f"{self.base}{path}{query}", timeout=20) as reply:
                return reply.read()
        except urllib.error.HTTPError as error:
            if error.code != 400:
                return None
            raise ValueError(json.loads(error.read()).get("error")) from error
        except OSError:
            return None

    def api(self, path, **parameters):
        """Raises ValueError for an expression that cannot be parsed."""
        text = self.get(f"/api/v1/{path}", **parameters)
        return json.loads(text)["data"] if text else None

    def query(self, expression):
        return self.api("query", query=expression)["result"]

    def alerts(self):
        """The labels of all alerts that are pending or fire, with their state."""
        return [{**alert["labels"], "state": alert["state"]} for alert in self.api("alerts")["alerts"]]

    def firing(self):
        """The alerts that fire, except those of the healthy server."""
        return {alert["alertname"] for alert in self.alerts() if alert["state"] == "firing" and not is_of_healthy(alert)}

    def watch(self, servers):
        """Scrapes only these from now on, and returns when it has."""
        start = time.time()
        count = self.targets(servers)
        seen = lambda: [one for one in self.query("up == 1 and timestamp(up) > %f" % start)]
        self.until("all targets are scraped", lambda: len(seen()) == count, START_SECONDS_MAX)

    def until(self, what, holds, seconds):
        """Waits for a condition; returns what it returned."""
        end = time.monotonic() + seconds
        while not (found := holds()):
            if time.monotonic() > end:
                raise TimeoutError(f"not within {seconds} s: {what}")
            if self.process.poll() is not None:
                raise SystemExit(f"Prometheus ended: {self.log.read_text()[-800:]}")
            time.sleep(0.1)
        return found

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=60)
