"""Sluice for backends: resolve a flow, answer it, and submit the answers, typed and validated.

    from sluice import Sluice

    with Sluice("https://feedback.example.com", "pk_…") as sluice:
        run = sluice.start("fl_…")
        run.answer("nps", 9)
        result = run.submit()

`AsyncSluice` has the same methods for `asyncio`. Both carry out the same plans and share all rules.
"""

from ._calls import Answer, Context, Flow, Identity, Page, SubmissionOptions
from ._protocol import Retry
from .admin import Admin, AsyncAdmin, EventPage
from .async_client import AsyncRun, AsyncSluice
from .client import Run, Sluice
from .definition import Ending, Question, Section, Snapshot
from .errors import (
    ApiError,
    NoReply,
    NotFound,
    ServerError,
    SluiceError,
    TooManyRequests,
    Unauthorized,
)
from .identity import identity_token
from .issues import Accepted, CarryOver, Issue, Refused, Result
from .judge import judge
from .route import Route
from .run import Choice, EndingView, PageView, QuestionView, RunOptions
from .texts import Words

__all__ = [
    "Accepted",
    "Admin",
    "Answer",
    "ApiError",
    "AsyncAdmin",
    "AsyncRun",
    "AsyncSluice",
    "CarryOver",
    "Choice",
    "Context",
    "Ending",
    "EndingView",
    "EventPage",
    "Flow",
    "Identity",
    "Issue",
    "NoReply",
    "NotFound",
    "Page",
    "PageView",
    "Question",
    "QuestionView",
    "Refused",
    "Result",
    "Retry",
    "Route",
    "Run",
    "RunOptions",
    "Section",
    "ServerError",
    "Sluice",
    "SluiceError",
    "Snapshot",
    "SubmissionOptions",
    "TooManyRequests",
    "Unauthorized",
    "Words",
    "identity_token",
    "judge",
]
