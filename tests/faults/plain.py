#!/usr/bin/env python3
"""The control of many faults: a server that stores in SQLite with `synchronous=FULL`, and has none of our checks.

It answers the few routes that the fault tests use, and takes the same arguments. It does not notice that its files were moved
or changed, creates a database where there is none, and has no digests. `verify` finds nothing.
"""

import http.server
import json
import pathlib
import sqlite3
import sys
import threading

NEW = {"apps": {"appId": "app", "apiKeys": ["key"]}, "flows": {"flowId": "flow"}, "publish": {"flowVersionId": "version"}}


class Store:
    def __init__(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        self.lock = threading.Lock()
        self.database = sqlite3.connect(folder / "sluice.db", isolation_level=None, check_same_thread=False)
        self.database.execute("PRAGMA journal_mode=WAL")
        self.database.execute("PRAGMA synchronous=FULL")
        self.database.execute("CREATE TABLE IF NOT EXISTS responses (key TEXT UNIQUE, text TEXT)")

    def add(self, key, text):
        with self.lock:
            self.database.execute("INSERT OR IGNORE INTO responses VALUES (?, ?)", (key, text))

    def texts(self):
        with self.lock:
            return [row[0] for row in self.database.execute("SELECT text FROM responses")]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        last = self.path.rsplit("/", 1)[1]
        if last in NEW:
            return self.reply(json.dumps(NEW[last]))
        answers = json.loads(body)["answers"]
        if "nowhere" in answers:
            return self.reply('{"success":false}')
        self.server.store.add(self.headers["idempotency-key"], answers["why"])
        self.reply('{"success":true}')

    def do_GET(self):
        if "/export" in self.path:
            return self.reply("\n".join(json.dumps({"answers": {"why": text}}) for text in self.server.store.texts()))
        self.reply(json.dumps({"responses": len(self.server.store.texts())}) if "/summary" in self.path else "ready")

    def reply(self, text):
        data = text.encode()
        self.send_response(200)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


def main():
    if sys.argv[1] != "serve":
        return
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.store = Store(pathlib.Path(sys.argv[sys.argv.index("--data") + 1]))
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
