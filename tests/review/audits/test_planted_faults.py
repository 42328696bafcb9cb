"""Faults planted in runs that were really recorded: each is found, with whose fault it is, and nothing else (issue 18, 2.3)."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import weft
from review.planted import (
    BLAMED,
    DAMAGES,
    FILES,
    BadFile,
    Damage,
    Found,
    NoPlace,
    Rows,
    granted_too_much_at_one_node,
    lost_on_its_way,
    not_addressed_though_subscribed,
    read,
)
from support import recorded_runs
from weft import EmbeddedNode
from weft.cli.analyse.review import EXITS, as_text
from weft.cli.data import object_model
from weft.host.recording.manifest import FOLDER
from weft.host.recording.runs import find_runs, open_run, read_rows
from weft.prove import Campaign, Simulated, proving_model, read_script, words_of
from weft.review import AUDITS, Verdict, judge
from weft.review.audits.context import Context, Result
from weft.review.live.following import COLUMNS, Following
from weft.review.report import html_report
from weft.review.review import run_audits
from weft.review.spark.reading import Opened, open_for_review

RANGE = object_model("range.xml")
RUNS = ("mesh, integer time", "fabric, float time")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Three nodes and five federates, once with each logical time."""
    folder = tmp_path_factory.mktemp("recorded")
    return {
        RUNS[0]: recorded_runs.over_nodes(folder / "mesh", 6, steps=200, parade=True),
        RUNS[1]: recorded_runs.over_nodes(
            folder / "fabric", 4, steps=200, time="HLAfloat64Time", fabric=True, parade=True
        ),
    }


def copied(recorded: dict[str, Path], name: str, folder: Path) -> Path:
    return Path(shutil.copytree(recorded[name], folder / recorded[name].name))


def planted(recorded: dict[str, Path], folder: Path, fault: Damage) -> tuple[Path, Found]:
    """In one of the runs, or the other if that has no place for it."""
    for turn in (0, 1):
        run = copied(recorded, RUNS[(DAMAGES.index(fault) + turn) % 2], folder / str(turn))
        rows = Rows(run)
        with contextlib.suppress(NoPlace):
            wanted = fault.do(rows)
            rows.write()
            return run, wanted
    raise AssertionError(f"no run has a place for this fault: {fault.name}")


def blamed(finding: Mapping[str, Any]) -> tuple[str, str, int]:
    what = finding.get("what", "late")
    return finding["audit"], what, finding[BLAMED.get(what, "federate")]


def told(verdict: Verdict) -> set[tuple[str, str, int]]:
    return {blamed(one) for one in verdict.findings}


@pytest.mark.parametrize("name", RUNS)
def test_a_run_without_faults_is_clean(recorded: dict[str, Path], name: str) -> None:
    (verdict,) = judge([recorded[name]])
    assert verdict.clean, str(verdict)


def test_there_are_enough_kinds() -> None:
    assert len(DAMAGES) + len(FILES) >= 40


def followed(run: Path) -> set[tuple[str, str, int]]:
    """What is told while the files of a run come one by one."""
    opened = open_run(run)
    following = Following(Opened(opened, (), frozenset()).time_column, ("CO", "CT"))
    following.frontier.expect(opened.nodes)
    found = []
    nodes = [
        pa.concat_tables([read_rows(f, COLUMNS) for f in opened.files if f.node == n]) for n in opened.nodes
    ]
    files = [table.slice(at, 50) for table in map(in_one_time, nodes) for at in range(0, len(table), 50)]
    for table in sorted(files, key=lambda table: int(table["epoch_ns"][-1].as_py())):
        found += following.feed(table.combine_chunks())
    return {blamed(one) for one in found}


def in_one_time(table: Any) -> Any:
    """All rows of a node as Spark hands them on; its own ones, which go by the true clock, in the virtual time of the others."""
    epoch = table["epoch_ns"].to_pylist()
    epoch[0], epoch[-1] = epoch[1], epoch[-2]
    plain = {
        field.name: table[field.name].cast(pa.string())
        if pa.types.is_dictionary(field.type)
        else table[field.name]
        for field in table.schema
    }
    return pa.table(plain | {"epoch_ns": pa.array(epoch, pa.int64())})


TOLD_AT_ONCE = {
    *("other time", "after resignation", "beyond request", "grant not as requested", "grant goes back"),
    *("below promise", "items missing", "items extra", "other class", "sent twice"),
    *("past", "decreasing", "duplicate", "unsent", "late", "extra"),
}

