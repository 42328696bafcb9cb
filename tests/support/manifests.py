"""Manifests of runs that have none, or whose files a test has changed: as their recorder would have written them."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from urllib.parse import unquote

import pyarrow.compute as pc
import pyarrow.parquet as pq

from weft.host.recording.manifest import FOLDER, ListedFile, ManifestEnd, manifest_name
from weft.recorder import VERSION


def list_anew(run: Path, closed: bool = True) -> Path:
    """Of each process of a node one; `closed`: with an end, if the node's description says that it ended."""
    shutil.rmtree(run / FOLDER, ignore_errors=True)
    lives: dict[tuple[str, int], list[Path]] = {}
    for path in sorted((run / "rows").glob("node=*/[0-9]*.parquet")):
        node = unquote(path.parent.name.removeprefix("node="))
        lives.setdefault((node, int(path.name.partition("-")[0])), []).append(path)
    for (node, began), paths in lives.items():
        listed = [_listed(run, path) for path in paths]
        told = json.loads((run / "nodes" / f"{paths[0].parent.name.removeprefix('node=')}.json").read_text())
        dropped = int(told["dropped"]) if told["began_ns"] == began else 0
        lines: list[dict[str, object]] = [
            {"manifest": 1, "run": run.name, "node": node, "began_ns": began, "schema": VERSION},
            *(file._replace(dropped=dropped)._asdict() for file in listed),
        ]
        if closed and told["ended_ns"] is not None:
            rows = sum(one.rows for one in listed)
            lines.append(ManifestEnd(told["ended_ns"], len(listed), rows, dropped)._asdict())
        path = run / manifest_name(node, began)
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return run


def _listed(run: Path, path: Path) -> ListedFile:
    data = path.read_bytes()
    table = pq.read_table(path, columns=["seq", "epoch_ns"], partitioning=None)
    seq, epoch = (pc.min_max(table[name]).as_py() for name in ("seq", "epoch_ns"))
    span = (seq["min"] or 0, seq["max"] or 0, epoch["min"] or 0, epoch["max"] or 0)
    digest = hashlib.sha256(data).hexdigest()
    version = int(pq.read_metadata(path).metadata[b"weft.schema"])
    return ListedFile(path.relative_to(run).as_posix(), len(table), *span, len(data), digest, version, 0)
