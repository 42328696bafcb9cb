"""`weft ddm`: the commands and their errors."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from interest.paper import FED, GRID_OF_TWO, REGIONS
from weft.cli import main

Capture = pytest.CaptureFixture[str]
EXPECTED = {
    "R1D-1": [1], "R1D-2": [2], "R1D-3": [1, 2], "R2D-1": [3], "R2D-2": [5, 6], "R2D-3": [3, 6],
    "R2D-4": [3, 4, 5, 6], "R2D-5": [5],
}  # fmt: skip

FOM = """<objectModel xmlns="http://standards.ieee.org/IEEE1516-2010">
 <objects><objectClass><name>HLAobjectRoot</name>
  <objectClass><name>{0}</name><attribute><name>Place</name>
   <dimensions><dimension>X</dimension><dimension>Y</dimension></dimensions></attribute></objectClass></objectClass></objects>
 <dimensions><dimension><name>X</name><upperBound>1000</upperBound></dimension>
  <dimension><name>Y</name><upperBound>1000</upperBound></dimension></dimensions>
</objectModel>"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With the files that the examples of the help speak of."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "paper.fed").write_bytes(FED)
    (tmp_path / "my.fed").write_bytes(FED.replace(b"2D", b"Ground"))
    (tmp_path / "my.rid").write_bytes(GRID_OF_TWO)
    for name, owner in (("a", "A"), ("b", "B"), ("my", "C")):
        (tmp_path / f"{name}.xml").write_text(FOM.format(owner))
    rows = "id,x_lower,x_upper\nnear,0,5\nfar,5,9\n"
    (tmp_path / "updates.csv").write_text(rows)
    (tmp_path / "subscriptions.csv").write_text("x_upper,colour,x_lower\n5,red,4\n6,blue,5\n")
    for name in ("updates", "subscriptions"):
        bounds = {"x_lower": pa.array([0, 5], pa.int32()), "x_upper": pa.array([5, 9], pa.uint64())}
        parquet.write_table(pa.table(bounds), tmp_path / f"{name}.parquet")
    return tmp_path


def ddm(*arguments: str) -> int:
    return main(["ddm", *arguments])


def written(name: str) -> str:
    space, extents = REGIONS[name]
    parts = [",".join(f"{d}=0x{lo:x}..{hi}" for d, (lo, hi) in extent.items()) for extent in extents]
    return f"{name}={space}:{';'.join(parts)}"


@pytest.mark.usefixtures("folder")
def test_map_gives_the_table_of_the_paper(capsys: Capture) -> None:
    """S2-11, S2-12, in the form that programs read."""
    regions = [word for name in REGIONS for word in ("--region", written(name))]
    assert ddm("map", "--fed", "paper.fed", "--rid", "my.rid", *regions, "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"channels": 14, "regions": EXPECTED}


@pytest.mark.usefixtures("folder")
def test_map_for_people(capsys: Capture) -> None:
    assert ddm("map", "--fed", "paper.fed", "--rid", "my.rid", "--region", "all=2D") == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].startswith("StaticGridPartitioned: 14 partitions on 14 channels")
    assert "space 2D: partitions 3 to 6 (x: 2 of 2147483648, y: 2 of 2147483648)" in shown
    assert shown[-1] == "region all: channels 3, 4, 5, 6"


