"""The files of a run: what is missing, there twice, in another place than its own, or not as it was written.

A file says of itself which node and run it is of, and which numbers its rows have, and so does the manifest; a node's rows
have no gaps.  So all that is known without reading a row.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from urllib.parse import quote

from weft.host.recording.listing import FileDifference, look_over
from weft.host.recording.manifest import Manifest
from weft.host.recording.run import Run
from weft.host.recording.runs import RowFile
from weft.review.quality.doubts import GAP, NOTE, WRONG, Doubt

_NAME = re.compile(r"\d+-\d{6,}\.parquet")


def inspect(run: Run) -> list[Doubt]:
    """What is wrong; `run.files` are then those that can be read, each once and in order."""
    differences = look_over(run)
    found = [*map(_doubt, differences), *_manifests(run), *_foreign(run), *_moved(run)]
    kept: list[RowFile] = []
    for node in sorted({file.node for file in run.files}):
        lost = [one.lost for one in differences if one.node == node and one.lost[0]]
        kept += _in_place(run, node, [file for file in run.files if file.node == node], lost, found)
    run.files = kept
    return found + _described(run)


def _doubt(one: FileDifference) -> Doubt:
    return Doubt(one.check, one.subject, one.severity, one.text, frozenset({one.node} - {""}))


def _manifests(run: Run) -> Iterator[Doubt]:
    """Has each process said that it ended, and does what it then counted agree?"""
    for one in run.manifests:
        who = f"the process of node {one.node!r} that began at {one.began_ns}"
        mine = frozenset({one.node})
        if one.end is None:
            told = run.nodes.get(one.node, {})
            if told.get("began_ns") != one.began_ns or told.get("ended_ns") is not None:
                text = f"{who} did not end in order, says its manifest: its last rows may be missing"
                yield Doubt("not closed", one.node, NOTE, text, mine)
        elif (one.end.files, one.end.rows) != _counted(one):
            files, rows = _counted(one)
            text = (
                f"{who} counted {one.end.rows} rows in {one.end.files} files at its end, and its manifest lists "
                f"{rows} in {files}"
            )
            figures = (
                ("rows", rows),
                ("files", files),
                ("rows_told", one.end.rows),
                ("files_told", one.end.files),
            )
            yield Doubt("counts", one.node, GAP, text, mine, figures)
        if one.torn and run.is_over(one.node):
            text = f"the manifest of {who} is torn; its folder was looked through instead"
            yield Doubt("torn manifest", one.node, NOTE, text, mine)


def _counted(manifest: Manifest) -> tuple[int, int]:
    return len(manifest.files), sum(file.rows for file in manifest.files)


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


def _in_place(
    run: Run, node: str, files: list[RowFile], lost: list[tuple[int, int]], found: list[Doubt]
) -> list[RowFile]:
    """The files of a node, process by process, in the order of their rows; each row once."""
    files = [file for file in files if file.rows]
    if not all(file.first for file in files):
        return files  # rows without numbers: nobody knows what is missing
    lives: dict[str, list[RowFile]] = {}
    for file in files:
        if _has_its_name(file):
            lives.setdefault(file.life, []).append(file)
    for file in [one for one in files if not _has_its_name(one)]:
        lives.setdefault(_home_of(file, lives), []).append(file)
        text = f"{file.path} has a name that no recorder gives; its rows {file.first} to {file.last} are read where they belong"
        found.append(Doubt("renamed file", str(file.path), NOTE, text))
    kept: list[RowFile] = []
    told = run.nodes.get(node, {})
    for began in sorted(lives, key=lambda name: (len(name), name)):
        mine = _ordered(node, lives[began], found)
        latest = str(told.get("began_ns", began)) == began
        dropped = _dropped(run, node, began, int(told.get("dropped") or 0) if latest else 0)
        found += _holes(node, mine, lost, dropped)
        if latest and told.get("ended_ns") is not None and not lost:
            found += _short(run, node, mine, int(told.get("rows") or 0))
        kept += mine
    return kept


def _has_its_name(file: RowFile) -> bool:
    """A listed file may have any."""
    return file.listed or _NAME.fullmatch(file.path.name) is not None


def _dropped(run: Run, node: str, began: str, told: int) -> int:
    """Rows of a process, as its manifest tells, or its description."""
    for one in run.manifests:
        if (one.node, str(one.began_ns)) == (node, began):
            return max(told, one.end.dropped if one.end else 0, *(file.dropped for file in one.files), 0)
    return told


def _home_of(file: RowFile, lives: dict[str, list[RowFile]]) -> str:
    """The process whose rows have a place for these."""
    for began, mine in lives.items():
        if all(other.last < file.first or other.first > file.last for other in mine):
            return began
    return next(iter(lives), file.path.stem)


def _ordered(node: str, files: list[RowFile], found: list[Doubt]) -> list[RowFile]:
    by_name = sorted(files, key=lambda file: (len(file.path.name), file.path.name))
    by_rows = sorted(
        files, key=lambda file: (file.first, file.last, not file.listed, len(file.path.name), file.path.name)
    )
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
        if file.listed:
            continue
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


def _holes(node: str, files: Sequence[RowFile], lost: Sequence[tuple[int, int]], dropped: int) -> list[Doubt]:
    """Numbers of rows that no file has; those that were dropped are told by the recorder itself.

    `lost`: of those it is known already.
    """
    holes = []
    last = 0
    for file in files:
        if file.first > last + 1:
            holes.append((last + 1, file.first - 1, file))
        last = file.last
    holes = [hole for hole in holes if _untold(hole[0], hole[1], lost)]
    if sum(_untold(begin, end, lost) for begin, end, _ in holes) <= dropped:
        return []
    found = []
    for begin, end, file in holes:
        text = f"rows {begin} to {end} of node {node!r} are missing: files before {file.path} are not there"
        found.append(Doubt("missing file", str(file.path.parent), GAP, text, frozenset({node})))
    return found


def _untold(begin: int, end: int, lost: Sequence[tuple[int, int]]) -> int:
    """How many rows of a hole are of no file that is known to be missing."""
    return end - begin + 1 - sum(max(0, min(end, last) - max(begin, first) + 1) for first, last in set(lost))


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
