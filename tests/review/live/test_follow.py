"""Following runs that are being written (issues 8 and 21, item 7), with Spark; in the group of the other Spark tests."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from review.checks import faulty_run
from review.live.growing import Growing
from review.live.test_live import expected, is_known, told, with_ends
from review.simulation import number, write
from weft.cli import main
from weft.cli.analyse.review import as_lines
from weft.host.storage import place_of
from weft.review import ReviewError, follow
from weft.review.follow.command import watch
from weft.review.follow.query import Streaming
from weft.review.kernels.records import Violation

ORDERS = ("RO", "CO", "CT")


@pytest.mark.xdist_group("spark")
@pytest.mark.timeout(600)
def test_growing_runs_are_followed_to_their_ends(spark: Any, tmp_path: Path) -> None:
    """Two runs at once, and whoever follows is stopped in the middle, and goes on: all that is wrong is told, once."""
    rows = {seed: faulty_run(seed=seed, steps=80, times=1) for seed in (7, 8)}
    growing = {
        seed: Growing(tmp_path / str(seed) / "small" / "run", number(with_ends(of)))
        for seed, of in rows.items()
    }
    runs = {str(one.run): seed for seed, one in growing.items()}
    found: dict[int, list[Violation]] = {seed: [] for seed in rows}
    said: list[str] = []

    def tell(run: str, findings: list[Violation]) -> None:
        found[runs[run]].extend(findings)

    class Stopped(Exception):
        pass

    def say(text: str) -> None:
        said.append(text)
        if not [one.grow() for one in growing.values()]:
            return
        if len(said) == 12:
            raise Stopped

    def streaming() -> Streaming:
        return Streaming(spark, [place_of(run) for run in runs], ORDERS, tell, tmp_path / "checkpoint")

    with pytest.raises(Stopped), streaming() as first:
        watch(first, say, list(runs))
    with streaming() as second:
        watch(second, say, list(runs))
        standings = second.standings()
    for run, seed in runs.items():
        counts = Counter(told(finding) for finding in found[seed] if is_known(finding))
        assert set(counts) == expected(rows[seed])
        assert set(counts.values()) <= {1}
        assert standings[run].told.rows == len(rows[seed]) + 2


@pytest.mark.soak
@pytest.mark.xdist_group("spark")
@pytest.mark.timeout(600)
def test_in_the_end_the_whole_run_is_reviewed(spark: Any, tmp_path: Path) -> None:
    """With the same counts."""
    growing = Growing(tmp_path / "small" / "run", number(with_ends(faulty_run(seed=7, steps=250, times=1))))
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
    growing = Growing(tmp_path / "small" / "run", faulty_run(seed=7, steps=120, times=1))
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
    run = write(tmp_path / "run", number(faulty_run(seed=6, steps=10, times=1)))
    with pytest.raises(ReviewError, match="does not run over Spark Connect"):
        follow(run, "sc://somewhere")
