"""Receivers of webhooks that never reply, reply letter by letter, or redirect to a private address.

Requests to them are cut after 15 seconds, and no redirect is followed. Submissions do not notice: that is receivers_delay.py.
A private address is 127.0.0.2 here, since only 127.0.0.1 is allowed.
"""

import functools
import http.client
import json
import socket
import threading
import time
import urllib.request

from checker import Verdict
from clients import Clients
from faults import Fault
from places import until
from under_load import AUTHORIZATION

# Requests end after 15 seconds; the rest is for a busy machine.
CUT_SECONDS_MAX, FIRST_SECONDS_MAX = 25.0, 30.0
LOAD_SECONDS, CLIENTS, PAUSE_SECONDS = 3, 4, 0.02
SETTINGS = {"SLUICE_MASTER_KEY": "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
            "SLUICE_WEBHOOK_ALLOW": "127.0.0.1/32", "SLUICE_WEBHOOK_ALLOW_HTTP": "true"}


class Listener:
    """Accepts connections, and passes each to `answer`. Notes how long each was open, as the receiver sees it."""

    def __init__(self, site, answer, address="127.0.0.1"):
        self.answer, self.seconds, self.count, self.is_ended = answer, [], 0, threading.Event()
        self.socket = socket.create_server((address, 0), backlog=128)
        self.url = f"http://{address}:{self.socket.getsockname()[1]}/"
        site.stack.callback(self.close)
        threading.Thread(target=self.run, daemon=True).start()

    def close(self):
        self.is_ended.set()
        self.socket.close()

    def run(self):
        while not self.is_ended.is_set():
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            self.count += 1
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        start = time.monotonic()
        with connection:
            try:
                connection.recv(65_536)
                self.answer(self, connection)
            except OSError:
                pass
        self.seconds.append(time.monotonic() - start)


def hang(listener, connection):
    connection.settimeout(120)
    while not listener.is_ended.is_set() and connection.recv(65_536):
        pass


def drip(listener, connection):
    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n")
    while not listener.is_ended.is_set():
        connection.sendall(b"x")
        time.sleep(0.2)


def redirect(url):
    def answer(_listener, connection):
        connection.sendall(f"HTTP/1.1 302 Found\r\nlocation: {url}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".encode())

    return answer


class Paced(Clients):
    """At a rate that the machine has time for, so that what is measured is not a queue."""

    def submit(self, *arguments):
        time.sleep(PAUSE_SECONDS if not self.ended.is_set() else 0)
        self.history.entries[arguments[1]].sent = time.monotonic()
        return super().submit(*arguments)


def add_endpoints(server, app, urls):
    for url in urls:
        server.admin("POST", f"/apps/{app['appId']}/webhooks", {"url": url, "events": ["response.created"]})


def listeners(site):
    private = Listener(site, lambda *_: None, "127.0.0.2")
    return private, {name: Listener(site, answer) for name, answer in
                     (("hangs", hang), ("drips", drip), ("redirects", redirect(private.url)))}


def judged(verdict, private, by_name):
    cut = [second for name in ("hangs", "drips") for second in by_name[name].seconds]
    late = [name for name in ("hangs", "drips") if not by_name[name].seconds]
    verdict.must(not late, f"not cut after {CUT_SECONDS_MAX:.0f} s: {' and '.join(late)}")
    verdict.must(by_name["redirects"].count, "nothing was redirected")
    verdict.must(not private.count, f"{private.count} requests to a private address")
    if cut:
        verdict.must(max(cut) <= CUT_SECONDS_MAX, f"cut after {max(cut):.0f} s")
        verdict.notes.append(f"cut after {min(cut):.1f} to {max(cut):.1f} s")
    return verdict


def once(site, store):
    server = site.server(site.store(store), settings=SETTINGS)
    app = json.loads(server.admin("POST", "/apps", {"name": "Receivers"}))
    made = server.make_flow(app)
    private, by_name = listeners(site)
    add_endpoints(server, app, [listener.url for listener in by_name.values()])
    refused = server.call("POST", f"/api/admin/v1/apps/{app['appId']}/webhooks", {"url": private.url}, AUTHORIZATION)[0]
    clients = Paced(server, made, count=CLIENTS)
    time.sleep(LOAD_SECONDS)
    clients.end()
    until(lambda: all(listener.count for listener in by_name.values()), FIRST_SECONDS_MAX)
    until(lambda: by_name["hangs"].seconds and by_name["drips"].seconds, CUT_SECONDS_MAX)
    clients.settle(server)
    verdict = judged(clients.judge(server), private, by_name)
    return verdict.must(400 <= refused < 500, f"an endpoint at a private address: {refused}")


def without_limits(site):
    """A sender that waits without limit and follows redirects, as many libraries do if nothing is set."""
    private, by_name = listeners(site)

    def send(url):
        try:
            urllib.request.urlopen(urllib.request.Request(url, b"{}", {"content-type": "application/json"})).read()
        except (OSError, http.client.HTTPException):
            pass

    for listener in by_name.values():
        threading.Thread(target=send, args=(listener.url,), daemon=True).start()
    until(lambda: all(listener.count for listener in by_name.values()) and private.count)
    time.sleep(CUT_SECONDS_MAX)
    return judged(Verdict(), private, by_name)


FAULTS = [
    Fault("receivers of webhooks hang, drip, redirect", functools.partial(once, store=store), without_limits, "a sender without limits", store,
          tries=(1, 3), fails="not cut after")
    for store in ("SQLite", "PostgreSQL")
]
