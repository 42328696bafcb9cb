"""Recorded runs as pages show them, and their reviews.

A run is found by its name in the table of those that were found, never by a path that a request names.  A review is a
process of its own (`weft review`), since it starts Spark; one at a time.  What it found lies in the run's folder `review`,
so that whoever comes later, or another console, has it too.  Runs in a store are listed with what their review has found; they
are reviewed by `weft review`, and not from here.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from weft.console.security import Refused
from weft.host.files.private import make_private, private
from weft.host.recording.files import RecordingError
from weft.host.recording.runs import Run, find_runs, open_run
from weft.host.storage import Place, place_of
from weft.model.json_types import JsonObject

FOLDER = "review"
"""In the folder of a run: what the review has found, and beside it the report."""
REPORT = "report.html"
RESULT = "review.json"
STAGES = ("causal", "time", "interest", "delivery", "deadlines", "advice", "report", "the report is in")
"""`weft review` says a line that begins so when that is done."""
LISTED = 500  # the newest
KILL_AFTER = 5.0


class Shelf:
    """The runs below a folder.  `look` reads files and takes its time; the rest is at once."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self._opened: dict[Place, Run] = {}
        self._shown: dict[str, JsonObject] = {}
        self._paths: dict[str, Place] = {}

    def look(self) -> None:
        """Once again; files that were read before are not read again."""
        paths = find_runs(self.directory) if self.directory else []
        opened: dict[Place, Run] = {}
        shown: dict[str, JsonObject] = {}
        named: dict[str, Place] = {}
        for path in sorted(paths, key=lambda one: one.name)[-LISTED:]:
            name = path.name if path.name not in named else f"{path.parent.name}~{path.name}"
            named[name] = path
            try:
                opened[path] = run = self._opened.get(path) or open_run(path)
                if path in self._opened and not run.ended:
                    run.refresh()
                shown[name] = _shown(run)
                if path.local is None:  # by this thread, since to ask a store takes its time
                    shown[name]["review"] = _result_of(path, name)
            except (RecordingError, OSError) as error:
                shown[name] = {"path": str(path), "state": "unreadable", "error": str(error)}
        self._opened, self._shown, self._paths = opened, shown, named

    def path(self, name: str) -> Place:
        found = self._paths.get(name)
        if found is None:
            raise Refused(404, f"there is no run {name[:100]!r} below {self.directory or 'any folder'}")
        return found

    def folder(self, name: str) -> Path:
        """Of a run on this machine."""
        place = self.path(name)
        if place.local is None:
            raise Refused(409, f"{place} is not on this machine; `weft review` with its address reviews it")
        return place.local

    def stored_review(self, name: str) -> JsonObject | None:
        """Of a run in a store, as it was when somebody looked."""
        found = self._shown.get(name, {}).get("review")
        return found if isinstance(found, dict) else None

    def shown(self) -> dict[str, JsonObject]:
        return {name: dict(one) for name, one in self._shown.items()}


def _shown(run: Run) -> JsonObject:
    state = "interrupted" if run.interrupted else "recording"
    if run.ended:
        state = "incomplete" if run.dropped else "complete"
    return {
        "path": str(run.path),
        "federations": [run.federation],
        "started": run.start_ns / 1e9,
        "rows": run.rows,
        "bytes": run.bytes,
        "nodes": sorted(run.nodes),
        "state": state,
        "state_text": run.state,
    }


REVIEWED = (0, 1, 3)  # nothing, or something, is violated; it cannot be told (docs/reference/errors.md)


@dataclass
class _Reviewing:
    """A review that runs, or did."""

    state: str = "running"
    stage: str = "starting Spark"
    done: int = 0
    error: str = ""
    process: asyncio.subprocess.Process | None = None
    task: asyncio.Task[None] | None = None
    said: list[str] = field(default_factory=list)

    def shown(self) -> JsonObject:
        made: JsonObject = {
            "state": self.state,
            "progress": round(self.done / len(STAGES), 3),
            "stage": self.stage,
        }
        return {**made, "error": self.error} if self.error else made


