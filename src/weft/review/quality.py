"""Data quality: what is wrong with the files of a run, found before anything is judged by them, and named.

A file says of itself which node and run it is of, and which numbers its rows have; a node's rows have no gaps.  So what is
missing, there twice, or in another place than its own is known without reading a row.  What can be put right is (a file that
is there twice is read once, one with another name is read in its place); for the rest, `Doubt.nodes` says whose
rows are not all there, or are not to be trusted.  Findings that lean on these are unsure, and never violations.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol
from urllib.parse import quote

from weft.host.recording.runs import RowFile, Run

NOTE, GAP, WRONG, CLOCK = "note", "gap", "wrong", "clock"
"""Put right, so that nothing is lost; rows are missing; rows are not to be trusted; times are not."""
_NAME = re.compile(r"\d+-\d{6,}\.parquet")


class Doubt(NamedTuple):
    check: str
    subject: str
    """The file, or the node."""
    severity: str
    text: str
    nodes: frozenset[str] = frozenset()


def inspect(run: Run) -> list[Doubt]:
    """What is wrong; `run.files` are then those that can be read, each once and in order."""
    found = _foreign(run) + _moved(run)
    kept: list[RowFile] = []
    for node in sorted({file.node for file in run.files}):
        kept += _in_place(run, node, [file for file in run.files if file.node == node], found)
    run.files = kept
    return found + _described(run)


def _foreign(run: Run) -> list[Doubt]:
    """Files of another run.  Nodes of one that began in different seconds have different names for it, but the same id."""
    runs = Counter(_identity(file.said_run) for file in run.files if file.said_run)
    if len(runs) < 2:
        return []
    own = _identity(run.path.name)
    own = own if own in runs else runs.most_common(1)[0][0]
    found = []
    for file in [one for one in run.files if one.said_run and _identity(one.said_run) != own]:
        run.files.remove(file)
        text = f"{file.path} is of another run, {file.said_run}, and is not read"
        found.append(Doubt("foreign file", str(file.path), NOTE, text))
    return found


def _identity(name: str) -> str:
    return name.rpartition("-")[2]


def _moved(run: Run) -> list[Doubt]:
    """Files in the folder of another node are read as what they say they are."""
    found = []
    for place, file in enumerate(run.files):
        if file.said_node and file.said_node != file.node:
            text = f"{file.path} is of node {file.said_node!r}, and is read as such: move it to its folder"
            found.append(Doubt("misplaced file", str(file.path), NOTE, text))
            run.files[place] = replace(file, node=file.said_node)
    return found


def _in_place(run: Run, node: str, files: list[RowFile], found: list[Doubt]) -> list[RowFile]:
    """The files of a node, process by process, in the order of their rows; each row once."""
    if not all(file.first for file in files):
        return files  # rows without numbers: nobody knows what is missing
    lives: dict[str, list[RowFile]] = {}
    for file in files:
        if _NAME.fullmatch(file.path.name):
            lives.setdefault(file.path.name.partition("-")[0], []).append(file)
    for file in [one for one in files if not _NAME.fullmatch(one.path.name)]:
        lives.setdefault(_home_of(file, lives), []).append(file)
        text = f"{file.path} has a name that no recorder gives; its rows {file.first} to {file.last} are read where they belong"
        found.append(Doubt("renamed file", str(file.path), NOTE, text))
    kept: list[RowFile] = []
    told = run.nodes.get(node, {})
    for began in sorted(lives, key=lambda name: (len(name), name)):
        mine = _ordered(node, lives[began], found)
        latest = str(told.get("began_ns", began)) == began
        found += _holes(node, mine, int(told.get("dropped") or 0) if latest else 0)
        if latest and told.get("ended_ns") is not None:
            found += _short(run, node, mine, int(told.get("rows") or 0))
        kept += mine
    return kept


def _home_of(file: RowFile, lives: dict[str, list[RowFile]]) -> str:
    """The process whose rows have a place for these."""
    for began, mine in lives.items():
        if all(other.last < file.first or other.first > file.last for other in mine):
            return began
    return next(iter(lives), file.path.stem)


def _ordered(node: str, files: list[RowFile], found: list[Doubt]) -> list[RowFile]:
    by_name = sorted(files, key=lambda file: (len(file.path.name), file.path.name))
    by_rows = sorted(files, key=lambda file: (file.first, file.last, len(file.path.name), file.path.name))
    kept: list[RowFile] = []
    for file in by_rows:
        if kept and file.first <= kept[-1].last:
            twin = (file.first, file.last) == (kept[-1].first, kept[-1].last)
            what = "has the same rows as" if twin else "has some rows of"
            text = f"{file.path} {what} {kept[-1].path.name}, and is not read"
            severity = NOTE if twin else WRONG
            found.append(Doubt("repeated file", str(file.path), severity, text, frozenset({node})))
        else:
            kept.append(file)
    for file in _out_of_place([file for file in by_name if file in kept]):
        text = f"{file.path} has another name than its rows {file.first} to {file.last} should have; they are read in order"
        found.append(Doubt("renamed file", str(file.path), NOTE, text))
    return kept


def _out_of_place(files: Sequence[RowFile]) -> list[RowFile]:
    """Those that have to be taken out for the rest to be in order: as few as can be."""
    ends: list[int] = []  # of the longest rising chain of each length: the place of its last file
    before: list[int] = []
    for place, file in enumerate(files):
        length = sum(files[end].first < file.first for end in ends)
        before.append(ends[length - 1] if length else -1)
        ends[length : length + 1] = [place]
    chain = set()
    place = ends[-1] if ends else -1
    while place >= 0:
        chain.add(place)
        place = before[place]
    return [file for number, file in enumerate(files) if number not in chain]


def _holes(node: str, files: Sequence[RowFile], dropped: int) -> list[Doubt]:
    """Numbers of rows that no file has; those that were dropped are told by the recorder itself."""
    holes = []
    last = 0
    for file in files:
        if file.first > last + 1:
            holes.append((last + 1, file.first - 1, file))
        last = file.last
    if sum(end - begin + 1 for begin, end, _ in holes) <= dropped:
        return []
    found = []
    for begin, end, file in holes:
        text = f"rows {begin} to {end} of node {node!r} are missing: files before {file.path} are not there"
        found.append(Doubt("missing file", str(file.path.parent), GAP, text, frozenset({node})))
    return found


def _short(run: Run, node: str, files: Sequence[RowFile], rows: int) -> list[Doubt]:
    """The node said at its end how many rows it wrote."""
    there = sum(file.rows for file in files)
    numbered = sum(file.last - file.first + 1 for file in files)
    if there >= rows or (files and numbered < files[-1].last):
        return []  # holes are told already
    where = run.path / "rows" / f"node={quote(node, safe='')}"
    text = f"{rows - there} rows at the end of node {node!r} are missing: its last files are not in {where}"
    return [Doubt("missing file", str(where), GAP, text, frozenset({node}))]


def _described(run: Run) -> list[Doubt]:
    """Every node has a description and files."""
    found = []
    have = {file.node for file in run.files}
    for node in sorted(have - set(run.nodes)):
        where = run.path / "nodes" / f"{quote(node, safe='')}.json"
        text = f"{where} is missing: whether node {node!r} ended in order, and dropped rows, is known by its rows only"
        found.append(Doubt("node without description", str(where), NOTE, text, frozenset({node})))
    for node, told in sorted(run.nodes.items()):
        where = run.path / "rows" / f"node={quote(node, safe='')}"
        if node not in have and (told.get("rows") or not told):
            text = f"{where} has no rows, though nodes/{quote(node, safe='')}.json describes node {node!r}"
            found.append(Doubt("description without rows", str(where), GAP, text, frozenset({node})))
    return found


def damaged(path: str, node: str, why: str) -> Doubt:
    return Doubt("corrupt file", path, GAP, f"{path} is corrupt, and is not read: {why}", frozenset({node}))


# Clocks


class Sampled(Protocol):
    """What a survey tells of a part."""

    node: str
    sent_at: dict[str, int]
    arrived_at: dict[str, int]


def clocks(parts: Iterable[Sampled], reference: str | None) -> tuple[dict[str, int], list[Doubt]]:
    """By how much the wall clock of a node is to be shifted, for those that are far off; and that they are.

    Nothing arrives before it is sent: the least difference of any message from a to b bounds how far b's clock is ahead, and the
    other way round how far it is behind.  Where that leaves zero out, the clocks differ; by the middle, at a guess.
    """
    listed = list(parts)
    sent = {key: (one.node, at) for one in listed for key, at in one.sent_at.items()}
    least: dict[tuple[str, str], int] = {}
    for one in listed:
        for key, at in one.arrived_at.items():
            sender, since = sent.get(key, (one.node, at))
            if sender != one.node:
                pair = (sender, one.node)
                least[pair] = min(at - since, least.get(pair, at - since))
    nodes = sorted({one.node for one in listed})
    ahead = {(a, b): bounds for a in nodes for b in nodes if a != b and (bounds := _bounds(least, a, b))}
    chosen = _reference(nodes, ahead, reference)
    shifts: dict[str, int] = {}
    found = []
    for node in nodes:
        bounds = ahead.get((chosen, node))
        if bounds is None or (bounds[0] <= TOLERANCE and bounds[1] >= -TOLERANCE):
            continue
        known = [bound for bound in bounds if abs(bound) < UNBOUNDED]
        middle = sum(known) // len(known)
        shifts[node] = -middle
        side = "ahead of" if middle > 0 else "behind"
        text = (
            f"the clock of node {node!r} was {abs(middle) / 1e9:.1f} s {side} that of {chosen!r}; "
            "its times are corrected, and what hangs on them is unsure"
        )
        found.append(Doubt("clock", node, CLOCK, text, frozenset({node})))
    return shifts, found


TOLERANCE = 500_000_000  # ns
UNBOUNDED = 1 << 60


def _bounds(least: dict[tuple[str, str], int], one: str, other: str) -> tuple[int, int] | None:
    """How far the other's clock is ahead: at least, and at most."""
    there, back = least.get((one, other)), least.get((other, one))
    if there is None and back is None:
        return None
    return (-UNBOUNDED if back is None else -back), (UNBOUNDED if there is None else there)


def _reference(nodes: list[str], ahead: dict[tuple[str, str], tuple[int, int]], wanted: str | None) -> str:
    """The node that most others agree with; of several the one that is wanted."""

    def disagreeing(node: str) -> int:
        bounds = [ahead[pair] for pair in ahead if pair[0] == node]
        return sum(low > TOLERANCE or high < -TOLERANCE for low, high in bounds)

    return min(nodes, key=lambda node: (disagreeing(node), node != wanted, node))
