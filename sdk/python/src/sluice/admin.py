"""Reads what an app received: its responses, and its log of events.

Pages are fetched as they are needed, with the retries of every other call. Deliberately absent:
everything else of the admin API; generate a client from `/openapi.json` for that.
"""

from __future__ import annotations

import asyncio
import email.utils
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

from ._protocol import Api, Pause, Plan, Retry, json_of
from .async_client import AsyncTransport
from .client import Transport

_PREFIX = "/api/admin/v1"
_PAGE_ITEMS = 1000
#: How far the end of the log may be behind the present.
_LAG_SECONDS_MAX = 120.0
#: The pause after a page without events, so that a server that does not wait is not flooded.
_POLL_SECONDS = 1.0
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#: A request may wait for events, so it takes longer than others.
TIMEOUT_SECONDS = 90.0


@dataclass(frozen=True)
class EventPage:
    """Events, oldest first. Keep `next`, and pass it as `after` to continue. An event may come
    twice; its `id` is the same."""

    items: List[Dict[str, Any]]
    next: Optional[str]
    #: Whether there were no further events when this was read.
    is_end: bool = False


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
    last: Optional[EventPage] = None,
) -> Plan[EventPage]:
    """The next page; if the last one was the end of the log, after a pause."""
    if last is not None and last.is_end:
        yield Pause(_POLL_SECONDS)
    query = {
        "after": after,
        "types": ",".join(types) or None,
        "flowId": flow_id,
        "wait": str(wait) if wait else None,
    }
    reply = yield from api.reply(api.url("apps", app_id, "events", query=query))
    data = json_of(reply)
    page = EventPage(data["items"], data.get("next"))
    is_end = not page.items and _is_recent(page.next, reply.headers.get("date"))
    return EventPage(page.items, page.next, is_end)


def _is_recent(position: Optional[str], date: Optional[str]) -> bool:
    """Whether a position is near the time of the reply. The log ends shortly before the present, and
    its end moves with the time; an older empty page only means that it had other events."""
    digits = (position or "").partition("_")[2]
    if not digits or not date:
        return True
    try:
        bits = 0
        for digit in digits:
            bits = bits * len(_DIGITS) + _DIGITS.index(digit)
        replied = email.utils.parsedate_to_datetime(date).timestamp()
    except (TypeError, ValueError):
        return True
    # The first 48 of 128 bits are milliseconds.
    return replied - (bits >> 80) / 1000 < _LAG_SECONDS_MAX


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
        """The events of an app, page by page, up to the present; a page may be empty. With `wait`,
        each request waits that number of seconds for events, with a pause of a second after it if there
        were none, and the pages do not end."""
        page: Optional[EventPage] = None
        while page is None or wait or not page.is_end:
            plan = _event_page(self._api, app_id, after, types, flow_id, wait, page)
            page = self._transport.run(plan)
            after = page.next or after
            yield page

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
        page: Optional[EventPage] = None
        while page is None or wait or not page.is_end:
            plan = _event_page(self._api, app_id, after, types, flow_id, wait, page)
            page = await self._transport.run(plan)
            after = page.next or after
            yield page

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
