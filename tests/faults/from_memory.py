#!/usr/bin/env python3
"""The control of deliveries: a Sluice whose events are sent without an outbox.

It runs the real binary (REAL_BIN), passes every request on to it, and puts the event of each stored response into a queue in
memory, from which it sends to SENDS_TO. That is how a service works that sends a webhook after its commit. It ends together with
the binary, so kill -9 takes the queue with it. `GET /waiting` is the number of events that are not sent yet.
"""

import ctypes
import http.client
import http.server
import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import urllib.parse

# As many requests at a time as Sluice has for an endpoint.
SENDERS = 8
PR_SET_PDEATHSIG = 1
PASSED_ON = ("content-type", "idempotency-key", "authorization")


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Sender:
    """Sends each event once it could; an event that was not sent is tried again at once."""

    def __init__(self, url):
        self.address = urllib.parse.urlsplit(url)
        self.events = queue.Queue()
        for _ in range(SENDERS):
            threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        connection = http.client.HTTPConnection(self.address.hostname, self.address.port)
        while True:
            event = self.events.get()
            headers = {"content-type": "application/json", "webhook-id": event["id"]}
            try:
                connection.request("POST", "/", json.dumps(event).encode(), headers)
                connection.getresponse().read()
            except (OSError, http.client.HTTPException):
                connection.close()
                self.events.put(event)
            self.events.task_done()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    inner = None

    def pass_on(self):
        if self.path == "/waiting":
            return self.reply(200, str(self.server.sender.events.unfinished_tasks).encode())
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        self.inner = self.inner or http.client.HTTPConnection(*self.server.address)
        headers = {name: self.headers[name] for name in PASSED_ON if name in self.headers}
        self.inner.request(self.command, self.path, body, headers)
        reply = self.inner.getresponse()
        text = reply.read()
        if self.path.endswith("/response.submit") and reply.status == 200:
            self.note(json.loads(text)["result"]["data"], json.loads(body))
        self.reply(reply.status, text, reply.getheader("retry-after"))

    do_GET = do_POST = do_PATCH = pass_on

    def note(self, output, submission):
        if output.get("success"):
            made = output["responseId"]
            data = {"response": {"responseId": made, "answers": submission["answers"]}}
            self.server.sender.events.put({"id": made.replace("rs_", "evt_"), "type": "response.created", "data": data})

    def reply(self, status, body, retry_after=None):
        self.send_response(status)
        if retry_after:
            self.send_header("retry-after", retry_after)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main():
    command = [os.environ["REAL_BIN"], *sys.argv[1:]]
    real = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=die_with_parent)
    found = re.search(r"http://([\d.]+):(\d+)", real.stdout.readline())
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.address, server.sender = (found[1], int(found[2])), Sender(os.environ["SENDS_TO"])
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