TOLD_LATER = {"grant above LBTS", "lost", "missed"}
SHOWN = {  # by rows that show it, in any order in which they come: the rest may be left to the review
    "lost in receive order on its way",
    "lost in time stamp order",
    "not addressed just after its receiver subscribed again",
    "not addressed just after its receiver s region was back",
    *(fault.name for fault in DAMAGES if "grant" in fault.name and "resigns at once" not in fault.name),
}


def test_each_rule_that_the_documents_name_is_told_while_the_run_goes_on() -> None:
    """docs/how-to/review.md, "Following": the rules are those of the review."""
    text = (Path(__file__).parents[3] / "docs/how-to/review.md").read_text()
    rows = [
        line.split(" | ")
        for line in text.splitlines()
        if line.startswith(("| time |", "| interest |", "| delivery |"))
    ]
    named = {rule for row in rows for rule in re.findall("`([^`]+)`", row[2])}
    assert len(rows) == 3
    assert named | {"late"} == TOLD_AT_ONCE | TOLD_LATER


@pytest.mark.parametrize("name", RUNS)
def test_nothing_is_told_while_a_run_without_faults_goes_on(recorded: dict[str, Path], name: str) -> None:
    assert followed(recorded[name]) == set()


@pytest.mark.parametrize("fault", DAMAGES, ids=[fault.name for fault in DAMAGES])
def test_a_fault_in_the_rows_is_found_and_nothing_else(
    recorded: dict[str, Path], tmp_path: Path, fault: Damage
) -> None:
    """`--follow` goes by the rules of the review, and tells nothing that it does not; what is missing may be left to it."""
    run, wanted = planted(recorded, tmp_path, fault)
    (verdict,) = judge([run])
    assert told(verdict) == wanted, str(verdict)
    assert verdict.status == "violated"
    assert not verdict.unsure
    assert not verdict.notes
    meanwhile = followed(run)
    assert meanwhile <= wanted
    assert meanwhile >= {one for one in wanted if one[1] in TOLD_AT_ONCE or fault.name in SHOWN}


@pytest.mark.parametrize("ends", [False, True], ids=["asks again", "disables time regulation"])
@pytest.mark.parametrize("name", RUNS)
def test_on_several_machines_the_order_of_a_node_s_rows_tells(
    recorded: dict[str, Path], tmp_path: Path, name: str, ends: bool
) -> None:
    """A grant above what somebody at the same node promised, who promises more, or nothing, within a second."""
    run = copied(recorded, name, tmp_path)
    rows = Rows(run)
    for row in rows.nodes[max(rows.nodes)]:
        row["mono_ns"] += 10**10
    rows.write()
    (verdict,) = judge([run])
    assert verdict.clean, str(verdict)
    wanted = granted_too_much_at_one_node(rows, ends)
    rows.write()
    (verdict,) = judge([run])
    assert told(verdict) == wanted, str(verdict)


def without_commands(run: Path) -> Path:
    """As the first version of the row schema had it."""
    for path in (run / "rows").glob("*/*.parquet"):
        table = read(path)
        old = {**table.schema.metadata, b"weft.schema": b"1"}
        pq.write_table(table.drop_columns(["command"]).replace_schema_metadata(old), path)
    shutil.rmtree(run / FOLDER)
    return run


@pytest.mark.parametrize("name", [RUNS[0], pytest.param(RUNS[1], marks=pytest.mark.soak)])
def test_an_older_recording_is_read_and_a_second_around_a_change_is_left_to_chance(
    recorded: dict[str, Path], tmp_path: Path, name: str
) -> None:
    """Without numbers of commands, which changes a node knew of is told by the clock."""
    (verdict,) = judge([without_commands(copied(recorded, name, tmp_path))])
    assert verdict.clean, str(verdict)
    for fault in DAMAGES:
        if fault.do in (not_addressed_though_subscribed, lost_on_its_way):
            run, wanted = planted(recorded, tmp_path / fault.name, fault)
            (verdict,) = judge([without_commands(run)])
            assert told(verdict) == wanted, str(verdict)
        elif "just after" in fault.name or "while" in fault.name:
            run, _ = planted(recorded, tmp_path / fault.name, fault)
            (verdict,) = judge([without_commands(run)])
            assert not verdict.findings, str(verdict)


