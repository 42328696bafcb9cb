"""Issue 8: docs/how-to/notebook.md does what it says, cell by cell, in the session that is there."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from review import oracle
from review.checks import faulty_run
from review.simulation import write

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(600)]
DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "how-to" / "notebook.md"


def test_the_notebook(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = faulty_run(seed=9, steps=80, times=1)
    write(tmp_path / "runs" / "small" / "20261116T103831Z-0", rows)
    monkeypatch.chdir(tmp_path)
    cells = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), re.S)
    assert len(cells) == 6
    names: dict[str, Any] = {}
    for cell in cells:
        exec(compile(cell, str(DOCUMENT), "exec"), names)
    assert names["spark"] is spark
    assert names["counts"] == Counter(row["kind"] for row in rows)
    sends = Counter((row["source"], row["class"]) for row in oracle.of_kind(rows, "send"))
    assert {(r["source"], r["class"]): r["messages"] for r in names["busiest"].collect()} == sends
    assert names["found"].audits["deadlines"].violations == len(oracle.missed_deadlines(rows))
    assert "median_ms" in capsys.readouterr().out
