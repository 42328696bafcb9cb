"""Tables of decoded values, one for each class that was sent (`recording.decoding`), written whole or not at all.

Rows are gathered in files that nobody sees, and come to their places at the end: here and in stores alike.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, NamedTuple

from weft.fom import ObjectModel
from weft.host.recording.decoding import (
    PART,
    ClassColumns,
    ClassRows,
    Modules,
    NamedInstances,
    Sent,
    UndecodedValues,
    instance_names,
    model_from,
    sends,
)
from weft.host.recording.files import RecordingError
from weft.host.recording.row_files import RowFile
from weft.host.storage import Place

if TYPE_CHECKING:
    import pyarrow.parquet as pq


class ExportSource(NamedTuple):
    """Rows of one run, or a part of them."""

    run: str
    """What the column `run` says, where there are several."""
    files: tuple[RowFile, ...]
    modules: Modules
    names: NamedInstances | None
    """Of its instances; None: these files name all."""


class ExportPlan(NamedTuple):
    """What all tables of an export have in common: their columns follow from these models."""

    models: tuple[Modules, ...]
    with_run: bool

    def columns(self, name: str) -> ClassColumns:
        found = ClassColumns.of([model_from(modules) for modules in self.models], name, self.with_run)
        assert found is not None, name
        return found

    @property
    def classes(self) -> set[str]:
        """All that may have a table."""
        models = [model_from(modules) for modules in self.models]
        return {name for model in models for name in (*model.object_classes, *model.interaction_classes)}

    def check(self) -> None:
        """Raises RecordingError if a class has other types of columns in other models."""
        if len(self.models) > 1:
            for name in sorted(self.classes):
                self.columns(name)


@dataclass
class ExportedTable:
    """What was written of a class."""

    name: str
    rows: int = 0
    failures: dict[str, UndecodedValues] = field(default_factory=dict)
    """By attribute or parameter."""
    files: list[str] = field(default_factory=list)

    def add(self, other: ExportedTable) -> None:
        self.rows += other.rows
        self.files += other.files
        for name, one in other.failures.items():
            self.failures.setdefault(name, UndecodedValues()).add(one)


@dataclass
class Exported:
    tables: dict[str, ExportedTable] = field(default_factory=dict)
    unknown: Counter[str] = field(default_factory=Counter)
    """Messages of classes that their object model does not have."""

    def add(self, other: Exported) -> None:
        self.unknown.update(other.unknown)
        for name, table in other.tables.items():
            self.tables.setdefault(name, ExportedTable(name)).add(table)


class _TableFile:
    """One table, gathered in a file of its own."""

    def __init__(self, columns: ClassColumns, file: IO[bytes]) -> None:
        self.rows = ClassRows(columns)
        self._file = file
        self._writer: pq.ParquetWriter | None = None

    def add(self, model: ObjectModel, sent: Sent) -> None:
        self.rows.add(model, sent)
        if len(self.rows.waiting) >= PART:
            self.flush()

    def flush(self) -> None:
        import pyarrow.parquet as pq

        if self._writer is None:
            self._writer = pq.ParquetWriter(self._file, self.rows.columns.schema, compression="zstd")
        self._writer.write_table(self.rows.take())

    def move_to(self, place: Place) -> ExportedTable:
        self.flush()
        assert self._writer is not None
        self._writer.close()
        self._file.seek(0)
        place.write_from(self._file)
        return ExportedTable(self.rows.columns.name, self.rows.rows, self.rows.failures, [place.name])


def write_tables(
    sources: Iterable[ExportSource],
    plan: ExportPlan,
    place: Callable[[str], Place],
    progress: Callable[[int], None] = lambda rows: None,
) -> Exported:
    """`place`: where the file of a class goes.  Raises RecordingError where one cannot be written."""
    done = Exported()
    tables: dict[str, _TableFile] = {}
    count = 0
    try:
        with ExitStack() as opened:
            for source in sources:
                model = model_from(source.modules)
                names = instance_names(source.files) if source.names is None else source.names
                for sent in sends(source.files, names, source.run):
                    name = str(sent.row["class"])
                    if name not in model.object_classes and name not in model.interaction_classes:
                        done.unknown[name] += 1
                        continue
                    if name not in tables:
                        file = opened.enter_context(tempfile.TemporaryFile())
                        tables[name] = _TableFile(plan.columns(name), file)
                    tables[name].add(model, sent)
                    count += 1
                    if count % PART == 0:
                        progress(count)
            for name in sorted(tables):
                done.tables[name] = tables[name].move_to(place(name))
    except OSError as error:
        raise RecordingError(
            f"tables cannot be written: {error.filename or ''} {error.strerror or error}"
        ) from error
    return done


def table_place(out: Place, name: str) -> Place:
    """A file, or a folder of files that readers of Parquet take for one."""
    return out / f"{name}.parquet"


def plan_of(modules: Sequence[Modules]) -> ExportPlan:
    """`modules`: those of each run."""
    plan = ExportPlan(tuple(dict.fromkeys(modules)), len(modules) > 1)
    plan.check()
    return plan
