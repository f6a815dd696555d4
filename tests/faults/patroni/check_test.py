"""Each promise, broken once: a checker that finds nothing would pass every run."""

import unittest

from check import violations

SENT = {"event": "invoke", "id": "1", "key": "k", "digest": "d"}


def told(*events):
    return [SENT, *({"event": event, "id": "1"} for event in events)]


CASES = [
    ("acknowledged and stored is kept", told("ok"), [("1", "d")], []),
    ("refused and absent is kept", told("refused"), [], []),
    ("unknown, then settled, is kept", told("unknown", "ok"), [("1", "d")], []),
    ("a lost acknowledgement is found", told("ok"), [], ["acknowledged and lost"]),
    ("an acknowledgement stays one", told("ok", "unknown"), [], ["acknowledged and lost"]),
    ("a retry that takes it back is found", told("ok", "refused"), [("1", "d")], ["later refused"]),
    ("a refused row is found", told("refused"), [("1", "d")], ["refused and stored"]),
    ("a row stored twice is found", told("ok"), [("1", "d"), ("1", "d")], ["stored 2 times"]),
    ("another content is found", told("ok"), [("1", "x")], ["otherwise than sent"]),
    ("a row of nobody is found", told("ok"), [("1", "d"), ("2", "d")], ["nobody sent it"]),
    ("what stays unknown is found", told("unknown"), [], ["never settled"]),
    ("what was never answered is found", told(), [], ["never settled"]),
]


class Checker(unittest.TestCase):
    def test_every_broken_promise_is_found(self):
        for name, events, stored, expected in CASES:
            with self.subTest(name):
                found = list(violations(events, stored))
                self.assertEqual(len(found), len(expected), found)
                for sentence, part in zip(found, expected):
                    self.assertIn(part, sentence)

    def test_one_key_under_two_ids_is_found(self):
        other = {**SENT, "id": "2"}
        events = [*told("ok"), other, {"event": "ok", "id": "2"}]
        self.assertEqual(list(violations(events, [("1", "d"), ("2", "d")])), ["k: stored 2 times"])


if __name__ == "__main__":
    unittest.main()
