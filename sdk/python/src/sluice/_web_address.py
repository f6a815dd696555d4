"""Whether a text is an http or https address with a host, by the rules of the WHATWG URL standard.

The server parses addresses as browsers do, so this does, too: percent-encoded and international
hosts, and IPv4 addresses in every notation. Deliberately absent: paths, queries and fragments,
which have no invalid form once white space and control characters are excluded.
"""

from __future__ import annotations

import re
import unicodedata
from typing import List, Optional, Tuple
from urllib.parse import unquote_to_bytes

import idna

from ._text import is_control, is_white_space

URL_CHARS_MAX = 2048
_PORT_MAX = 65535
_IPV4_MAX = 2**32 - 1
#: The most characters of a label before and after Punycode; longer ones are refused.
_PUNYCODE_ENCODED_MAX = 2000
_PUNYCODE_DECODED_MAX = 1000

_SCHEME = re.compile(r"https?\Z", re.IGNORECASE)
_END_OF_AUTHORITY = re.compile(r"[/\\?#]")
_PORT = re.compile(r"[0-9]*\Z")
_FORBIDDEN = frozenset("%#/:<>?@[\\]^|\x7f") | {chr(at) for at in range(0x21)}
_FIRST_CLASSES = {"L", "R", "AL"}
_NEUTRAL_CLASSES = {"ES", "CS", "ET", "ON", "BN", "NSM"}


def is_url(text: str) -> bool:
    scheme, found, rest = text.partition("://")
    if not found or not _SCHEME.match(scheme) or len(text) > URL_CHARS_MAX:
        return False
    if any(is_white_space(letter) or is_control(letter) for letter in text):
        return False
    # Browsers skip any number of slashes before the authority.
    rest = rest.lstrip("/\\")
    end = _END_OF_AUTHORITY.search(rest)
    authority = rest[: end.start()] if end else rest
    return _is_authority(authority)


def _is_authority(authority: str) -> bool:
    host_and_port = authority.rpartition("@")[2]
    host, port = _split_port(host_and_port)
    if not host or not _PORT.match(port) or int(port or "0") > _PORT_MAX:
        return False
    if host.startswith("["):
        return host.endswith("]") and _is_ipv6(host[1:-1])
    return _is_host(host)


def _split_port(text: str) -> Tuple[str, str]:
    """The host, and what follows the first colon outside of brackets."""
    is_inside = False
    for at, letter in enumerate(text):
        if letter == ":" and not is_inside:
            return text[:at], text[at + 1 :]
        if letter in "[]":
            is_inside = letter == "["
    return text, ""


def _is_host(host: str) -> bool:
    try:
        domain = unquote_to_bytes(host).decode("utf-8")
    except UnicodeDecodeError:
        return False
    ascii_domain = _to_ascii(domain)
    if not ascii_domain:
        return False
    return not _ends_in_a_number(ascii_domain) or _is_ipv4(ascii_domain)


# --- international domains (UTS #46, as URLs use it: no check of hyphens and lengths) ---


def _to_ascii(domain: str) -> Optional[str]:
    """The domain in ASCII, or `None` if it is invalid."""
    try:
        mapped = ".".join(map(_mapped, domain.split(".")))
    except idna.IDNAError:
        return None
    labels: List[str] = []
    for label in mapped.split("."):
        decoded = _decoded_label(label)
        if decoded is None or any(letter in _FORBIDDEN for letter in decoded):
            return None
        labels.append(decoded)
    if any(unicodedata.bidirectional(letter) in {"R", "AL", "AN"} for letter in "".join(labels)):
        if not all(_is_bidi_label(label) for label in labels if label):
            return None
    return ".".join(_encoded(label) for label in labels)


def _mapped(label: str) -> str:
    return label.lower() if label.isascii() else idna.uts46_remap(label, std3_rules=False)


