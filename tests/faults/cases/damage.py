"""Damage in the database file: a flipped letter in an answer, and zeroed pages. `verify` finds it, and it is never certified."""

import functools
import pathlib
import random
import subprocess
import time

from clients import PADDING, Clients
from faults import NO_CHECKS, PLAIN, Fault
from places import as_user, run
from under_load import SETTINGS

PAGE_BYTES, POSTGRESQL_PAGE_BYTES = 4096, 8192


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


def filled(site, postgres=None):
    """A store on PostgreSQL with responses, whose server has ended; their clients, and the verdict so far."""
    store = site.store("PostgreSQL", postgres=postgres)
    server = site.server(store)
    clients = Clients(server, server.make_flow())
    time.sleep(0.5)
    clients.end()
    before = clients.judge(server)
    server.stop()
    return store, clients, before


def verified(site, store):
    return subprocess.run([site.binary, "verify", *map(str, store)], env=SETTINGS, capture_output=True, text=True)


def in_postgresql(site, with_digests=True):
    """A letter of an answer is changed in the table, past all checks of PostgreSQL."""
    store, clients, before = filled(site)
    text = f"{random.choice(clients.history.keys('ok'))} {PADDING}"
    at = len(text) - random.randrange(len(PADDING)) - 1
    changed = text[:at] + chr(ord(text[at]) ^ 1) + text[at + 1:]
    site.postgres.ask(f"UPDATE responses SET answers = replace(answers, '{text}', '{changed}') WHERE answers LIKE '%{text}%'", store[-1])
    if with_digests:
        verify = verified(site, store)
        return before.must(verify.returncode == 1, f"verify exits with {verify.returncode}")
    # What PostgreSQL itself finds: its checksums are of pages, and the page is sound.
    found = site.postgres.ask("SELECT answers FROM responses", store[-1])
    return before.must(changed not in found, "1 changed and read without an error")


def zero_in_postgresql(postgres, store, key):
    """The page with that answer, in the table's file. PostgreSQL has data checksums, but takes such a page for one that is new."""
    where = f"SELECT pg_relation_filepath(tableoid), (ctid::text::point)[0]::bigint FROM responses WHERE answers LIKE '%{key} %'"
    file, page = postgres.ask(where, store[-1]).split("|")
    postgres.manage("stop", "-m", "fast")
    run(*as_user(), pathlib.Path(postgres.control).with_name("pg_checksums"), "--enable", "-D", postgres.folder, cwd="/")
    with open(pathlib.Path(postgres.folder, file), "r+b") as table:
        table.seek(int(page) * POSTGRESQL_PAGE_BYTES)
        table.write(bytes(POSTGRESQL_PAGE_BYTES))
    postgres.start()


def zeroed_in_postgresql(site, with_verify=True):
    postgres = site.own_postgres()
    store, clients, before = filled(site, postgres)
    # Otherwise it might exit with 1 for another reason.
    before.must(not with_verify or verified(site, store).returncode == 0, "verify finds damage where there is none")
    zero_in_postgresql(postgres, store, random.choice(clients.history.keys("ok")))
    if with_verify:
        verify = verified(site, store)
        return before.must(verify.returncode == 1, f"verify exits with {verify.returncode}")
    gone = before.stored - int(postgres.ask("SELECT count(*) FROM responses", store[-1]))
    return before.must(not gone, f"{gone} are gone, and a read shows no error")


FAULTS = [
    Fault(name, functools.partial(once, how=how), functools.partial(once, how=how, binary=PLAIN), NO_CHECKS, tries=(1, 10),
          fails="verify exits with 0")
    for name, how in {"flipped letter in an answer": flip, "zeroed page": zero}.items()
] + [
    Fault("flipped letter in an answer", in_postgresql, functools.partial(in_postgresql, with_digests=False), "PostgreSQL alone", "PostgreSQL",
          tries=(1, 10), fails="changed and read without an error"),
    Fault("zeroed page", zeroed_in_postgresql, functools.partial(zeroed_in_postgresql, with_verify=False), "PostgreSQL alone", "PostgreSQL",
          tries=(1, 10), fails="read shows no error"),
]
