"""Runs one test with the synchronous and with the asynchronous client."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any, Callable, List

from sluice import AsyncRun, AsyncSluice, Retry, Sluice

#: Quick, so that tests do not wait; enough attempts for a server that starts again.
QUICK = Retry(attempts=2000, first_seconds=0.02, seconds_max=0.1)


class Blocking:
    """An object with asynchronous methods, as if they were synchronous."""

    def __init__(self, wrapped: Any, loop: asyncio.AbstractEventLoop) -> None:
        self.wrapped = wrapped
        self.loop = loop

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.wrapped, name)
        if not inspect.iscoroutinefunction(value):
            return value

        def call(*args: Any, **options: Any) -> Any:
            result = self.loop.run_until_complete(value(*args, **options))
            return Blocking(result, self.loop) if isinstance(result, AsyncRun) else result

        return call


class Clients:
    """Makes clients of one kind, and closes them."""

    def __init__(self, is_async: bool) -> None:
        self.loop = asyncio.new_event_loop() if is_async else None
        self.made: List[Any] = []

    def __call__(
        self, url: str, api_key: str, get_token: "Callable[[], str] | None" = None, **options: Any
    ) -> Any:
        options.setdefault("retry", QUICK)
        client: Any
        if self.loop is None:
            client = Sluice(url, api_key, get_token, **options)
        else:
            client = Blocking(AsyncSluice(url, api_key, get_token, **options), self.loop)
        self.made.append(client)
        return client

    def close(self) -> None:
        for client in self.made:
            client.close()
        if self.loop is not None:
            self.loop.close()
