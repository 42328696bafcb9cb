"""Answers in JSON, and requests whose body is read only as far as it may be long."""

from __future__ import annotations

import json

from starlette.requests import Request
from starlette.responses import Response

from weft.console.pages import json_text
from weft.model.json_types import Json


class RequestProblem(Exception):
    """Ends a request: status, and the reason that is shown."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


def answer(value: Json, status: int = 200) -> Response:
    return Response(json_text(value), status, media_type="application/json")


def problem(status: int, reason: str) -> Response:
    return answer({"error": reason}, status)


async def bounded_json(request: Request, most: int) -> Json:
    """What a length in the head promises is not believed: bytes are counted as they come."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise RequestProblem(415, "the body must be application/json")
    told = request.headers.get("content-length", "0")
    if not told.isdigit() or int(told) > most:
        raise RequestProblem(413, f"the body must not be longer than {most} bytes")
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > most:
            raise RequestProblem(413, f"the body must not be longer than {most} bytes")
    try:
        found: Json = json.loads(body)
        return found
    except (ValueError, RecursionError) as error:
        raise RequestProblem(400, f"the body is no JSON: {error}") from error
