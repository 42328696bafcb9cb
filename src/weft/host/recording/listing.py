"""Which files of rows a run has: by its manifests, and by what lies in its folders where these do not tell all.

* A node is told of whole by its manifests if each has an end, and the last process that its description names has one.
  Then its folder is not listed and no file of it opened: `plan` takes them as they are listed.
* Of any other node (an older recording, one that crashed or still writes, a torn manifest) the folder is listed, and
  what its manifests do not list is looked into.
* A file that no manifest lists and whose rows are all in listed ones is left over since files were put together.

`look_over` compares that with what really lies there, before anything is judged by it: one listing, and a look into those
files only that are not as they are listed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple
from urllib.parse import quote, unquote

from weft.host.recording.files import RUN_FILE, NodeInfo, RunInfo
from weft.host.recording.manifest import FOLDER, Manifest, read_manifest
from weft.host.recording.row_files import RowFile, described, file_place, newer_schema
from weft.host.recording.run import Run, read_description
from weft.host.storage import Entry, Place
from weft.recorder import VERSION

AT_ONCE = 16  # files of a store that are looked into at once: each is a request or two, for which one waits
NOTE, GAP, WRONG = "note", "gap", "wrong"
"""Put right, so that nothing is lost; rows are missing; rows are not to be trusted."""


class FileDifference(NamedTuple):
    """Between what is listed and what is there."""

    check: str
    subject: str
    severity: str
    text: str
    node: str = ""
    lost: tuple[int, int] = (0, 0)
    """Rows that are missing by it."""


def plan(path: Place) -> tuple[Run, list[Entry]]:
    """A run with the files that its manifests list, and those that somebody has to look into."""
    run = Run(path)
    run.info = read_description(run, path / RUN_FILE, RunInfo)
    for entry in (path / "nodes").entries():
        if entry.place.suffix == ".json" and not entry.place.name.startswith("."):
            run.nodes[unquote(entry.place.stem)] = read_description(run, entry.place, NodeInfo)
    broken = _read_manifests(run)
    for manifest in run.manifests:
        run.files += _listed_by(run, manifest)
    unlisted: list[Entry] = []
    for entry in (path / "rows").entries():
        node = unquote(entry.place.name.removeprefix("node="))
        if entry.place.name.startswith("node=") and (node in broken or not _is_told_whole(run, node)):
            unlisted += _unlisted_in(run, entry.place, node)
    return run, unlisted


def _read_manifests(run: Run) -> set[str]:
    """Returns the nodes of those that cannot be read."""
    broken = set()
    for entry in (run.path / FOLDER).entries():
        place = entry.place
        if place.suffix != ".jsonl" or place.name.startswith("."):
            continue
        try:
            run.manifests.append(read_manifest(place.read()))
        except (OSError, ValueError, KeyError, TypeError) as error:
            broken.add(unquote(place.stem.rpartition("-")[0]))
            run.troubles.append(
                f"{place} cannot be read: {error}; the files of its node are looked into instead"
            )
    run.manifests.sort(key=lambda one: (quote(one.node, safe=""), one.began_ns))
    return broken


def _listed_by(run: Run, manifest: Manifest) -> Iterator[RowFile]:
    for file in manifest.files:
        place = run.path / file.file
        if file.schema > VERSION:
            raise newer_schema(place, file.schema)
        yield RowFile(
            place,
            manifest.node,
            file.rows,
            file.schema,
            file.first,
            file.last,
            manifest.node,
            manifest.run,
            bytes=file.bytes,
            from_ns=file.from_ns,
            to_ns=file.to_ns,
            listed=True,
            sha256=file.sha256,
            began=str(manifest.began_ns),
        )


def _is_told_whole(run: Run, node: str) -> bool:
    mine = [one for one in run.manifests if one.node == node]
    latest = run.nodes.get(node, {}).get("began_ns")
    return (
        bool(mine)
        and all(one.end is not None and not one.torn for one in mine)
        and (latest is None or latest in [one.began_ns for one in mine])
    )


def _unlisted_in(run: Run, folder: Place, node: str) -> list[Entry]:
    listed = {file.path.name for file in run.files if file.node == node}
    found = []
    for entry in folder.entries():
        if entry.place.name.startswith("."):
            if run.is_over(node):
                run.troubles.append(_temporary(entry.place))
        elif entry.place.suffix == ".parquet" and entry.place.name not in listed:
            found.append(entry)
    return sorted(found, key=lambda entry: file_place(entry.place))


def _temporary(place: Place) -> str:
    return f"{place} is temporary: its writer did not finish it; ignored"


# What no manifest lists


def add_files(run: Run, entries: Sequence[Entry], known: Mapping[Place, RowFile]) -> None:
    """As their footers say; what cannot be read becomes a trouble."""
    fresh = look_into([entry.place for entry in entries if entry.place not in known])
    found = []
    for place in (entry.place for entry in entries):
        one = known[place] if place in known else fresh[place]
        if isinstance(one, RowFile):
            found.append(one)
        else:
            run.troubles.append(one)
            run.unread[place] = one
    _add(run, found)


def look_into(places: Sequence[Place]) -> dict[Place, RowFile | str]:
    """What each file is, or why it is none."""
    if len(places) < 2 or places[0].local is not None:
        found = [described(place, node_of(place)) for place in places]
    else:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            found = list(pool.map(described, places, map(node_of, places)))
    return dict(zip(places, found, strict=True))


def node_of(place: Place) -> str:
    """By the folder in which a file lies."""
    return unquote(place.parent.name.removeprefix("node="))


def _add(run: Run, files: Iterable[RowFile]) -> list[RowFile]:
    """Returns those that are left over: they are not added."""
    spans: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for file in run.files:
        if file.listed:
            spans.setdefault((file.node, file.life), []).append((file.first, file.last))
    left: list[RowFile] = []
    for file in files:
        mine = spans.get((file.said_node or file.node, file.life), [])
        (left if _is_covered(file, sorted(mine)) else run.files).append(file)
    run.leftovers += [file.path for file in left]
    _sort(run)
    return left


def _is_covered(file: RowFile, spans: list[tuple[int, int]]) -> bool:
    """Not a copy, of which more can be said."""
    if not file.first or (file.first, file.last) in spans:
        return False
    wanted = file.first
    for first, last in spans:
        if first <= wanted <= last:
            wanted = last + 1
    return wanted > file.last


def _sort(run: Run) -> None:
    """By nodes, and of each in the order in which things happened, as far as names and lists tell."""
    listed = {file.node for file in run.files if file.listed}

    def place(file: RowFile) -> tuple[str, str, int, int, str]:
        _, number, name = file_place(file.path)
        return (
            quote(file.node, safe=""),
            file.life,
            file.first if file.node in listed else 0,
            number,
            name,
        )

    run.files.sort(key=place)


# What really lies there


def look_over(run: Run) -> list[FileDifference]:
    """What is not as the manifests list it; `run.files` are then the files that are there, as what they are."""
    if not run.manifests:
        return []
    there = {entry.place: entry for entry in (run.path / "rows").files() if _is_of_rows(entry)}
    absent = [file for file in run.files if file.listed and file.path not in there]
    changed = [file for file in run.files if file.listed and _has_changed(file, there)]
    known = {file.path for file in run.files} | set(run.unread) | set(run.leftovers)
    strange = [place for place in there if place not in known and place.suffix == ".parquet"]
    seen = look_into(
        [*(file.path for file in changed), *sorted(place for place in strange if _is_whole(place))]
    )
    gone = {file.path for file in (*absent, *changed)}
    run.files = [file for file in run.files if file.path not in gone]
    for path, one in seen.items():
        if isinstance(one, str):
            run.unread[path] = one
    fresh = [one for one in seen.values() if isinstance(one, RowFile)]
    left = _add(run, fresh)
    return [
        *_drafts(run, there),
        *_torn(seen),
        *_changed(run, changed, seen),
        *_missing(absent, fresh),
        *_strangers(run, [one for one in fresh if one.path not in gone and one not in left]),
        *_left_over(run),
    ]


def _is_of_rows(entry: Entry) -> bool:
    return entry.place.parent.name.startswith("node=")


def _is_whole(place: Place) -> bool:
    return not place.name.startswith(".")


def _has_changed(file: RowFile, there: Mapping[Place, Entry]) -> bool:
    entry = there.get(file.path)
    return entry is not None and entry.bytes != file.bytes


def _drafts(run: Run, there: Iterable[Place]) -> Iterator[FileDifference]:
    for place in sorted(place for place in there if not _is_whole(place)):
        text = _temporary(place)
        if run.is_over(node_of(place)) and text not in run.troubles:
            yield FileDifference("temporary file", str(place), NOTE, text, node_of(place))


def _torn(seen: Mapping[Place, RowFile | str]) -> Iterator[FileDifference]:
    for place, one in seen.items():
        if isinstance(one, str):
            yield FileDifference("torn file", str(place), GAP, one, node_of(place))


def _changed(
    run: Run, changed: Sequence[RowFile], seen: Mapping[Place, RowFile | str]
) -> Iterator[FileDifference]:
    """A file with the name of another listed one is itself unchanged."""
    listed = {(one.node, file.first, file.last, file.bytes) for one in run.manifests for file in one.files}
    for file in changed:
        now = seen[file.path]
        if isinstance(now, str) or (now.said_node, now.first, now.last, now.bytes) in listed:
            continue
        text = (
            f"{file.path} was changed after it was written: it has {now.bytes} bytes, and the manifest lists "
            f"{file.bytes}; its rows are read, and what hangs on node {file.node!r} is unsure"
        )
        yield FileDifference("changed file", str(file.path), WRONG, text, file.node)


def _missing(absent: Sequence[RowFile], fresh: Sequence[RowFile]) -> Iterator[FileDifference]:
    """Listed files whose rows are nowhere: of those that follow one another, the first."""
    have = {(one.said_node or one.node, one.first, one.last) for one in fresh}
    groups: list[list[RowFile]] = []
    for file in [one for one in absent if (one.node, one.first, one.last) not in have]:
        if groups and (groups[-1][-1].node, groups[-1][-1].last + 1) == (file.node, file.first):
            groups[-1].append(file)
        else:
            groups.append([file])
    for group in groups:
        file, last = group[0], group[-1].last
        which = f"{file.path} and {len(group) - 1} behind it are" if len(group) > 1 else f"{file.path} is"
        text = f"rows {file.first} to {last} of node {file.node!r} are missing: {which} not there"
        yield FileDifference("missing file", str(file.path), GAP, text, file.node, (file.first, last))


def _strangers(run: Run, files: Sequence[RowFile]) -> Iterator[FileDifference]:
    """Of a process that lists what it writes."""
    lives = {(one.node, str(one.began_ns)) for one in run.manifests}
    nodes = {one.node for one in run.manifests}
    for file in files:
        node = file.said_node or file.node
        its_own = (node, file.life) in lives or (node in nodes and not file.life.isdigit())
        if its_own and run.is_over(node):
            text = f"{file.path} is in no manifest of node {node!r}, and was looked into"
            yield FileDifference("unlisted file", str(file.path), NOTE, text, node)


def _left_over(run: Run) -> Iterator[FileDifference]:
    if run.leftovers:
        first, *more = sorted(run.leftovers)
        others = f" and {len(more)} more are" if more else " is"
        text = f"{first}{others} left over: the rows are in larger files, too, which the manifest lists"
        yield FileDifference("leftover files", str(first), NOTE, text, node_of(first))
