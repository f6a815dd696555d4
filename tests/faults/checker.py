"""The one checker of all faults: what clients were told, against what is stored.

A client notes every submission before it is sent, with a digest, and its outcome afterwards:
ok (acknowledged), refused (told that it is not stored), unknown (anything else: 5xx, no reply).
A 5xx must be a 503 with Retry-After, as docs/api.md has it; any other one is odd, and fails the line.
Every text begins with its key, so that a row that is stored twice or changed can be told from others.
"""

import collections
import hashlib
import threading
import time

OK, REFUSED, UNKNOWN = "ok", "refused", "unknown"


def digest(text):
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def oddity(status, retry_after):
    """What is odd about a reply; None if it is not an error of the server, or the one that it promises."""
    if status < 500 or (status == 503 and (retry_after or "").isdigit()):
        return None
    return "503 without Retry-After" if status == 503 else str(status)


class Entry:
    __slots__ = ("text", "digest", "sent", "done", "outcome")

    def __init__(self, text):
        self.text, self.digest, self.sent = text, digest(text), time.monotonic()
        self.done, self.outcome = None, UNKNOWN


class History:
    def __init__(self):
        self.entries, self.lock, self.odd = {}, threading.Lock(), collections.Counter()

    def invoke(self, key, text):
        with self.lock:
            self.entries[key] = Entry(text)

    def note(self, key, outcome):
        entry = self.entries[key]
        # A retry may settle what was unknown; nothing else changes.
        if entry.outcome == UNKNOWN:
            entry.done, entry.outcome = time.monotonic(), outcome

    def note_odd(self, what):
        with self.lock:
            self.odd[what] += 1

    def odd_replies(self):
        """A sentence for each kind of them."""
        return [f"{count:,} replies {what}" for what, count in sorted(self.odd.items())]

    def keys(self, outcome):
        with self.lock:
            return [key for key, entry in self.entries.items() if entry.outcome == outcome]

    def first_ok_after(self, at):
        """Seconds from `at` to the next acknowledgement of what was sent after it; None without one."""
        with self.lock:
            done = [entry.done for entry in self.entries.values() if entry.outcome == OK and entry.sent >= at]
        return min(done) - at if done else None


class Verdict:
    """What a try has shown. `broken` names every promise that does not hold; `notes` are printed below the table."""

    def __init__(self, acknowledged=0, stored=0, lost=0, doubled=0, recovery=None, broken=()):
        self.acknowledged, self.stored, self.lost, self.doubled = acknowledged, stored, lost, doubled
        self.recovery, self.broken, self.notes, self.tries = recovery, list(broken), [], 1

    def must(self, holds, otherwise):
        """Notes a promise of the fault itself."""
        if not holds:
            self.broken.append(otherwise)
        return self


def judge(history, texts, counted=None, expected=None, recovery=None):
    """ok ⊆ stored, refused ∩ stored = ∅, each key at most once, as sent, counts = a recount, no odd replies.

    `texts` are the stored answers, `counted` the number that the service itself reports, and `expected` the keys that
    must be there, if not all that were acknowledged.
    """
    found = collections.Counter(text.split(" ", 1)[0] for text in texts)
    expected = history.keys(OK) if expected is None else expected
    refused = set(history.keys(REFUSED))
    unequal = lambda text: digest(text) != history.entries[text.split(" ", 1)[0]].digest
    known = [text for text in texts if text.split(" ", 1)[0] in history.entries]
    faults = {
        "lost": sum(1 for key in expected if not found[key]),
        "doubled": sum(1 for count in found.values() if count > 1),
        "refused but stored": sum(1 for key in found if key in refused),
        "changed": sum(1 for text in known if unequal(text)),
        "never sent": len(texts) - len(known),
        "miscounted": abs(counted - len(texts)) if counted is not None else 0,
    }
    broken = [f"{count:,} {name}" for name, count in faults.items() if count] + history.odd_replies()
    return Verdict(len(history.keys(OK)), len(texts), faults["lost"], faults["doubled"], recovery, broken)