@pytest.mark.parametrize("listed", [True, False], ids=["with manifests", "without"])
@pytest.mark.parametrize("bad", FILES, ids=[bad.name for bad in FILES])
def test_bad_data_is_named_and_never_a_violation(
    recorded: dict[str, Path], tmp_path: Path, bad: BadFile, listed: bool
) -> None:
    run = copied(recorded, RUNS[FILES.index(bad) % 2], tmp_path)
    if not listed:  # as an older Weft recorded it
        shutil.rmtree(run / FOLDER)
    named = bad.do(run)
    (verdict,) = judge([run])
    assert not verdict.findings, str(verdict)
    assert any(named in note for note in verdict.notes), (named, str(verdict))
    assert verdict.status == bad.status, str(verdict)
    if bad.status == "ok":
        assert not verdict.unsure


@pytest.mark.timeout(600)
@pytest.mark.xdist_group("spark")
def test_many_runs_in_one_session(spark: Any, recorded: dict[str, Path], tmp_path: Path) -> None:
    """Each a task of one job; the verdicts are the same as without Spark."""
    recorded_runs.embedded(tmp_path / "restored", 4, steps=80, restore=True)
    runs = [*recorded.values(), *recorded_runs.runs(tmp_path / "restored")]
    runs += [planted(recorded, tmp_path / fault.name, fault)[0] for fault in DAMAGES[::16]]
    runs.append(copied(recorded, RUNS[1], tmp_path / FILES[0].name))
    FILES[0].do(runs[-1])
    assert judge(runs, spark) == judge(runs)


WORLDS: dict[str, Callable[..., Path]] = {
    "embedded": recorded_runs.embedded,
    "server": recorded_runs.served,
    "mesh": recorded_runs.over_nodes,
    "fabric": partial(recorded_runs.over_nodes, time="HLAfloat64Time", fabric=True),
}


@pytest.mark.parametrize("world", WORLDS)
def test_a_restore_begins_a_run_that_says_what_holds(world: str, tmp_path: Path) -> None:
    """4.35: what was declared, placed and asked before the save is in force again; both runs are clean."""
    WORLDS[world](tmp_path, 4, steps=80, restore=True)
    before, after = recorded_runs.runs(tmp_path)
    for verdict in judge([before, after]):
        assert verdict.clean, str(verdict)
    rows = Rows(after)
    assert {row["federate"] for row in rows.all("join")} >= {row["federate"] for row in rows.all("send")}
    in_force = {row["kind"] for row in rows.all(detail="in force")}
    assert in_force == {"declare", "region", "grant", "request", "call"}


def test_faults_of_a_restored_run_are_found(tmp_path: Path) -> None:
    """What is in force by a restore is held against those who do otherwise."""
    recorded_runs.embedded(tmp_path, 4, steps=80, restore=True)
    run = recorded_runs.runs(tmp_path)[-1]
    rows = Rows(run)
    asked = rows.all("request", detail="in force")[0]
    grant = next(row for row in rows.all("grant", federate=asked["federate"]) if row["seq"] > asked["seq"])
    grant[rows.time] += 1
    rows.write()
    (verdict,) = judge([run])
    assert ("time", "grant not as requested", asked["federate"]) in told(verdict), str(verdict)


@pytest.mark.parametrize(("later", "missing", "unsure"), [(0, False, 0), (1, False, 1), (0, True, 1)])
def test_what_was_sent_by_one_who_left_before_the_recording(
    later: int, missing: bool, unsure: int, tmp_path: Path
) -> None:
    """It is as it should be, unless that federate joined later, or rows are missing: then its own may be among them."""
    recorded_runs.embedded(tmp_path, 4, steps=80, restore=True)
    run = recorded_runs.runs(tmp_path)[-1]
    rows = Rows(run)
    start = rows.all("start")[0]
    assert start["source"] == max(row["federate"] for row in rows.all("join") if row["source"])
    start["source"] = 9  # some more, who have left
    got = rows.all("deliver", order="RO", transport="reliable")[0]
    rows.insert(got, got | {"source": 9 + later, "message": 7})
    rows.write()
    if missing:
        told_of = next((run / "nodes").glob("*.json"))
        told_of.write_text(json.dumps(json.loads(told_of.read_text()) | {"dropped": 5}))
    (verdict,) = judge([run])
    assert not verdict.findings, str(verdict)
    assert verdict.unsure.get("delivery", 0) == unsure


