"""Errors: the call was not judged, or could not be made. A refused submission is a result, not an
error."""

from __future__ import annotations

from typing import Optional


class SluiceError(Exception):
    """What every error of this library is."""


class InvalidValue(SluiceError, TypeError, ValueError):
    """A value that cannot be sent, such as `nan`, or a list that has something other than strings."""


class UnknownQuestion(SluiceError, KeyError):
    """The version has no question with this id."""

    def __str__(self) -> str:
        # A `KeyError` shows its message in quotes.
        return str(self.args[0])


class NoReply(SluiceError):
    """No reply was received. Whether a submission was stored is unknown: send it again with the same
    idempotency key; a run does that by itself when `submit` is called again."""


class ApiError(SluiceError):
    """The server replied with an error."""

    def __init__(
        self,
        message: str,
        status: int,
        code: str,
        retry_after: Optional[float] = None,
        request_id: Optional[str] = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        #: Such as `flow_not_found`, `token_expired` or `TOO_MANY_REQUESTS`.
        self.code = code
        #: When the server asked to retry, in seconds from its reply.
        self.retry_after = retry_after
        #: Identifies the request in the log of the server.
        self.request_id = request_id

    def __str__(self) -> str:
        return f"{super().__str__()} ({self.status} {self.code})"


class NotFound(ApiError):
    """404: the flow, the version or the procedure is not there, or not for this app."""


class Unauthorized(ApiError):
    """401: the API key is unknown or revoked, or an access token is missing, invalid or expired."""


class TooManyRequests(ApiError):
    """429, after all attempts."""


class ServerError(ApiError):
    """A 5xx, after all attempts. Whether a submission was stored is unknown after a 500."""
