"""Many runs reviewed into a lake (issue 21, items 4 and 5): only what is new, in any order, nothing lost, no run for another."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from review.lake.nights import AUDITS, describe, night, reviewing
from review.lake.results import current, rounded
from support import object_store
from weft.cli import main
from weft.host.processes import this_process
from weft.host.storage import place_of
from weft.review import judge, sql
from weft.review.errors import ReviewError
from weft.review.lake.store import ParquetLake
from weft.review.many import finding, judging
from weft.review.many import reviewing as many
from weft.review.many import rows as made_rows
from weft.review.many.finding import default_lake, look, runs_below
from weft.review.many.judging import ReviewOptions
from weft.review.many.reviewing import ManyReviews, review_many

HERE = {"path", "data_state"}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("night")
    night(top)
    return top


@pytest.fixture
def top(recorded: Path, tmp_path: Path) -> Path:
    """A copy that may be changed."""
    return Path(shutil.copytree(recorded, tmp_path / "runs"))


def reviewed(top: Path, lake: ParquetLake | None = None, again: bool = False, **more: Any) -> ManyReviews:
    runs = [look(place) for place in runs_below([str(top)])]
    return review_many(runs, lake or ParquetLake(place_of(top / "lake")), ReviewOptions(), again, **more)


@pytest.fixture(scope="module")
def undisturbed(recorded: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The rows of all tables."""
    lake = ParquetLake(place_of(tmp_path_factory.mktemp("lake")))
    reviewed(recorded, lake)
    return current(lake)


def test_the_lake_says_what_the_review_of_each_run_says(recorded: Path, undisturbed: dict[str, Any]) -> None:
    """Status, violations with their columns, and findings that are unsure are those of `judge`, run by run."""
    verdicts = {Path(verdict.run).name: verdict for verdict in judge(runs_below([str(recorded)]))}
    assert {row["run"]: row["status"] for row in undisturbed["run"]} == {
        name: verdict.status for name, verdict in verdicts.items()
    }
    for name, verdict in verdicts.items():
        mine = [row for row in undisturbed["violation"] if row["run"] == name]
        assert len(mine) == len(verdict.findings)
        for finding_ in verdict.findings:
            told = {key: value for key, value in finding_.items() if value is not None}
            assert any(all(row[key] == value for key, value in told.items()) for row in mine), (told, mine)


def test_the_planted_faults_are_found_with_the_rows_that_prove_them(undisturbed: dict[str, Any]) -> None:
    """Of each violation there are recorded rows, those of its message among them; runs without fault have no violation."""
    found = {int(row["run"][-10:]) for row in undisturbed["violation"]}
    assert found == set(AUDITS)
    for row in undisturbed["violation"]:
        assert row["audit"] in (AUDITS[int(row["run"][-10:])], "interest", "causal")
        proof = [
            one
            for one in undisturbed["witness"]
            if all(one[name] == row[name] for name in ("run", "audit", "number"))
        ]
        assert proof
        if row["message"] is not None:
            assert (row["source"], row["message"]) in {(one["source"], one["message"]) for one in proof}


def test_the_rows_of_traffic_add_up_to_the_run(undisturbed: dict[str, Any]) -> None:
    """`messages` and `deliveries` of a run are the sums of its sides, and the latencies count each delivery once."""
    for run in undisturbed["run"]:
        for side, name in (("sent", "messages"), ("received", "deliveries")):
            rows = [row for row in undisturbed["traffic"] if (row["run"], row["side"]) == (run["run"], side)]
            assert sum(row["messages"] for row in rows) == run[name] > 0
        counts = {}
        for span in ("run", "interval"):
            wanted = (run["run"], "deliver", span)
            rows = [row for row in undisturbed["latency"] if (row["run"], row["what"], row["span"]) == wanted]
            counts[span] = sum(row["count"] for row in rows)
        assert counts["run"] == counts["interval"] > 0


def test_any_order_and_any_batches_give_the_same_rows(
    recorded: Path, tmp_path: Path, undisturbed: dict[str, Any]
) -> None:
    """Law: run by run, backwards, or all at once."""
    chance = random.Random(3)
    lake = ParquetLake(place_of(tmp_path))
    runs = [look(place) for place in runs_below([str(recorded)])]
    chance.shuffle(runs)
    while runs:
        count = chance.randint(1, 3)
        review_many(runs[:count], lake, ReviewOptions())
        del runs[:count]
    assert current(lake) == undisturbed


