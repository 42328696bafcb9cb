"""Where a recorded run lies, and how rows get there.

    runs/<federation>/<start time>-<id>/
        run.json                                the run: federation, start, object model, logical time, settings
        manifest/<node>-<began>.jsonl           what a process of the node has written, file by file (`recording.manifest`)
        nodes/<node>.json                       one node: when it began and ended, rows, dropped rows, other nodes
        nodes/<node>.idle                       empty; its time: up to then everything is in files, and nothing came since.
                                                In a store, which keeps no times, the number itself (ns)
        rows/node=<node>/<began>-<number>.parquet

Each node writes files of its own, so nodes need not speak to one another about them.  The id follows from the federation
execution, so that nodes that record below the same folder find the same run; what other machines recorded is
copied into one folder by whoever wants to look at all of it.

A file is written under a name that begins with a dot (which Spark and Arrow pass over), brought to the disk, and renamed.
What has a name without a dot is whole.  The rows carry no column `node`: it is a Hive-style partition, in the path.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypedDict
from urllib.parse import quote

from weft.host.files.private import make_private, private, write_by, write_whole
from weft.host.files.saves import safe_name
from weft.host.processes import ProcessInfo
from weft.host.storage import Place
from weft.model.errors import WeftError
from weft.model.json_types import JsonObject
from weft.model.records import Source
from weft.recorder import COLUMNS, VERSION

if TYPE_CHECKING:
    import pyarrow as pa

DEFAULT_DIRECTORY = "runs"
RUN_FILE = "run.json"
IDLE = ".idle"
VERSION_KEY = b"weft.schema"
NODE_KEY = b"weft.node"
RUN_KEY = b"weft.run"
_TAKEN = frozenset(["server", "saves", "journal", "lake"])  # folders beside those of federations
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,59}")


class ModuleInfo(TypedDict):
    """An object model module of a run, and its file there."""

    name: str
    file: str


class RunInfo(TypedDict, total=False):
    """What `run.json` says."""

    federation: str
    id: str
    start: str
    start_ns: int
    node: str  # that wrote it
    home: str
    execution: str
    time: str  # the name of the logical time implementation
    schema: int
    modules: list[ModuleInfo]
    rid: str | None  # its file
    settings: Mapping[str, object]


class NodeInfo(TypedDict, total=False):
    """What nodes/<node>.json says."""

    node: str
    began_ns: int
    ended_ns: int | None  # None: not ended in order
    rows: int
    dropped: int
    others: list[str]
    process: ProcessInfo


class RecordingError(WeftError):
    """A run cannot be written or read; the message names the file and what to do."""


def arrow_type(name: str) -> pa.DataType:
    """The Arrow type of a type of `weft.recorder.COLUMNS`."""
    import pyarrow as pa

    if name.startswith("["):
        inner = name[1:-1]
        # Dictionaries inside lists are not for every reader; Parquet packs repeated texts all the same.
        return pa.list_(pa.string() if inner == "word" else arrow_type(inner))
    if name == "word":
        return pa.dictionary(pa.int32(), pa.string())
    plain = {
        "int32": pa.int32(),
        "int64": pa.int64(),
        "float64": pa.float64(),
        "text": pa.string(),
        "bytes": pa.binary(),
    }
    return plain[name]


def arrow_schema(with_node: bool = False) -> pa.Schema:
    """Of the rows in a file; with `node`, as a reader hands them on."""
    import pyarrow as pa

    return pa.schema(
        [
            pa.field(column.name, arrow_type(column.type))
            for column in COLUMNS
            if with_node or column.name != "node"
        ]
    )


def folder_name(federation: str) -> str:
    """The name itself where it makes a file name; names come from the network."""
    if _PLAIN.fullmatch(federation) and federation not in _TAKEN:
        return federation
    return safe_name(federation)


def run_id(federation: str, execution: str) -> str:
    """The same at all nodes of an execution.  A restore makes another execution of it, and so another run."""
    whole = f"{federation}\0{execution}"
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:10]


def write_json(path: Path, data: Mapping[str, object]) -> None:
    write_whole(path, (json.dumps(data, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "replace"))


def open_run_folder(directory: Path, federation: str, identity: str, epoch_ns: int) -> Path:
    """The folder of the run with that id: the one another node has made, or a new one.

    Two nodes may come at the same moment: who first links `.<id>`, which has the folder's name in it, has chosen the name.
    """
    below = directory / folder_name(federation)
    make_private(below)
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(epoch_ns // 10**9))
    mark = below / f".{identity}"
    draft = below / f".{identity}.{secrets.token_hex(4)}"
    with open(draft, "x", opener=private) as file:
        file.write(f"{stamp}-{identity}")
    try:
        with contextlib.suppress(FileExistsError):
            os.link(draft, mark)
    finally:
        draft.unlink()
    folder = below / mark.read_text()
    make_private(folder)
    return folder


def node_file(folder: Path, node: str) -> Path:
    return folder / "nodes" / f"{quote(node, safe='')}.json"


def idle_name(node: str) -> str:
    """In the run's folder.  The file's time (mtime) says up to when everything that happened at the node is in files."""
    return f"nodes/{quote(node, safe='')}{IDLE}"


def idle_until(run: Place, node: str) -> int | None:
    """What the node has said so, on the wall clock; None: nothing."""
    place = run / idle_name(node)
    try:
        told = place.read()
        return int(told) if told else place.entry().mtime_ns
    except (OSError, ValueError):
        return None


def write_idle(folder: Path, node: str, until_ns: int) -> None:
    """Never with a time that is not meant, however short."""
    path = folder / idle_name(node)
    try:
        os.utime(path, ns=(until_ns, until_ns))
    except FileNotFoundError:
        draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        draft.touch(0o600, exist_ok=False)
        os.utime(draft, ns=(until_ns, until_ns))
        draft.replace(path)


def read_json(path: Path) -> JsonObject:
    """What a process before has written; nothing, if it cannot be read."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def write_models(folder: Path, sources: list[Source], rid: Source | None) -> RunInfo:
    """The object model modules and the RID file, for whoever decodes values; what `run.json` says of them."""
    make_private(folder / "fom")
    modules: list[ModuleInfo] = []
    for number, source in enumerate(sources):
        stem = re.sub(r"[^A-Za-z0-9_.-]", "_", Path(source.name).name)[-60:]
        place = f"fom/{number}-{stem}"
        if not (folder / place).exists():
            write_whole(folder / place, source.data)
        modules.append({"name": source.name, "file": place})
    if rid is not None and not (folder / "rid").exists():
        write_whole(folder / "rid", rid.data)
    return {"modules": modules, "rid": None if rid is None else "rid"}


