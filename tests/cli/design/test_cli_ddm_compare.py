"""`weft ddm compare`: the same workload under each strategy, held against brute force (S2-3, S2-17, S2-22)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from interest.paper import FED
from weft.cli import main
from weft.cli.design import ddm_nodes
from weft.cli.design.ddm_compare import all_settings, as_text, compare
from weft.cli.design.ddm_nodes import Nodes, plan_from
from weft.cli.design.ddm_runs import RunCost, play_simulated, setting
from weft.cli.design.ddm_workload import KINDS, SIDE, ExtentBounds, PlaneWorld, Workload, plane_workload
from weft.fom import merge, parse_module
from weft.interest import STRATEGIES, Spaces
from weft.model.errors import WeftError

Capture = pytest.CaptureFixture[str]
GRID = "StaticGridPartitioned"
REGIONS = """\
near = 2D: x=0..0xff, y=0..0xff
far = 2D: x=0x80000000..0x90000000, y=0..9
tower subscribes B.x near
pilot subscribes A.x
field updates B.x near 3 times
field updates B.x far 2 times
sky updates A.x 4 times
"""
Boxes = list[ExtentBounds]


def small(kind: str, seed: int, extents: int = 1) -> Workload:
    return plane_workload(PlaneWorld(kind, 3, 3, 4, seed=seed, speed=0.1, extents=extents))


def overlap(some: Boxes, others: Boxes) -> bool:
    """Without extents: the whole space."""
    if not some or not others:
        return True
    return any(
        all(one[name][0] < other[name][1] and other[name][0] < one[name][1] for name in one)
        for one in some
        for other in others
    )


def wanted(workload: Workload) -> dict[str, int]:
    """By brute force: after all have moved, who overlaps what is updated."""
    looks = [[wish.extents for wish in part.wishes] for part in workload.parts]
    places = [[thing.extents for thing in part.things] for part in workload.parts]
    found = {part.federate: 0 for part in workload.parts}
    for step in range(max(len(part.turns) for part in workload.parts)):
        turns = [part.turns[step] if step < len(part.turns) else None for part in workload.parts]
        for number, turn in enumerate(turns):
            for wish, boxes in turn.looks if turn else ():
                looks[number][wish] = boxes
            for thing, boxes in turn.moves if turn else ():
                places[number][thing] = boxes
            for thing, square in turn.enters if turn else ():
                places[number][thing] = [workload.parts[number].squares[square]]
        for number, turn in enumerate(turns):
            for thing in turn.updates if turn else ():
                what = workload.parts[number].things[thing]
                for other, part in enumerate(workload.parts):
                    found[part.federate] += other != number and any(
                        (wish.object_class, wish.attribute) == (what.object_class, what.attribute)
                        and overlap(looks[other][place], places[number][thing])
                        for place, wish in enumerate(part.wishes)
                    )
    return found


def settings_of(workload: Workload, grids: list[int]) -> dict[str, RunCost]:
    spaces = Spaces(merge([parse_module(source) for source in workload.model]))
    return {one.label: play_simulated(workload, one) for one in all_settings(spaces, STRATEGIES, grids)}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_every_strategy_delivers_what_brute_force_says(kind: str, seed: int) -> None:
    """S2-3, S2-6, S2-22: what differs is what is kept at the sender and what is dropped at the receiver."""
    workload = small(kind, seed, extents=1 + seed)
    expected = wanted(workload)
    rows = settings_of(workload, [2, 5])
    for label, row in rows.items():
        assert {name: heard for name, (_, heard) in row.heard.items()} == expected, label
        assert row.wanted == sum(expected.values())
        assert row.received == row.wanted + row.filtered_receiver
        assert row.messages == row.received
        assert row.messages + row.filtered_sender == row.updates * 2  # each update, for each of the others
        assert row.news_bytes == rows["Simple"].news_bytes
    assert rows["Simple"].filtered_sender == 0
    assert rows["Exact"].filtered_receiver == 0
    least, most = rows["Exact"], rows["Simple"]
    assert all(least.messages <= row.messages <= most.messages for row in rows.values())
    assert all(least.bytes <= row.bytes <= most.bytes for row in rows.values())


@pytest.mark.parametrize("kind", ["moving", "fixed"])
def test_news_of_regions_is_what_is_left_without_updates(kind: str) -> None:
    """S2-17: the bytes of region news, apart from those of messages."""
    workload = small(kind, 7)
    whole, news = (play_simulated(one, setting(GRID, 3)) for one in (workload, workload.silent()))
    assert workload.moves > 0
    assert news.updates == news.messages == 0
    assert whole.news_bytes == news.news_bytes == news.bytes > 0
    assert whole.bytes > news.bytes


def test_a_federation_without_regions_has_no_news() -> None:
    assert play_simulated(small("whole", 1), setting("Simple", 1)).news_bytes == 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_world_is_made_by_its_seed_and_stays_on_the_plane(kind: str) -> None:
    first, again, other = (plane_workload(PlaneWorld(kind, seed=seed)) for seed in (1, 1, 2))
    assert first == again
    assert (first == other) == (kind == "whole")
    for part in first.parts:
        boxes = [box for one in (*part.wishes, *part.things) for box in one.extents] + part.squares
        boxes += [box for turn in part.turns for _, some in (*turn.looks, *turn.moves) for box in some]
        assert all(0 <= low < high <= SIDE for box in boxes for low, high in box.values())


def test_an_order_to_a_process_survives_json() -> None:
    part = small("moving", 1).parts[0]
    given = ("mesh://S1@x", "Weft.journal=none", True, [("a.fed", "(FED)")], part)
    found = plan_from(json.dumps(given))
    assert json.dumps(found) == json.dumps(given)
    assert found.part.turns[0].updates == list(part.turns[0].updates)


def test_settings_are_every_strategy_and_grids_where_they_matter() -> None:
    """S2-22: whatever strategies there are."""
    workload = small("fixed", 1)
    spaces = Spaces(merge([parse_module(source) for source in workload.model]))
    found = all_settings(spaces, STRATEGIES, [2, 4], 8)
    labels = [one.label for one in found]
    assert {label.split()[0] for label in labels} == {*STRATEGIES}
    assert [label for label in labels if label.startswith(GRID)] == [f"{GRID} 2", f"{GRID} 4"]
    assert labels.count("Simple") == labels.count("Exact") == 1
    assert {one.label: one.channels for one in found}[f"{GRID} 4"] == 8  # of 16 partitions


# --- the command ------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.fed").write_bytes(FED)
    (tmp_path / "my.regions").write_text(REGIONS)
    (tmp_path / "my.rid").write_text(
        f"(DataDistribution (StrategyToUse {GRID}) (NumPartitionsPerDimension 3))"
    )
    return tmp_path


def ddm(*words: str) -> int:
    return main(["ddm", "compare", *words])


@pytest.mark.usefixtures("folder")
def test_a_regions_file_is_a_workload(capsys: Capture) -> None:
    """Four federates, of which two subscribe; and a RID file of one's own beside the strategies."""
    words = ("my.fed", "--regions", "my.regions", "--simulated", "--grid", "2", "--rid", "my.rid", "--json")
    assert ddm(*words) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["federates"], report["updates"], report["moves"]) == (4, 9, 0)
    rows = {row["label"]: row for row in report["strategies"]}
    assert list(rows)[-1] == f"my.rid ({GRID})"
    assert rows[f"my.rid ({GRID})"]["channels"] == 3 + 9 + 27
    for row in rows.values():
        assert {name: heard[1] for name, heard in row["heard"].items()} == {
            "tower": 3, "pilot": 4, "field": 0, "sky": 0,
        }  # fmt: skip
    assert rows["Simple"]["messages"] == 9 * 3
    assert rows["StaticSpacePartitioned"]["messages"] == 5 + 4
    assert rows[f"{GRID} 2"]["messages"] == rows["Exact"]["messages"] == 3 + 4


