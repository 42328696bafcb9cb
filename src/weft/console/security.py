"""Who may look, who may steer, and what is refused before anything else is looked at (pure but for the tokens' making).

* Two tokens: the operator's and the reader's.  The first visit brings one in the address and gets a cookie for it; programs
  send it as `Authorization: Bearer`.  They are compared in constant time and are written nowhere.
* `Host` must be a name or address that the console listens on: a page of another site whose name was bound to this machine
  (DNS rebinding) has the wrong one.
* `Origin` must be the console's own in WebSockets and in whatever changes something.  Such requests also need a value that
  only the console's own pages can read, unless they came with `Authorization`, which no browser adds by itself.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

OPERATOR = "operator"
READER = "reader"
SAFE = ("GET", "HEAD")


@dataclass(frozen=True)
class Tokens:
    operator: str
    reader: str

    @classmethod
    def make(cls) -> Tokens:
        return cls(secrets.token_urlsafe(32), secrets.token_urlsafe(32))

    def __repr__(self) -> str:
        return "Tokens(…)"

    def role(self, token: str) -> str | None:
        """Both are compared, and in constant time: how long it takes tells nothing."""
        given = token.encode("utf-8", "surrogatepass")
        operator = hmac.compare_digest(given, self.operator.encode())
        reader = hmac.compare_digest(given, self.reader.encode())
        return OPERATOR if operator else READER if reader else None

    def of(self, role: str) -> str:
        return self.operator if role == OPERATOR else self.reader

    def csrf(self, role: str) -> str:
        """What a page of this role sends with whatever changes something."""
        return hmac.new(
            self.of(role).encode(), b"weft console: changing requests", hashlib.sha256
        ).hexdigest()


class Refused(Exception):
    """Ends a request: the status of the answer, and the reason that is shown."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


@dataclass(frozen=True)
class Visitor:
    role: str
    by_cookie: bool

    @property
    def may_steer(self) -> bool:
        return self.role == OPERATOR


@dataclass(frozen=True)
class ConsoleGuard:
    """Of a console that listens at `host`:`port`; `names` are further names it is reached by."""

    tokens: Tokens
    host: str
    port: int
    tls: bool = False
    names: frozenset[str] = field(default_factory=frozenset)

    @property
    def scheme(self) -> str:
        return "https" if self.tls else "http"

    @property
    def cookie(self) -> str:
        """Cookies are shared by all ports of a host, so each console has a name of its own."""
        return f"{'__Host-' if self.tls else ''}weft-console-{self.port}"

    def url(self, token: str = "") -> str:
        host = min(self.names, default="127.0.0.1") if _is_everywhere(self.host) else self.host
        shown = f"[{host}]" if ":" in host else host
        return f"{self.scheme}://{shown}:{self.port}/" + (f"?token={token}" if token else "")

    # --- what is asked of a request, in this order ------------------------------------------------------------

    def check_host(self, headers: Mapping[str, str]) -> None:
        given = headers.get("host", "")
        name, port = _split(given)
        usual = 443 if self.tls else 80
        if (port or usual) != self.port or not self._is_ours(name):
            raise Refused(
                421,
                f"this console is not {given[:100]!r}: open it by the address that was printed, or name it in console.names",
            )

    def _is_ours(self, name: str) -> bool:
        if not name:
            return False
        if name in self.names or name == self.host:
            return True
        if is_loopback(self.host) and (name == "localhost" or name == "::1" or name.startswith("127.")):
            return is_loopback(name)
        if _is_everywhere(self.host):
            # An address, unlike a name, is not for others to bind to this machine.
            return name == "localhost" or _address(name) is not None
        return False

    def caller(self, headers: Mapping[str, str], cookies: Mapping[str, str]) -> Visitor:
        scheme, _, credentials = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            role = self.tokens.role(credentials.strip())
            if role is None:
                raise Refused(401, "the token in Authorization is not this console's")
            return Visitor(role, by_cookie=False)
        role = self.tokens.role(cookies.get(self.cookie, ""))
        if role is None:
            raise Refused(
                401, "no token: open the address with ?token=… that was printed when the console was started"
            )
        return Visitor(role, by_cookie=True)

    def check_origin(self, headers: Mapping[str, str], required: bool) -> None:
        """After the host, which the origin must agree with."""
        origin = headers.get("origin")
        if origin is None:
            if required:
                raise Refused(403, "this needs the header Origin, which browsers send by themselves")
            return
        if origin != f"{self.scheme}://{headers.get('host', '')}":
            raise Refused(403, f"a page of {origin[:100]!r} may not ask this of the console")

    def check_change(self, caller: Visitor, headers: Mapping[str, str]) -> None:
        self.check_origin(headers, required=caller.by_cookie)
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            raise Refused(403, "another site may not ask this of the console")
        if caller.by_cookie:
            given = headers.get("x-weft-token", "").encode("utf-8", "surrogatepass")
            if not hmac.compare_digest(given, self.tokens.csrf(caller.role).encode()):
                raise Refused(403, "the header X-Weft-Token is missing or not this page's; reload the page")
        if not caller.may_steer:
            raise Refused(
                403,
                "this token may only look; steering and reviews need the operator's, which was printed with it",
            )


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    address = _address(host)
    return address is not None and address.is_loopback


def _is_everywhere(host: str) -> bool:
    address = _address(host)
    return address is not None and address.is_unspecified


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _split(host: str) -> tuple[str, int | None]:
    """Of a Host header: name or address, and port; an empty name if it is none."""
    name, colon, port = host.rpartition(":")
    if not colon or host.endswith("]"):
        name, port = host, ""
    if name.startswith("[") and name.endswith("]"):
        name = name[1:-1]
    elif ":" in name:
        return "", None
    if port and not (port.isascii() and port.isdigit() and len(port) < 6):
        return "", None
    return name.lower(), int(port) if port else None


def headers(guard: ConsoleGuard) -> dict[str, str]:
    """For every answer.

    Nothing comes from elsewhere, no script stands in a page.  `style-src-attr`: plotly places its labels by style
    attributes, which cannot load or run anything here.
    """
    socket = f"{'wss' if guard.tls else 'ws'}:"
    host = guard.url().partition("//")[2].rstrip("/")
    policy = {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "style-src-attr": "'unsafe-inline'",
        "img-src": "'self' data: blob:",
        "font-src": "'self'",
        "connect-src": f"'self' {socket}//{host}",
        "frame-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    return {
        "content-security-policy": "; ".join(f"{name} {value}" for name, value in policy.items()),
        "x-frame-options": "DENY",
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "cache-control": "no-store",
    }


REPORT_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox allow-scripts"
)
"""A report carries its script in itself: it runs in an origin of its own, without the console's cookie."""
