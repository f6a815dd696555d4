"""Breaks each guarantee once: a checker that finds nothing would pass every run."""

import unittest

from check import violations

SENT = {"event": "invoke", "id": "1", "key": "k", "digest": "d"}


def events_of(*events):
    return [SENT, *({"event": event, "id": "1"} for event in events)]


CASES = [
    ("acknowledged and stored is fine", events_of("ok"), [("1", "d")], []),
    ("refused and absent is fine", events_of("refused"), [], []),
    ("unknown, then resolved, is fine", events_of("unknown", "ok"), [("1", "d")], []),
    ("a lost acknowledgement is found", events_of("ok"), [], ["acknowledged and lost"]),
    ("an acknowledgement is final", events_of("ok", "unknown"), [], ["acknowledged and lost"]),
    ("a retry that revokes it is found", events_of("ok", "refused"), [("1", "d")], ["later refused"]),
    ("a refused row is found", events_of("refused"), [("1", "d")], ["refused and stored"]),
    ("a row stored twice is found", events_of("ok"), [("1", "d"), ("1", "d")], ["stored 2 times"]),
    ("other content is found", events_of("ok"), [("1", "x")], ["with other content"]),
    ("an unsent row is found", events_of("ok"), [("1", "d"), ("2", "d")], ["never sent"]),
    ("an unresolved outcome is found", events_of("unknown"), [], ["never resolved"]),
    ("a missing reply is found", events_of(), [], ["never resolved"]),
]


class Checker(unittest.TestCase):
    def test_every_violation_is_found(self):
        for name, events, stored, expected in CASES:
            with self.subTest(name):
                found = list(violations(events, stored))
                self.assertEqual(len(found), len(expected), found)
                for sentence, part in zip(found, expected):
                    self.assertIn(part, sentence)

    def test_one_key_under_two_ids_is_found(self):
        other = {**SENT, "id": "2"}
        events = [*events_of("ok"), other, {"event": "ok", "id": "2"}]
        self.assertEqual(list(violations(events, [("1", "d"), ("2", "d")])), ["k: stored 2 times"])


if __name__ == "__main__":
    unittest.main()
