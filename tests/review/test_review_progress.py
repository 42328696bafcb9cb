"""Issue 8: what a review says while it works counts the stages of that review, and of no other."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import weft
from review.simulation import Simulation, write
from support import recorded_runs
from weft import EmbeddedNode
from weft.cli.data import object_model
from weft.review.audits.context import Context
from weft.review.review import run_audits
from weft.review.spark.reading import open_for_review, read_rows
from weft.review.spark.session import progress

RANGE = object_model("range.xml")

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(600)]


class Jobs:
    """Stands in for a Spark session: `work` is a job of so many stages, in the group that was set last."""

    def __init__(self) -> None:
        self.sparkContext = self
        self.jobs: dict[str, list[int]] = {}
        self.group = ""
        self.status = "SUCCEEDED"

    def setJobGroup(self, group: str, _: str) -> None:
        self.group = group

    def work(self, stages: int) -> None:
        self.jobs.setdefault(self.group, []).append(stages)

    def statusTracker(self) -> Any:
        return SimpleNamespace(
            getJobIdsForGroup=lambda group: self.jobs.get(group, []),
            getJobInfo=lambda stages: SimpleNamespace(status=self.status, stageIds=list(range(stages))),
            getStageInfo=lambda stage: None,
        )


def last_words(session: Any, title: str, stages: int, because: str = "") -> str:
    said: list[str] = []
    with progress(session, title, said.append) as idle:
        if stages:
            session.work(stages)
        idle.because = because
    assert said[-1].endswith("\n")
    return re.sub(r"\d\.\d s", "… s", said[-1].strip())


def test_stages_are_counted_from_the_beginning_of_each() -> None:
    """One session, title after title and the same title again; why there is nothing to count, if somebody knows."""
    session = Jobs()
    assert last_words(session, "causal", 4) == "causal: 4/4 stages, … s"
    assert last_words(session, "time", 2) == "time: 2/2 stages, … s"
    assert last_words(session, "causal", 3) == "causal: 3/3 stages, … s"
    assert last_words(session, "delivery", 0, "counted before") == "delivery: counted before"
    assert last_words(session, "delivery", 1, "counted before") == "delivery: 1/1 stages, … s"
    assert last_words(session, "advice", 0) == "advice: 0/0 stages, … s"


def test_what_has_ended_is_done_even_if_spark_has_not_counted_it_yet() -> None:
    session = Jobs()
    session.status = "RUNNING"
    assert last_words(session, "data", 1) == "data: 1/1 stages, … s"
    said: list[str] = []

    def breaks_off() -> None:
        with progress(cast(Any, session), "data", said.append):
            session.work(2)
            raise RuntimeError("in between")

    with pytest.raises(RuntimeError):
        breaks_off()
    assert said[-1].startswith("data: 0/2 stages")


def test_spark_connect_has_no_stages_to_tell() -> None:
    assert last_words(SimpleNamespace(), "causal", 0) == "causal: … s"
    assert last_words(SimpleNamespace(), "delivery", 0, "counted before") == "delivery: counted before"


ADDS_UP = "what was sent and what was delivered add up, as counted before for another audit"


def recorded(folder: Path) -> Path:
    """A recorded run of two federates, one of which advances time; all is delivered just as it was sent."""
    node = EmbeddedNode()
    node.record(folder)
    with (
        weft.join("F", "north", fom=RANGE, host=node) as north,
        weft.join("F", "tower", fom=RANGE, host=node) as tower,
    ):
        tower.subscribe("Hit")
        north.rti.enable_time_regulation(north.rti.get_time_factory().make_interval(1))
        while north.rti.evoke_callback(0.0):
            pass
        for _ in range(5):
            north.send("Hit", Target="one")
        while tower.rti.evoke_callback(0.0):
            pass
    node.stop_recording()
    (run,) = recorded_runs.runs(folder)
    return run


def told_twice(session: Any, run: Path) -> dict[str, str]:
    """What the audits say at their end, which is the same in a second review of one session."""
    told: list[list[str]] = []
    for _ in range(2):
        said: list[str] = []
        opened = open_for_review(run)
        context = Context(session, opened, read_rows(session, opened))
        run_audits(context, said.append, ("time", "delivery", "deadlines"))
        told.append([re.sub(r"\d+\.\d s", "… s", line) for line in said if line.endswith("\n")])
    assert told[0] == told[1]
    return dict(line.strip().split(": ", 1) for line in told[0])


@pytest.mark.soak
def test_two_reviews_in_one_session(spark: Any, tmp_path: Path) -> None:
    """As `weft demo` does: the second says what the first said; audits that need no pass of their own say why."""
    by = told_twice(spark, recorded(tmp_path))
    assert re.fullmatch(r"(\d+)/\1 stages, … s", by["time"])
    assert by["delivery"] == ADDS_UP
    assert by["deadlines"] == "nothing was dispatched by priority or deadline"


@pytest.mark.soak
def test_what_is_delivered_in_another_form_takes_a_pass(spark: Any, tmp_path: Path) -> None:
    """Received at a class above, or with some of the attributes: such messages are looked at one by one."""
    rows = [one for one in Simulation(5, steps=60).rows if one["kind"] not in ("dispatch", "done", "miss")]
    by = told_twice(spark, write(tmp_path / "run", rows))
    assert re.fullmatch(r"(\d+)/\1 stages, … s", by["time"])
    assert re.fullmatch(r"(\d+)/\1 stages, … s", by["delivery"])
