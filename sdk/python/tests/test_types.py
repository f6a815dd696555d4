"""What type checkers know: `mypy` and `pyright` check this file, and need each of its exceptions."""

from __future__ import annotations

from typing import List, Tuple

from sluice import Accepted, Issue, Refused, Result, Sluice


def by_truth(result: Result) -> str:
    return result.response_id if result else ", ".join(result.form_errors)


def by_success(result: Result) -> str:
    if result.success is True:
        return result.response_id
    return ", ".join(result.form_errors)


def wrong_programs(sluice: Sluice, result: Result) -> None:
    """Never called: a type checker refuses every line."""
    sluice.submit("fv_1", {"nps": 9})  # type: ignore[dict-item]
    sluice.submit("fv_1", {"nps": "9"}, tag={"plan": "pro"})  # type: ignore[call-arg]
    sluice.start("fl_1", identities=[{"type": "userId"}])  # type: ignore[typeddict-item]
    sluice.start("fl_1").answer("nps", object())  # type: ignore[arg-type]
    print(result.response_id)  # type: ignore[union-attr]


def test_a_result_is_told_apart_by_truth_and_by_success() -> None:
    issue = Issue("quota_full", ("flowVersionId",), "Enough.")
    cases: List[Tuple[Result, str]] = [(Accepted("rs_1"), "rs_1"), (Refused((issue,)), "Enough.")]
    for result, text in cases:
        assert by_truth(result) == by_success(result) == text