class Reviews:
    def __init__(self, shelf: Shelf, command: tuple[str, ...] = (sys.executable, "-m", "weft.cli")) -> None:
        self._shelf = shelf
        self._command = command
        self._known: dict[str, _Reviewing] = {}
        self._results: dict[Path, tuple[float, JsonObject]] = {}

    def shown(self) -> dict[str, JsonObject]:
        """All runs, each with its review."""
        runs = self._shelf.shown()
        for name, one in runs.items():
            one["review"] = self.of(name)
        return runs

    def of(self, name: str) -> JsonObject:
        ours = self._known.get(name)
        if ours is not None and ours.state in ("running", "failed"):
            return ours.shown()
        return self._found(name)

    def _found(self, name: str) -> JsonObject:
        """As it lies in the run's folder."""
        stored = self._shelf.stored_review(name)
        local = self._shelf.path(name).local
        if stored is not None or local is None:
            return stored or {"state": "none"}
        path = local / FOLDER / RESULT
        try:
            changed = path.stat().st_mtime
        except OSError:
            return {"state": "none"}
        known = self._results.get(path)
        if known is None or known[0] != changed:
            known = self._results[path] = (changed, _result_of(place_of(local), name))
        return known[1]

    def report(self, name: str) -> Path:
        found = self._shelf.folder(name) / FOLDER / REPORT
        if not found.is_file():
            raise Refused(404, f"{name} has not been reviewed; start a review first")
        return found

    async def start(self, name: str) -> JsonObject:
        path = self._shelf.folder(name)
        for other, one in self._known.items():
            if one.state == "running":
                raise Refused(409, f"a review of {other} is running; stop it, or wait for it")
        folder = path / FOLDER
        try:
            make_private(folder)
        except OSError as error:
            raise Refused(409, f"{folder}: {error.strerror or error}") from error
        ours = self._known[name] = _Reviewing()
        ours.task = asyncio.get_running_loop().create_task(self._run(ours, path, folder))
        return ours.shown()

    async def stop(self, name: str) -> JsonObject:
        ours = self._known.get(name)
        self._shelf.path(name)
        if ours is None or ours.state != "running":
            raise Refused(409, f"no review of {name} is running")
        await _end(ours)
        del self._known[name]
        return self.of(name)

    async def close(self) -> None:
        for ours in self._known.values():
            if ours.state == "running":
                await _end(ours)

    async def _run(self, ours: _Reviewing, path: Path, folder: Path) -> None:
        """The report is written beside the old one and takes its place when all is done."""
        report, result = folder / f".{REPORT}", folder / f".{RESULT}"
        arguments = ("review", str(path), "--html", str(report), "--json")
        try:
            with open(result, "wb", opener=private) as out:
                ours.process = await asyncio.create_subprocess_exec(
                    *self._command,
                    *arguments,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=out,
                    stderr=asyncio.subprocess.PIPE,
                    start_new_session=True,  # its Java is to end with it
                )
            assert ours.process.stderr is not None
            async for line in ours.process.stderr:
                _hear(ours, line.decode("utf-8", "replace"))
            code = await ours.process.wait()
            if code not in REVIEWED:
                # What `weft review` itself says of an error is its last line.
                raise Refused(500, ours.said[-1] if ours.said else f"the review ended with code {code}")
            report.replace(folder / REPORT)
            result.replace(folder / RESULT)
            ours.state, ours.done, ours.stage = "done", len(STAGES), "done"
        except (Refused, OSError, ValueError) as error:
            ours.state, ours.error = "failed", str(error)
        finally:
            for left in (report, result):
                with contextlib.suppress(OSError):
                    left.unlink(missing_ok=True)


def _hear(ours: _Reviewing, line: str) -> None:
    text = line.strip().removeprefix("weft: ")
    if not text:
        return
    ours.said = [*ours.said, text][-20:]
    for number, stage in enumerate(STAGES):
        if text.startswith(stage):
            ours.done = max(ours.done, number + 1)
            ours.stage = STAGES[ours.done] if ours.done < len(STAGES) - 1 else "writing the report"


async def _end(ours: _Reviewing) -> None:
    """With the Java it has started: they are a group of their own."""
    for number, patience in ((signal.SIGTERM, KILL_AFTER), (signal.SIGKILL, KILL_AFTER)):
        process = ours.process
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, number)
        if ours.task is not None:
            await asyncio.wait([ours.task], timeout=patience)
            if ours.task.done():
                break
    ours.state = "stopped"


def _result_of(run: Place, name: str) -> JsonObject:
    place = run / FOLDER / RESULT
    try:
        found = json.loads(place.read())
        violations = sum(int(one["violations"]) for one in found["audits"].values())
        reviewed = place.entry().mtime_ns / 1e9
    except FileNotFoundError:
        return {"state": "none"}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return {"state": "failed", "error": f"{place} cannot be read: {error}; start the review again"}
    made: JsonObject = {"state": "done", "progress": 1.0, "stage": "done", "violations": violations}
    if found.get("status") == "inconclusive":
        made["inconclusive"] = True
    report = place.with_name(REPORT).local
    if (
        report is not None and report.is_file()
    ):  # a review on the command line writes one only where it is told to
        made["report"] = f"/runs/{quote(name, safe='')}/report.html"
    return {**made, "reviewed": reviewed}
