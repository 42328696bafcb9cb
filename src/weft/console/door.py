"""Stands before every request: Host, token, Origin, and the headers of every answer."""

from __future__ import annotations

import html

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from weft.console.answers import problem
from weft.console.security import SAFE, ConsoleGuard, Refused, Visitor, headers

_CALLER = "weft.caller"
_DAY = 86_400


def caller_of(scope: Scope) -> Visitor:
    found: Visitor = scope[_CALLER]
    return found


class Door:
    def __init__(self, inner: ASGIApp, guard: ConsoleGuard) -> None:
        self._inner = inner
        self._guard = guard
        self._headers = headers(guard)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._inner(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] in ("http.response.start", "websocket.http.response.start"):
                given = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    given.setdefault(name, value)
            await send(message)

        try:
            early = self._admit(scope)
        except Refused as error:
            early = _refusal(scope, error)
        if early is None:
            await self._inner(scope, receive, with_headers)
        elif scope["type"] == "websocket" and "websocket.http.response" not in scope.get("extensions", {}):
            await send({"type": "websocket.close", "code": 1008})
        else:
            await early(scope, receive, with_headers)

    def _admit(self, scope: Scope) -> Response | None:
        """None: it may pass; otherwise the answer."""
        connection = HTTPConnection(scope)
        self._guard.check_host(connection.headers)
        if scope["type"] == "http" and scope["path"] == "/" and scope["method"] == "GET":
            token = connection.query_params.get("token")
            if token is not None:
                return self._first_visit(token)
        caller = self._guard.caller(connection.headers, connection.cookies)
        if scope["type"] == "websocket":
            self._guard.check_origin(connection.headers, required=caller.by_cookie)
        elif scope["method"] not in SAFE:
            self._guard.check_change(caller, connection.headers)
        scope[_CALLER] = caller
        return None

    def _first_visit(self, token: str) -> Response:
        if self._guard.tokens.role(token) is None:
            raise Refused(401, "the token in the address is not this console's; was it started again?")
        redirect = RedirectResponse("/", 303)
        redirect.set_cookie(
            self._guard.cookie,
            token,
            max_age=30 * _DAY,
            httponly=True,
            samesite="strict",
            secure=self._guard.tls,
        )
        return redirect


def _refusal(scope: Scope, error: Refused) -> Response:
    accepts = HTTPConnection(scope).headers.get("accept", "")
    if scope["type"] == "http" and scope["path"] == "/" and "text/html" in accepts:
        text = (
            f"<!doctype html><meta charset=utf-8><title>Weft console</title><h1>Weft console</h1>"
            f"<p>{html.escape(error.reason)}.</p><p>If you followed a link from another page, reload this one.</p>"
        )
        return Response(text, error.status, media_type="text/html")
    refused = problem(error.status, error.reason)
    if error.status == 401:
        refused.headers["www-authenticate"] = "Bearer"
    return refused
