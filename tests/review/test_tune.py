"""`weft tune` on Spark: jobs against plain counts, files against their readers, predictions against a replay (issue 8, 3)."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from support.random_recorded_rows import EMPTY, FED, Row, Story, brute_counts, spaces_of, write_run
from weft.channel import parse_schedule
from weft.cli.analyse.tune import as_text
from weft.fabric import parse_domains, parts
from weft.fom import parse_rid
from weft.interest.ddm_settings import GRID, MULTICAST, DdmSettings, read_ddm_settings
from weft.model.records import Source
from weft.review.advice.jobs import (
    class_causes,
    class_traffic,
    measured_operations,
    message_graph,
    operation_causes,
)
from weft.review.advice.rid import write_rid
from weft.review.advice.rows import AdviceRows
from weft.review.errors import ReviewError
from weft.review.spark.reading import open_for_review
from weft.review.tune import Tuned, is_ours, tune, write_files

MS = 1_000_000
OLD = DdmSettings(strategy=GRID, partitions=3, max_channels=5)


def channel_rows(node: str) -> list[Row]:
    """Two operations at 100 and 10 Hz, and one that each run of the slow one causes; the slow one is the more urgent."""
    made: list[Row] = []

    def ran(operation: str, began: int, took: int, priority: int, message: int, cause: int = 0) -> None:
        both = {"node": node, "name": f"{operation} consumer", "operation": operation, "priority": priority,
                "sub_priority": 0, "source": 1, "message": message, "deadline_ns": began + 5 * MS,
                "cause_source": 1 if cause else None, "cause": cause or None}  # fmt: skip
        for kind, at in (("dispatch", began), ("done", began + took)):
            when = {"seq": 10_000_000 + len(made), "epoch_ns": at, "mono_ns": at}
            made.append({**EMPTY, **both, **when, "kind": kind})

    for at in range(100):
        ran("fast", at * 10 * MS, 2 * MS if at == 7 else MS, 1, 1000 + at)
        if at % 10 == 0:
            ran("slow", at * 10 * MS + 2 * MS, 6 * MS, 0, 2000 + at)
            ran("after", at * 10 * MS + 8 * MS, MS, 2, 3000 + at, cause=2000 + at)
    return made


pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def story() -> Story:
    return Story(11, FED, steps=160, orders=("RO", "RO", "RO", "CO", "TSO"))


@pytest.fixture(scope="module")
def run(story: Story, tmp_path_factory: pytest.TempPathFactory) -> Path:
    rid = Source("old.rid", write_rid(OLD, story.spaces).encode())
    folder = tmp_path_factory.mktemp("runs") / "run"
    return write_run(folder, story.rows + channel_rows("S2"), FED, rid)


@pytest.fixture(scope="module")
def tuned(spark: Any, run: Path, tmp_path_factory: pytest.TempPathFactory) -> Tuned:
    return tune(run, tmp_path_factory.mktemp("out"), replay=True, session=spark)


def by_channels(rows: list[Row]) -> list[Row]:
    """Without messages that go by no channel: in causal order, or in time stamp order with regions."""
    outside = ("x", "z")
    return [
        row
        for row in rows
        if row["kind"] != "send"
        or row["order"] == "RO"
        or (row["order"] == "TSO" and row["class"].endswith(".C") and not set(row["items"]) & set(outside))
    ]


def test_counts_are_exact(tuned: Tuned, story: Story) -> None:
    """Old and new strategy: what the strategies themselves say, message by message."""
    grid = tuned.advice.grid
    assert grid is not None
    rows = by_channels(story.rows)
    for setting, counts in ((OLD, grid.old_counts), (grid.new.setting, grid.new_counts)):
        for what, numbers in brute_counts(rows, story.spaces, setting).items():
            found = {who: number for who, number in getattr(counts, what).items() if number}
            assert found == numbers, what
    sends = [row for row in story.rows if row["kind"] == "send" and row["order"] != "CO"]
    assert grid.outside == len(sends) - len([row for row in rows if row["kind"] == "send"])
    assert grid.new.cost() <= grid.old.cost()


def test_every_file_is_loaded_by_its_reader(tuned: Tuned, story: Story) -> None:
    assert set(tuned.files) == {"weft.rid", "domains.toml", "schedule.toml"}
    sources = {name: Source(str(path), path.read_bytes()) for name, path in tuned.files.items()}
    settings = read_ddm_settings(parse_rid(sources["weft.rid"]), spaces_of(FED))
    assert tuned.advice.grid is not None
    assert settings.strategy == tuned.advice.grid.new.setting.strategy
    domains = parse_domains(sources["domains.toml"])
    assert domains.topology.servers == ("S1", "S2", "S3")
    assert len(parts(domains.topology)) == 1
    assert [one.info.name for one in parse_schedule(sources["schedule.toml"]).operations] == [
        "fast",
        "slow",
        "after",
    ]


def test_the_replay_obtains_what_was_predicted(tuned: Tuned) -> None:
    assert tuned.replay is not None
    replay: Any = tuned.replay
    for both in replay["grid"].values():
        assert both["predicted"] == both["obtained"]
    for when in ("old", "new"):
        assert replay["domains"][when]["predicted"] == replay["domains"][when]["obtained"]
    for sides in replay["schedule"].values():
        assert sides["new"]["obtained"] <= sides["new"]["predicted"]


def test_it_is_told_in_words_and_in_json(tuned: Tuned, run: Path) -> None:
    again = json.loads(json.dumps(tuned.as_data()))
    assert set(again["advice"]) == {"grid", "domains", "schedule", "orders"}
    assert again["run"] == str(run)
    assert again["advice"]["grid"]["saved"] >= 0
    text = as_text(tuned)
    for word in ("grid: ", "domains: ", "schedule: ", "orders:", "replay of", "wrote "):
        assert word in text


def test_jobs_find_what_the_rows_say(spark: Any, story: Story, run: Path) -> None:
    """Graphs and histograms against the same by plain loops."""
    rows = AdviceRows.of(spark, open_for_review(run))
    nodes = {row["federate"]: row["node"] for row in story.rows if row["kind"] == "join"}
    sends = [row for row in story.rows if row["kind"] == "send"]
    graph: Counter[tuple[str, str]] = Counter()
    for row in sends:
        graph.update(
            (row["node"], other) for other in {nodes[one] for one in row["destinations"]} - {row["node"]}
        )
    assert message_graph(rows, nodes) == graph
    by_key = {(row["source"], row["message"]): row for row in sends}
    causes = Counter(
        (by_key[row["cause_source"], row["cause"]]["class"], row["class"]) for row in sends if row["cause"]
    )
    assert class_causes(rows) == causes
    found = class_traffic(rows)
    assert {(name, order): n for name, one in found.items() for order, n in one.orders.items()} == Counter(
        (row["class"], row["order"]) for row in sends
    )
    for name, one in found.items():
        own = [row for row in sends if row["class"] == name]
        assert one.destinations == {who for row in own for who in row["destinations"]}
        assert one.sources == {row["source"] for row in own}
        assert sum(one.control.values()) == sum(row["control_bytes"] for row in own)
    (operations,) = measured_operations(rows).values()
    assert {one.operation: (one.runs, one.worst_ns, one.misses) for one in operations} == {
        "fast": (100, 2 * MS, 0), "slow": (10, 6 * MS, 10), "after": (10, MS, 0)}  # fmt: skip
    assert operation_causes(rows) == {("slow", "after"): 10}


def test_groups_are_advised_where_they_are_wanted(spark: Any, run: Path, tmp_path: Path) -> None:
    found = tune(run, tmp_path, multicast=True, session=spark)
    text = found.files["weft.rid"].read_bytes()
    settings = read_ddm_settings(parse_rid(Source("weft.rid", text)), spaces_of(FED))
    assert settings.best_effort == MULTICAST
    assert settings.strategy != "Exact"


# --- files, without Spark ----------------------------------------------------------------------------------------------


def test_what_was_written_by_hand_stays(tmp_path: Path) -> None:
    """Nothing is written at all then; what tune wrote itself is replaced, unless somebody has changed it."""
    hand = tmp_path / "weft.rid"
    hand.write_text("(RTI)")
    texts = {"domains.toml": "a = 1\n", "weft.rid": "(RTI)\n"}
    with pytest.raises(ReviewError, match=r"weft.rid was written, or changed, by hand: say --force"):
        write_files(tmp_path, texts, "run", force=False)
    assert not (tmp_path / "domains.toml").exists()
    write_files(tmp_path, texts, "run", force=True)
    assert is_ours(hand)
    write_files(tmp_path, {**texts, "weft.rid": "(RTI (x 1))\n"}, "run", force=False)
    assert "(x 1)" in hand.read_text()
    hand.write_text(hand.read_text().replace("1", "2"))
    with pytest.raises(ReviewError, match="by hand"):
        write_files(tmp_path, texts, "run", force=False)


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ReviewError, match="cannot be written"):
        write_files(tmp_path / "file" / "below", {"weft.rid": ""}, "run", force=True)
