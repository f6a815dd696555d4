"""The load generators: wrk for maximum throughput, `pace` for a fixed rate.

Both return a dictionary with the number of replies, the time, the number of unexpected replies, and the number of
rows that the correct replies acknowledge.
"""

import json
import os
import subprocess
import tempfile
import urllib.parse

import sent
from contestants import BINARIES, ROOT

# A late reply is slow, which the percentiles show; it is not lost.
TIMEOUT = "30s"
# Allowed mean difference from the length of the first reply to a read: replies contain the request number.
BYTES_OFF_MAX = 8


def closed(one, requests, seconds, connections):
    """Each connection sends, waits for the reply, and sends again; several requests alternate."""
    reads = [request for request in requests if request.text is None]
    # If there is a text to find, the script checks every reply; otherwise only bytes are counted.
    expected = {(request.status, request.text or "", request.times): request for request in requests}
    replies = list(expected.values()) if len(reads) < len(requests) else []
    bytes_each = reply_bytes(one.url, requests[0]) if not replies else None
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as spec:
        spec.write("return " + lua(specification(one.url, requests, replies)))
        spec.flush()
        command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", TIMEOUT, "--latency"]
        command += ["-s", ROOT / "bench" / "wrk.lua", one.url]
        environment = {**os.environ, "SLUICE_BENCH_SPEC": spec.name}
        output = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    wrong, figures = output.splitlines()[-2:]
    load = {**json.loads(figures), "first_wrong": wrong.removeprefix("wrong: ")}
    load["stored"] = sum(seen * request.stores for seen, request in zip(load["seen"], replies))
    # Requests in progress at the end may be stored without being acknowledged.
    load["storedAtMost"] = load["stored"] + connections * max(request.stores for request in requests)
    load["connections"] = connections
    if bytes_each:
        off = abs(load["bytes"] / max(1, load["requests"]) - bytes_each)
        load["refused"] = load["bad_status"] if off <= BYTES_OFF_MAX else load["requests"]
    return load


def specification(url, requests, replies):
    return {
        "host": urllib.parse.urlsplit(url).netloc,
        "requests": [
            {"method": one.method, "path": one.path, "headers": one.headers, "body": one.body} for one in requests
        ],
        "replies": [{"status": one.status, "text": one.text or "", "times": one.times} for one in replies],
    }


def lua(value):
    """A value in Lua syntax. Strings are printable ASCII, for which Python's syntax is valid Lua."""
    if value is None:
        return "nil"
    if isinstance(value, dict):
        return "{" + ",".join(f"[{lua(key)}]={lua(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "{" + ",".join(map(lua, value)) + "}"
    return json.dumps(value)


def reply_bytes(url, request):
    """The length of a correct reply on the wire, including headers."""
    client = sent.Client(url)
    client.insist(request)
    client.connection.connect()  # a new connection, to read the raw bytes
    lines = [f"{request.method} {request.path} HTTP/1.1", f"host: {client.connection.host}", "connection: close"]
    lines += [f"{name}: {value}" for name, value in request.headers.items()]
    client.connection.sock.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
    reply = b""
    while piece := client.connection.sock.recv(65536):
        reply += piece
    head, body = reply.split(b"\r\n\r\n", 1)
    kept = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"connection:")]
    return len(b"\r\n".join(kept)) + 4 + len(body)


def open_loop(one, request, seconds, connections, rate):
    """A fixed number of requests per second; latency counts from the scheduled time of each request."""
    at = urllib.parse.urlsplit(one.url).netloc
    lines = [f"{request.method} {request.path} HTTP/1.1", f"host: {at}"]
    lines += [f"{name}: {value}" for name, value in request.headers.items()]
    lines += [f"content-length: {len(request.body)}", "", request.body]
    command = [BINARIES / "examples" / "pace", at, str(rate), str(seconds), str(connections), request.text]
    done = subprocess.run(command, input="\r\n".join(lines), check=True, capture_output=True, text=True)
    load = json.loads(done.stdout)
    load["stored"] = load["requests"] * request.stores
    load["storedAtMost"] = load["stored"] + load["lost"] * request.stores
    load["connections"] = connections
    return load


def is_valid(load):
    return load["refused"] == 0 and load["lost"] == 0 and load["requests"] > 0


def rate(load):
    return load["requests"] * 1e6 / load["microseconds"]
