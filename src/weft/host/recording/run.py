"""A recorded run, as it was found (`recording.runs` finds it)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from weft.host.processes import is_alive
from weft.host.recording.files import NodeInfo, RecordingError, RunInfo
from weft.host.recording.manifest import Manifest
from weft.host.recording.row_files import RowFile, read_rows, wanted_schema
from weft.host.storage import Place

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass
class Run:
    """A recorded run, as it was found: `refresh` looks again."""

    path: Place
    info: RunInfo = field(default_factory=RunInfo)
    """What run.json says: federation, id, start, start_ns, node (that wrote it), modules, time, settings."""
    nodes: dict[str, NodeInfo] = field(default_factory=dict)
    """By name, what nodes/<name>.json says: began_ns, ended_ns (None: not ended in order), rows, dropped, others."""
    files: list[RowFile] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)
    manifests: list[Manifest] = field(default_factory=list)
    """One for each process of a node that wrote one, in order."""
    unread: dict[Place, str] = field(default_factory=dict)
    """Files that cannot be read, and why: each is among the troubles, too."""
    leftovers: list[Place] = field(default_factory=list)
    """Files whose rows are in listed ones, too, since files were put together; they are not read."""

    @property
    def federation(self) -> str:
        return str(self.info.get("federation", self.path.parent.name))

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files)

    @property
    def start_ns(self) -> int:
        """As the run says itself, or as its first node does; 0 if nobody does."""
        began = [int(node.get("began_ns") or 0) for node in self.nodes.values()]
        return int(self.info.get("start_ns") or min(began, default=0))

    @property
    def dropped(self) -> int:
        """As far as nodes have told; rows of kind `dropped` say where in the run."""
        return sum(int(node.get("dropped", 0)) for node in self.nodes.values())

    @property
    def ended(self) -> bool:
        """Have all its nodes ended in order?"""
        return bool(self.nodes) and all(node.get("ended_ns") is not None for node in self.nodes.values())

    @property
    def interrupted(self) -> list[str]:
        """The nodes that have not ended in order and do not run any more, as far as can be seen from this machine."""
        return [name for name, told in self.nodes.items() if is_interrupted(told)]

    @property
    def state(self) -> str:
        """In words."""
        if self.ended:
            return "ended in order"
        if self.interrupted:
            return f"interrupted: {', '.join(sorted(self.interrupted))} did not end in order"
        open_nodes = [told for told in self.nodes.values() if told.get("ended_ns") is None]
        if open_nodes and all(is_alive(told.get("process") or {}) for told in open_nodes):
            return "still going on"
        return "not ended in order, or still going on elsewhere"

    def is_over(self, node: str) -> bool:
        """Will that node write nothing more, as far as can be seen from this machine?"""
        told = self.nodes.get(node, {})
        return told.get("ended_ns") is not None or is_interrupted(told)

    def refresh(self) -> list[RowFile]:
        """Look again, and return the files that are new since."""
        from weft.host.recording.runs import open_run

        before = {file.path for file in self.files}
        again = open_run(self.path, known={file.path: file for file in self.files})
        self.__dict__.update(again.__dict__)
        return [file for file in self.files if file.path not in before]

    def tables(self, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """An Arrow table for each file, with the columns of this version (or those asked for), `node` among them."""
        for file in self.files:
            yield table_of(file, columns)

    def read(self, columns: Sequence[str] | None = None) -> pa.Table:
        """All rows as one Arrow table, sorted by node and within it in the order in which things happened."""
        import pyarrow as pa

        tables = list(self.tables(columns))
        if not tables:
            return wanted_schema(columns).empty_table()
        return pa.concat_tables(tables).unify_dictionaries()


def is_interrupted(told: NodeInfo) -> bool:
    return told.get("ended_ns") is None and is_alive(told.get("process") or {}) is False


def table_of(file: RowFile, columns: Sequence[str] | None = None) -> pa.Table:
    """The rows of a file; raises RecordingError where it cannot be read."""
    import pyarrow as pa

    try:
        return read_rows(file, columns)
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        raise RecordingError(
            f"{file.path} cannot be read: {error}; `weft review` reviews what is left, and names all such files"
        ) from error


_Info = TypeVar("_Info", RunInfo, NodeInfo)


def read_description(run: Run, place: Place, kind: type[_Info]) -> _Info:
    """What `run.json` or the file of a node says; what is wrong with it becomes a trouble."""
    try:
        found = json.loads(place.read())
    except FileNotFoundError:
        run.troubles.append(f"{place} is missing")
        return kind()
    except (OSError, ValueError) as error:
        run.troubles.append(f"{place} cannot be read: {error}")
        return kind()
    if isinstance(found, dict):
        return kind(**found)
    run.troubles.append(f"{place} cannot be read: it is no JSON object")
    return kind()