def test_a_table_for_people(capsys: Capture) -> None:
    assert ddm("--simulated", "--workload", "moving", "--federates", "2", "--steps", "2", "--grid", "4") == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].startswith("2 federates with 10 entities each, 2 steps, regions that move")
    assert shown[1].split()[:4] == ["strategy", "channels", "messages", "bytes"]
    assert [line.split()[0] for line in shown[2 : 2 + len(STRATEGIES)]] == [*STRATEGIES]
    assert any(line.startswith("news of regions: ") for line in shown)
    assert shown[-1].startswith("fewest bytes: ")
    assert len({len(line) for line in shown[1 : 2 + len(STRATEGIES)]}) == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--grid", "two"), "--grid two: whole numbers, separated by commas"),
        (("--regions", "my.regions"), "name a FED or an OMT file before them"),
        (("my.fed",), "nobody updates anything: name a file with --regions"),
        (("my.fed", "--region", "R=1D"), "my.fed has the spaces: 1D, 2D, 3D"),
        (("no.fed",), "no.fed: No such file"),
        (("--rid", "no.rid", "--simulated"), "no.rid: No such file"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_cannot_be_compared(words: tuple[str, ...], message: str, capsys: Capture) -> None:
    assert ddm(*words) == 2
    assert message in capsys.readouterr().err


def test_nodes_that_are_processes_count_the_same() -> None:
    """S2-22: with regions that do not depend on who hears of a move when, exactly as on the simulated network."""
    workload = plane_workload(PlaneWorld("fixed", 3, 4, 3, speed=1e-9, best_effort=False))
    chosen = [setting("Simple", 1), setting(GRID, 4), setting("Exact", 1)]
    said: list[str] = []
    found = compare(workload, chosen, False, 1.0, 1, said.append)
    for row, one in zip(found.rows, chosen, strict=True):
        counted = play_simulated(workload, one)
        for name in (
            "sent",
            "messages",
            "received",
            "wanted",
            "filtered_sender",
            "filtered_receiver",
            "heard",
            "used",
        ):
            assert getattr(row, name) == getattr(counted, name), (one.label, name)
        assert row.bytes > counted.bytes  # what links add
        assert row.news_bytes is None
        assert row.cpu_us > 0
        assert (row.latency_us is not None) == (row.wanted > 0)
    assert [text for text in said if "Exact" in text] == ["round 1 of 1, 3 of 3: Exact"]
    assert "\n".join(as_text(found)).count("\n") >= 5


def test_a_node_that_fails_says_why() -> None:
    """Its own refusal, by name; and nobody waits for one that has ended."""
    workload = small("whole", 1)
    broken = workload._replace(model=[])
    with (
        pytest.raises(WeftError, match=r"node 1 of the comparison failed at 'begin': \w+: "),
        Nodes(3) as nodes,
    ):
        nodes.play(broken, setting("Simple", 1))


def test_a_node_that_says_nothing_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ddm_nodes, "_LAUNCH", "import sys; sys.stdin.read()")
    with pytest.raises(WeftError, match=r"there was no answer for 0\.1 s"), Nodes(1) as nodes:
        nodes._ask("counts", [[]], nodes._processes, 0.1)
