"""The asynchronous client: the same plans, carried out with `httpx.AsyncClient`."""

from __future__ import annotations

import asyncio
import inspect
from types import TracebackType
from typing import TYPE_CHECKING, Any, Awaitable, Callable, Mapping, Optional, Type, TypeVar
from urllib.parse import quote

import httpx

from . import _calls
from ._calls import Answer, Flow, SubmissionOptions
from ._protocol import TIMEOUT_SECONDS, Api, Failure, Pause, Plan, Reply, Request, Retry
from ._tokens import AsyncGetToken, token_function
from .definition import Snapshot
from .issues import Result
from .run import BaseRun, RunOptions

if TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T")


class AsyncTransport:
    """Carries out plans with `httpx`."""

    def __init__(
        self,
        get_token: Optional[AsyncGetToken],
        http: Optional[httpx.AsyncClient],
        timeout: float,
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        self._get_token = token_function(get_token)
        self._owns_http = http is None
        self._http = http or httpx.AsyncClient(timeout=timeout)
        self._sleep = sleep

    async def run(self, plan: Plan[T]) -> T:
        try:
            step = next(plan)
            while True:
                if isinstance(step, Pause):
                    await self._sleep(step.seconds)
                    step = plan.send(None)
                else:
                    step = plan.send(await self._send(step))
        except StopIteration as stop:
            result: T = stop.value
            return result
        finally:
            plan.close()

    async def _send(self, request: Request) -> Any:
        headers = dict(request.headers)
        token = self._get_token(request.needs_new_token)
        if inspect.isawaitable(token):
            token = await token
        if token:
            headers["authorization"] = f"Bearer {token}"
        try:
            reply = await self._http.request(
                request.method, request.url, content=request.body, headers=headers
            )
        except httpx.RequestError as error:
            return Failure(error)
        return Reply(reply.status_code, reply.headers, reply.content)

    async def close(self) -> None:
        if self._owns_http:
            await self._http.aclose()


class AsyncRun(BaseRun):
    """One respondent answers one flow."""

    def __init__(
        self,
        transport: AsyncTransport,
        api: Api,
        flow: Flow,
        snapshot: Snapshot,
        **options: Unpack[RunOptions],
    ) -> None:
        super().__init__(flow, snapshot, **options)
        self._transport = transport
        self._api = api
        self._has_token = api.has_token

    async def submit(self) -> Result:
        """Validates the answers, and submits them. After an exception, call it again: at most one
        response is stored. See `Refused.carry_over` for what happens if a newer version was
        published meanwhile."""
        return await self._transport.run(self.submit_plan(self._api))

    async def validate(self) -> Result:
        """Asks the server for its verdict, and stores nothing. `issues` needs no server."""
        return await self._transport.run(self.validate_plan(self._api))


class AsyncSluice:
    """A client of one app.

    `get_token` returns an access token, or awaits one, if the app verifies identities. It is called
    for every request, and once more if the server refused the token; then a parameter `refused`, if it
    has one, is true.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str,
        get_token: Optional[AsyncGetToken] = None,
        *,
        retry: Retry = Retry(),
        timeout: float = TIMEOUT_SECONDS,
        http: Optional[httpx.AsyncClient] = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._api = Api(
            base_url, f"/api/v1/{quote(api_key, safe='')}", retry, get_token is not None
        )
        self._transport = AsyncTransport(get_token, http, timeout, sleep)
        self._snapshots = _calls.Snapshots()

    async def resolve(self, flow_id: str) -> Flow:
        """The latest published version of a flow, and whether its live window is open."""
        return await self._transport.run(_calls.resolve(self._api, flow_id))

    async def fetch(self, flow_version_id: str) -> Snapshot:
        """The snapshot of a version: its questions and texts. It never changes."""
        return await self._transport.run(_calls.fetch(self._api, flow_version_id))

    async def submit(
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
        return await self._transport.run(_calls.submit(self._api, sent, idempotency_key))

    async def validate(
        self,
        flow_version_id: str,
        answers: Mapping[str, Answer],
        **options: Unpack[SubmissionOptions],
    ) -> Result:
        """Asks the server for its verdict on a submission, and stores nothing."""
        sent = _calls.submission(flow_version_id, answers, **options)
        return await self._transport.run(_calls.validate(self._api, sent))

    async def start(self, flow_id: str, **options: Unpack[RunOptions]) -> AsyncRun:
        """Resolves and fetches a flow: a run that evaluates its logic, validates answers and submits
        them. To resume one, pass its `answers`, `idempotency_key` and `flow_version_id`."""
        version = options.get("flow_version_id")
        plan = _calls.start(self._api, self._snapshots, flow_id, version)
        flow, snapshot = await self._transport.run(plan)
        return AsyncRun(self._transport, self._api, flow, snapshot, **options)

    async def close(self) -> None:
        await self._transport.close()

    async def __aenter__(self) -> "AsyncSluice":
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        await self.close()
