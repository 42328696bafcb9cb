"""A run that is being judged while it is written, so that whoever judges may die at any moment.

What the audits know of a run (`Following`) follows from what they were told, in that order: files that were read, and what
nodes said of themselves at some time.  So what has to be kept is that history, which is little, and now and then all that they
know (a snapshot), so that the history does not grow.  Whoever goes on, here or in another process, has the very same knowledge,
and tells nothing twice: what a history that was gone through before led to was told then.

    events    e1 e2 e3 | e4 e5 e6 e7         each has a token of its own, by which processes know whether they are in step
              snapshot ^             ^ now
"""

from __future__ import annotations

import json
import pickle
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import unquote

import pyarrow as pa

from weft.host.recording.files import idle_until
from weft.host.recording.manifest import ListedFile, manifests_of
from weft.host.recording.row_files import RowFile, read_rows
from weft.host.recording.upload import pause_after
from weft.host.storage import Place, StoredEntry, place_of
from weft.review.kernels.records import Violation
from weft.review.live import frontier
from weft.review.live.following import COLUMNS, SHOWN, Following

SNAPSHOT_ROWS = 400_000  # that may have to be read again; a snapshot is written after as many
SNAPSHOT_EVENTS = 2_000  # likewise, of a run in which little happens
SNAPSHOTS = 3  # that are kept: what was not committed begins at an earlier one
BEGIN = "begin"
"""The token of the history before its first event."""


class ReadLine(NamedTuple):
    """A line of a manifest."""

    manifest: str
    """Its name."""
    end: int
    """How many bytes of the manifest were read with it."""
    text: str


class LiveEvent(NamedTuple):
    token: str
    now: int
    """Wall clock, ns."""
    lines: tuple[ReadLine, ...]
    idle: tuple[tuple[str, int], ...]
    """Nodes whose rows are all in files, and up to when."""
    unread: frozenset[str]
    """Nodes of which something has been written that is not among the lines yet."""
    patience: int
    """How long a node may tell nothing before it is taken for crashed, ns."""


@dataclass
class RunHistory:
    """What is kept of a run between two batches."""

    run: str
    """Its address."""
    time_column: str
    orders: tuple[str, ...]
    began: int
    snapshot: str = ""
    """The name of a file; empty: none yet."""
    base: str = BEGIN
    """The token of the last event that the snapshot knows of."""
    events: list[LiveEvent] = field(default_factory=list)
    """Since."""
    snapshots: list[str] = field(default_factory=list)
    """That are there, the latest last."""
    rows: int = 0
    """Of all files since the snapshot."""
    read: dict[str, int] = field(default_factory=dict)
    """By manifest, bytes."""
    witnesses: int = SHOWN
    """Findings of each audit that are kept to be shown."""
    over: Told | None = None
    """If the run is over: what was told then.  Nobody need know more of it, unless a node begins again."""

    @property
    def last(self) -> str:
        return self.events[-1].token if self.events else self.base


class Told(NamedTuple):
    """How far the audits of a run have come."""

    rows: int
    newest_ns: int
    waiting: int
    unsure: int
    violations: dict[str, int]
    silent: list[str]
    over: bool
    nodes: list[str]
    shown: dict[str, list[Violation]]
    """By audit the first of its findings."""
    federates: dict[str, str]
    """By number, as text, their names."""


def node_of(manifest: str) -> str:
    return unquote(manifest.rpartition("-")[0])


def _files_by_node(event: LiveEvent) -> Iterator[tuple[str, ListedFile]]:
    for line in event.lines:
        told = json.loads(line.text)
        if "file" in told:
            yield node_of(line.manifest), ListedFile._make(told[name] for name in ListedFile._fields)


def _files(event: LiveEvent) -> list[ListedFile]:
    return [file for _, file in _files_by_node(event)]


class Knowing(NamedTuple):
    """What a process knows of a run, and after which event."""

    token: str
    following: Following


