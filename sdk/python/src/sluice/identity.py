"""Access tokens for apps that verify identities: your backend signs one for each of its users.

The token proves the `userId` of a response. Only the secret of an identity key (`hs256`) is used
here; for public keys, sign with the library of your choice. Webhooks are verified by the package
`standardwebhooks`.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from typing import Any, Dict, Mapping, Optional

USER_ID_CHARS_MAX = 255
LIFETIME_SECONDS = 300
#: An app may allow more; an hour is what it allows by default.
LIFETIME_SECONDS_MAX = 86_400


def identity_token(
    secret: str,
    kid: str,
    app_id: str,
    user_id: str,
    *,
    email: Optional[str] = None,
    issuer: Optional[str] = None,
    lifetime_seconds: int = LIFETIME_SECONDS,
    now: Optional[float] = None,
) -> str:
    """A token for one user, signed with HS256. Create a new one when it expires; do not store it."""
    if not 1 <= len(user_id) <= USER_ID_CHARS_MAX:
        raise ValueError(f"user_id must have 1 to {USER_ID_CHARS_MAX} characters")
    if not 1 <= lifetime_seconds <= LIFETIME_SECONDS_MAX:
        raise ValueError(f"lifetime_seconds must be 1 to {LIFETIME_SECONDS_MAX}")
    issued = int(time.time() if now is None else now)
    claims: Dict[str, Any] = {
        "sub": user_id,
        "aud": app_id,
        "iat": issued,
        "exp": issued + lifetime_seconds,
    }
    if email is not None:
        claims["email"] = email
    if issuer is not None:
        claims["iss"] = issuer
    signed = f"{_part({'alg': 'HS256', 'typ': 'JWT', 'kid': kid})}.{_part(claims)}"
    digest = hmac.new(secret.encode("utf-8"), signed.encode("ascii"), hashlib.sha256).digest()
    return f"{signed}.{_base64(digest)}"


def _part(value: Mapping[str, Any]) -> str:
    return _base64(json.dumps(value, separators=(",", ":")).encode("utf-8"))


def _base64(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode("ascii")
