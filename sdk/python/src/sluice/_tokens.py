"""Functions that return access tokens, with or without a parameter `refused`."""

from __future__ import annotations

import inspect
from typing import Any, Awaitable, Callable, Optional, Protocol, TypeVar, Union

T_co = TypeVar("T_co", covariant=True)

Token = Optional[str]


class WithRefused(Protocol[T_co]):
    """`refused` is true if the server refused the last token: return a new one, not one from a cache."""

    def __call__(self, *, refused: bool) -> T_co: ...


GetToken = Union[Callable[[], Token], WithRefused[Token]]
#: It may also be a coroutine function.
AsyncGetToken = Union[
    Callable[[], Union[Token, Awaitable[Token]]], WithRefused[Union[Token, Awaitable[Token]]]
]


def token_function(get_token: Optional[Callable[..., Any]]) -> Callable[[bool], Any]:
    """A function of whether the last token was refused."""
    if get_token is None:
        return lambda _refused: None
    call = get_token
    if _takes_refused(call):
        return lambda refused: call(refused=refused)
    return lambda _refused: call()


def _takes_refused(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
    named = parameters.get("refused")
    return named is not None and named.kind in (named.KEYWORD_ONLY, named.POSITIONAL_OR_KEYWORD)
