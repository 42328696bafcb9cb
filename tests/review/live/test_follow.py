"""Issue 8: following a run that is being written, with Spark; in the group of the other Spark tests."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from review.checks import faulty_run
from review.live.test_live import expected, is_known, table, told, with_ends
from review.simulation import Row, Simulation, number, write
from weft.cli import main
from weft.cli.analyse.review import as_lines
from weft.host.recording.files import idle_file, write_idle
from weft.review import ReviewError, follow
from weft.review.follow import Follower, Streaming, watch
from weft.review.kernels.records import Violation
from weft.review.live import frontier

ORDERS = ("RO", "CO", "CT")


class Frame:
    """A batch as Spark hands it over, without Spark."""

    def __init__(self, rows: list[Row]) -> None:
        self._table = table(rows)

    def toArrow(self) -> Any:
        return self._table


class Growing:
    """A run whose files come one after the other, when they are asked for."""

    def __init__(self, folder: Path, rows: list[Row], seed: int = 0) -> None:
        self.run = write(folder / "run", rows, ended_ns=None)
        self._ends = any(row["kind"] == "stop" for row in rows)
        self._hidden = folder / "hidden"
        shutil.move(self.run / "rows", self._hidden)
        files = sorted(self._hidden.glob("*/*.parquet"))
        order = [file.parent for file in files]
        random.Random(seed).shuffle(order)
        self._next = [sorted(f for f in files if f.parent == folder) for folder in dict.fromkeys(order)]

    def grow(self) -> bool:
        """One more file of each node."""
        for files in self._next:
            if files:
                file = files.pop(0)
                place = self.run / "rows" / file.parent.name / file.name
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.move(file, place)
                if self._ends and not files:
                    self._end(file.parent.name.removeprefix("node="))
        return any(self._next)

    def _end(self, node: str) -> None:
        """Its last row says so, and so does what it tells of itself."""
        path = self.run / "nodes" / f"{node}.json"
        told = json.loads(path.read_text())
        path.write_text(json.dumps({**told, "ended_ns": told["began_ns"] + 10**12}))


@pytest.mark.xdist_group("spark")
@pytest.mark.timeout(600)
def test_a_growing_run_is_followed_to_its_end(spark: Any, tmp_path: Path) -> None:
    """What is told meanwhile is all that is wrong, and nothing else; how far it has come is told, too."""
    rows = faulty_run(seed=7, steps=150, times=1)
    growing = Growing(tmp_path, number(with_ends(rows)))
    found: list[Violation] = []
    said: list[str] = []

    def say(text: str) -> None:
        said.append(text)
        growing.grow()

    follower = Follower(growing.run, found.extend, ORDERS)
    with Streaming(spark, follower) as streaming:
        watch(streaming, follower, say)
    assert {told(finding) for finding in found if is_known(finding)} == expected(rows)
    assert follower.progress.rows == len(rows) + 2
    assert said[0].startswith("waiting for rows")
    assert any("rows, lag" in text for text in said)


@pytest.mark.soak
@pytest.mark.xdist_group("spark")
@pytest.mark.timeout(600)
def test_in_the_end_the_whole_run_is_reviewed(spark: Any, tmp_path: Path) -> None:
    """With the same counts."""
    growing = Growing(tmp_path, number(with_ends(faulty_run(seed=7, steps=250, times=1))))
    found: list[Violation] = []

    def say(text: str) -> None:
        growing.grow()

    result = follow(growing.run, say=say, tell=found.extend, session=spark)
    counts = {name: audit.violations for name, audit in result.audits.items()}
    assert counts == {name: sum(one["audit"] == name for one in found) for name in counts}


@pytest.mark.xdist_group("spark")
@pytest.mark.timeout(600)
def test_ctrl_c_ends_it_with_what_was_found(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command: a line of JSON for each finding, then the result; exit 1, because something was violated."""
    growing = Growing(tmp_path, faulty_run(seed=7, steps=120, times=1))
    while growing.grow():
        pass

    def followed(
        run: str, master: str, say: Any, tell: Any, witnesses: int, orders: tuple[str, ...], **whole: Any
    ) -> Any:
        def interrupted(text: str) -> None:
            if "violations" in text:
                raise KeyboardInterrupt

        return follow(run, master, interrupted, tell, witnesses, orders, spark, **whole)

    monkeypatch.setattr("weft.review.follow", followed)
    assert main(["review", str(growing.run), "--follow", "--json"]) == 1
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    result = lines.pop()
    assert any("stopped while it was being written" in note for note in result["notes"])
    assert sum(audit["violations"] for audit in result["audits"].values()) == len(lines) > 0
    assert not spark.streams.active


# Without Spark


@pytest.fixture
def follower(tmp_path: Path) -> Callable[..., Follower]:
    def made(rows: list[Row], now: list[int], found: list[Violation]) -> Follower:
        run = write(tmp_path / "run", rows, ended_ns=None)
        return Follower(run, found.extend, ORDERS, lambda: now[0])

    return made


