"""`weft timeline`: pictures, figures, errors and help; runs as they are written and read again (issue 7 item 8)."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from PIL import Image
from pyarrow import parquet

from recorder.timeline.rows import run_of
from weft.channel import Happening
from weft.cli import main
from weft.host.event_channel.run import read_run, write_run
from weft.host.simulated.rates import PAPER, simulate
from weft.recorder import COLUMNS, VERSION
from weft.recorder.timeline import Row, look

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The paper's time line, single-threaded, half a second of it."""
    monkeypatch.chdir(tmp_path)
    return write_run("runs", "avionics", simulate(PAPER, 0.5, preemptive=False), wall_clock=False)


def said(run: Path, *arguments: str) -> str:
    with pytest.MonkeyPatch.context() as patch:
        err = io.StringIO()
        patch.setattr(sys, "stderr", err)
        assert main(["timeline", str(run), *arguments]) == 2
    assert err.getvalue().startswith("weft: ")
    assert err.getvalue().count("\n") == 1
    return err.getvalue()


def test_a_page_and_the_figures(run: Path, capsys: Capture) -> None:
    """Without options: timeline.html, and a table; misses do not make it fail."""
    assert main(["timeline", str(run)]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].split()[:3] == ["name", "priority", "pushes"]
    names = [line.split()[0] for line in out[1:7]]
    assert names == ["supplier2", "consumer2", "supplier1", "consumer1", "supplier0", "consumer0"]
    assert out[-1] == "wrote timeline.html"
    page = Path("timeline.html").read_text()
    assert f"Time line of avionics/{run.name}" in page
    for name in names:
        assert f">{name}</text>" in page


def test_figures_as_json(run: Path, capsys: Capture) -> None:
    """The same for machines; the law: utilisation and misses are those of the rows."""
    assert main(["timeline", str(run), "--json", "--one-processor"]) == 0
    found = json.loads(capsys.readouterr().out)
    rows = simulate(PAPER, 0.5, preemptive=False)
    assert not Path("timeline.html").exists()
    assert sum(lane["misses"] for lane in found["lanes"]) == sum(row.kind == "miss" for row in rows)
    assert [one["priority"] for one in found["priorities"]] == [0, 1, 2]
    assert found["lanes"][0]["laxity_us"]["min"] < 0
    done = [row for row in rows if row.kind == "done" and row.name == "consumer0" and row.deadline_ns]
    laxities = [(row.deadline_ns or 0) - row.mono_ns for row in done]
    assert found["lanes"][5]["laxity_us"]["avg"] == pytest.approx(sum(laxities) / len(laxities) / 1000)
    span = found["to_s"] - found["from_s"]
    assert found["lanes"][5]["utilisation"] == pytest.approx(len(done) * 0.038 / span)
    assert found["troubles"] == []


def test_a_png(run: Path, capsys: Capture) -> None:
    """Drawn with Pillow from the same layout: the colours of bars and misses are there, and it is no empty sheet."""
    assert (
        main(["timeline", str(run), "--out", "part.PNG", "--names", "consumer2,supplier2", "--to", "0.2"])
        == 0
    )
    assert capsys.readouterr().out.endswith("wrote part.PNG\n")
    image = Image.open("part.PNG").convert("RGB")
    colours = {colour for _, colour in image.getcolors(1 << 24) or []}
    for name in ("back", "text", "p0", "miss", "deadline"):
        value = look.LIGHT[name]
        assert tuple(int(value[at : at + 2], 16) for at in (1, 3, 5)) in colours, name
    assert image.width == 2800


