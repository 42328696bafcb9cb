"""The lake of results as pages show it: its runs, how their figures go, and what differs between two groups of them.

A process of its own reads the lake (`weft.review.compare.served`), one at a time: neither a large lake nor an impatient visitor
holds up what the console has to do for nodes.  Which lake that is, no request says: it lies beside the runs that are shown.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import os
import signal
import sys
from collections.abc import Mapping

from starlette.datastructures import QueryParams

from weft.console.security import Refused
from weft.host.storage import place_of
from weft.model.errors import WeftError
from weft.model.json_types import Json, JsonObject

LAKE = "lake"
LONGEST = 300  # letters of what names runs
WAITING = 8  # requests
PATIENCE = 120.0  # seconds for an answer
BOUNDS = {"percent": 10.0, "ms": 0.5}
"""Changes up to so much are of no interest, if nobody says otherwise: as for `weft compare`."""
COMMAND = (sys.executable, "-P", "-m", "weft.review.compare.served")


class ResultsReader:
    def __init__(
        self, directory: str, command: tuple[str, ...] = COMMAND, patience: float = PATIENCE
    ) -> None:
        """`directory`: where runs are recorded; empty: nowhere."""
        self._directory, self._command, self._patience = directory, command, patience
        self._one = asyncio.Lock()
        self._waiting = 0
        self._process: asyncio.subprocess.Process | None = None

    async def runs(self) -> Json:
        return await self._ask({"ask": "runs"})

    async def trend(self, asked: QueryParams) -> Json:
        return await self._ask({"ask": "trend", "runs": _named(asked, "runs"), **_bounds(asked)})

    async def compare(self, asked: QueryParams) -> Json:
        sides = {side: _named(asked, side) for side in ("before", "after")}
        return await self._ask({"ask": "compare", **sides, **_bounds(asked)})

    async def close(self) -> None:
        if self._process is not None:
            await _end(self._process)

    async def _ask(self, question: Mapping[str, Json]) -> Json:
        """Raises Refused with what is in the way."""
        if not self._directory:
            raise Refused(
                404, "this console was not told where runs are recorded (--runs), so it has no results"
            )
        if self._waiting >= WAITING:
            raise Refused(503, f"{WAITING} questions about results wait already; ask again in a while")
        self._waiting += 1
        try:
            lake = (place_of(self._directory) / LAKE).address
            async with self._one:
                text = await asyncio.wait_for(self._answer({"lake": lake, **question}), self._patience)
            found = json.loads(text)
        except TimeoutError:
            raise Refused(
                504, f"the results were not read within {self._patience:g} s; ask for fewer runs"
            ) from None
        except (WeftError, OSError, ValueError) as error:
            raise Refused(500, f"the results cannot be read: {error}") from error
        finally:
            self._waiting -= 1
        if isinstance(found, dict) and "error" in found:
            raise Refused(404, str(found["error"]))
        return _finite(found)

    async def _answer(self, question: JsonObject) -> str:
        process = self._process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        try:
            out, said = await process.communicate(json.dumps(question).encode())
        finally:
            await _end(process)
        if process.returncode != 0:
            lines = said.decode("utf-8", "replace").strip().splitlines()
            raise ValueError(lines[-1] if lines else f"the reader ended with code {process.returncode}")
        return out.decode()


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


def _named(asked: QueryParams, name: str) -> str:
    text = asked.get(name, "").strip()
    if not text or len(text) > LONGEST or not text.isprintable():
        raise Refused(400, f"{name} must name runs, as Range, Range/last:20 or Range/2026-11-18 does")
    return text


def _bounds(asked: QueryParams) -> dict[str, Json]:
    made: dict[str, Json] = {}
    for name, default in BOUNDS.items():
        try:
            value = float(asked.get(name, default))
        except ValueError:
            value = math.nan
        if not 0 <= value < 1e9:
            raise Refused(400, f"{name} must be a number, 0 or greater")
        made[name] = value
    return made


def _finite(value: Json) -> Json:
    """What JSON has no number for is null: a browser would not read the rest either."""
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
