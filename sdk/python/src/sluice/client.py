"""The synchronous client."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, Mapping, Optional, Type, TypeVar
from urllib.parse import quote

import httpx

from . import _calls
from ._calls import Answer, Flow, SubmissionOptions
from ._protocol import TIMEOUT_SECONDS, Api, Failure, Pause, Plan, Reply, Request, Retry
from ._tokens import GetToken, token_function
from .definition import Snapshot
from .issues import Result
from .run import BaseRun, RunOptions

if TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T")


class Transport:
    """Carries out plans with `httpx`."""

    def __init__(
        self,
        get_token: Optional[GetToken],
        http: Optional[httpx.Client],
        timeout: float,
        sleep: Callable[[float], None],
    ) -> None:
        self._get_token = token_function(get_token)
        self._owns_http = http is None
        self._http = http or httpx.Client(timeout=timeout)
        self._sleep = sleep

    def run(self, plan: Plan[T]) -> T:
        try:
            step = next(plan)
            while True:
                if isinstance(step, Pause):
                    self._sleep(step.seconds)
                    step = plan.send(None)
                else:
                    step = plan.send(self._send(step))
        except StopIteration as stop:
            result: T = stop.value
            return result
        finally:
            plan.close()

    def _send(self, request: Request) -> Any:
        headers = dict(request.headers)
        token = self._get_token(request.needs_new_token)
        if token:
            headers["authorization"] = f"Bearer {token}"
        try:
            reply = self._http.request(
                request.method, request.url, content=request.body, headers=headers
            )
        except httpx.RequestError as error:
            return Failure(error)
        return Reply(reply.status_code, reply.headers, reply.content)

    def close(self) -> None:
        if self._owns_http:
            self._http.close()


class Run(BaseRun):
    """One respondent answers one flow."""

    def __init__(
        self,
        transport: Transport,
        api: Api,
        flow: Flow,
        snapshot: Snapshot,
        **options: Unpack[RunOptions],
    ) -> None:
        super().__init__(flow, snapshot, **options)
        self._transport = transport
        self._api = api
        self._has_token = api.has_token

    def submit(self) -> Result:
        """Validates the answers, and submits them. After an exception, call it again: at most one
        response is stored. See `Refused.carry_over` for what happens if a newer version was
        published meanwhile."""
        return self._transport.run(self.submit_plan(self._api))

    def validate(self) -> Result:
        """Asks the server for its verdict, and stores nothing. `issues` needs no server."""
        return self._transport.run(self.validate_plan(self._api))


class Sluice:
    """A client of one app.

    `get_token` returns an access token, if the app verifies identities. It is called for every
    request, and once more if the server refused the token; then a parameter `refused`, if it has one,
    is true.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str,
        get_token: Optional[GetToken] = None,
        *,
        retry: Retry = Retry(),
        timeout: float = TIMEOUT_SECONDS,
        http: Optional[httpx.Client] = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._api = Api(
            base_url, f"/api/v1/{quote(api_key, safe='')}", retry, get_token is not None
        )
        self._transport = Transport(get_token, http, timeout, sleep)
        self._snapshots = _calls.Snapshots()

    def resolve(self, flow_id: str) -> Flow:
        """The latest published version of a flow, and whether its live window is open."""
        return self._transport.run(_calls.resolve(self._api, flow_id))

    def fetch(self, flow_version_id: str) -> Snapshot:
        """The snapshot of a version: its questions and texts. It never changes."""
        return self._transport.run(_calls.fetch(self._api, flow_version_id))

    def submit(
        self,
        flow_version_id: str,
        answers: Mapping[str, Answer],
        *,
        idempotency_key: Optional[str] = None,
        **options: Unpack[SubmissionOptions],
    ) -> Result:
        """Submits answers as they are. All attempts share one idempotency key, so that at most one
        response is stored; give your own key if you repeat the call yourself."""
        sent = _calls.submission(flow_version_id, answers, **options)
        return self._transport.run(_calls.submit(self._api, sent, idempotency_key))

    def validate(
        self,
        flow_version_id: str,
        answers: Mapping[str, Answer],
        **options: Unpack[SubmissionOptions],
    ) -> Result:
        """Asks the server for its verdict on a submission, and stores nothing."""
        sent = _calls.submission(flow_version_id, answers, **options)
        return self._transport.run(_calls.validate(self._api, sent))

    def start(self, flow_id: str, **options: Unpack[RunOptions]) -> Run:
        """Resolves and fetches a flow: a run that evaluates its logic, validates answers and submits
        them. To resume one, pass its `answers`, `idempotency_key` and `flow_version_id`."""
        version = options.get("flow_version_id")
        plan = _calls.start(self._api, self._snapshots, flow_id, version)
        flow, snapshot = self._transport.run(plan)
        return Run(self._transport, self._api, flow, snapshot, **options)

    def close(self) -> None:
        self._transport.close()

    def __enter__(self) -> "Sluice":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()
