"""Which runs there are below some folders, what there is of each, and whether it is still being written.

Nothing is opened for that but small files: the run's description, those of its nodes, and manifests.  Rows are looked at
only by whoever reviews them.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

from weft.host.processes import is_alive
from weft.host.recording.files import IDLE, RUN_FILE, NodeInfo, RunInfo, folder_name
from weft.host.recording.manifest import FOLDER as MANIFESTS
from weft.host.recording.manifest import read_manifest
from weft.host.recording.runs import find_runs
from weft.host.storage import Place, StoredEntry, place_of
from weft.model.json_types import JsonObject
from weft.review.errors import ReviewError

ROWS, NODES = "rows", "nodes"
BYTES_PER_ROW, BYTES_PER_FILE = 25, 8000  # where nobody says how many rows there are
QUIET = 900.0  # seconds after which a run of another machine that has not ended is taken for cut off
LAKE = "lake"


@dataclass(frozen=True)
class FoundRun:
    place: Place
    federation: str
    start_ns: int
    state: str
    """A checksum of what there is of it: run.json, nodes, manifests, and names, sizes and times of files of rows."""
    rows: int
    """About."""
    going_on: str
    """Why it is taken to be still written; empty: it is over."""

    @property
    def key(self) -> tuple[str, str]:
        return self.federation, self.place.name


def is_run(place: Place) -> bool:
    return (place / RUN_FILE).is_file() or (place / ROWS).is_folder()


def runs_below(given: Sequence[str]) -> list[Place]:
    """Of all folders and runs that are named, each once."""
    found: dict[Place, None] = {}
    for text in given:
        top = place_of(text)
        runs = [top] if is_run(top) else find_runs(top)
        if not runs:
            what = f"no runs below {top}" if top.is_folder() else f"{top}: there is no such folder"
            raise ReviewError(f"{what}; `weft runs` lists what is recorded")
        found |= dict.fromkeys(runs)
    return list(found)


def default_lake(runs: Iterable[FoundRun], given: Sequence[str] = ()) -> Place:
    """Beside the folders of the federations, where all runs have the same; `given`: the folders that were named."""
    named = frozenset(map(place_of, given))
    tops = {_top(run, named) for run in runs}
    if len(tops) != 1:
        shown = ", ".join(str(top) for top in sorted(tops))
        raise ReviewError(f"the runs lie in several folders ({shown}): say by --lake where their results go")
    return tops.pop() / LAKE


def _top(run: FoundRun, named: frozenset[Place]) -> Place:
    below = run.place.parent
    is_of_federation = below.parent in named or below.name == folder_name(run.federation)
    return below.parent if is_of_federation else below


def identified(place: Place) -> tuple[str, int]:
    """Federation and start of a run that is being written, by which `look` knows it, too."""
    info = cast("RunInfo", _json(place / RUN_FILE))
    return _identity(place, info, ())


def _identity(place: Place, info: RunInfo, nodes: Iterable[NodeInfo]) -> tuple[str, int]:
    began = [int(one.get("began_ns") or 0) for one in nodes]
    federation = str(info.get("federation") or place.parent.name)
    return federation, int(info.get("start_ns") or min(began, default=0))


def look(place: Place, now: float | None = None) -> FoundRun:
    """Raises nothing for what is torn or missing: whoever reviews it will say so."""
    files = [entry for entry in place.files() if not entry.place.name.startswith(".")]
    info = cast("RunInfo", _json(place / RUN_FILE))
    nodes = [
        cast("NodeInfo", _json(entry.place))
        for entry in files
        if _room(place, entry) == NODES and entry.place.suffix == ".json"
    ]
    return FoundRun(
        place,
        *_identity(place, info, nodes),
        _state(place, files),
        _rows(place, files, nodes),
        _going_on(place, files, nodes, time.time() if now is None else now),
    )


def _room(place: Place, entry: StoredEntry) -> str:
    return entry.place.below(place).partition("/")[0]


def _json(place: Place) -> JsonObject:
    try:
        found = json.loads(place.read())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _state(place: Place, files: Sequence[StoredEntry]) -> str:
    digest = hashlib.sha256()
    for entry in files:
        name, room = entry.place.below(place), _room(place, entry)
        if room == ROWS:
            when = (
                entry.mtime_ns if place.local is not None else 0
            )  # a store keeps no file's time when it is copied
            digest.update(f"{name}\0{entry.bytes}\0{when}\n".encode("utf-8", "replace"))
        elif name == RUN_FILE or (room in (NODES, MANIFESTS) and entry.place.suffix != IDLE):
            digest.update(f"{name}\0".encode("utf-8", "replace") + _bytes(entry.place))
    return digest.hexdigest()[:32]


def _bytes(place: Place) -> bytes:
    try:
        return place.read()
    except OSError:
        return b""


def _rows(place: Place, files: Sequence[StoredEntry], nodes: Sequence[NodeInfo]) -> int:
    """As manifests say, or nodes that ended; else guessed by the size of files."""
    listed = sum(_listed(entry.place) for entry in files if _room(place, entry) == MANIFESTS)
    told = sum(int(one.get("rows") or 0) for one in nodes)
    if listed or (told and all(one.get("ended_ns") is not None for one in nodes)):
        return max(listed, told)
    sizes = [entry.bytes for entry in files if _room(place, entry) == ROWS]
    return sum(max(1, size - BYTES_PER_FILE) for size in sizes) // BYTES_PER_ROW


def _listed(place: Place) -> int:
    try:
        return sum(file.rows for file in read_manifest(_bytes(place)).files)
    except (ValueError, KeyError):
        return 0


def _going_on(place: Place, files: Sequence[StoredEntry], nodes: Sequence[NodeInfo], now: float) -> str:
    """Of a node on another machine one sees only whether anything came lately."""
    open_nodes = [one for one in nodes if one.get("ended_ns") is None]
    alive = [is_alive(one.get("process") or {}) for one in open_nodes]
    names = ", ".join(sorted(str(one.get("node", "?")) for one in open_nodes))
    if True in alive:
        return f"{names} still writing"
    latest = max((one.mtime_ns for one in files if _room(place, one) in (ROWS, NODES)), default=0) / 1e9
    if None in alive and now - latest < QUIET:
        return f"{names} on another machine, whose last rows came {max(0.0, now - latest):.0f} s ago"
    return ""