_RISING = ("seq", "epoch_ns", "mono_ns", "message")  # numbers that differ little from one row to the next
_NUMBERS = ("federate", "source", "object", "cause_source", "cause", "payload_bytes", "control_bytes")


def written_as(names: list[str]) -> dict[str, object]:
    """How columns of tables are encoded: as the recorder's own are, rising numbers as differences, texts by dictionaries."""
    texts = [column.name for column in COLUMNS if column.type == "word"]
    texts += [f"{column.name}.list.element" for column in COLUMNS if column.type == "[word]"]
    texts.append("destinations.list.element")  # the same few, again and again
    return {
        "compression": "zstd",
        "compression_level": 1,
        "use_dictionary": [name for name in texts if name.split(".")[0] in names],
        "column_encoding": {name: "DELTA_BINARY_PACKED" for name in (*_RISING, *_NUMBERS) if name in names},
        "write_statistics": True,
        "write_page_checksum": True,
        "max_rows_per_page": 1 << 20,  # a page for each column: files are small, and readers take them whole
        "data_page_size": 4 << 20,
        "write_batch_size": 1 << 16,
    }


class NodeFiles:
    """What one process of a node writes of one run."""

    def __init__(self, folder: Path, node: str, began_ns: int, run: Mapping[str, object]) -> None:
        """`run`: what `run.json` is to say, if no other node has written it yet."""
        self.folder = folder
        self.node = node
        self.files = 0
        self._began = began_ns
        self._rows = folder / "rows" / f"node={quote(node, safe='')}"
        make_private(self._rows)
        make_private(folder / "nodes")
        if not (folder / RUN_FILE).exists():
            write_json(folder / RUN_FILE, run)
        self.metadata = {
            VERSION_KEY: str(VERSION).encode(),
            NODE_KEY: node.encode("utf-8", "replace"),
            RUN_KEY: folder.name.encode(),
        }

    def write_rows(self, table: pa.Table) -> Path:
        """A table with columns of `schema` (what is left out is null), as one more file; raises OSError."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        def write(file: IO[bytes]) -> None:
            try:
                pq.write_table(table, file, **written_as(table.schema.names))
            except pa.ArrowException as error:
                raise OSError(str(error)) from error

        path = self.next_path()
        write_by(path, write)
        return path

    def next_path(self) -> Path:
        """Where one more file goes."""
        self.files += 1
        return self._rows / f"{self._began}-{self.files:06d}.parquet"

    @property
    def schema(self) -> pa.Schema:
        """Of rows, as Arrow has it, with what every file says of itself."""
        return arrow_schema().with_metadata(self.metadata)

    def write_node(self, data: Mapping[str, object]) -> None:
        write_json(node_file(self.folder, self.node), data)