def lost_one(seed: int) -> tuple[list[Row], Row]:
    """A run on two nodes in which a message to the second node, which hears nothing more, is lost."""
    rows = number(Simulation(seed, steps=150, nodes=2).rows)
    gone = next(r for r in rows if r["kind"] == "deliver" and r["order"] == "RO" and r["node"] == "node 1")
    return number([row for row in rows if row is not gone]), gone


def test_nothing_is_missed_before_its_node_has_told(follower: Callable[..., Follower]) -> None:
    """All of the sender's node first: nothing is told; then the other's rows show that it did not come."""
    rows, gone = lost_one(4)
    now, found = [rows[0]["epoch_ns"]], list[Violation]()
    one = follower(rows, now, found)
    one.step(Frame([row for row in rows if row["node"] == "node 0"]), 0)
    assert not found
    one.step(Frame([row for row in rows if row["node"] == "node 1"]), 1)
    keys = {(f["what"], f["source"], f["message"], f["federate"]) for f in found if f["audit"] == "delivery"}
    assert keys == {("lost", gone["source"], gone["message"], gone["federate"])}


def test_a_node_that_says_that_nothing_happens_is_not_waited_for(follower: Callable[..., Follower]) -> None:
    """By the time of a file; only if all its files have been read.  One that says nothing counts as crashed after a while."""
    rows, _ = lost_one(4)
    mine = [row for row in rows if row["node"] == "node 0"]
    now, found = [mine[-1]["epoch_ns"]], list[Violation]()
    one = follower(rows, now, found)
    one.step(Frame(mine), 0)
    run = Path(str(one.run.path))
    last = {folder.name: max(file.name for file in folder.iterdir()) for folder in (run / "rows").iterdir()}
    assert one.audits.frontier.all_read == 0
    write_idle(run, "node 1", mine[-1]["epoch_ns"])
    one.look({})
    assert one.audits.frontier.all_read == 0, "its files are not read yet"
    one.look(last)
    assert one.audits.frontier.all_read == idle_file(run, "node 1").stat().st_mtime_ns
    now[0] += 2 * frontier.SILENT
    one.look(last)
    assert one.audits.frontier.crashed == {"node 0", "node 1"}


def test_rows_that_are_missing_make_it_unsure(follower: Callable[..., Follower]) -> None:
    """A node that says that it dropped rows, or whose numbers have a gap: what is missing there may be among them."""
    rows, _ = lost_one(4)
    for row in rows:
        if row["node"] == "node 1":
            row["seq"] += row["seq"] > 40
    found: list[Violation] = []
    one = follower(rows, [rows[0]["epoch_ns"]], found)
    one.step(Frame(rows), 0)
    assert not [finding for finding in found if finding["audit"] == "delivery"]
    assert one.audits.unsure
    assert one.result(5).audits["delivery"].unsure


def test_many_findings_at_once_are_few_lines() -> None:
    lines = as_lines(
        [{"audit": "causal", "federate": n} for n in range(5)] + [{"audit": "time", "what": "past"}], 2
    )
    assert [line.split(" ", 1)[1] for line in lines] == [
        "causal     federate 0",
        "causal     federate 1",
        "causal     … and 3 more",
        "time       past: ",
    ]


def test_not_over_spark_connect(tmp_path: Path) -> None:
    run = write(tmp_path / "run", number(Simulation(6, steps=10).rows))
    with pytest.raises(ReviewError, match="does not run over Spark Connect"):
        follow(run, "sc://somewhere")


def test_when_it_is_over(tmp_path: Path) -> None:
    """An empty run that has ended; a node that crashed while another ended; all that crashed.  Not one that has just begun."""
    rows = number(Simulation(6, steps=30).rows)
    run = write(tmp_path / "run", rows, ended_ns=None)
    now = [rows[-1]["epoch_ns"]]
    one = Follower(run, lambda findings: None, ORDERS, lambda: now[0])
    last = {folder.name: max(file.name for file in folder.iterdir()) for folder in (run / "rows").iterdir()}
    one.look(last)
    assert not one.is_over()
    ended = run / "nodes" / "node%200.json"
    ended.write_text(json.dumps(json.loads(ended.read_text()) | {"ended_ns": now[0]}))
    one.look(last)
    assert not one.is_over()
    now[0] += 2 * frontier.SILENT
    one.look(last)
    assert one.is_over()
    ended.write_text(json.dumps(json.loads(ended.read_text()) | {"ended_ns": None}))
    alone = Follower(run, lambda findings: None, ORDERS, lambda: now[0])
    alone.look(last)
    now[0] += 2 * frontier.SILENT
    alone.look(last)
    assert not alone.is_over(), "all are silent, but not for long"
    now[0] += frontier.DESERTED
    alone.look(last)
    assert alone.is_over()
    empty = write(tmp_path / "empty", [])
    (empty / "rows").mkdir()
    assert not Follower(empty, lambda findings: None, ORDERS).is_over()
    (empty / "nodes").mkdir()
    (empty / "nodes" / "a.json").write_text(json.dumps({"ended_ns": 1}))
    assert Follower(empty, lambda findings: None, ORDERS).is_over()
