"""Runs that are being recorded, as a stream of Spark: a row for each line of their manifests, as the recorder appends them.

Rows themselves do not pass through Spark: whoever is given a line opens the file that it names, and reads it by Arrow.  A place
in the stream is how many bytes of each manifest were read, so what Spark keeps of it says exactly where to go on after a restart.

A folder may have a thousand runs that ended long ago: those that had ended when the following began are left to `weft review`,
and those that end meanwhile are looked at now and then, since a node may begin again.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from weft.host.recording.manifest import FOLDER, manifests_of
from weft.host.recording.runs import find_runs
from weft.host.storage import Place, place_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.datasource import ReadLimit
    from pyspark.sql.types import StructType

NAME = "weft-manifests"
SCHEMA = "run string, manifest string, end bigint, line string"
LOOK = 1.0  # seconds from one look for new runs to the next …
LOOK_STORED = 5.0  # … where each look is many requests
LOOK_AGAIN = 10  # so many looks later, at runs that have ended

Offset = dict[str, dict[str, int]]
"""By address of a run and name of a manifest how many bytes were read."""


class ManifestLine(NamedTuple):
    """A whole line, and where it ends."""

    manifest: str
    end: int
    text: str

    @property
    def written(self) -> int:
        """When what it tells of happened, as far as it says."""
        told = json.loads(self.text)
        return int(told.get("to_ns") or told.get("end_ns") or told.get("began_ns") or 0)

    @property
    def bytes(self) -> int:
        """Of the file that it names."""
        return int(json.loads(self.text).get("bytes") or 0)


def lines_after(run: Place, name: str, begin: int) -> list[ManifestLine]:
    """The whole lines behind a place of a manifest."""
    with (run / FOLDER / name).open_file() as file:
        file.seek(begin)
        data: bytes = file.read()
    found = []
    end = begin
    for line in data.split(b"\n")[:-1]:
        end += len(line) + 1
        with contextlib.suppress(ValueError):  # half a line, from a full disk
            json.loads(line)
            found.append(ManifestLine(name, end, line.decode("utf-8")))
    return found


def has_ended(run: Place, since_ns: int) -> bool:
    """Had all of its nodes ended in order before that?"""
    ends = []
    for name in manifests_of(run):
        lines = lines_after(run, name, 0)
        ends.append(int(json.loads(lines[-1].text).get("end_ns") or 0) if lines else 0)
    return bool(ends) and all(0 < end < since_ns for end in ends)


class Runs:
    """The runs below some places, and how far their manifests have come."""

    def __init__(self, places: Sequence[Place], since_ns: int, most: int) -> None:
        self._places, self._since, self._most = places, since_ns, most
        self._over: set[Place] = set()
        self._found: dict[Place, list[Place]] = {}
        self._again: dict[Place, float] = {}  # when a place is to be looked at again for runs
        self._rests: dict[Place, float] = {}  # until when a run that has ended is left alone
        self._ended: dict[Place, tuple[int, bool]] = {}  # with so many bytes of manifests, whether it has

    def following(self, start: Offset) -> Offset:
        """How far one may read now: of each run files of so many bytes, those of its nodes in the order of their times."""
        found = {run: dict(told) for run, told in start.items()}
        for run in self._runs():
            if run.address not in start and has_ended(run, self._since):
                self._over.add(run)
            elif time.monotonic() >= self._rests.get(run, 0.0):
                self._advance(run, found.setdefault(run.address, {}))
        return {run: told for run, told in sorted(found.items()) if told}

    def _runs(self) -> list[Place]:
        """Those that had not ended when it began."""
        for top in self._places:
            if time.monotonic() >= self._again.get(top, 0.0):
                self._found[top] = find_runs(top)
                self._again[top] = time.monotonic() + _pause(top)
        return [run for top in self._places for run in self._found[top] if run not in self._over]

    def _rest_if_over(self, run: Place, size: int) -> None:
        """Manifests are read once more only when they have grown."""
        if self._ended.get(run, (-1, False))[0] != size:
            self._ended[run] = size, has_ended(run, time.time_ns())
        if self._ended[run][1]:
            self._rests[run] = time.monotonic() + LOOK_AGAIN * _pause(run)

    def _advance(self, run: Place, told: dict[str, int]) -> None:
        fresh = []
        there = manifests_of(run)
        for name, entry in there.items():
            if entry.bytes > told.get(name, 0):
                fresh += lines_after(run, name, told.get(name, 0))
        if not fresh:
            self._rest_if_over(run, sum(entry.bytes for entry in there.values()))
        size = 0
        for line in sorted(fresh, key=lambda line: line.written):
            size += line.bytes
            if size > self._most and size > line.bytes:
                break
            told[line.manifest] = max(line.end, told.get(line.manifest, 0))


def _pause(place: Place) -> float:
    return LOOK if place.local is not None else LOOK_STORED


class ManifestSource(DataSource):  # type: ignore[misc]
    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        return SCHEMA

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        return ManifestReader(self.options)


class LinesPartition(InputPartition):  # type: ignore[misc]
    def __init__(self, run: str, spans: Mapping[str, tuple[int, int]]) -> None:
        super().__init__(None)
        self.run, self.spans = run, dict(spans)


class ManifestReader(DataSourceStreamReader):  # type: ignore[misc]
    def __init__(self, options: Mapping[str, str]) -> None:
        places = [place_of(address) for address in json.loads(options["places"])]
        self._runs = Runs(places, int(options["since"]), int(options["most"]))

    def initialOffset(self) -> Offset:  # noqa: N802
        return {}

    def latestOffset(self, start: Offset | None = None, limit: ReadLimit | None = None) -> Offset:  # noqa: N802
        return self._runs.following(start or {})

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        made = []
        for run, told in end.items():
            before = start.get(run, {})
            spans = {
                name: (before.get(name, 0), until)
                for name, until in told.items()
                if until > before.get(name, 0)
            }
            if spans:
                made.append(LinesPartition(run, spans))
        return made

    def read(self, partition: InputPartition) -> Iterator[tuple[str, str, int, str]]:
        run = place_of(partition.run)
        for name, (begin, end) in partition.spans.items():
            for line in lines_after(run, name, begin):
                if line.end <= end:
                    yield partition.run, name, line.end, line.text


def without_manifests(run: Place) -> bool:
    """Was it recorded by a Weft that wrote none?  What nodes say of themselves comes behind their manifests."""
    if manifests_of(run):
        return False
    told = any(one.place.suffix == ".json" for one in (run / "nodes").entries())
    return told or (run.local is not None and bool((run / "rows").entries()))


def register(session: SparkSession) -> None:
    session.dataSource.register(ManifestSource)
