"""The checker sees every fault that it is there for, and `run` shows it. Run: python3 tests/faults/checker_test.py"""

import argparse
import contextlib
import importlib.machinery
import importlib.util
import io
import pathlib
import unittest

from checker import OK, REFUSED, UNKNOWN, History, Verdict, judge, oddity
from clients import Clients
from faults import Fault
from places import NotHere


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

    def test_only_a_503_that_says_when_to_try_again_is_not_odd(self):
        for status, retry_after, expected in [
            (200, None, None), (429, None, None), (503, "2", None), (503, None, "503 without Retry-After"),
            (503, "", "503 without Retry-After"), (503, "soon", "503 without Retry-After"), (500, "2", "500"), (502, None, "502"),
        ]:
            self.assertEqual(oddity(status, retry_after), expected)

    def test_odd_replies_are_counted(self):
        made = history(a=OK, b=UNKNOWN)
        for what in ("500", "500", "503 without Retry-After"):
            made.note_odd(what)
        self.assertEqual(judge(made, ["a text"]).broken, ["2 replies 500", "1 replies 503 without Retry-After"])


def runner():
    """The script `run`."""
    loader = importlib.machinery.SourceFileLoader("runner", str(pathlib.Path(__file__).with_name("run")))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("runner", loader))
    loader.exec_module(module)
    return module


def failing(error):
    def fail(_site):
        raise error

    return fail


class Lines(unittest.TestCase):
    """The line of a fault whose try has lost one of two."""

    LOST = staticmethod(lambda _site: Verdict(2, 1, 1, broken=["1 lost"]))

    def line(self, once, control, is_long=False, **how):
        run = runner()
        fault = Fault("a fault", once, control, "nothing", **how)
        options = argparse.Namespace(tries=1, long=is_long, no_control=False)
        with contextlib.redirect_stdout(io.StringIO()):
            table = run.Table([fault])
            broken = run.make(fault, "", options, {}, table, [])
        return broken, table

    def test_a_fault_is_seen_whatever_its_control_does(self):
        for control, broken, missing in [
            (self.LOST, ["1 lost"], 0),
            (failing(NotHere("no root")), ["1 lost"], 1),
            (failing(SystemExit("no server")), ["1 lost", "the control: SystemExit: no server"], 0),
            (lambda _site: Verdict(), ["1 lost", "the control does not fail by 'lost', only by: []"], 0),
        ]:
            found, table = self.line(self.LOST, control)
            self.assertEqual(found, [f"a fault (SQLite): {what}" for what in broken])
            self.assertEqual((len(table.not_here), len(table.controls_not_here)), (0, missing))

    def test_a_server_that_refuses_what_is_left_without_syncs_has_lost_everything(self):
        clients = argparse.Namespace(history=history(a=OK, b=OK, c=REFUSED))
        judge = lambda why: Clients.judge_without_syncs(clients, lambda: failing(SystemExit(why))(None))
        verdict = judge("the server did not start: the database x is damaged: y")
        self.assertEqual((verdict.acknowledged, verdict.lost, verdict.broken), (2, 2, ["2 lost, the server refuses what is left"]))
        self.assertRaises(SystemExit, judge, "the server did not start: unexpected argument")
        clients.history = history(c=REFUSED)
        self.assertRaises(SystemExit, judge, "the server did not start: the database x is damaged: y")

    def test_what_could_not_run_is_counted(self):
        broken, table = self.line(failing(NotHere("no root")), self.LOST)
        self.assertEqual((broken, table.missing()), ([], ["1 of 1 lines could not run here: a fault (SQLite)"]))
        self.assertEqual(self.line(self.LOST, self.LOST)[1].missing(), ["all 1 lines could run here"])

    def test_only_the_long_form_limits_the_recovery(self):
        slow = lambda _site: Verdict(recovery=11.0)
        self.assertEqual(self.line(slow, self.LOST, recovery_max=10.0)[0], [])
        self.assertEqual(len(self.line(slow, self.LOST, is_long=True, recovery_max=10.0)[0]), 1)


if __name__ == "__main__":
    unittest.main()
