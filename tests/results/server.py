"""A server on loopback whose clock can be set, and the calls that the check makes."""

import concurrent.futures
import datetime
import glob
import http.client
import json
import os
import re
import subprocess
import threading
import time
import urllib.parse

TOKEN = "token-of-the-results-check-0123456789"
CLIENTS = 4
CALLS_PER_REQUEST = 50
COMPUTING_SECONDS_MAX = 600
# After this time a new connection is opened; the server ends one after ten seconds.
IDLE_SECONDS_MAX = 3
# Every day of the check starts at noon, so that it never ends at midnight.
NOON = datetime.time(12, tzinfo=datetime.timezone.utc)


class Server:
    """`sluice serve` with a data folder. Submissions are received on the day that `set_day` sets."""

    def __init__(self, binary, folder, day):
        library = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
        if not library:
            raise SystemExit("libfaketime is missing; on Debian: apt-get install faketime")
        self.clock = folder / "clock"
        self.set_day(day)
        settings = {
            "PATH": os.environ["PATH"], "SLUICE_ADMIN_TOKEN": TOKEN,
            "SLUICE_RATE_PER_ADDRESS": "0", "SLUICE_BYTES_PER_ADDRESS": "0", "SLUICE_RATE_PER_APP": "0",
            "LD_PRELOAD": library[0], "FAKETIME_TIMESTAMP_FILE": str(self.clock), "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
        self.log = folder / "log"
        command = [binary, "serve", "--listen", "127.0.0.1:0", "--data", str(folder / "data"), "--no-demo"]
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(command, env=settings, stdout=subprocess.PIPE, stderr=log, text=True)
        found = re.search(r"http://([\d.]+):(\d+)", self.process.stdout.readline())
        if not found:
            raise SystemExit(f"{binary} did not start:\n{self.log.read_text()[-2000:]}")
        self.address = (found[1], int(found[2]))
        self.connections = threading.local()
        self.cookie = None

    def set_day(self, day):
        """The server reads the file at every look at its clock; it holds the difference to this machine's."""
        offset = datetime.datetime.combine(day, NOON).timestamp() - time.time()
        part = self.clock.with_suffix(".part")
        part.write_text(f"{offset:+.0f}\n")
        part.rename(self.clock)

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def call(self, method, path, body=None, headers=None):
        """The status, the headers and the body of a reply."""
        connection = getattr(self.connections, "one", None)
        # The server ends connections that are idle for long, as they are during a computation here.
        if connection is None or time.monotonic() - self.connections.used > IDLE_SECONDS_MAX:
            connection = self.connections.one = http.client.HTTPConnection(*self.address, timeout=600)
        connection.request(method, path, body, headers or {})
        reply = connection.getresponse()
        text = reply.read()
        self.connections.used = time.monotonic()
        return reply.status, reply.headers, text

    # --- admin API ---

    def admin(self, method, path, body=None):
        headers = {"authorization": f"Bearer {TOKEN}"}
        data = None
        if body is not None:
            headers["content-type"], data = "application/json", json.dumps(body)
        status, _, text = self.call(method, f"/api/admin/v1{path}", data, headers)
        if status >= 300:
            raise SystemExit(f"{method} {path}: {status} {text.decode()}")
        return status, text

    def read(self, path, query=()):
        """A result, once it is computed."""
        address = f"{path}?{urllib.parse.urlencode(query)}"
        until = time.monotonic() + COMPUTING_SECONDS_MAX
        while time.monotonic() < until:
            status, text = self.admin("GET", address)
            if status != 202:
                return json.loads(text)
        raise SystemExit(f"{address} is never computed")

    def change(self, method, path, body=None):
        return json.loads(self.admin(method, path, body)[1])

    def export(self, flow, query=()):
        query = [("format", "jsonl"), *query]
        return self.admin("GET", f"/flows/{flow}/export?{urllib.parse.urlencode(query)}")[1].decode().splitlines()

    # --- public API ---

    def submit(self, key, submissions):
        """All of them, several in each request; fails if one is refused."""
        parts = [submissions[at:at + CALLS_PER_REQUEST] for at in range(0, len(submissions), CALLS_PER_REQUEST)]
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(lambda part: self.submit_batch(key, part), parts))

    def submit_batch(self, key, part):
        path = ",".join(["response.submit"] * len(part))
        body = json.dumps({str(at): submission for at, submission in enumerate(part)})
        headers = {"content-type": "application/json"}
        status, _, text = self.call("POST", f"/api/v1/{key}/trpc/{path}?batch=1", body, headers)
        for item in json.loads(text) if status == 200 else [text.decode()]:
            if status != 200 or not item["result"]["data"]["success"]:
                raise SystemExit(f"a submission was refused: {status} {item}")

    def visit(self, key, version, steps):
        body = json.dumps({"flowVersionId": version, "steps": steps})
        status, _, text = self.call("POST", f"/api/v1/{key}/visits", body)
        if status != 204:
            raise SystemExit(f"a visit was refused: {status} {text.decode()}")

    # --- console ---

    def sign_in(self):
        origin = "http://{}:{}".format(*self.address)
        headers = {"content-type": "application/x-www-form-urlencoded", "origin": origin}
        status, found, text = self.call("POST", "/console/sign-in", urllib.parse.urlencode({"token": TOKEN}), headers)
        if status != 303:
            raise SystemExit(f"signing in: {status} {text.decode()[:2000]}")
        self.cookie = found["set-cookie"].split(";")[0]

    def page(self, path, query=()):
        """The HTML of a page of the console, once what it shows is computed."""
        address = f"/console{path}?{urllib.parse.urlencode(query)}"
        until = time.monotonic() + COMPUTING_SECONDS_MAX
        while time.monotonic() < until:
            status, headers, text = self.call("GET", address, headers={"cookie": self.cookie})
            if status != 200:
                raise SystemExit(f"{address}: {status} {text.decode()[:2000]}")
            # The whole page is computed, or the number of matches in it.
            if "refresh" not in headers and b" data-waits" not in text:
                return text.decode()
            time.sleep(0.2)
        raise SystemExit(f"{address} is never computed")