def test_a_png_without_pillow(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is optional: the error says how to get it, and what goes without."""
    monkeypatch.setitem(sys.modules, "PIL", None)
    assert "pip install 'weft-rti[plot]', or let the name of the file end with .html" in said(
        run, "--out", "a.png"
    )


def test_a_part_of_the_run(run: Path, capsys: Capture) -> None:
    """--from and --to count from the first row; --names chooses lanes."""
    assert main(["timeline", str(run), "--json", "--from", "0.1", "--to", "0.2", "--names", "consumer1"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["from_s"], found["to_s"]) == (0.1, 0.2)
    (lane,) = found["lanes"]
    assert (lane["name"], lane["runs"]) == ("consumer1", 2)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--out", "a.pdf"), "a.pdf: a time line is a page or a PNG; let the name end with .html or .png"),
        (("--out", "no/such/a.html"), "no/such/a.html: cannot be written: No such file or directory"),
        (("--from", "9"), "--from 9: the record ends after 0.4"),
        (("--from", "0.2", "--to", "0.1"), "--to 0.1 must be after --from 0.2"),
        (("--names", "consumer9"), "no supplier or consumer consumer9; did you mean consumer"),
        (("--names", "x"), "there are consumer0, consumer1"),
        (("--names", ","), "name at least one"),
    ],
)
def test_what_makes_no_sense(run: Path, arguments: tuple[str, ...], text: str) -> None:
    """One line that says what is wrong and what to do."""
    assert text in said(run, *arguments)


def test_no_such_run(run: Path) -> None:
    assert "runs/nobody: there is no such run" in said(Path("runs/nobody"))
    assert f"holds 1 runs; name one of them, like {run.absolute()}" in said(run.parent)
    Path("empty").mkdir()
    assert "empty is no recorded run" in said(Path("empty"))


def test_a_run_without_dispatches(tmp_path: Path) -> None:
    """A run of federates without deadlines: what is missing, and what to do."""
    run = write_run(
        tmp_path, "harbour", [Row("start", 0), Row("grant", 5), Row("drop", 6, "tug"), Row("stop", 9)]
    )
    text = said(run)
    assert "none of its 4 rows is a push or a dispatch" in text
    assert "docs/how-to/timeline.md" in text


def test_rows_come_back_as_they_were_written(tmp_path: Path) -> None:
    """Whatever its name; times, deadlines and what does not apply included."""
    rows = [
        *run_of("fuse", 5, 9, 8),
        Row("push", 6, "rädar/1", operation="scan", queue=3),
        Row("drop", 7, "fuse", priority=1, detail="full"),
    ]
    run = write_run(tmp_path, "a/b c", rows, node="S1/x")
    assert run.parent.parent == tmp_path
    read = read_run(run)
    assert (read.total, read.troubles) == (len(rows), [])
    ordered = sorted(rows, key=lambda row: row.mono_ns)
    assert [row._replace(epoch_ns=None) for row in read.rows] == [
        row._replace(node="S1/x", seq=at) for at, row in enumerate(ordered, 1)
    ]
    assert json.loads((run / "run.json").read_text())["federation"] == "a/b c"
    assert json.loads((run / "nodes" / "S1%2Fx.json").read_text())["rows"] == len(rows)
    (file,) = run.glob("rows/*/*.parquet")
    assert parquet.read_schema(file).names == [column.name for column in COLUMNS if column.name != "node"]


def test_what_a_channel_told_its_record_is_a_run(tmp_path: Path) -> None:
    """Told late or early; 0 stands for no deadline."""
    told = [
        Happening("done", 30, "fuse", "f", 0, 1, 25),
        Happening("dispatch", 10, "fuse", "f", 0, 1, 25),
        Happening("push", 5, "ins", "", 255, 0),
    ]
    read = read_run(write_run(tmp_path, "avionics", told))
    assert [(row.kind, row.mono_ns, row.name, row.deadline_ns) for row in read.rows] == [
        ("push", 5, "ins", None), ("dispatch", 10, "fuse", 25), ("done", 30, "fuse", 25),
    ]  # fmt: skip
    assert all(row.epoch_ns is not None and row.node == "avionics" for row in read.rows)


def test_files_of_other_times(run: Path, capsys: Capture) -> None:
    """Older ones without newer columns are read, drafts passed over, broken and foreign ones named, newer ones refused."""
    folder = next(run.glob("rows/*"))
    table = pa.table({"kind": ["push"], "mono_ns": [10**9], "name": ["old"]})
    parquet.write_table(table.replace_schema_metadata({"weft.schema": "1"}), folder / "1-000002.parquet")
    parquet.write_table(table, folder / "1-000007.parquet")
    (folder / ".1-000003.parquet.tmp").write_bytes(b"half")
    (folder / ".1-000004.parquet").write_bytes(b"half")
    (folder / "1-000005.parquet").write_bytes(b"not a file of rows")
    assert main(["timeline", str(run)]) == 0
    shown = capsys.readouterr().out
    assert "\nold" in shown
    for text in (shown, Path("timeline.html").read_text()):
        for broken in ("1-000005.parquet", "1-000007.parquet"):
            assert re.search(rf"{folder.name}/{broken} .*ignored", text)
    newer = table.replace_schema_metadata({b"weft.schema": str(VERSION + 1).encode()})
    parquet.write_table(newer, folder / "1-000006.parquet")
    assert f"was written with version {VERSION + 1} of the row schema" in said(run)


def test_a_node_that_crashed_is_named(tmp_path: Path, capsys: Capture) -> None:
    """A start without a stop, and a run that nobody ended: said on the page and in the terminal."""
    rows = [
        Row("start", 0),
        *run_of("fuse", 10, 20, 30),
        *run_of("fuse", 40, None, 50),
        Row("dropped", 60, queue=1234),
        Row("push", 90, "radar"),
    ]
    run = write_run(tmp_path, "lost", rows, node="S2")
    out = tmp_path / "lost.html"
    assert main(["timeline", str(run), "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "node S2 did not say that it stopped: it crashed, or still runs" in shown
    assert "node S2 could not keep 1,234 rows" in shown
    assert "1 runs in" in shown
    page = out.read_text()
    for text in ("did not say that it stopped", "1 run without an end", "no end known"):
        assert text in page


def test_the_help_shows_examples(capsys: Capture) -> None:
    with pytest.raises(SystemExit):
        main(["timeline", "--help"])
    shown = capsys.readouterr().out
    assert 'weft timeline "$(weft runs --last)" --from 0 --to 2' in shown
