"""What type checkers know: `mypy` and `pyright` check this file, and need each of its exceptions."""

from __future__ import annotations

from typing import List, Optional, Tuple

from sluice import (
    Accepted,
    AsyncSluice,
    Flow,
    FlowStatus,
    Issue,
    Refused,
    Result,
    Sluice,
    Snapshot,
    judge,
)


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
    sluice.start("fl_1", admission="yes")  # type: ignore[arg-type]
    sluice.start("fl_1").admission = "yes"  # type: ignore[assignment]
    Issue("quota_ful", (), "Enough.")  # type: ignore[arg-type]
    Sluice("", "", lambda refresh: "t")  # type: ignore[arg-type]
    print(result.response_id)  # type: ignore[union-attr]


def right_programs(flow: Flow, snapshot: Snapshot) -> None:
    """Never called: a type checker accepts every line."""

    def get_token(*, refused: bool = False) -> str:
        return "new" if refused else "cached"

    async def wait_for_token(*, refused: bool) -> Optional[str]:
        return None

    Sluice("", "", get_token)
    Sluice("", "", lambda: "t")
    AsyncSluice("", "", get_token)
    AsyncSluice("", "", wait_for_token)
    judge(snapshot, {"nps": "9", "use": ["api"]})
    status: FlowStatus = flow.status
    print(status)


def test_a_result_is_told_apart_by_truth_and_by_success() -> None:
    issue = Issue("quota_full", ("flowVersionId",), "Enough.")
    cases: List[Tuple[Result, str]] = [(Accepted("rs_1"), "rs_1"), (Refused((issue,)), "Enough.")]
    for result, text in cases:
        assert by_truth(result) == by_success(result) == text
