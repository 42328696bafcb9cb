"""Reading recorded runs (`recording.files` says how they lie).

A run may still be written, have been cut off by a crash, or be there only in part.  What is whole is read; what is not is
told in `Run.troubles`, and nothing is ever removed.  Only rows of a newer schema are refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import unquote

from weft.host.processes import is_alive
from weft.host.recording.files import (
    NODE_KEY,
    RUN_FILE,
    RUN_KEY,
    VERSION_KEY,
    NodeInfo,
    RecordingError,
    RunInfo,
    arrow_schema,
)
from weft.recorder import VERSION

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq


@dataclass(frozen=True)
class RowFile:
    path: Path
    node: str
    rows: int
    version: int
    first: int = 0
    """Numbers (`seq`) of its first and last row; 0: it does not say."""
    last: int = 0
    said_node: str = ""
    said_run: str = ""
    """What the file says of itself, which its place may contradict."""
    shift_ns: int = 0
    """To be added to its wall clock, which is known to have been wrong."""


@dataclass
class Run:
    """A recorded run, as it was found: `refresh` looks again."""

    path: Path
    info: RunInfo = field(default_factory=RunInfo)
    """What run.json says: federation, id, start, start_ns, node (that wrote it), modules, time, settings."""
    nodes: dict[str, NodeInfo] = field(default_factory=dict)
    """By name, what nodes/<name>.json says: began_ns, ended_ns (None: not ended in order), rows, dropped, others."""
    files: list[RowFile] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)

    @property
    def federation(self) -> str:
        return str(self.info.get("federation", self.path.parent.name))

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

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
        return [name for name, told in self.nodes.items() if _is_interrupted(told)]

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

    def refresh(self) -> list[RowFile]:
        """Look again, and return the files that are new since."""
        before = {file.path for file in self.files}
        again = open_run(self.path, known={file.path: file for file in self.files})
        self.info, self.nodes = again.info, again.nodes
        self.files, self.troubles = again.files, again.troubles
        return [file for file in self.files if file.path not in before]

    def tables(self, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """An Arrow table for each file, with the columns of this version (or those asked for), `node` among them."""
        for file in self.files:
            yield read_rows(file, columns)

    def read(self, columns: Sequence[str] | None = None) -> pa.Table:
        """All rows as one Arrow table, sorted by node and within it in the order in which things happened."""
        import pyarrow as pa

        tables = list(self.tables(columns))
        if not tables:
            return _wanted_schema(columns).empty_table()
        return pa.concat_tables(tables).unify_dictionaries()


_Info = TypeVar("_Info", RunInfo, NodeInfo)


def _is_interrupted(told: NodeInfo) -> bool:
    return told.get("ended_ns") is None and is_alive(told.get("process") or {}) is False


def find_runs(directory: str | Path) -> list[Path]:
    """The folders of all runs in or below a folder: a run, the runs of a federation, or those of all."""
    top = Path(directory)
    if (top / RUN_FILE).is_file():
        return [top]
    found = {path.parent for pattern in (f"*/{RUN_FILE}", f"*/*/{RUN_FILE}") for path in top.glob(pattern)}
    return sorted(found)


def check_run(path: str | Path) -> Path:
    """Is there a run?  What its files say is asked of each when it is read."""
    found = Path(path)
    if not found.is_dir():
        raise RecordingError(f"{found}: there is no such run; `weft runs` lists those there are")
    if not (found / RUN_FILE).is_file() and not (found / "rows").is_dir():
        raise RecordingError(
            f"{found} is no recorded run: it has neither {RUN_FILE} nor rows; `weft runs` lists those there are"
        )
    return found


def open_run(path: str | Path, known: dict[Path, RowFile] | None = None) -> Run:
    """What is there of a run; raises RecordingError where it is none, or of a newer schema."""
    run = Run(check_run(path))
    run.info = _read_json(run, run.path / RUN_FILE, RunInfo)
    for file in sorted((run.path / "nodes").glob("*.json")):
        if not file.name.startswith("."):
            run.nodes[unquote(file.stem)] = _read_json(run, file, NodeInfo)
    for folder in sorted((run.path / "rows").glob("node=*")):
        _find_files(run, folder, known or {})
    _find_missing(run)
    return run


def _read_json(run: Run, path: Path, kind: type[_Info]) -> _Info:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        run.troubles.append(f"{path} is missing")
        return kind()
    except (OSError, ValueError) as error:
        run.troubles.append(f"{path} cannot be read: {error}")
        return kind()
    if isinstance(found, dict):
        return kind(**found)
    run.troubles.append(f"{path} cannot be read: it is no JSON object")
    return kind()


def _find_files(run: Run, folder: Path, known: dict[Path, RowFile]) -> None:
    node = unquote(folder.name.removeprefix("node="))
    told = run.nodes.get(node, {})
    over = told.get("ended_ns") is not None or _is_interrupted(told)
    for path in sorted(folder.iterdir(), key=file_place):
        if path.name.startswith("."):
            if over:
                run.troubles.append(f"{path} is temporary: its writer did not finish it; ignored")
        elif path in known:
            run.files.append(known[path])
        elif path.suffix == ".parquet":
            _add_file(run, path, node)


def file_place(path: Path) -> tuple[str, int, str]:
    """Files of one process are in the order of their numbers, also beyond a million."""
    began, _, number = path.stem.rpartition("-")
    return began, int(number) if number.isdigit() else 0, path.name


def _add_file(run: Run, path: Path, node: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        metadata = pq.read_metadata(path)
    except (OSError, pa.ArrowException) as error:
        run.troubles.append(f"{path} is torn or no Parquet file, and ignored: {error}")
        return
    said = metadata.metadata or {}
    text = said.get(VERSION_KEY, b"").decode("ascii", "replace")
    if not text.isdigit():
        run.troubles.append(
            f"{path} was written by something else (it names no schema version), and is ignored"
        )
        return
    if int(text) > VERSION:
        raise newer_schema(path, text)
    words = [said.get(key, b"").decode("utf-8", "replace") for key in (NODE_KEY, RUN_KEY)]
    run.files.append(RowFile(path, node, metadata.num_rows, int(text), *_span(path, metadata), *words))


def _span(path: Path, metadata: pq.FileMetaData) -> tuple[int, int]:
    """The numbers of the first and the last row."""
    import pyarrow.parquet as pq

    if not metadata.num_rows:
        return 0, 0
    names = [metadata.schema.column(place).path for place in range(metadata.num_columns)]
    if "seq" not in names:
        return 0, 0
    place = names.index("seq")
    groups = [metadata.row_group(number).column(place) for number in range(metadata.num_row_groups)]
    if all(group.is_stats_set and group.statistics.has_min_max for group in groups):
        return min(group.statistics.min for group in groups), max(group.statistics.max for group in groups)
    seq = pq.read_table(path, columns=["seq"], partitioning=None).column("seq").drop_null().to_numpy()
    return (int(seq.min()), int(seq.max())) if len(seq) else (0, 0)


def newer_schema(path: Path, version: str) -> RecordingError:
    return RecordingError(
        f"{path} was written with version {version} of the row schema; this Weft reads versions up to {VERSION}. "
        "Use the Weft that recorded the run, or a newer one"
    )


def _find_missing(run: Run) -> None:
    """Nodes that others have spoken of, and of which nothing is here."""
    have = {file.node for file in run.files} | set(run.nodes)
    for name, data in sorted(run.nodes.items()):
        for other in data.get("others", ()):
            if other not in have:
                have.add(other)
                run.troubles.append(
                    f"nothing of node {other!r} is here, which took part (says {name!r}): it did not record, or did so "
                    f"elsewhere; copy its files into {run.path}"
                )


def _wanted_schema(columns: Sequence[str] | None) -> pa.Schema:
    schema = arrow_schema(with_node=True)
    if columns is None:
        return schema
    import pyarrow as pa

    for column in columns:
        if column not in schema.names:
            raise RecordingError(f"rows have no column {column!r}; there are {', '.join(schema.names)}")
    return pa.schema([schema.field(column) for column in columns])


def read_rows(file: RowFile, columns: Sequence[str] | None = None) -> pa.Table:
    """The rows of one file, of whatever version, as this version has them: what an older one did not know is null."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    schema = _wanted_schema(columns)
    with pq.ParquetFile(file.path) as opened:
        there = opened.schema_arrow.names
        table = opened.read(columns=[name for name in schema.names if name in there and name != "node"])
    made = []
    for wanted in schema:
        if wanted.name == "node":
            names = pa.array([file.node], pa.string())
            indices = pa.repeat(pa.scalar(0, pa.int32()), file.rows)
            made.append(pa.DictionaryArray.from_arrays(indices, names))
        elif wanted.name in table.column_names:
            column = table.column(wanted.name).cast(wanted.type)
            if wanted.name == "epoch_ns" and file.shift_ns:
                column = pc.add(column, file.shift_ns)
            made.append(column)
        else:
            made.append(pa.nulls(file.rows, wanted.type))
    return pa.table(made, schema=schema)