def test_an_audit_that_fails_does_not_take_the_others_along(
    recorded: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Text, JSON and HTML show the failure beside what the others found; without a violation it is inconclusive, exit 3."""

    def fails(context: Context) -> Result:
        raise ValueError("no such column")

    monkeypatch.setitem(AUDITS, "interest", fails)
    context = Context(None, open_for_review(recorded[RUNS[0]]), None, orders=("CO", "CT"))
    found = run_audits(context, lambda text: None)
    assert list(found.audits) == ["causal", "time", "delivery", "deadlines"]
    assert (found.failures, found.status) == ({"interest": "no such column"}, "inconclusive")
    assert EXITS[found.status] == 3
    assert "interest   failed: no such column" in as_text(found)
    data: Any = found.as_data()
    assert data["audits"]["interest"]["failed"] == "no such column"
    assert "no such column" in html_report(found)


def test_a_relative_path_is_made_absolute_before_it_goes_to_workers(
    recorded: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = recorded[RUNS[0]]
    monkeypatch.chdir(run.parent)
    assert all(file.path.path.is_absolute() for file in open_for_review(run.name).run.files)


def test_a_missed_deadline_is_found_and_nothing_else(tmp_path: Path) -> None:
    """An event of a federate that ends after its deadline, where the run has none that does."""
    node = EmbeddedNode()
    node.record(tmp_path)
    with (
        weft.join("F", "north", fom=RANGE, host=node) as north,
        weft.join("F", "tower", fom=RANGE, host=node) as tower,
    ):
        tower.subscribe("Hit", urgency=2, deadline=1000.0)
        for _ in range(3):
            north.send("Hit", Target="one")
        while tower.rti.evoke_callback(0.0):
            pass
    node.stop_recording()
    (run,) = recorded_runs.runs(tmp_path)
    (verdict,) = judge([run])
    assert verdict.clean, str(verdict)
    rows = Rows(run)
    done = rows.all("done")[1]
    for row in rows.all("push", "dispatch", "done", deadline_ns=done["deadline_ns"]):
        row["deadline_ns"] = done["mono_ns"] - 1
    rows.write()
    (verdict,) = judge([run])
    (found,) = verdict.findings
    assert (found["audit"], found["name"], found["seq"]) == ("deadlines", "tower", done["seq"])
    assert (found["late_ns"], found["priority"]) == (1, 2)
    assert (verdict.status, verdict.unsure, verdict.notes) == ("violated", {}, [])


REGION_FOR_ONE = Path(__file__).parents[2] / "prove/seeds/a_region_for_one_attribute_of_an_update.jsonl"


@pytest.fixture(scope="module")
def region_for_one(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Federate 2 has subscribed Name and Place with a region; only Place is updated with one, which is elsewhere."""
    folder = tmp_path_factory.mktemp("region")
    campaign = Campaign(words_of([proving_model()]), [lambda record: Simulated(folder)])
    assert campaign.replay(read_script(REGION_FOR_ONE.read_text(), REGION_FOR_ONE.name)).proven
    (run,) = find_runs(folder)
    return Path(str(run))


@pytest.mark.parametrize(
    ("boxes", "items", "wrong"),
    [
        ([0, 1], ["Name"], set[str]()),
        ([0, 1], [], {"missed"}),
        ([0, -1], ["Name"], set[str]()),
        ([-1, 0], ["Place"], set[str]()),
        ([-1, 0], ["Name"], {"items missing"}),
        ([0, 0], ["Name", "Place"], set[str]()),
        ([0, 0], ["Name"], {"items missing"}),
        ([1, 0], ["Place"], set[str]()),
        ([1, 1], [], set[str]()),
        ([1, -1], ["Name"], {"extra", "items extra"}),
        (None, [], set[str]()),
        (None, ["Name"], {"extra", "items extra"}),
    ],
)
def test_each_attribute_goes_by_its_own_regions(
    region_for_one: Path, tmp_path: Path, boxes: list[int] | None, items: list[str], wrong: set[str]
) -> None:
    """9.1.2: one without an association is in the default region; rows that do not tell have all in the same."""
    run = Path(shutil.copytree(region_for_one, tmp_path / region_for_one.name))
    rows = Rows(run)
    update, _ = rows.all("send", service="update_attribute_values")
    (reflection,) = rows.of(update, "deliver")
    assert (update["items"], update["boxes"], reflection["items"]) == (["Name", "Place"], [0, 1], ["Name"])
    for row in rows.of(update, "send", "arrive"):
        row["boxes"] = boxes
    for row in rows.messages[1, 1] + rows.messages[1, 2]:
        row["transport"] = "reliable"
    reflection["items"] = items
    if not items:
        update["destinations"] = []
        rows.remove(*rows.of(update, "arrive", "deliver"))
    rows.write()
    (verdict,) = judge([run])
    assert told(verdict) == {("interest", what, 2) for what in wrong}, str(verdict)
    assert followed(run) <= told(verdict)