@pytest.mark.parametrize(
    ("strategy", "channels", "region"),
    [("Simple", 1, [1]), ("StaticSpacePartitioned", 3, [2]), ("Exact", 3, [2])],
)
def test_map_of_the_other_strategies(
    strategy: str, channels: int, region: list[int], folder: Path, capsys: Capture
) -> None:
    """S2-6, S2-7."""
    (folder / "other.rid").write_text(f"(DataDistribution (StrategyToUse {strategy}))")
    words = ("map", "--fed", "paper.fed", "--rid", "other.rid", "--region", "R=2D:x=0..1,y=0..1")
    assert ddm(*words, "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"channels": channels, "regions": {"R": region}}
    assert ddm(*words) == 0
    shown = capsys.readouterr().out
    assert "space 2D: x, y" in shown
    assert ("compares regions" in shown) == (strategy == "Exact")


@pytest.mark.usefixtures("folder")
def test_bounds_are_those_of_the_standard_or_as_asked(capsys: Capture) -> None:
    """S2-20: a FED has closed bounds, a FOM half-open ones."""

    def channels(*words: str) -> object:
        assert ddm("map", *words, "--json") == 0
        return json.loads(capsys.readouterr().out)["regions"]["R"]

    half = ("--fed", "paper.fed", "--rid", "my.rid", "--region", "R=1D:x=0..0x80000000")
    assert channels(*half) == [1, 2]
    assert channels(*half, "--bounds", "half-open") == [1]
    fom = ("--fom", "a.xml", "--rid", "my.rid", "--region", "R=X+Y:X=0..500,Y=0..1000")
    assert channels(*fom) == [1, 3]
    assert ddm("map", *fom, "--bounds", "closed") == 2
    assert "Y=0..1000 is not within 0..999" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("region", "message"),
    [
        ("R", "'R': expected NAME=SPACE:"),
        ("R=:x=0..1", "expected NAME=SPACE:"),
        ("R=4D:x=0..1", "R: no space '4D'; there are: 1D, 2D, 3D"),
        ("R=1D:q=0..1", "R: space 1D has no dimension 'q'; there are: x"),
        ("R=1D:x=0", "R: 'x=0' is no range"),
        ("R=1D:x=a..2", "R: 'a' is no whole number"),
        ("R=1D:x=0x80001111..0xffff000", "R: x=0x80001111..0xffff000 holds no number"),
        ("R=1D:x=0..0x100000000", "R: x=0..0x100000000 is not within 0..4294967295"),
        ("R=1D:x=-1..2", "is not within 0..4294967295"),
        ("R=1D:x=0..1,x=3..4", "R: two ranges for x in one extent"),
        ("S=1D", "a region called 'S' was given before"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_region_that_means_nothing(region: str, message: str, capsys: Capture) -> None:
    assert ddm("map", "--fed", "paper.fed", "--region", "S=2D", "--region", region) == 2
    shown = capsys.readouterr()
    assert shown.err.startswith("weft: --region ")
    assert message in shown.err
    assert not shown.out


@pytest.mark.parametrize("action", ["map", "lint"])
def test_files_that_cannot_be_used(action: str, folder: Path, capsys: Capture) -> None:
    (folder / "bad.rid").write_text("(DataDistribution\n (StrategyToUse Clever))")
    for files, message in (
        (("--fed", "none.fed"), "weft: none.fed: No such file"),
        (("--fed", "my.rid"), "weft: my.rid:1: begins with (RTI"),
        (("--fed", "paper.fed", "--rid", "none.rid"), "weft: none.rid: No such file"),
        (
            ("--fed", "paper.fed", "--rid", "bad.rid"),
            "weft: bad.rid:2: StrategyToUse must be one of Simple, ",
        ),
    ):
        assert ddm(action, *files) == 2
        assert capsys.readouterr().err.startswith(message)


@pytest.mark.usefixtures("folder")
def test_lint(capsys: Capture) -> None:
    """S2-19."""
    assert ddm("lint", "--fed", "paper.fed", "--rid", "my.rid") == 0
    assert "paper.fed:5: nothing travels in space 3D [unused-space]\n" in capsys.readouterr().out
    assert ddm("lint", "--fed", "paper.fed", "--rid", "my.rid", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["strategy"] == "StaticGridPartitioned"
    assert {"unused-space", "fine-grid"} == {one["rule"] for one in report["advice"]}
    assert ddm("lint", "--fom", "a.xml") == 0
    assert capsys.readouterr().out == "nothing to say about StaticGridPartitioned and these 1 spaces\n"


# match


@pytest.mark.usefixtures("folder")
def test_match_prints_pairs(capsys: Capture) -> None:
    """Boxes by their id where there is one, else by their row."""
    assert ddm("match", "updates.csv", "subscriptions.csv") == 0
    assert capsys.readouterr().out == 'update,subscription\n"near",0\n"far",1\n'
    assert ddm("match", "updates.csv", "subscriptions.csv", "--closed", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"updates": 2, "subscriptions": 2, "pairs": 4}


@pytest.mark.parametrize("name", ["pairs.parquet", "pairs.csv"])
def test_match_writes_pairs(name: str, folder: Path, capsys: Capture) -> None:
    assert ddm("match", "updates.parquet", "subscriptions.parquet", "--out", name) == 0
    assert not capsys.readouterr().out
    if name.endswith(".parquet"):
        assert parquet.read_table(folder / name).to_pydict() == {"update": [0, 1], "subscription": [0, 1]}
    else:
        assert (folder / name).read_text() == "update,subscription\n0,0\n1,1\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x_lower\n1\n", "bad.csv: expected columns D_lower and D_upper for each dimension D, found x_lower"),
        ("y_lower,y_upper\n1,2\n", "updates.csv has the dimensions x, but bad.csv has y"),
        (
            "x_lower,x_upper\n1,2.5\n",
            "bad.csv: column x_upper must hold whole numbers of 64 bits, not double",
        ),
        ("x_lower,x_upper\n1,2\n1,\n", "bad.csv: column x_upper has no number in row 1"),
        ("x_lower,x_upper\n1,2,3\n", "bad.csv: cannot be read: "),
        ("", "bad.csv: cannot be read: "),
    ],
)
def test_boxes_that_cannot_be_read(text: str, message: str, folder: Path, capsys: Capture) -> None:
    (folder / "bad.csv").write_text(text)
    (folder / "bad.parquet").write_text(text)
    assert ddm("match", "updates.csv", "bad.csv") == 2
    assert capsys.readouterr().err.startswith(f"weft: {message}")
    assert ddm("match", "bad.parquet", "updates.csv") == 2
    assert capsys.readouterr().err.startswith("weft: bad.parquet: cannot be read: ")


def test_numbers_beyond_64_bits_and_folders_that_are_not_there(folder: Path, capsys: Capture) -> None:
    wide = {"x_lower": pa.array([1 << 63], pa.uint64()), "x_upper": pa.array([0], pa.int8())}
    parquet.write_table(pa.table(wide), folder / "wide.parquet")
    assert ddm("match", "updates.csv", "wide.parquet") == 2
    assert "column x_lower must hold whole numbers of 64 bits" in capsys.readouterr().err
    assert ddm("match", "updates.csv", "none.csv") == 2
    assert "none.csv: cannot be read: " in capsys.readouterr().err
    assert ddm("match", "updates.csv", "updates.csv", "--out", "no/where.csv") == 2
    assert "no/where.csv: cannot be written: " in capsys.readouterr().err


def test_files_without_rows(folder: Path, capsys: Capture) -> None:
    (folder / "empty.csv").write_text("x_lower,x_upper\n")
    assert ddm("match", "updates.csv", "empty.csv") == 0
    assert capsys.readouterr().out == "update,subscription\n"


# Help