def test_spark_gives_the_same_rows(
    recorded: Path, tmp_path: Path, undisturbed: dict[str, Any], spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Packed many to a task, and also spread as large ones are: the same tables."""
    packed = ParquetLake(place_of(tmp_path / "packed"))
    reviewed(recorded, packed, session=spark)
    assert current(packed) == undisturbed
    monkeypatch.setattr(many, "SMALL_RUN", 0)
    spread = ParquetLake(place_of(tmp_path / "spread"))
    runs = [look(place) for place in runs_below([str(recorded)])][:1]
    review_many(runs, spread, ReviewOptions(), session=spark)
    names = {run.place.name for run in runs}
    wanted = {name: [row for row in rows if row["run"] in names] for name, rows in undisturbed.items()}
    found = current(spread)
    for name, rows in wanted.items():
        assert rounded(found[name]) == rounded(rows), name


def test_runs_and_lake_in_a_store(
    recorded: Path, undisturbed: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Must show: from s3:// the same tables; DuckDB asks them there, and a second review finds nothing new."""
    for name, value in object_store.credentials().items():
        monkeypatch.setenv(name, value)
    runs = sorted(path.parent for path in recorded.glob("*/*/run.json"))[1:3]
    with object_store.object_store() as store:
        top = place_of(store.address("lake/runs"))
        for run in runs:
            for path in (one for one in run.rglob("*") if one.is_file() and "review" not in one.parts):
                (top / str(path.relative_to(recorded))).write(path.read_bytes())
        found = [look(place) for place in runs_below([top.address])]
        assert default_lake(found, [top.address]) == top / "lake"
        lake = ParquetLake(top / "lake")
        review_many(found, lake, ReviewOptions())
        names = {run.name for run in runs}
        wanted = {name: [row for row in rows if row["run"] in names] for name, rows in undisturbed.items()}
        assert current(lake) == wanted
        again = review_many(found, lake, ReviewOptions())
        assert all(result.known for result in again.results)
        told = sql("select run, status from run", lake.place.address, "duckdb").to_pylist()
        assert {row["run"] for row in told} == names


# What is new


def test_only_what_is_new_is_reviewed(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once more: nothing; a run that grew, another Weft, other options or --again: that."""
    asked: list[str] = []
    judge_run = judging.judge_run

    def counted(key: Any, *more: Any) -> Any:
        asked.append(key.run)
        return judge_run(key, *more)

    monkeypatch.setattr(many, "judge_run", counted)
    runs = sorted(path.parent for path in top.glob("*/*/run.json"))
    first = reviewed(top)
    assert sorted(asked) == sorted(run.name for run in runs)
    asked.clear()
    second = reviewed(top)
    assert asked == []
    assert [result.known for result in second.results] == [True] * len(runs)
    assert second.worst == first.worst == "violated"
    told = {result.key.run: (result.status, result.rows, result.violations) for result in first.results}
    assert {r.key.run: (r.status, r.rows, r.violations) for r in second.results} == told
    (runs[2] / "review").mkdir()
    (runs[2] / "review" / "review.json").write_text("{}")
    (runs[2] / "nodes" / "node 0.idle").touch()
    reviewed(top)
    assert asked == []
    for path in (runs[0] / "rows").glob("*/*.parquet"):
        shutil.copy(path, path.with_name("9-000099.parquet"))
        break
    reviewed(top)
    assert asked == [runs[0].name]
    asked.clear()
    monkeypatch.setattr("weft.__version__", "99")
    reviewed(top)
    assert len(asked) == len(runs)
    asked.clear()
    reviewed(top, again=True)
    assert len(asked) == len(runs)


def test_in_the_order_of_age(top: Path) -> None:
    """The oldest first."""
    found = reviewed(top).results
    assert [one.key.start_ns for one in found] == sorted(one.key.start_ns for one in found)
    assert len({one.key.start_ns for one in found}) > 1


def test_a_run_that_fails_is_a_row_with_its_error(top: Path) -> None:
    """It does not keep the others from being reviewed, and is tried again the next time."""
    runs = sorted(path.parent for path in top.glob("*/*/run.json"))
    shutil.rmtree(runs[1] / "rows")
    shutil.rmtree(runs[1] / "manifest", ignore_errors=True)
    found = reviewed(top)
    failed = {result.key.run: result.error for result in found.results if result.status == "failed"}
    assert list(failed) == [runs[1].name]
    assert "the run is empty" in failed[runs[1].name]
    rows = current(ParquetLake(place_of(top / "lake")))["run"]
    assert {row["run"] for row in rows if row["status"] == "failed"} == {runs[1].name}
    assert len(rows) == len(runs)
    assert [result.known for result in reviewed(top).results].count(False) == 1


def test_a_defect_in_one_run_does_not_stop_the_rest(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is raised is told with its place."""
    tables_of = made_rows.tables_of
    runs = sorted(path.parent.name for path in top.glob("*/*/run.json"))

    def defect(key: Any, *more: Any) -> Any:
        if key.run == runs[0]:
            raise ZeroDivisionError("nobody thought of that")
        return tables_of(key, *more)

    monkeypatch.setattr(judging, "tables_of", defect)
    found = {result.key.run: result for result in reviewed(top).results}
    assert found[runs[0]].status == "failed"
    assert found[runs[0]].error.startswith("ZeroDivisionError: nobody thought of that (")
    assert [result.status for result in found.values()].count("failed") == 1


def test_runs_that_are_still_written_are_passed_over_and_named(top: Path) -> None:
    """Its process is there; or it is on another machine, and something came lately.  One that was cut off is reviewed."""
    runs = sorted(path.parent for path in top.glob("*/*/run.json"))
    elsewhere = {"host": "far away", "pid": 1, "started": 1}
    gone = this_process() | {"pid": 2**22 + 1}
    for run, process in zip(runs, (this_process(), elsewhere, gone), strict=False):
        for path in (run / "nodes").glob("*.json"):
            path.write_text(json.dumps(json.loads(path.read_text()) | {"ended_ns": None, "process": process}))
    found = reviewed(top)
    assert set(found.passed_over) == {str(runs[0]), str(runs[1])}
    assert "still writing" in found.passed_over[str(runs[0])]
    assert "another machine" in found.passed_over[str(runs[1])]
    assert runs[2].name in {result.key.run for result in found.results}
    later = look(place_of(runs[1]), now=2e10)
    assert later.going_on == ""


def test_two_runs_of_one_name_are_not_mixed(top: Path) -> None:
    """A copy elsewhere below the folder is passed over, with the name of the first."""
    one = sorted(top.glob("Range/*"))[0]
    shutil.copytree(one, top / "copies" / one.name)
    found = reviewed(top)
    assert list(found.passed_over) == [str(top / "copies" / one.name)] or list(found.passed_over) == [
        str(one)
    ]
    assert len(found.results) == 4


def test_the_default_lake(top: Path, tmp_path: Path) -> None:
    """Beside the folders of the federations, whichever of them is named; of several folders it must be said."""
    runs = runs_below([str(top)])
    assert default_lake([look(run) for run in runs], [str(top)]) == place_of(top / "lake")
    for run in runs:
        describe(run.local or Path(), federation=run.parent.name)
    assert default_lake([look(run) for run in runs]) == place_of(top / "lake")
    assert default_lake([look(runs[0])]) == place_of(top / "lake")
    other = shutil.copytree(runs[0].local or Path(), tmp_path / "elsewhere" / "x" / "run")
    with pytest.raises(ReviewError, match=r"several folders.*say by --lake"):
        default_lake([look(run) for run in (runs[0], place_of(other))])
    with pytest.raises(ReviewError, match="no runs below"):
        runs_below([str(tmp_path / "elsewhere" / "x" / "run" / "nodes")])
    with pytest.raises(ReviewError, match="there is no such folder"):
        runs_below([str(tmp_path / "nowhere")])


def test_the_days_and_federations_of_runs(undisturbed: dict[str, Any]) -> None:
    """Partitions are by the name that the run says, and the day in UTC on which it began."""
    found = {(row["federation"], row["date"]) for rows in undisturbed.values() for row in rows}
    days = {"Range": ("2001-09-09", "2001-09-11"), "Harbour / west": ("2001-09-09", "2001-09-10")}
    assert found == {(federation, day) for federation, those in days.items() for day in those}


# The command


def test_the_command(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 1 for the worst, a line for each run and a summary; once more nothing is new; a single run goes into the lake."""
    assert main(["review", str(top)]) == 1
    said = capsys.readouterr().out
    assert said.count("\n") == 6
    assert "violated" in said
    assert f"4 runs (1 ok, 3 violated), 4 of them new; results: {top / 'lake'}" in said
    assert main(["review", str(top), "--json"]) == 1
    *lines, last = capsys.readouterr().out.splitlines()
    assert [json.loads(line)["known"] for line in lines] == [True] * 4
    assert json.loads(last)["summary"]["new"] == 0
    good = [json.loads(line)["run"] for line in lines if json.loads(line)["status"] == "ok"]
    assert main(["review", *good, good[0], "--lake", str(top / "other"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["summary"]["status"] == {"ok": 1}
    assert main(["review", str(top), "--html", "report.html"]) == 2
    assert "--html is for one run" in capsys.readouterr().err
    assert main(["review", str(top / "nowhere"), str(top)]) == 2
    assert "there is no such folder" in capsys.readouterr().err
    assert main(["lake", "compact", "--lake", str(top / "lake")]) == 0
    assert main(["lake", "compact", "--lake", str(top / "nowhere")]) == 2
    assert (finding.runs_below([str(top)])[0].local or Path()).joinpath("review", "review.json").exists()


# Nothing is lost


def test_two_at_once(top: Path, undisturbed: dict[str, Any]) -> None:
    """Two reviews into one lake: both come to their end, with the result of one."""
    both = [reviewing(top) for _ in range(2)]
    told = [process.communicate() for process in both]
    assert [process.returncode for process in both] == [1, 1], told
    assert all(json.loads(out.splitlines()[-1])["summary"]["runs"] == 4 for out, _ in told)
    assert current(ParquetLake(place_of(top / "lake"))) == undisturbed
