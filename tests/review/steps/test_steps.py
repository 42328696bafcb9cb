"""Issue 21, item 3: audits as declared steps: what is declared is what is done."""

from __future__ import annotations

import dataclasses
import json
import pickle
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from review.checks import faulty_run, reviewed_here
from review.simulation import Row, Simulation, number, plant, write
from support.random_recorded_rows import EMPTY, FED, Story, write_run
from weft.cli import main
from weft.host.recording.row_files import row_tables
from weft.recorder import COLUMNS
from weft.review.advice import traffic
from weft.review.advice.advice import advise, inputs_of
from weft.review.advice.rows import AdviceRows
from weft.review.audits import causal_log
from weft.review.kernels import arrow
from weft.review.review import AUDITS, STEPS
from weft.review.spark import tasks
from weft.review.spark.reading import open_for_review
from weft.review.steps import (
    LOOKAHEAD,
    RECORDED,
    TIME,
    AuditStep,
    AuditSteps,
    StepKind,
    StepRunner,
    plan_data,
)

EVERY = {step.name: step for audit in STEPS for step in audit.steps}
NAMES = {"time_int": TIME, "lookahead_int": LOOKAHEAD}


def test_every_audit_is_declared() -> None:
    """And the survey, which all of them share, and the advice."""
    assert {audit.audit for audit in STEPS} == {"survey", *AUDITS, "advice"}


def test_a_name_means_one_step() -> None:
    """Those that audits share are the same."""
    for audit in STEPS:
        for step in audit.steps:
            assert EVERY[step.name] is step


@pytest.mark.parametrize("step", EVERY.values(), ids=EVERY)
def test_a_step_can_be_sent_to_another_process(step: AuditStep) -> None:
    """Its function is one of a module; it reads columns that are recorded, and gives a schema that Arrow knows."""
    assert pickle.loads(pickle.dumps(step.function)) is step.function
    assert set(step.columns) <= {*(column.name for column in COLUMNS), TIME, LOOKAHEAD}
    if step.schema:
        arrow.schema_of(step.schema.format(time="bigint"))


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> dict[str, set[str]]:
    """By step that is taken the columns that its tasks read."""
    read: dict[str, set[str]] = {}
    now: list[str] = []
    works, then = StepRunner.works, StepRunner.then

    def tagged(step: AuditStep, work: Callable[[], Iterator[Any]]) -> Iterator[Any]:
        now.append(step.name)
        yield from list(work())
        now.pop()

    def watched_works(runner: StepRunner, step: AuditStep, *arguments: Any) -> list[Any]:
        read.setdefault(step.name, set())
        return [lambda work=work: tagged(step, work) for work in works(runner, step, *arguments)]

    def watched_then(runner: StepRunner, step: AuditStep, *arguments: Any) -> Any:
        read.setdefault(step.name, set())
        return then(runner, step, *arguments)

    def watched_read(file: Any, columns: Any, *rest: Any) -> Any:
        if now:  # what is looked at before there are audits is no step
            read[now[-1]] |= {NAMES.get(name, name) for name in columns}
        return row_tables(file, columns, *rest)

    monkeypatch.setattr(causal_log, "AT_ONCE", 0)
    monkeypatch.setattr(traffic, "MOST_MOVES", 0)
    monkeypatch.setattr(StepRunner, "works", watched_works)
    monkeypatch.setattr(StepRunner, "then", watched_then)
    monkeypatch.setattr(tasks, "row_tables", watched_read)
    return read


def _numbered(rows: list[Row]) -> list[Row]:
    return number(sorted(rows, key=lambda row: row["epoch_ns"]))


NOT_HERE = {"by tiles", "sent there", "scan all", "home", "registered"}
"""What small runs with Spark's help do not need, and runs without calls."""


def test_what_is_declared_is_what_is_done(tmp_path: Path, watched: dict[str, set[str]]) -> None:
    """Steps that are taken read the columns that they declare, and no task reads rows for none of them."""
    for stamped in (True, False):
        rows = faulty_run(seed=3, steps=250, times=3, stamped=stamped)
        reviewed_here(write(tmp_path / str(stamped), rows, rows_per_file=12), rows_per_part=40)
    rows = Simulation(11, steps=120).rows
    for _ in range(4):
        plant(rows, "late", random.Random(5))
    reviewed_here(write(tmp_path / "vectors", _numbered(rows), rows_per_file=1), rows_per_part=1)
    _advised(tmp_path)
    for name, columns in watched.items():
        assert columns == set(EVERY[name].columns), name
    folds = {name for name, step in EVERY.items() if step.kind is StepKind.FOLD}
    assert set(EVERY) - set(watched) <= folds | NOT_HERE


def _advised(folder: Path) -> None:
    """Advice, on a run in which regions move often and operations were dispatched."""
    story = Story(7, steps=30)
    mono = {
        "name": "one",
        "operation": "work",
        "node": "S1",
        "source": 1,
        "message": 1,
        "cause_source": 1,
        "cause": 1,
    }
    steps = [
        {**EMPTY, **mono, "seq": 1000 + at, "epoch_ns": 10**9, "mono_ns": at, "kind": kind}
        for at, kind in enumerate(("dispatch", "done"))
    ]
    opened = open_for_review(write_run(folder / "advised", story.rows + steps, FED))
    advise(AdviceRows.of(None, opened), inputs_of(opened.run))


def test_a_graph_that_cannot_be_is_refused() -> None:
    """Inputs come before what takes them; only a keyed step has a key; columns are read of recorded rows."""
    step = AuditStep("one", StepKind.MAP, "something", (RECORDED,), len, "seq bigint", ("seq",))
    AuditSteps("some", "what?", (step, dataclasses.replace(step, name="two", inputs=("one",), columns=())))
    for wrong in (
        dataclasses.replace(step, inputs=("two",), columns=()),
        dataclasses.replace(step, key=("seq",)),
        dataclasses.replace(step, kind=StepKind.KEYED),
        dataclasses.replace(step, columns=()),
    ):
        with pytest.raises(ValueError, match="some: step 'one'"):
            AuditSteps("some", "what?", (wrong,))
    with pytest.raises(ValueError, match="taken"):
        AuditSteps("some", "what?", (step, step))


def test_the_plan_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """For people and for machines; no run is needed."""
    assert main(["review", "--plan"]) == 0
    text = capsys.readouterr().out
    assert all(f"{audit.audit}: {audit.question}" in text for audit in STEPS)
    assert "scan (scan): what is late" in text
    assert main(["review", "--plan", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == plan_data(STEPS)


def test_a_review_needs_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["review"]) == 2
    assert "name the folder of a run" in capsys.readouterr().err
