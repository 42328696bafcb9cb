"""Issue 21, 8: `weft ddm match --master`: boxes and pairs in files, here or in a store, through Spark's tasks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from review.matching.test_tiles import skewed
from support.object_store import credentials, object_store
from weft.cli import main
from weft.host.box_files import open_boxes
from weft.host.storage import StorageError, place_of
from weft.interest.matching.sweep import Boxes
from weft.review.errors import ReviewError
from weft.review.matching import match_on_spark
from weft.review.matching.tiling import TaskLimits

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(600)]

LIMITS = TaskLimits(boxes=400, pairs=20_000)


def write_boxes(path: Path, boxes: Boxes, named: str = "", files: int = 1) -> Path:
    columns: dict[str, Any] = {}
    for at, name in enumerate("xy"):
        columns |= {f"{name}_lower": boxes.lowers[at], f"{name}_upper": boxes.uppers[at]}
    if named:
        columns["id"] = np.array([f"{named} {number}" for number in range(len(boxes))])
    table = pa.table(columns)
    if files == 1:
        pq.write_table(table, path, row_group_size=250)
        return path
    path.mkdir()
    each = -(-len(table) // files)
    for number in range(files):
        pq.write_table(table.slice(number * each, each), path / f"{number}.parquet")
    return path


def pairs_in(place: str) -> list[tuple[Any, Any]]:
    store, key = place_of(place).for_arrow()
    rows = ds.dataset(key, filesystem=store, format="parquet").to_table().to_pydict()
    return sorted(zip(rows["update"], rows["subscription"], strict=True))


@pytest.mark.parametrize("shape", ["one over all", "identical"])
def test_pairs_are_those_of_one_process(spark: Any, tmp_path: Path, shape: str) -> None:
    """One side is a folder of files and has names, the other is numbered; no file has all."""
    sides = skewed(shape)
    updates = write_boxes(tmp_path / "updates", sides[0], "update", files=3)
    subscriptions = write_boxes(tmp_path / "subscriptions.parquet", sides[1])
    sources = open_boxes(str(updates)), open_boxes(str(subscriptions))
    found = match_on_spark(*sources, place_of(tmp_path / "out"), limits=LIMITS, session=spark)
    assert (
        main(["ddm", "match", str(updates), str(subscriptions), "--out", str(tmp_path / "here.parquet")]) == 0
    )
    assert pairs_in(str(tmp_path / "out")) == pairs_in(str(tmp_path / "here.parquet"))
    assert found.pairs == pq.read_metadata(tmp_path / "here.parquet").num_rows > 0
    assert found.files > 1
    assert (found.updates, found.subscriptions) == (len(sides[0]), len(sides[1]))


def test_in_a_store_and_from_text(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Boxes as CSV and Parquet in a store, pairs back into it; what a killed one has left there does no harm."""
    for name, value in credentials().items():
        monkeypatch.setenv(name, value)
    (tmp_path / "u.csv").write_text("id,x_lower,x_upper\ntank,0,5\nplane,5,9\nnowhere,3,3\n")
    pq.write_table(pa.table({"x_lower": [4, 0], "x_upper": [6, 5]}), tmp_path / "s.parquet")
    with object_store() as store:
        names = {
            name: store.address(f"lake/{name}")
            for name in ("u.csv", "s.parquet", "out", "_draft-out/part-00009.parquet")
        }
        for name in ("u.csv", "s.parquet"):
            place_of(names[name]).write((tmp_path / name).read_bytes())
        place_of(names["_draft-out/part-00009.parquet"]).write(b"half a")
        sources = open_boxes(names["u.csv"]), open_boxes(names["s.parquet"])
        for _ in range(2):
            match_on_spark(*sources, place_of(names["out"]), session=spark)
            assert pairs_in(names["out"]) == [("plane", 0), ("tank", 0), ("tank", 1)]
        assert not place_of(names["_draft-out/part-00009.parquet"]).is_file()
        assert (place_of(names["out"]) / "_SUCCESS").is_file()


def test_what_is_wrong_is_said_and_changes_nothing(spark: Any, tmp_path: Path) -> None:
    """A box without a number is named by file and row; a folder with other things in it is not replaced."""
    good = write_boxes(tmp_path / "good.parquet", skewed("even")[0])
    bad = tmp_path / "bad.parquet"
    table = pq.read_table(good).to_pydict()
    table["y_upper"][300] = None
    pq.write_table(pa.table(table), bad, row_group_size=250)
    out = place_of(tmp_path / "out")
    with pytest.raises(ReviewError, match=r"^.*bad\.parquet: column y_upper has no number in row 300$"):
        match_on_spark(open_boxes(str(good)), open_boxes(str(bad)), out, session=spark)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["bad.parquet", "good.parquet"]
    with pytest.raises(StorageError, match=r"has other files in it \(bad\.parquet, good\.parquet"):
        match_on_spark(open_boxes(str(good)), open_boxes(str(good)), place_of(tmp_path), session=spark)


def test_nothing_overlaps(spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A table without rows, which has its columns all the same."""
    for name, lower in (("u", 0), ("s", 10)):
        pq.write_table(pa.table({"x_lower": [lower], "x_upper": [lower + 1]}), tmp_path / f"{name}.parquet")
    sources = open_boxes(str(tmp_path / "u.parquet")), open_boxes(str(tmp_path / "s.parquet"))
    assert match_on_spark(*sources, place_of(tmp_path / "out"), session=spark).pairs == 0
    assert ds.dataset(tmp_path / "out", format="parquet").to_table().to_pydict() == {
        "update": [],
        "subscription": [],
    }
    counted = match_on_spark(*sources, None, session=spark)
    assert json.loads(json.dumps(counted.as_data()))["pairs"] == 0
    assert (
        main(
            [
                "ddm",
                "match",
                *(str(one) for one in (tmp_path / "u.parquet", tmp_path / "s.parquet")),
                "--master",
                "x",
            ]
        )
        == 2
    )
    assert "--out FOLDER" in capsys.readouterr().err
