"""docs/how-to/lake.md does what it says, block by block: commands, and cells for DuckDB, pandas and Spark."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from review.lake.nights import night
from support.documents import blocks
from weft.cli import main

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(900)]
PAGE = "docs/how-to/lake.md"


def test_the_page(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Spark is the session that is there; all else is as it stands on the page."""
    night(tmp_path / "runs", 3)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    commands = 0
    for block in blocks(PAGE):
        if block.language == "console":
            for command in block.commands:
                words = shlex.split(command)
                assert words[0] == "weft"
                if "spark" not in words:  # tests/review/lake/test_lake_sql.py asks by Spark
                    assert main(words[1:]) == (1 if words[1] == "review" else 0), command
                    commands += 1
        elif block.language == "python":
            exec(compile(block.text, PAGE, "exec"), names)
        elif block.language == "sql":
            found = names["duckdb"].sql(_over_files(block.text)).fetchall()
            assert len(found) == len(names["weft"].review.sql("select * from violation"))
    assert commands > 7
    assert names["spark"] is spark
    assert len(names["table"]) > 0
    assert sorted(names["status"]["runs"].tolist()) == [1, 1, 1] or names["status"]["runs"].sum() == 3
    assert "sum(violations)" in capsys.readouterr().out


def _over_files(query: str) -> str:
    """As somebody asks who reads the files with another tool."""
    for name in ("violation", "run"):
        query = query.replace(
            f"FROM {name} ",
            f"FROM read_parquet('runs/lake/{name}/*/*/*.parquet', hive_partitioning = false) ",
        )
    return query