class LiveRun:
    """One run, for one batch: brings what this process knows up to date, and goes on.

    `known` is what this process has kept of runs (by address) since the last batch, if it judged them then.
    """

    def __init__(self, history: RunHistory, folder: Place, known: dict[str, Knowing]) -> None:
        """`folder`: where snapshots lie."""
        self.history, self._folder, self._known = history, folder, known
        self._run = place_of(history.run)
        kept = known.get(history.run)
        tokens = [history.base, *(event.token for event in history.events)]
        if kept is None or kept.token not in tokens:
            kept = Knowing(history.base, self._restored())
        self.following = kept.following
        for event in history.events[tokens.index(kept.token) :]:
            self._apply(event)

    def _restored(self) -> Following:
        history = self.history
        if history.snapshot:
            found: Following = pickle.loads((self._folder / history.snapshot).read())
            return found
        return Following(history.time_column, history.orders, history.began, history.witnesses)

    def go_on(self, lines: Sequence[ReadLine], now: int) -> list[Violation]:
        """Lines that are new, those of each manifest in order; returns what is found."""
        history = self.history
        for line in lines:
            history.read[line.manifest] = max(line.end, history.read.get(line.manifest, 0))
        event = LiveEvent(secrets.token_hex(8), now, tuple(lines), *self._looked())
        before = self.following.frontier.standing
        found = self._apply(event)
        if lines or found or self.following.frontier.standing != before:  # else it has changed nothing
            history.events.append(event)
        history.rows += sum(file.rows for file in _files(event))
        if history.rows >= SNAPSHOT_ROWS or len(history.events) >= SNAPSHOT_EVENTS:
            self._keep()
        self._known[history.run] = Knowing(history.last, self.following)
        return found

    def _looked(self) -> tuple[tuple[tuple[str, int], ...], frozenset[str], int]:
        """What nodes say holds for files that were there when they said it: so these are looked for afterwards."""
        said = {node: idle_until(self._run, node) for node in sorted(map(node_of, self.history.read))}
        there = manifests_of(self._run)
        unread = {node_of(name) for name, one in there.items() if one.bytes > self.history.read.get(name, 0)}
        idle = tuple((node, at) for node, at in said.items() if at is not None and node not in unread)
        return idle, frozenset(unread), self._patience(there)

    def _patience(self, there: Mapping[str, StoredEntry]) -> int:
        """What lies in a store comes there later, and in larger steps."""
        if self._run.local is not None:
            return frontier.SILENT
        wait = pause_after(sum(one.bytes for one in there.values()))
        return 2 * frontier.SILENT + int(2e9 * wait)

    def _apply(self, event: LiveEvent) -> list[Violation]:
        following, known = self.following, self.following.frontier
        known.expect({*event.unread, *(node_of(line.manifest) for line in event.lines)})
        found: list[Violation] = []
        tables = [self._read(node, file) for node, file in _files_by_node(event)]
        if tables:
            found = following.feed(pa.concat_tables(tables).combine_chunks())
        for node, until in event.idle:
            known.say(node, until)
        known.ended |= {node_of(line.manifest) for line in event.lines if "end_ns" in json.loads(line.text)}
        known.look(event.now, event.unread, event.patience)
        return found + following.idle()

    def _read(self, node: str, file: ListedFile) -> pa.Table:
        table = read_rows(RowFile(self._run / file.file, node, file.rows, file.schema), COLUMNS)
        plain = [
            field.with_type(pa.string()) if pa.types.is_dictionary(field.type) else field
            for field in table.schema
        ]
        return table.cast(pa.schema(plain))  # texts as Spark would hand them over, which can be sorted

    def _keep(self) -> None:
        """A snapshot in place of the events until now."""
        history = self.history
        name = f"{history.last}.pickle"
        (self._folder / name).write(pickle.dumps(self.following, pickle.HIGHEST_PROTOCOL))
        history.snapshots.append(name)
        while len(history.snapshots) > SNAPSHOTS:
            (self._folder / history.snapshots.pop(0)).remove()
        history.snapshot, history.base, history.events, history.rows = name, history.last, [], 0

    def told(self) -> Told:
        following, known = self.following, self.following.frontier
        over = known.ended | known.crashed
        is_over = known.deserted or (bool(known.ended) and all(node in over for node in known.read))
        return Told(
            following.rows,
            following.newest_ns,
            following.waiting,
            following.unsure,
            dict(following.counts),
            sorted(known.crashed),
            is_over,
            sorted(known.read),
            {audit: list(found) for audit, found in following.shown.items()},
            {str(number): name for number, name in following.federates.items()},
        )
