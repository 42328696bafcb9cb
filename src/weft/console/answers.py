"""Answers in JSON; requests whose body is read only as far as it may be long, and what an operator may ask for in one."""

from __future__ import annotations

import json
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from weft.console.pages import json_text
from weft.console.security import Refused
from weft.kernel.federation.operator import ACTIONS, MOST_STEPS
from weft.model.json_types import Json


def answer(value: Json, status: int = 200) -> Response:
    return Response(json_text(value), status, media_type="application/json")


def problem(status: int, reason: str) -> Response:
    return answer({"error": reason}, status)


async def bounded_json(request: Request, most: int) -> Json:
    """What a length in the head promises is not believed: bytes are counted as they come."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Refused(415, "the body must be application/json")
    told = request.headers.get("content-length", "0")
    if not told.isdigit() or int(told) > most:
        raise Refused(413, f"the body must not be longer than {most} bytes")
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > most:
            raise Refused(413, f"the body must not be longer than {most} bytes")
    try:
        found: Json = json.loads(body)
        return found
    except (ValueError, RecursionError) as error:
        raise Refused(400, f"the body is no JSON: {error}") from error


# What an operator may ask for


class Steering(NamedTuple):
    action: str
    federation: str
    target: str | int | None

    def __str__(self) -> str:
        of = "" if self.target is None else f" {self.target!r}"
        return f"{self.action}{of} in federation {self.federation!r}"


def steering_of(body: Json) -> Steering:
    if not isinstance(body, dict):
        raise Refused(400, 'the body must be {"action": …, "federation": …, "target": …}')
    action, federation, target = (body.get(name) for name in ("action", "federation", "target"))
    if not isinstance(action, str) or action not in ACTIONS:
        raise Refused(400, f"action must be one of {', '.join(ACTIONS)}")
    if not isinstance(federation, str) or not federation:
        raise Refused(400, "federation must be the name of one")
    return Steering(action, federation, _target(action, target))


def _target(action: str, target: Json) -> str | int | None:
    if action == "resign":
        if not isinstance(target, str) or not target:
            raise Refused(400, "target must be the name of the federate that is to resign")
        return target
    if action == "step":
        steps = 1 if target is None else target
        if type(steps) is not int or not 1 <= steps <= MOST_STEPS:
            raise Refused(400, f"target must be a number of steps from 1 to {MOST_STEPS}")
        return int(steps)
    if target is not None:
        raise Refused(400, f"{action} is of a whole federation and takes no target")
    return None
