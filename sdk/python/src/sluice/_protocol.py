"""What is said to the server and when, without saying it: plans that a client carries out.

A plan is a generator. It yields a `Request` or a `Pause`, gets the outcome, and returns a result. So
retries, errors and the whole way of a run exist once, for the synchronous and the asynchronous
client. Deliberately absent: sockets, sleeping and tokens.
"""

from __future__ import annotations

import email.utils
import json
import random
import time
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Generator, Mapping, Optional, TypeVar, Union
from urllib.parse import quote, urlencode

from .errors import ApiError, NoReply, NotFound, ServerError, TooManyRequests, Unauthorized

#: Statuses that another attempt may change, besides 5xx; and those of 5xx that it does not.
_RETRIED = frozenset((408, 425, 429))
_NOT_RETRIED = frozenset((501, 505))
_TOKEN_CODES = frozenset(("token_missing", "token_invalid", "token_expired"))

TIMEOUT_SECONDS = 30.0

T = TypeVar("T")


@dataclass(frozen=True)
class Request:
    method: str
    url: str
    body: Optional[bytes] = None
    headers: Mapping[str, str] = field(default_factory=dict)
    #: The last access token was refused: a new one is needed.
    needs_new_token: bool = False


@dataclass(frozen=True)
class Pause:
    seconds: float


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Failure:
    """No reply: the connection failed, or took too long."""

    error: Exception


Step = Union[Request, Pause]
Plan = Generator[Step, Any, T]


@dataclass(frozen=True)
class Retry:
    """How often and when a call is repeated. Every call is safe to repeat: reads, validations, and
    submissions, which have an idempotency key."""

    attempts: int = 5
    #: The wait before the second attempt; it doubles with each further one.
    first_seconds: float = 0.25
    seconds_max: float = 30.0
    #: The longest wait that `Retry-After` may ask for; beyond it the call fails.
    retry_after_max: float = 60.0
    #: A number from 0 to 1; spreads clients that failed at the same time.
    jitter: Callable[[], float] = random.random

    def seconds(self, attempt: int, retry_after: Optional[float]) -> float:
        backoff = min(self.first_seconds * float(2 ** min(attempt - 1, 62)), self.seconds_max)
        wait = backoff * (0.5 + self.jitter() / 2)
        if retry_after is None:
            return wait
        return max(wait, retry_after + self.jitter() * self.first_seconds)


def exchange(request: Request, retry: Retry, has_token: bool = False) -> Plan[Reply]:
    """Sends a request until it has a reply that another attempt would not change."""
    attempt = 0
    while True:
        outcome = yield request
        attempt += 1
        retry_after: Optional[float] = None
        if isinstance(outcome, Failure):
            if attempt >= retry.attempts:
                raise NoReply(
                    f"no reply after {attempt} attempts: {outcome.error}"
                ) from outcome.error
        else:
            assert isinstance(outcome, Reply)
            if outcome.status < 300:
                return outcome
            error = _error_of(outcome)
            if error.code in _TOKEN_CODES and has_token and not request.needs_new_token:
                request = Request(request.method, request.url, request.body, request.headers, True)
                continue
            retry_after = error.retry_after
            is_late = retry_after is not None and retry_after > retry.retry_after_max
            if not is_retried(outcome.status) or is_late or attempt >= retry.attempts:
                raise error
        yield Pause(retry.seconds(attempt, retry_after))


def is_retried(status: int) -> bool:
    return status in _RETRIED or (status >= 500 and status not in _NOT_RETRIED)


def json_of(reply: Reply) -> Any:
    try:
        return json.loads(reply.body)
    except ValueError as error:
        raise ApiError("the reply is not JSON", reply.status, "not_json") from error


def _error_of(reply: Reply) -> ApiError:
    """From a problem (RFC 9457), or an error of tRPC."""
    try:
        data = json.loads(reply.body)
    except ValueError:
        data = None
    fields: Dict[str, Any] = data if isinstance(data, dict) else {}
    code, message = fields.get("code"), fields.get("detail")
    if isinstance(fields.get("error"), dict):
        inner = fields["error"].get("data") or {}
        code, message = inner.get("reason") or inner.get("code"), fields["error"].get("message")
    kinds = {401: Unauthorized, 404: NotFound, 429: TooManyRequests}
    kind = kinds.get(reply.status, ServerError if reply.status >= 500 else ApiError)
    return kind(
        str(message or f"HTTP {reply.status}"),
        reply.status,
        str(code or "http"),
        retry_after=retry_after_of(reply.headers.get("retry-after"), time.time()),
        request_id=reply.headers.get("x-request-id"),
    )


def retry_after_of(value: Optional[str], now: float) -> Optional[float]:
    """`Retry-After` in seconds from now: a number, or a date."""
    if not value:
        return None
    if value.strip().isdigit():
        return float(value)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - now)
    except (TypeError, ValueError):
        return None


class Api:
    """The addresses of a server, and how calls to it are repeated."""

    def __init__(self, base_url: str, prefix: str, retry: Retry, has_token: bool) -> None:
        if not base_url.lower().startswith(("http://", "https://")):
            raise ValueError(f"base_url must start with http:// or https://, not {base_url!r}")
        self.base = base_url.rstrip("/") + prefix
        self.retry = retry
        self.has_token = has_token

    def url(self, *steps: str, query: Optional[Mapping[str, Optional[str]]] = None) -> str:
        path = "/".join(quote(step, safe="") for step in steps)
        given = {name: value for name, value in (query or {}).items() if value is not None}
        return f"{self.base}/{path}" + (f"?{urlencode(given)}" if given else "")

    def get(self, url: str) -> Plan[Any]:
        return json_of((yield from self.reply(url)))

    def reply(self, url: str) -> Plan[Reply]:
        request = Request("GET", url, headers={"accept": "application/json"})
        return (yield from exchange(request, self.retry, self.has_token))

    def call(self, procedure: str, value: Any) -> Plan[Any]:
        """Calls a tRPC procedure: the `data` of its result."""
        headers = {"accept": "application/json", "content-type": "application/json"}
        body = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
        request = Request("POST", self.url("trpc", procedure), body, headers)
        reply = yield from exchange(request, self.retry, self.has_token)
        try:
            data = json_of(reply)["result"]["data"]
        except (KeyError, TypeError):
            data = None
        if not isinstance(data, dict):
            raise ApiError("the reply is not a result", reply.status, "not_a_result")
        return data
