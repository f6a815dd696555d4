"""Reads what an app received: its responses, and its log of events.

Pages are fetched as they are needed, with the retries of every other call. Deliberately absent:
everything else of the admin API; generate a client from `/openapi.json` for that.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from types import TracebackType
from typing import (
    Any,
    AsyncIterator,
    Awaitable,
    Callable,
    Dict,
    Iterator,
    List,
    Mapping,
    Optional,
    Sequence,
    Type,
)

import httpx

from ._protocol import Api, Plan, Retry
from .async_client import AsyncTransport
from .client import Transport

_PREFIX = "/api/admin/v1"
_PAGE_ITEMS = 1000
#: A request may wait for events, so it takes longer than others.
TIMEOUT_SECONDS = 90.0


@dataclass(frozen=True)
class EventPage:
    """Events, oldest first. Keep `next`, and pass it as `after` to continue. An event may come
    twice; its `id` is the same."""

    items: List[Dict[str, Any]]
    next: Optional[str]


def _responses_page(
    api: Api, flow_id: str, after: Optional[str], filters: Mapping[str, str]
) -> Plan[Dict[str, Any]]:
    query = {"limit": str(_PAGE_ITEMS), **filters, "after": after}
    data: Dict[str, Any] = yield from api.get(api.url("flows", flow_id, "responses", query=query))
    return data


def _event_page(
    api: Api,
    app_id: str,
    after: Optional[str],
    types: Sequence[str],
    flow_id: Optional[str],
    wait: int,
) -> Plan[EventPage]:
    query = {
        "after": after,
        "types": ",".join(types) or None,
        "flowId": flow_id,
        "wait": str(wait) if wait else None,
    }
    data = yield from api.get(api.url("apps", app_id, "events", query=query))
    return EventPage(data["items"], data.get("next"))


class Admin:
    """Reads the responses and events of apps, with an admin token of the scope `read`."""

    def __init__(
        self,
        base_url: str,
        token: str,
        *,
        retry: Retry = Retry(),
        timeout: float = TIMEOUT_SECONDS,
        http: Optional[httpx.Client] = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._api = Api(base_url, _PREFIX, retry, False)
        self._transport = Transport(lambda: token, http, timeout, sleep)

    def responses(
        self,
        flow_id: str,
        *,
        after: Optional[str] = None,
        filters: Optional[Mapping[str, str]] = None,
    ) -> Iterator[Dict[str, Any]]:
        """Every response of a flow, oldest first, after the one with this `responseId`. Filters are
        those of the list in the admin API, such as `{"answer.nps[lt]": "7", "tag.plan": "pro"}`."""
        while True:
            plan = _responses_page(self._api, flow_id, after, filters or {})
            page = self._transport.run(plan)
            yield from page["items"]
            after = page["next"]
            if after is None:
                return

    def events(
        self,
        app_id: str,
        *,
        after: Optional[str] = None,
        types: Sequence[str] = (),
        flow_id: Optional[str] = None,
        wait: int = 0,
    ) -> Iterator[EventPage]:
        """The events of an app, page by page, up to the present; with `wait`, it waits so many
        seconds at a time for further ones, and does not end."""
        while True:
            page = self._transport.run(_event_page(self._api, app_id, after, types, flow_id, wait))
            is_end = page.next is None or page.next == after
            if page.items or not is_end:
                yield page
            if is_end and not wait:
                return
            after = page.next or after

    def close(self) -> None:
        self._transport.close()

    def __enter__(self) -> "Admin":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()


class AsyncAdmin:
    """The same for `asyncio`."""

    def __init__(
        self,
        base_url: str,
        token: str,
        *,
        retry: Retry = Retry(),
        timeout: float = TIMEOUT_SECONDS,
        http: Optional[httpx.AsyncClient] = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._api = Api(base_url, _PREFIX, retry, False)
        self._transport = AsyncTransport(lambda: token, http, timeout, sleep)

    async def responses(
        self,
        flow_id: str,
        *,
        after: Optional[str] = None,
        filters: Optional[Mapping[str, str]] = None,
    ) -> AsyncIterator[Dict[str, Any]]:
        while True:
            plan = _responses_page(self._api, flow_id, after, filters or {})
            page = await self._transport.run(plan)
            for item in page["items"]:
                yield item
            after = page["next"]
            if after is None:
                return

    async def events(
        self,
        app_id: str,
        *,
        after: Optional[str] = None,
        types: Sequence[str] = (),
        flow_id: Optional[str] = None,
        wait: int = 0,
    ) -> AsyncIterator[EventPage]:
        while True:
            plan = _event_page(self._api, app_id, after, types, flow_id, wait)
            page = await self._transport.run(plan)
            is_end = page.next is None or page.next == after
            if page.items or not is_end:
                yield page
            if is_end and not wait:
                return
            after = page.next or after

    async def close(self) -> None:
        await self._transport.close()

    async def __aenter__(self) -> "AsyncAdmin":
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        await self.close()
