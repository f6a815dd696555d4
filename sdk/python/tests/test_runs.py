"""Runs: what they send again, carry over, keep and show. A script has the replies of the server."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any, Dict, List, Tuple

import pytest

from scripted import ACCEPTED, API, FIRST, LOST, asking, bodies, newer, played, refused, reply, run
from sluice import (
    Accepted,
    CarryOver,
    InvalidValue,
    NoReply,
    Refused,
    SluiceError,
    Snapshot,
    UnknownQuestion,
)
from sluice._calls import Flow, Snapshots, start
from sluice._protocol import Request
from sluice.run import BaseRun


def test_every_version_of_a_run_has_the_same_key() -> None:
    outcomes = [LOST, refused("no_longer_accepting", "fv_2"), *newer("fv_2"), reply(503), ACCEPTED]
    result, steps = played(run(answers={"a": 7}).submit_plan(API), outcomes)
    assert isinstance(result, Accepted) and result.carry_over is not None
    sent = bodies(steps)
    assert [body["flowVersionId"] for body in sent] == ["fv_1", "fv_1", "fv_2", "fv_2"]
    assert len({body["idempotencyKey"] for body in sent}) == 1


def test_an_older_attempt_that_was_stored_after_all_is_found_by_its_key() -> None:
    moved = [refused("no_longer_accepting", "fv_2"), *newer("fv_2")]
    outcomes = [LOST, *moved, refused("idempotency_key_reused"), ACCEPTED]
    result, steps = played(run(answers={"a": 7}).submit_plan(API), outcomes)
    assert isinstance(result, Accepted) and result.response_id == "rs_1"
    assert [body["flowVersionId"] for body in bodies(steps)] == ["fv_1", "fv_1", "fv_2", "fv_1"]


def test_a_run_follows_few_versions_in_one_call() -> None:
    outcomes: List[Any] = []
    for number in (2, 3):
        outcomes += [refused("no_longer_accepting", f"fv_{number}"), *newer(f"fv_{number}")]
    answered = run(answers={"a": 7})
    result, _ = played(
        answered.submit_plan(API), [*outcomes, refused("no_longer_accepting", "fv_4")]
    )
    assert isinstance(result, Refused) and result.carry_over is not None
    assert (result.carry_over.from_version, result.carry_over.to_version) == ("fv_1", "fv_3")
    assert answered.answers == {"a": "7"}


@pytest.mark.parametrize(
    "code",
    ["not_open_yet", "quota_full", "identity_mismatch", "invitation_used", "no_longer_accepting"],
)
def test_other_refusals_stay_with_the_version(code: str) -> None:
    result, _ = played(run().submit_plan(API), [refused(code)])
    assert isinstance(result, Refused) and result.codes() == [code] and result.carry_over is None


def test_logic_of_a_newer_server_is_left_to_it() -> None:
    when = {"question": "a", "resembles": "x"}
    asked = {"id": "b", "type": "nps", "prompt": "?", "required": True, "visibleIf": when}
    flow = Flow("fl_1", "fv_1", "survey", "T", 1, "", "open", (None, None), 0, ("4",))
    newer_flow = BaseRun(flow, Snapshot({**FIRST, "questions": [*FIRST["questions"], asked]}))
    result, _ = played(newer_flow.submit_plan(API), [ACCEPTED])
    assert isinstance(result, Accepted)


def test_the_verdict_of_a_validation_has_no_response() -> None:
    valid = reply(200, {"result": {"data": {"success": True, "score": 2.5}}})
    result, steps = played(run(answers={"a": 7}).validate_plan(API), [reply(503), valid])
    assert result == Accepted("", score=2.5)
    assert [step.url.rpartition("/")[2] for step in steps if isinstance(step, Request)] == [
        "response.validate"
    ] * 2
    assert all("idempotencyKey" not in body for body in bodies(steps))
    refusal, _ = played(run().validate_plan(API), [refused("quota_full")])
    assert isinstance(refusal, Refused) and not refusal.is_local


def test_values_become_the_texts_that_are_sent() -> None:
    types = "number yesNo consent date shortText multipleChoice".split()
    questions = [{"id": type, "type": type, "prompt": "?", "options": []} for type in types]
    flow = Flow("fl_1", "fv_1", "survey", "T", 1, "", "open", (None, None), 0, ("4",))
    answered = BaseRun(flow, Snapshot({"title": "T", "questions": questions}))
    day = datetime.date(2026, 11, 15)
    values: List[Tuple[str, Any, Any]] = [
        ("number", 7, "7"),
        ("number", 0.5, "0.5"),
        ("number", Decimal("1E+2"), "100"),
        ("yesNo", True, "yes"),
        ("yesNo", False, "no"),
        ("consent", True, "accepted"),
        ("date", day, "2026-11-15"),
        ("date", datetime.datetime(2026, 11, 15, 23, 59), "2026-11-15"),
        ("shortText", "\ud83d\ude00", "😀"),
        ("multipleChoice", ("x", "y"), ["x", "y"]),
        ("multipleChoice", "x", ["x"]),
    ]
    for id, value, sent in values:
        answered.answer(id, value)
        assert answered.answers[id] == sent, (id, value)
    nothings: List[Tuple[str, Any]] = [
        ("consent", False),
        ("shortText", ""),
        ("number", None),
        ("multipleChoice", []),
    ]
    for id, nothing in nothings:
        answered.answer(id, nothing)
        assert id not in answered.answers
    with pytest.raises(KeyError):
        answered.answer("unknown", "x")
    with pytest.raises(TypeError):
        run(anwsers={})


def test_a_flow_that_never_asks_for_consent_never_links() -> None:
    identities = [{"type": "userId", "value": "u-7"}]
    never = run(identities=identities, admission="admitted")
    assert (
        never.submission()["respondentAnalyticsAdmission"] == "collection_only"
        and not never.asks_consent
    )


# --- unknown outcomes ---

USED = refused("idempotency_key_reused")


def unknown_outcome(answered: BaseRun) -> None:
    with pytest.raises(NoReply):
        played(answered.submit_plan(API), [LOST] * 4)


def test_after_an_unknown_outcome_changed_answers_find_the_earlier_response() -> None:
    answered = run(answers={"a": 7})
    unknown_outcome(answered)
    answered.answer("a", 3)
    result, steps = played(answered.submit_plan(API), [USED, ACCEPTED])
    assert isinstance(result, Accepted) and result.earlier and result.response_id == "rs_1"
    sent = bodies(steps)
    assert [body["answers"] for body in sent] == [{"a": "3"}, {"a": "7"}]
    assert {body["idempotencyKey"] for body in sent} == {answered.idempotency_key}
    assert played(answered.submit_plan(API), [])[0] is result


def test_each_of_several_earlier_submissions_may_be_the_stored_one() -> None:
    answered = run(answers={"a": 7})
    for mark in (7, 3, 4):
        answered.answer("a", mark)
        unknown_outcome(answered)
    answered.answer("a", 5)
    result, steps = played(answered.submit_plan(API), [USED, USED, USED, ACCEPTED])
    assert result.earlier
    assert [body["answers"]["a"] for body in bodies(steps)] == ["5", "4", "3", "7"]


def test_after_an_unknown_outcome_the_same_answers_are_not_earlier_ones() -> None:
    answered = run(answers={"a": 7})
    unknown_outcome(answered)
    result, steps = played(answered.submit_plan(API), [ACCEPTED])
    assert isinstance(result, Accepted) and not result.earlier and len(bodies(steps)) == 1
    answered = run(answers={"a": 7})
    unknown_outcome(answered)
    answered.answer("a", 3)
    assert not played(answered.submit_plan(API), [ACCEPTED])[0].earlier


def test_a_key_that_something_else_used_is_a_refusal() -> None:
    answered = run(answers={"a": 7}, idempotency_key="mine")
    result, steps = played(answered.submit_plan(API), [USED])
    assert result.codes() == ["idempotency_key_reused"] and len(bodies(steps)) == 1


# --- resuming ---


def test_a_resumed_run_has_its_key_and_its_version() -> None:
    resolved, served = newer("fv_2")[0], newer("fv_1")[1]
    flow, snapshot = played(start(API, Snapshots(), "fl_1", "fv_1"), [resolved, served])[0]
    assert (flow.flow_version_id, snapshot.flow_version_id) == ("fv_2", "fv_1")
    resumed = BaseRun(
        flow, snapshot, answers={"a": 7}, idempotency_key="k-1", flow_version_id="fv_1"
    )
    _, steps = played(resumed.submit_plan(API), [ACCEPTED])
    [body] = bodies(steps)
    assert (body["flowVersionId"], body["idempotencyKey"]) == ("fv_1", "k-1")


def test_a_resumed_run_of_a_retired_version_continues_with_the_latest() -> None:
    asked = asking({"id": "a", "type": "nps"}, {"id": "terms", "type": "consent"})
    gone = reply(404, {"code": "flow_version_not_found", "detail": "No."})
    resolved, served = newer("fv_2", asked)
    found = played(start(API, Snapshots(), "fl_1", "fv_1"), [resolved, gone, served])[0]
    answers: Dict[str, Any] = {"a": 7, "terms": True, "old": "x"}
    resumed = BaseRun(*found, answers=answers, flow_version_id="fv_1")
    # Whether the text of the consent is the same is unknown.
    assert resumed.answers == {"a": "7"} and resumed.dropped == {"terms": True, "old": "x"}
    assert resumed.snapshot.flow_version_id == "fv_2"


def test_a_version_of_another_flow_is_replaced_by_the_latest() -> None:
    asked = asking({"id": "a", "type": "nps"}, {"id": "terms", "type": "consent"})
    resolved, served = newer("fv_2", asked)
    other = reply(200, {**FIRST, "flowVersionId": "fv_9", "flowId": "fl_9"})
    found = played(start(API, Snapshots(), "fl_1", "fv_9"), [resolved, other, served])[0]
    answers: Dict[str, Any] = {"a": 7, "terms": True, "old": "x"}
    resumed = BaseRun(*found, answers=answers, flow_version_id="fv_9")
    assert resumed.snapshot.flow_version_id == "fv_2"
    assert resumed.answers == {"a": "7"} and resumed.dropped == {"terms": True, "old": "x"}


def test_a_run_cannot_resume_with_a_key_that_cannot_be_sent() -> None:
    with pytest.raises(InvalidValue):
        run(idempotency_key="ä")


# --- carrying answers over ---


def moved(before: Dict[str, Any], after: Dict[str, Any], **options: Any) -> Tuple[Any, BaseRun]:
    """What a run returns that has to move to another version, which accepts what it gets."""
    answered = run(definition=before, **options)
    outcomes = iter([refused("no_longer_accepting", "fv_2"), *newer("fv_2", after), ACCEPTED])
    plan = answered.submit_plan(API)
    try:
        next(plan)
        while True:
            plan.send(next(outcomes))
    except StopIteration as stop:
        return stop.value, answered


CONSENT: Dict[str, Any] = {"id": "c", "type": "consent", "prompt": "Share it?", "help": "With us."}


@pytest.mark.parametrize(
    "change, is_kept",
    [
        ({}, True),
        ({"required": True}, True),
        ({"prompt": "Sell it?"}, False),
        ({"help": "With everybody."}, False),
        ({"help": None}, False),
    ],
)
def test_a_consent_is_carried_over_only_if_its_text_is_unchanged(
    change: Dict[str, Any], is_kept: bool
) -> None:
    after = asking({**CONSENT, **change})
    result, answered = moved(asking(CONSENT), after, answers={"c": True})
    assert isinstance(result, Accepted) is is_kept
    carried = answered.carry_over
    assert isinstance(carried, CarryOver)
    assert carried.dropped == ({} if is_kept else {"c": ["accepted"]})
    assert answered.answers == ({"c": "accepted"} if is_kept else {})


def test_a_consent_is_dropped_if_the_translation_that_was_read_has_changed() -> None:
    def in_german(prompt: str) -> Dict[str, Any]:
        texts = {"de": {"questions": {"c": {"prompt": prompt}}}}
        return asking(CONSENT, locales=["en", "de"], translations=texts)

    for locale, is_kept in [("de", False), ("en", True)]:
        result, _ = moved(
            in_german("Teilen?"), in_german("Verkaufen?"), answers={"c": True}, locale=locale
        )
        assert isinstance(result, Accepted) is is_kept, locale


def test_an_option_with_another_label_is_carried_over_by_its_id() -> None:
    def choice(label: str) -> Dict[str, Any]:
        return asking({"id": "o", "type": "singleChoice", "options": [{"id": "x", "label": label}]})

    result, answered = moved(choice("Tea"), choice("Coffee"), answers={"o": "x"})
    assert isinstance(result, Accepted) and answered.answers == {"o": "x"}


def test_a_matrix_with_a_new_row_keeps_the_other_rows() -> None:
    def matrix(*rows: str) -> Dict[str, Any]:
        return asking(
            {
                "id": "m",
                "type": "matrix",
                "required": True,
                "rows": [{"id": row, "label": row} for row in rows],
                "columns": [{"id": "x", "label": "X"}],
            }
        )

    result, answered = moved(matrix("a"), matrix("a", "b"), answers={"m": ["a:x"]})
    assert isinstance(result, Refused) and result.codes() == ["answer_required"]
    assert result.carry_over is not None and result.carry_over.kept == ("m",)
    assert answered.answers == {"m": ["a:x"]}
    answered.answer("m", ["a:x", "b:x"])
    assert played(answered.submit_plan(API), [ACCEPTED])[0]


# --- answers that do not belong ---


def test_known_answers_to_unknown_questions_are_dropped() -> None:
    answered = run(answers={"a": 7, "z": "old"})
    assert answered.dropped == {"z": "old"} and answered.answers == {"a": "7"}


def test_an_answer_to_an_unknown_question_is_an_error_of_the_library() -> None:
    answered = run()
    calls: List[Any] = [
        lambda: answered.answer("z", "x"),
        lambda: answered.answer_all({"a": 7, "z": 1}),
        lambda: answered.question_after("z"),
        lambda: answered.progress("z"),
    ]
    for call in calls:
        with pytest.raises(UnknownQuestion) as found:
            call()
        assert isinstance(found.value, SluiceError)
        assert str(found.value) == "this version has no question 'z'"
    assert answered.answers == {}, "all answers are set, or none"


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), Decimal("NaN"), [1], b"x", {"a": "b"}, {"a"}, object()],
    ids=repr,
)
def test_a_value_without_a_text_is_an_error_of_the_library(value: Any) -> None:
    answered = run(answers={"a": 7})
    with pytest.raises(InvalidValue) as found:
        answered.answer("a", value)
    assert isinstance(found.value, SluiceError) and answered.answers == {"a": "7"}


def test_dates_have_four_digits_for_the_year() -> None:
    answered = run(definition=asking({"id": "d", "type": "date"}))
    for day in (datetime.date(33, 4, 3), datetime.datetime(33, 4, 3, 12)):
        assert answered.answer("d", day) == []
        assert answered.answers == {"d": "0033-04-03"}


# --- consent to be linked ---


def test_consent_is_asked_for_if_it_is_known_who_answers() -> None:
    ask = {**FIRST, "respondentAnalytics": "ask"}
    identities = [{"type": "userId", "value": "u-7"}]
    cases: List[Tuple[Dict[str, Any], bool]] = [
        ({}, False),
        ({"identities": identities}, True),
        ({"flow_assignment_id": "fa_1"}, True),
        ({"flow_assignment_id": "mine"}, False),
    ]
    for options, asks in cases:
        assert run(definition=ask, **options).asks_consent is asks, options
        assert not run(**options).asks_consent, "the default is never"


def test_the_effective_admission_is_what_is_sent() -> None:
    for analytics, sent in [("ask", "admitted"), ("never", "collection_only")]:
        answered = run(definition={**FIRST, "respondentAnalytics": analytics}, admission="admitted")
        assert answered.admission == "admitted" and answered.effective_admission == sent
        assert answered.submission()["respondentAnalyticsAdmission"] == sent


# --- unknown logic ---


def test_only_required_is_left_to_the_server_if_logic_is_unknown() -> None:
    when = {"question": "a", "resembles": "x"}
    shown = run(
        definition=asking(
            {"id": "a", "type": "nps"},
            {"id": "b", "type": "nps", "required": True, "visibleIf": when},
            {"id": "c", "type": "nps", "required": True},
        )
    )
    assert [question.id for question in shown.questions] == ["a", "b", "c"]
    assert [issue.question for issue in shown.issues()] == ["c"]
    assert played(shown.submit_plan(API), [ACCEPTED])[0]
    shown = run(definition=asking({"id": "b", "type": "nps", "visibleIf": when}))
    shown.answer("b", 11)
    result, _ = played(shown.submit_plan(API), [])
    assert isinstance(result, Refused) and result.is_local and result.codes() == ["out_of_range"]


@pytest.mark.parametrize(
    "condition",
    [
        {"resembles": "x"},
        {"not": {"resembles": "x"}},
        {"all": [{"question": "a", "resembles": 7}]},
        {"all": "x"},
        {"question": "a", "in": 7},
        {},
        [],
        "x",
        7,
    ],
    ids=repr,
)
def test_an_unknown_condition_counts_as_true_in_progress(condition: Any) -> None:
    shown = run(
        definition=asking(
            {"id": "a", "type": "nps"}, {"id": "b", "type": "nps", "visibleIf": condition}
        )
    )
    assert shown.progress("a") == (1, 2) and shown.progress("b") == (2, 2)


def test_a_condition_without_parts_is_decided() -> None:
    shown = run(
        definition=asking(
            {"id": "a", "type": "nps"},
            {"id": "b", "type": "nps", "visibleIf": {"any": []}},
            {"id": "c", "type": "nps", "visibleIf": {"all": []}},
        )
    )
    assert shown.progress("a") == (1, 2)


# --- views ---


def test_a_view_has_the_limits_of_its_question() -> None:
    image = {"assetId": "as_1", "alt": "A cat"}
    options = [{"id": "x", "label": "X", "image": {"assetId": "as_2", "alt": "X"}}]
    shown = run(
        locale="de",
        definition=asking(
            {"id": "t", "type": "shortText", "minLength": 2, "maxLength": 9, "image": image},
            {"id": "l", "type": "longText"},
            {"id": "n", "type": "number", "min": 0.5, "max": 9, "integer": True},
            {"id": "d", "type": "date", "min": "2026-01-01"},
            {"id": "r", "type": "rating", "shape": "star"},
            {"id": "s", "type": "nps"},
            {
                "id": "m",
                "type": "multipleChoice",
                "options": options,
                "allowOther": True,
                "minSelected": 1,
                "maxSelected": 2,
            },
            locales=["en", "de"],
            translations={
                "de": {"questions": {"t": {"imageAlt": "Katze"}, "m": {"optionAlts": {"x": "Ix"}}}}
            },
        ),
    )
    by_id = {question.id: question for question in shown.questions}
    text, choice = by_id["t"], by_id["m"]
    assert (text.min_length, text.max_length, by_id["l"].max_length) == (2, 9, 4000)
    assert text.image is not None
    assert (text.image.asset_id, text.image.alt, text.image.path) == ("as_1", "Katze", "/a/as_1")
    assert by_id["l"].image is None and text.min is None and not text.allow_other
    bounds = {id: (by_id[id].min, by_id[id].max) for id in "ndrs"}
    assert bounds == {"n": (0.5, 9), "d": ("2026-01-01", None), "r": (1, 5), "s": (0, 10)}
    assert by_id["n"].integer and by_id["r"].shape == "star"
    assert (choice.allow_other, choice.min_selected, choice.max_selected) == (True, 1, 2)
    assert choice.options[0].image is not None and choice.options[0].image.alt == "Ix"


def test_the_introduction_and_the_welcome_screen_are_shown() -> None:
    plain = run()
    assert (plain.description, plain.description_html, plain.welcome) == (None, None, None)
    shown = run(
        tags={"plan": "pro"},
        locale="de",
        definition=asking(
            description="*Short*, {{tag:plan}}",
            welcome={"title": "Hello", "body": "*Two* minutes.", "buttonText": "Start"},
            locales=["en", "de"],
            translations={"de": {"welcome": {"title": "Hallo"}}},
        ),
    )
    assert shown.description == "Short, pro"
    assert shown.description_html == "<p><em>Short</em>, pro</p>"
    assert shown.welcome is not None
    assert (shown.welcome.title, shown.welcome.body) == ("Hallo", "Two minutes.")
    assert shown.welcome.body_html == "<p><em>Two</em> minutes.</p>"
    assert shown.welcome.button_text == "Start"
