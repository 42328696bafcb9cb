"""Recordings of an older Weft, without manifests and without numbers of commands, beside those of today (issue 21, item 2)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from review.lake.gathered import plant
from review.planted import DAMAGES, read
from support import recorded_runs
from weft.cli import main
from weft.host.recording.manifest import FOLDER
from weft.host.recording.runs import find_runs, open_run


def aged(run: Path) -> None:
    """As schema version 1 had it."""
    for path in (run / "rows").glob("*/*.parquet"):
        table = read(path)
        old = {**table.schema.metadata, b"weft.schema": b"1"}
        pq.write_table(table.drop_columns(["command"]).replace_schema_metadata(old), path)
    shutil.rmtree(run / FOLDER)


def test_old_and_new_runs_in_one_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Reviewed, asked in SQL, compacted, and reviewed with checksums: the same is found, of the old ones as of the new ones; a
    compacted run has a manifest, whatever it had before."""
    lone = recorded_runs.over_nodes(tmp_path / "made", 6, steps=60)
    top = tmp_path / "runs"
    plant(top, [lone], DAMAGES[:2], [])
    for name in ("lost-in-receive-order", "right"):
        shutil.copytree(
            top / "lost-in-receive-order" if name != "right" else lone.parent, top / f"old-{name}"
        )
    for run in top.glob("old-*/[0-9]*"):
        told = json.loads((run / "run.json").read_text())
        (run / "run.json").write_text(json.dumps(told | {"federation": run.parent.name}))
        aged(run)

    def found(*more: str) -> dict[str, tuple[str, int]]:
        capsys.readouterr()
        assert main(["review", str(top), "--orders", "CO,CT", *more]) == 1
        capsys.readouterr()
        query = "select federation, status, violations from run"
        assert main(["sql", query, "--lake", str(top / "lake"), "--json"]) == 0
        rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        return {row["federation"]: (row["status"], row["violations"]) for row in rows}

    before = found()
    assert before["old-right"] == ("ok", 0)
    assert before["old-lost-in-receive-order"] == before["lost-in-receive-order"] == ("violated", 1)
    assert main(["runs", "compact", str(top)]) == 0
    assert all(open_run(run).manifests for run in find_runs(top))
    assert {file.version for run in top.glob("old-*/[0-9]*") for file in open_run(run).files} == {1}
    assert found() == found("--verify") == before
