"""Damage in the database file: a flipped letter in an answer, and zeroed pages. `verify` finds it, and it is never certified."""

import functools
import random
import subprocess
import time

from clients import PADDING, Clients
from faults import NO_CHECKS, PLAIN, Fault
from under_load import SETTINGS

PAGE_BYTES = 4096


def flip(data, key):
    """One letter of one answer."""
    at = data.rfind(f"{key} {PADDING}".encode())
    assert at > 0, "the answer is not in the file"
    at += len(key) + 1 + random.randrange(len(PADDING))
    data[at] ^= 1


def zero(data, key):
    """The page with that answer."""
    at = data.rfind(f"{key} {PADDING}".encode())
    assert at > 0, "the answer is not in the file"
    at -= at % PAGE_BYTES
    data[at:at + PAGE_BYTES] = bytes(PAGE_BYTES)


def once(site, how, binary=None):
    binary = binary or site.binary
    store = site.store("SQLite")
    server = site.server(store, binary=binary)
    made = server.make_flow()
    clients = Clients(server, made)
    time.sleep(0.5)
    clients.end()
    before = clients.judge(server)
    server.stop()
    database = store[1] / "sluice.db"
    # What a server that was not stopped cleanly has left in its log.
    subprocess.run(["sqlite3", database, "PRAGMA wal_checkpoint(TRUNCATE)"], check=True, capture_output=True)
    sound = database.read_bytes()
    damaged = bytearray(sound)
    how(damaged, random.choice(clients.history.keys("ok")))
    database.write_bytes(damaged)
    verify = subprocess.run([binary, "verify", *map(str, store)], env=SETTINGS, capture_output=True, text=True)
    before.must(verify.returncode == 1, f"verify exits with {verify.returncode}")
    # What it serves must be as it was sent, or not be served at all.
    try:
        texts = site.server(store, binary=binary).texts(made[1]) if verify.returncode == 0 else []
        entries = clients.history.entries
        changed = [text for text in texts if text.split(" ", 1)[0] not in entries or entries[text.split(" ", 1)[0]].text != text]
        before.must(not changed, f"{len(changed)} changed and served")
    except (SystemExit, OSError):
        pass
    return before


def in_postgresql(site, with_digests=True):
    """A letter of an answer is changed in the table, past all checks of PostgreSQL."""
    store = site.store("PostgreSQL")
    server = site.server(store)
    made = server.make_flow()
    clients = Clients(server, made)
    time.sleep(0.5)
    clients.end()
    before = clients.judge(server)
    server.stop()
    text = f"{random.choice(clients.history.keys('ok'))} {PADDING}"
    at = len(text) - random.randrange(len(PADDING)) - 1
    changed = text[:at] + chr(ord(text[at]) ^ 1) + text[at + 1:]
    site.postgres.ask(f"UPDATE responses SET answers = replace(answers, '{text}', '{changed}') WHERE answers LIKE '%{text}%'", store[-1])
    if with_digests:
        verify = subprocess.run([site.binary, "verify", *map(str, store)], env=SETTINGS, capture_output=True, text=True)
        return before.must(verify.returncode == 1, f"verify exits with {verify.returncode}")
    # What PostgreSQL itself finds: its checksums are of pages, and the page is sound.
    found = site.postgres.ask("SELECT answers FROM responses", store[-1])
    return before.must(changed not in found, "1 changed and read without an error")


FAULTS = [
    Fault(name, functools.partial(once, how=how), functools.partial(once, how=how, binary=PLAIN), NO_CHECKS, tries=(1, 10),
          fails="verify exits with 0")
    for name, how in {"flipped letter in an answer": flip, "zeroed page": zero}.items()
] + [
    Fault("flipped letter in an answer", in_postgresql, functools.partial(in_postgresql, with_digests=False), "PostgreSQL alone", "PostgreSQL",
          tries=(1, 10), fails="changed and read without an error"),
]