def _decoded_label(label: str) -> Optional[str]:
    """A label in Unicode, or `None` if it is invalid."""
    if label.startswith("xn--"):
        encoded = label[4:]
        if (
            not encoded.isascii()
            or encoded[-1:] in ("", "-")
            or len(encoded) > _PUNYCODE_ENCODED_MAX
        ):
            return None
        try:
            label = encoded.encode("ascii").decode("punycode")
            is_normal = "." not in label and idna.uts46_remap(label, std3_rules=False) == label
        except (UnicodeError, idna.IDNAError):
            return None
        if not is_normal or label.isascii():
            return None
    if not label.isascii():
        if unicodedata.category(label[0]).startswith("M") or len(label) > _PUNYCODE_DECODED_MAX:
            return None
        if not all(_is_joined(label, at) for at, it in enumerate(label) if it in "\u200c\u200d"):
            return None
    return label


def _is_joined(label: str, at: int) -> bool:
    try:
        return idna.valid_contextj(label, at)
    except (idna.IDNAError, ValueError):
        return False


def _is_bidi_label(label: str) -> bool:
    classes = [unicodedata.bidirectional(letter) for letter in label]
    if classes[0] not in _FIRST_CLASSES:
        return False
    while len(classes) > 1 and classes[-1] == "NSM":
        classes.pop()
    if len(classes) == 1:
        return True
    if classes[0] == "L":
        return classes[-1] in {"L", "EN"} and set(classes[1:-1]) <= {"L", "EN"} | _NEUTRAL_CLASSES
    allowed = {"R", "AL", "AN", "EN"}
    has_both = {"EN", "AN"} <= set(classes[1:])
    return (
        classes[-1] in allowed and set(classes[1:-1]) <= allowed | _NEUTRAL_CLASSES and not has_both
    )


def _encoded(label: str) -> str:
    return label if label.isascii() else "xn--" + label.encode("punycode").decode("ascii")


# --- addresses ---


def _ipv4_number(text: str) -> Optional[int]:
    """A number in decimal, octal (`017`) or hexadecimal (`0x1f`) notation."""
    digits, base = text, 10
    if text[:2] in ("0x", "0X"):
        digits, base = text[2:], 16
    elif len(text) > 1 and text.startswith("0"):
        digits, base = text[1:], 8
    if not text:
        return None
    allowed = "0123456789abcdefABCDEF"[: base if base < 16 else None]
    if any(digit not in allowed for digit in digits):
        return None
    return int(digits or "0", base)


def _ends_in_a_number(domain: str) -> bool:
    parts = domain.split(".")
    if parts[-1] == "" and len(parts) > 1:
        parts.pop()
    last = parts[-1]
    is_digits = bool(last) and all("0" <= letter <= "9" for letter in last)
    return is_digits or _ipv4_number(last) is not None


def _is_ipv4(domain: str) -> bool:
    parts = domain.split(".")
    if parts[-1] == "":
        parts.pop()
    if len(parts) > 4:
        return False
    numbers: List[int] = []
    for part in parts:
        number = _ipv4_number(part)
        if number is None or number > _IPV4_MAX:
            return False
        numbers.append(number)
    last = numbers.pop()
    return last <= _IPV4_MAX >> (8 * len(numbers)) and all(number <= 255 for number in numbers)


def _is_ipv6(text: str) -> bool:
    head, compressed, tail = text.partition("::")
    parts = (head.split(":") if head else []) + (tail.split(":") if tail else [])
    pieces = len(parts)
    if parts and "." in parts[-1]:
        if not (tail or not compressed) or not _is_dotted(parts.pop()):
            return False
        pieces += 1
    if not all(re.match(r"[0-9A-Fa-f]{1,4}\Z", part) for part in parts):
        return False
    return pieces < 8 if compressed else pieces == 8


def _is_dotted(text: str) -> bool:
    numbers = text.split(".")
    is_piece = re.compile(r"(?:0|[1-9][0-9]{0,2})\Z")
    return len(numbers) == 4 and all(is_piece.match(it) and int(it) <= 255 for it in numbers)
