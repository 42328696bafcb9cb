"""Issue 8: the audits on Spark, against brute force; what is said of runs that are not whole.

All in one group, so that tests in parallel share one session.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from review.checks import audit_run, check, faulty_run, review_rows, reviewed_in_parts
from review.simulation import FAULTS, Simulation, number, plant, write
from weft.cli import main
from weft.cli.analyse.review import as_text
from weft.host.recording.files import RecordingError
from weft.host.recording.runs import open_run
from weft.recorder import VERSION
from weft.review import ReviewError, review
from weft_benchmarks.testbed.synthetic import HOT, ONE_BOX, ONE_CLASS, SyntheticPlan, make_run

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(600)]


def test_faults_of_every_kind_are_found_and_nothing_else(spark: Any, tmp_path: Path) -> None:
    """In parts of some hundred rows, so that what one tells of another counts."""
    rows = faulty_run(seed=1, commands=True)
    run = write(tmp_path / "run", rows, rows_per_file=40)
    counts = check(reviewed_in_parts(run, spark, 150), rows)
    assert all(counts.values()), counts


@pytest.mark.soak
def test_without_recorded_vectors_on_one_node(spark: Any, tmp_path: Path) -> None:
    rows = faulty_run(seed=3, nodes=1, stamped=False)
    assert check(review_rows(tmp_path / "run", rows, spark), rows)["causal"]


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(10, 20))
def test_more_runs_with_faults(spark: Any, tmp_path: Path, seed: int) -> None:
    rows = faulty_run(seed, nodes=1 + seed % 3, times=seed % 4, stamped=bool(seed % 2), commands=seed > 12)
    check(review_rows(tmp_path / "run", rows, spark), rows)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(1, 16))])
def test_the_last_rows_of_a_crashed_node_are_not_held_against_the_run(
    spark: Any, tmp_path: Path, seed: int
) -> None:
    """Issue 8: whatever of one node's rows was not yet written when it crashed, nothing is called wrong for that."""
    rows = Simulation(seed, steps=300, nodes=1 + seed % 3 + (seed == 0), stamped=bool(seed % 2)).rows
    crashed = sorted({row["node"] for row in rows})[-1]
    mine = [row for row in rows if row["node"] == crashed]
    last = random.Random(seed).randrange(len(mine) // 4, len(mine))
    gone = {id(row) for row in mine[last:]}
    run = write(tmp_path / "run", [row for row in rows if id(row) not in gone])
    node = run / "nodes" / f"{crashed.replace(' ', '%20')}.json"
    node.write_text(json.dumps(json.loads(node.read_text()) | {"ended_ns": None}))
    found = review(run, session=spark, advice=False)
    wrong = {name: result.witnesses for name, result in found.audits.items() if result.violations}
    wrong.pop("deadlines", None)  # what was missed before was missed
    assert not wrong


def test_a_run_with_nothing_wrong(spark: Any, tmp_path: Path) -> None:
    """Also the one that benchmarks use: several tiles, pieces and files, regions that move."""
    run = make_run(tmp_path / "run", SyntheticPlan(rows=60_000, each=5))
    said: list[str] = []
    found = review(run, session=spark, advice=False, say=said.append)
    assert (
        "delivery: what was sent and what was delivered add up, as counted before for another audit\n" in said
    )
    assert {name: result.violations for name, result in found.audits.items()} == dict.fromkeys(
        found.audits, 0
    )
    assert list(found.audits) == ["causal", "time", "interest", "delivery", "deadlines"]
    consumers: Any = found.audits["deadlines"].figures["consumers"]
    assert len(consumers) == 4
    assert all(row["misses"] == 0 and row["laxity_ms"]["min"] == 0.9998 for row in consumers)


@pytest.mark.parametrize(
    "plan",
    [
        pytest.param(HOT, id="nearly all at one federate", marks=pytest.mark.soak),
        pytest.param(ONE_CLASS, id="all of one class", marks=pytest.mark.soak),
        pytest.param(ONE_BOX, id="one box over all others", marks=pytest.mark.soak),
        pytest.param(replace(HOT, stamped=False), id="without vectors", marks=pytest.mark.soak),
    ],
)
def test_skew_does_not_change_what_is_found(spark: Any, tmp_path: Path, plan: SyntheticPlan) -> None:
    """Issue 8: skewed runs with faults of every kind, in many small parts."""
    clean = make_run(tmp_path / "clean", replace(plan, rows=1500, each=2))
    rows = [row for row in open_run(clean).read().to_pylist() if row["kind"] != "resign"]
    chance = random.Random(1)
    for fault in FAULTS:
        plant(rows, fault, chance)
    rows = number(sorted(rows, key=lambda row: row["epoch_ns"]))
    run = write(tmp_path / "run", rows, rows_per_file=100)
    assert any(check(reviewed_in_parts(run, spark, 200), rows).values())


@pytest.mark.soak
def test_many_subscriptions_go_where_messages_are(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there are too many for every task to have all of them, the same is found."""
    rows = faulty_run(seed=1)
    run = write(tmp_path / "run", rows)
    here = audit_run(run, spark, "interest").audits["interest"]
    monkeypatch.setattr("weft.review.audits.interest.FEW", 0)
    assert audit_run(run, spark, "interest").audits["interest"] == here
    assert here.violations


# Runs that are not whole


def test_rows_that_were_dropped_are_said_first(spark: Any, tmp_path: Path) -> None:
    """What seems missing may be among them, so it counts as unsure."""
    rows = number(Simulation(5, steps=60).rows)
    gone = next(row for row in rows if row["kind"] == "deliver" and row["order"] == "RO")
    run = write(tmp_path / "run", [row for row in rows if row is not gone], dropped=7)
    found = audit_run(run, spark, "delivery")
    assert found.dropped_rows == 14  # seven at each of two nodes
    assert "14 rows were dropped" in as_text(found).splitlines()[0]
    assert (found.audits["delivery"].violations, found.audits["delivery"].unsure) == (0, 1)
    assert found.as_data()["dropped_rows"] == 14


def test_a_torn_file_is_left_out_and_named(spark: Any, tmp_path: Path) -> None:
    run = write(tmp_path / "run", number(Simulation(6, steps=60).rows))
    torn = sorted((run / "rows").glob("*/*.parquet"))[1]
    torn.write_bytes(torn.read_bytes()[:-20])
    found = audit_run(run, spark, "delivery")
    assert any(str(torn) in note for note in found.notes)
    assert torn.exists()
    assert found.audits["delivery"].unsure
    assert not found.audits["delivery"].violations


def test_a_missing_node(spark: Any, tmp_path: Path) -> None:
    run = write(tmp_path / "run", number(Simulation(6, steps=60).rows))
    shutil.rmtree(run / "rows" / "node=node%201")
    (run / "nodes" / "node%201.json").unlink()
    found = audit_run(run, spark, "delivery")
    assert any("'node 1'" in note for note in found.notes)
    assert not found.audits["delivery"].violations
    assert found.audits["delivery"].unsure


def test_a_run_that_is_still_written(spark: Any, tmp_path: Path) -> None:
    """What has not come yet is no loss; a message that others have overtaken is."""
    rows = number(Simulation(8, steps=80).rows)
    half = rows[: len(rows) // 2]
    found = audit_run(write(tmp_path / "run", half, ended_ns=None), spark, "interest", "delivery")
    assert any("still writing" in note for note in found.notes)
    assert not found.audits["delivery"].violations
    assert not found.audits["interest"].violations


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    run = write(tmp_path / "run", number(Simulation(6, steps=10).rows))
    file = next((run / "rows").glob("*/*.parquet"))
    table = pq.read_table(file, partitioning=None)
    newer = {**table.schema.metadata, b"weft.schema": str(VERSION + 1).encode()}
    pq.write_table(table.replace_schema_metadata(newer), file)
    with pytest.raises(RecordingError, match=f"version {VERSION + 1} .*reads versions up to {VERSION}"):
        review(run)


def test_an_empty_run(tmp_path: Path) -> None:
    run = write(tmp_path / "run", [])
    (run / "rows").mkdir()
    with pytest.raises(ReviewError, match="the run is empty"):
        review(run)


# The command


@pytest.fixture
def with_session(spark: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """The command, in the session that is there."""

    def run(*arguments: str) -> int:
        def reviewed(*given: Any, **options: Any) -> Any:
            return review(*given, **options | {"session": spark})

        monkeypatch.setattr("weft.review.review", reviewed)
        return main(["review", *arguments])

    return run


def test_the_command(
    with_session: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 1 with witnesses; what JSON says, advice included; the causal audit of one order alone; the report."""
    rows = faulty_run(seed=2, steps=150, times=1)
    run = str(write(tmp_path / "run", rows))
    report = tmp_path / "report.html"
    assert with_session(run, "--json", "--witnesses", "1", "--orders", "CO,CT", "--html", str(report)) == 1
    captured = capsys.readouterr()
    said = json.loads(captured.out)
    assert list(said) == ["run", "status", "rows", "dropped_rows", "notes", "data", "audits", "advice"]
    assert said["rows"] == len(rows)
    for audit in said["audits"].values():
        assert len(audit["witnesses"]) == min(1, audit["violations"])
    assert set(said["audits"]["causal"]["by_order"]) == {"CO"}
    assert "deadlines: " in captured.err
    assert "stages" in captured.err
    assert said["advice"]["domains"]["costs"]["new"] <= said["advice"]["domains"]["costs"]["old"]
    assert "none_because" in said["advice"]["grid"]  # the run has no object model
    assert said["advice"]["schedule"]["operations"]
    assert isinstance(said["advice"]["orders"], list)
    assert f"the report is in {report}" in captured.err
    page = report.read_text()
    assert page.count('<details class="witness"') == sum(
        len(one["witnesses"]) for one in said["audits"].values()
    )
    assert "What this report leaves out" in page


def test_what_the_command_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Before Spark starts."""
    for html in (tmp_path, tmp_path / "nowhere" / "report.html"):
        assert main(["review", str(tmp_path), "--html", str(html)]) == 2
        assert f"--html {html}: " in capsys.readouterr().err
    assert main(["review", str(tmp_path / "nowhere")]) == 2
    assert "there is no such run" in capsys.readouterr().err
    with pytest.raises(SystemExit) as refused:
        main(["review", str(tmp_path), "--orders", "XO"])
    assert refused.value.code == 2
