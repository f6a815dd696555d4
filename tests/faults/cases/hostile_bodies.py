"""Bodies that are too large, too deep or no JSON: a clear refusal, no memory for them, and other submissions go on."""

import functools
import gzip
import http.client
import json
import pathlib

from clients import Clients
from faults import NO_CHECKS, PLAIN, Fault

MEBIBYTE = 1024 * 1024
LARGE_BYTES, LARGE_OF_CONTROL_BYTES = 1024 * MEBIBYTE, 128 * MEBIBYTE
# In the steady state; and the first time on a thread, whose buffers the allocator then keeps.
RISE_MEBIBYTES_MAX, FIRST_MEBIBYTES_MAX = 2.0, 16.0
ROUNDS = 8


def bodies(version, large):
    """Names, headers and contents; a content that is a number is that many bytes, in chunks."""
    shape = {"flowVersionId": version, "flowVersionPayloadGeneration": "4", "respondentAnalyticsAdmission": "collection_only"}
    answers = lambda text: json.dumps({**shape, "answers": "@"}).encode().replace(b'"@"', text)
    return [
        ("chunked", {}, large),
        ("a gzip bomb", {"content-encoding": "gzip"}, gzip.compress(answers(b'{"why":"' + b"0" * (large // 8) + b'"}'))),
        ("100,000 [", {}, answers(b"[" * 100_000)),
        ("100,000 [ that are closed", {}, answers(b"[" * 100_000 + b"]" * 100_000)),
        ("10,000 keys", {}, answers(json.dumps({f"key-{number}": "x" for number in range(10_000)}).encode())),
        ("NUL", {}, answers(b'{"why":"a\\u0000b"}')),
        ("bad UTF-8", {}, answers(b'{"why":"\xff\xfe"}')),
        ("a number of 100,000 digits", {}, answers(b'{"why":' + b"9" * 100_000 + b"}")),
        ("a length that is not sent", {"content-length": str(large)}, b"{"),
        ("nothing", {}, b""),
    ]


def send(server, path, headers, content, patience):
    """The status of the reply and its text; the rest of a body is not sent if the server replies before."""
    connection = http.client.HTTPConnection(*server.address, timeout=patience)
    connection.putrequest("POST", path)
    connection.putheader("content-type", "application/json")
    for name, value in headers.items():
        connection.putheader(name, value)
    is_chunked = isinstance(content, int)
    if is_chunked:
        connection.putheader("transfer-encoding", "chunked")
    elif "content-length" not in headers:
        connection.putheader("content-length", str(len(content)))
    connection.endheaders()
    try:
        for _ in range(content // MEBIBYTE if is_chunked else 0):
            connection.send(b"100000\r\n" + b" " * MEBIBYTE + b"\r\n")
        connection.send(b"0\r\n\r\n" if is_chunked else content)
    except OSError:
        pass
    try:
        reply = connection.getresponse()
        return reply.status, reply.read()
    except (OSError, http.client.HTTPException):
        return 0, b""
    finally:
        connection.close()


class Memory:
    """The most memory of a process from now on."""

    def __init__(self, server):
        self.folder = pathlib.Path(f"/proc/{server.process.pid}")
        (self.folder / "clear_refs").write_text("5")
        self.before = self.read("VmRSS")

    def read(self, name):
        line = next(line for line in (self.folder / "status").read_text().splitlines() if line.startswith(name))
        return int(line.split()[1]) / 1024

    def rise(self):
        return max(0.0, self.read("VmHWM") - self.before)


def once(site, store="SQLite", binary=None, large=LARGE_BYTES, patience=60, rounds=ROUNDS):
    server = site.server(site.store(store), binary=binary or site.binary)
    made = server.make_flow()
    clients = Clients(server, made, count=0)
    path, connection = f"/api/v1/{made[0]}/trpc/response.submit", http.client.HTTPConnection(*server.address, timeout=30)
    wrong, rises, first, sent = {}, {}, 0.0, bodies(made[2], large)
    # The first round is for what the allocator keeps, and for code that is read from the disk; of the others the least counts.
    for round_number in range(rounds):
        for number, (name, headers, content) in enumerate(sent):
            memory = Memory(server)
            status, text = send(server, path, headers, content, patience)
            if round_number:
                rises[name], first = min(memory.rise(), rises.get(name, float("inf"))), max(first, memory.rise())
            is_refused = 400 <= status < 500 or (status == 200 and b'"success":false' in text)
            if not is_refused:
                wrong[name] = f"{name}: {status or 'no reply'}"
            key = f"{round_number}-{number}"
            clients.history.invoke(key, f"{key} text")
            clients.history.note(key, clients.submit(connection, key))
    half_a_character(clients, connection)
    verdict = clients.judge(server)
    name = max(rises, key=rises.get)
    verdict.notes.append(f"{len(rises)} bodies; at most {rises[name]:.1f} MiB more memory ({name}), {first:.1f} MiB the first time on a thread")
    is_small = rises[name] <= RISE_MEBIBYTES_MAX and first <= FIRST_MEBIBYTES_MAX
    verdict.must(is_small, f"{max(rises[name], first):,.0f} MiB for {name}")
    if not binary:
        verdict.notes += wrong.values()
    return verdict.must(not wrong, f"{len(wrong)} of {len(rises)} not refused")


def half_a_character(clients, connection):
    """Half of a surrogate pair, as JavaScript makes it when it cuts a text: stored, with U+FFFD in its place."""
    clients.history.invoke("half-1", "half-1 \ud800")
    outcome = clients.submit(connection, "half-1")
    clients.history.invoke("half-1", "half-1 \ufffd")
    clients.history.note("half-1", outcome)


FAULTS = [
    Fault("hostile bodies", functools.partial(once, store=store),
          functools.partial(once, binary=PLAIN, large=LARGE_OF_CONTROL_BYTES, patience=3, rounds=2), NO_CHECKS, store, tries=(1, 3),
          fails="not refused")
    for store in ("SQLite", "PostgreSQL")
]
