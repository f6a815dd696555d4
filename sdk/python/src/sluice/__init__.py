"""Sluice for backends: resolve a flow, answer it, and submit the answers, typed and validated.

    from sluice import Sluice

    with Sluice("https://feedback.example.com", "pk_…") as sluice:
        run = sluice.start("fl_…")
        run.answer("nps", 9)
        result = run.submit()

`AsyncSluice` has the same methods for `asyncio`. Both carry out the same plans and share all rules.
"""

from ._calls import (
    Admission,
    Answer,
    Context,
    Flow,
    FlowKind,
    FlowStatus,
    Identity,
    Page,
    SubmissionOptions,
)
from ._protocol import Retry
from ._tokens import AsyncGetToken, GetToken
from .admin import Admin, AsyncAdmin, EventPage
from .async_client import AsyncRun, AsyncSluice
from .client import Run, Sluice
from .definition import Ending, Question, Section, Snapshot
from .errors import (
    ApiError,
    InvalidValue,
    NoReply,
    NotFound,
    ServerError,
    SluiceError,
    TooManyRequests,
    Unauthorized,
    UnknownQuestion,
)
from .identity import identity_token
from .issues import Accepted, CarryOver, Issue, IssueCode, Refused, Result
from .judge import check, judge
from .route import Route
from .run import Given, RunOptions
from .texts import Words
from .views import Choice, EndingView, ImageView, PageView, QuestionView, WelcomeView

__all__ = [
    "Accepted",
    "Admin",
    "Admission",
    "Answer",
    "ApiError",
    "AsyncAdmin",
    "AsyncGetToken",
    "AsyncRun",
    "AsyncSluice",
    "CarryOver",
    "Choice",
    "Context",
    "Ending",
    "EndingView",
    "EventPage",
    "Flow",
    "FlowKind",
    "FlowStatus",
    "GetToken",
    "Given",
    "Identity",
    "ImageView",
    "InvalidValue",
    "Issue",
    "IssueCode",
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
    "UnknownQuestion",
    "WelcomeView",
    "Words",
    "check",
    "identity_token",
    "judge",
]
