"""What an operator may ask for, out of the body of a request."""

from __future__ import annotations

from typing import NamedTuple

from weft.console.answers import RequestProblem
from weft.kernel.federation.operator import ACTIONS, MOST_STEPS
from weft.model.json_types import Json


class Steering(NamedTuple):
    action: str
    federation: str
    target: str | int | None

    def __str__(self) -> str:
        of = "" if self.target is None else f" {self.target!r}"
        return f"{self.action}{of} in federation {self.federation!r}"


def steering_of(body: Json) -> Steering:
    if not isinstance(body, dict):
        raise RequestProblem(400, 'the body must be {"action": …, "federation": …, "target": …}')
    action, federation, target = (body.get(name) for name in ("action", "federation", "target"))
    if not isinstance(action, str) or action not in ACTIONS:
        raise RequestProblem(400, f"action must be one of {', '.join(ACTIONS)}")
    if not isinstance(federation, str) or not federation:
        raise RequestProblem(400, "federation must be the name of one")
    return Steering(action, federation, _target(action, target))


def _target(action: str, target: Json) -> str | int | None:
    if action == "resign":
        if not isinstance(target, str) or not target:
            raise RequestProblem(400, "target must be the name of the federate that is to resign")
        return target
    if action == "step":
        steps = 1 if target is None else target
        if type(steps) is not int or not 1 <= steps <= MOST_STEPS:
            raise RequestProblem(400, f"target must be a number of steps from 1 to {MOST_STEPS}")
        return int(steps)
    if target is not None:
        raise RequestProblem(400, f"{action} is of a whole federation and takes no target")
    return None
