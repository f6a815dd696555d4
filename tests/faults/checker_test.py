"""The checker sees every fault that it is there for. Run: python3 tests/faults/checker_test.py"""

import unittest

from checker import OK, REFUSED, UNKNOWN, History, judge


def history(**outcomes):
    made = History()
    for key, outcome in outcomes.items():
        made.invoke(key, f"{key} text")
        made.note(key, outcome)
    return made


class Checker(unittest.TestCase):
    def check(self, broken, texts, counted=None, **outcomes):
        self.assertEqual(judge(history(**outcomes), texts, counted).broken, broken)

    def test_sound(self):
        self.check([], ["a text", "c text"], 2, a=OK, b=REFUSED, c=UNKNOWN, d=UNKNOWN)

    def test_every_fault_is_seen(self):
        self.check(["1 lost"], ["b text"], a=OK, b=OK)
        self.check(["1 doubled"], ["a text", "a text"], a=OK)
        self.check(["1 doubled"], ["a text", "a text"], a=UNKNOWN)
        self.check(["1 refused but stored"], ["a text"], a=REFUSED)
        self.check(["1 changed"], ["a tExt"], a=OK)
        self.check(["1 lost", "1 never sent"], ["x text"], a=OK)
        self.check(["1 miscounted"], ["a text"], 2, a=OK)

    def test_an_acknowledgement_is_final(self):
        made = history(a=OK)
        made.note("a", REFUSED)
        self.assertEqual(made.keys(OK), ["a"])


if __name__ == "__main__":
    unittest.main()
