"""A survey out of `query_status`, where ambassadors have no `query_survey` yet."""

from __future__ import annotations

import time
from typing import Any

import weft


def survey(status: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "node": status[0]["node"] if status else "server",
        "version": weft.__version__,
        "now": time.monotonic(),
        "wall": time.time(),
        "federations": {one["federation"]: _federation(one) for one in status},
    }


def _federation(one: dict[str, Any]) -> dict[str, Any]:
    federates = {member["name"]: {**member, "state": "joined"} for member in one["federates"]}
    return {**{name: one[name] for name in ("home", "instances", "strategy")}, "federates": federates}
