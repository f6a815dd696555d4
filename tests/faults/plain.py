#!/usr/bin/env python3
"""The control of many faults: a server that stores in SQLite with `synchronous=FULL`, and has none of our checks.

It answers the few routes that the fault tests use, and takes the same arguments. It does not notice that its files were moved
or changed, creates a database if there is none, has no digests, accepts every version, reads bodies of any size, and waits for its
clients without limit. `verify` finds nothing. PLAIN_SYNCHRONOUS names another mode of SQLite than FULL. With PLAIN_LATE=1 it replies
first, and stores what it has acknowledged a moment later, from a queue in memory. With PLAIN_SENDS_TO it sends each response to that
URL before it replies, and waits for at most a second.
"""

import datetime
import gzip
import http.server
import json
import os
import pathlib
import queue
import sqlite3
import sys
import threading
import time
import urllib.request

LATE_SECONDS, SENDING_SECONDS_MAX = 0.05, 1
INSERT = "INSERT OR IGNORE INTO responses VALUES (?, ?, ?, ?)"
NEW = {"apps": {"appId": "app", "apiKeys": ["key"]}, "flows": {"flowId": "flow"}}


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def send(body):
    if url := os.environ.get("PLAIN_SENDS_TO"):
        try:
            urllib.request.urlopen(urllib.request.Request(url, body, {"webhook-id": "x"}), timeout=SENDING_SECONDS_MAX).read()
        except OSError:
            pass


class Store:
    def __init__(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        self.lock, self.versions, self.writes = threading.Lock(), [], 0
        self.database = sqlite3.connect(folder / "sluice.db", isolation_level=None, check_same_thread=False)
        self.database.execute("PRAGMA journal_mode=WAL")
        self.database.execute(f"PRAGMA synchronous={os.environ.get('PLAIN_SYNCHRONOUS', 'FULL')}")
        self.database.execute("CREATE TABLE IF NOT EXISTS responses (key TEXT UNIQUE, text TEXT, version TEXT, received TEXT)")
        self.waiting = queue.Queue()
        self.is_late = os.environ.get("PLAIN_LATE") == "1"
        if self.is_late:
            threading.Thread(target=self.store_later, daemon=True).start()

    def add(self, key, text, version):
        row = (key, text, version, now())
        if self.is_late:
            return self.waiting.put(row)
        with self.lock:
            self.database.execute(INSERT, row)
            self.writes += 1

    def store_later(self):
        while True:
            time.sleep(LATE_SECONDS)
            rows = [self.waiting.get() for _ in range(self.waiting.qsize())]
            with self.lock:
                self.database.execute("BEGIN")
                self.database.executemany(INSERT, rows)
                self.database.execute("COMMIT")
            for _ in rows:
                self.waiting.task_done()

    def rows(self):
        # What is only late is not missing.
        self.waiting.join()
        with self.lock:
            found = self.database.execute("SELECT text, version, received FROM responses").fetchall()
        return [{"answers": {"why": text}, "flowVersionId": version, "receivedAt": received} for text, version, received in found]

    def draft(self):
        return {"flowVersionId": f"version-{len(self.versions)}"}

    def publish(self):
        """A new version; the one before it ends at that moment."""
        with self.lock:
            at = now()
            if self.versions:
                self.versions[-1].update(supersededAt=at, graceEndsAt=at)
            self.versions.append({**self.draft(), "publishedAt": at, "supersededAt": None, "graceEndsAt": None, "retiredAt": None})
            return self.versions[-1]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def body(self):
        if self.headers.get("transfer-encoding") == "chunked":
            data = bytearray()
            while size := int(self.rfile.readline(), 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            data = self.rfile.read(int(self.headers.get("content-length") or 0))
        return gzip.decompress(data) if self.headers.get("content-encoding") == "gzip" else data

    def do_POST(self):
        body, store = self.body(), self.server.store
        last = self.path.rsplit("/", 1)[1]
        if last in NEW:
            return self.reply(json.dumps(NEW[last]))
        if last == "publish":
            return self.reply(json.dumps(store.publish()))
        submission = json.loads(body)
        if "nowhere" in submission["answers"]:
            return self.reply('{"success":false}')
        store.add(self.headers["idempotency-key"], submission["answers"]["why"], submission["flowVersionId"])
        send(body)
        self.reply('{"success":true}')

    def do_PUT(self):
        self.body()
        self.reply(json.dumps(self.server.store.draft()))

    def do_PATCH(self):
        self.body()
        self.reply("{}")

    def do_DELETE(self):
        self.reply("{}")

    def do_GET(self):
        store = self.server.store
        if "/export" in self.path:
            return self.reply("\n".join(map(json.dumps, store.rows())))
        if "/versions" in self.path or "/responses" in self.path:
            items = store.versions if "/versions" in self.path else [{**row, "responseId": "x"} for row in store.rows()]
            return self.reply(json.dumps({"items": items, "next": None}))
        if self.path == "/metrics":
            return self.reply(f"sluice_commit_rows_count {store.writes}\n")
        self.reply(json.dumps({"responses": len(store.rows())}) if "/summary" in self.path else "ready")

    def reply(self, text):
        data = text.encode()
        self.send_response(200)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads, request_queue_size = True, 1024

    def handle_error(self, request, client_address):
        """A client that is gone, or a body that cannot be read: the connection ends."""


def main():
    if sys.argv[1] != "serve":
        return
    server = Server(("127.0.0.1", 0), Handler)
    server.store = Store(pathlib.Path(sys.argv[sys.argv.index("--data") + 1]))
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
