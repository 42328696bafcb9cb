"""Issue 7, item 7, the Python way: urgency and deadlines with a subscription, groups with values
(docs/explanation/urgency.md)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import weft
from weft import CallbackModel, Interaction, Update, heard
from weft.channel import RtInfo, Timeout, all_of, any_of, deadline, plan
from weft.cli import main
from weft.host.recording.runs import find_runs, open_run
from weft.model.errors import NameNotFound, RTIinternalError

RANGE = Path(__file__).parents[2] / "src" / "weft" / "cli" / "data" / "range.xml"


def hear(federate: weft.Federate) -> None:
    """All that waits, however slow the machine is just now."""
    while federate.poll():
        continue


@pytest.fixture
def pair() -> Iterator[tuple[weft.Federate, weft.Federate]]:
    node = weft.EmbeddedNode()
    with (
        weft.join("F", "north", fom=RANGE, host=node) as north,
        weft.join("F", "tower", fom=RANGE, host=node) as tower,
    ):
        yield north, tower


def test_urgency_with_a_subscription(pair: Any) -> None:
    north, tower = pair
    order: list[str] = []
    tower.on_interaction("Fire", urgency=0)(lambda shot: order.append(shot["Target"]))
    tower.on_update("Tank", "State")(lambda tank, changes: order.append(tank.name))
    tank = north.register("Tank", "leopard")
    tank.update(State="Intact")
    north.send("Fire", Target="one")
    tank.update(State="Destroyed")
    north.send("Fire", Target="two")
    hear(tower)
    assert order == ["one", "two", "leopard", "leopard"]


def test_misses_are_heard(pair: Any) -> None:
    north, tower = pair
    misses: list[Any] = []
    tower.on_miss(misses.append)
    tower.subscribe("Fire", deadline=1e-9)
    north.send("Fire", Target="one")
    assert tower.run_until(lambda: misses)
    assert misses[0].class_name == "HLAinteractionRoot.Fire"
    tower.qos("Fire")
    north.send("Fire", Target="two")
    hear(tower)
    assert len(misses) == 1


def test_groups_have_values(pair: Any) -> None:
    """A group comes alone; a handler of one of its classes hears of that, too; an object that is gone is None."""
    north, tower = pair
    groups: list[list[Any]] = []
    tower.correlate(all_of(heard("Fire"), heard("Tank", "State", sender="north")), groups.append)
    tank = north.register("Tank", "leopard")
    tank.update(State="Destroyed", tag=b"t")
    north.send("Fire", Target="leopard")
    hear(tower)
    ((update, shot),) = groups
    assert isinstance(update, Update)
    assert isinstance(shot, Interaction)
    assert (update.kind, update["State"], update.sender, update.tag) == ("Tank", "Destroyed", "north", b"t")
    assert update.object is not None
    assert update.object["State"] == "Destroyed"  # what is known of the object is known
    assert shot["Target"] == "leopard"
    shots: list[str] = []
    tower.on_interaction("Fire")(lambda one: shots.append(one["Target"]))
    tank.update(State="Intact")
    tank.delete()
    north.send("Fire", Target="nothing")
    hear(tower)
    assert shots == ["nothing"]
    assert [one.object for one in groups[1] if isinstance(one, Update)] == [None]
    tower.uncorrelate(groups.append)


def test_groups_with_a_watchdog_in_another_thread() -> None:
    """With IMMEDIATE callbacks, too, the node's clock is looked at in time."""
    node = weft.EmbeddedNode()
    immediate = CallbackModel.IMMEDIATE
    with weft.join("F", "tower", fom=RANGE, host=node, callbacks=immediate) as tower:
        groups: list[list[Any]] = []
        tower.correlate(any_of(heard("Fire"), deadline(0.01)), groups.append)
        assert tower.run_until(lambda: groups)
        (timeout,) = groups[0]  # it begins anew with each, so there may be more by now
        assert isinstance(timeout, Timeout)
        assert timeout.seconds == 0.01


def test_who_joins_again_asks_again() -> None:
    node = weft.EmbeddedNode()
    with weft.join("F", "north", fom=RANGE, host=node) as north:
        groups: list[list[Any]] = []
        misses: list[Any] = []
        tower = weft.Federate("F", "tower", fom=RANGE, host=node)
        tower.join()
        tower.on_miss(misses.append)
        tower.correlate(all_of(heard("Fire"), heard("Fire", sender="north")), groups.append)
        tower.resign()
        tower.join()
        north.send("Fire", Target="one")
        hear(tower)
        assert [[one["Target"] for one in group] for group in groups] == [["one"]]
        tower.resign()


def test_names_are_checked(pair: Any) -> None:
    _, tower = pair
    with pytest.raises(NameNotFound, match="Fier"):
        tower.correlate(heard("Fier"), print)
    with pytest.raises(NameNotFound, match="States"):
        tower.correlate(heard("Tank", "States"), print)
    with pytest.raises(NameNotFound):
        tower.qos("Fier", 1)
    with pytest.raises(RTIinternalError, match="names no class"):
        heard("")


def test_a_plan_says_how_urgent_classes_are() -> None:
    """By the end of a class's name, and for one federate alone."""
    made = plan([RtInfo("tower:Fire", worst=0.001, period=0.01), RtInfo("Tank", worst=0.001, period=0.1)])
    node = weft.EmbeddedNode(schedule=made)
    with (
        weft.join("F", "north", fom=RANGE, host=node) as north,
        weft.join("F", "tower", fom=RANGE, host=node) as tower,
    ):
        order: list[str] = []
        tower.on_interaction("Fire")(lambda shot: order.append(shot["Target"]))
        for kind in ("Aircraft", "Tank"):
            tower.on_update(kind)(lambda one, changes: order.append(one.name))
        for kind, name in (("Aircraft", "hornet"), ("Tank", "leopard")):
            north.register(kind, name).update(State="Intact")
        north.send("Fire", Target="one")
        hear(tower)
        assert order == ["one", "leopard", "hornet"]  # a discovery is as urgent as what waits for it
        assert tower.rti.query_qos()["classes"] == []  # nothing that it said itself


def test_a_save_keeps_what_was_asked_for(tmp_path: Path) -> None:
    """QoS and groups of the save are those after a restore; what a group had is not kept."""
    node = weft.EmbeddedNode(save_directory=tmp_path)
    with weft.join("F", "tower", fom=RANGE, host=node) as tower:
        tower.qos("Fire", 3, 0.5)
        groups: list[Any] = []
        tower.correlate(any_of(heard("Fire"), deadline(0.01)), groups.append)
        assert tower.save("noon")
        tower.qos("Fire")
        tower.uncorrelate(groups.append)
        assert tower.rti.query_qos()["classes"] == []
        assert tower.restore("noon")
        (kept,) = tower.rti.query_qos()["classes"]
        assert (kept["class"], kept["urgency"], kept["deadline"]) == (
            "HLAinteractionRoot.Fire",
            [3, 0, None],
            0.5,
        )
        assert len(tower.rti.query_qos()["groups"]) == 1


def test_what_happens_to_a_callback_with_a_deadline_is_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Issued, begun, over and missed are rows of the run (docs/how-to/recording.md), and `weft timeline` counts them."""
    node = weft.EmbeddedNode()
    node.record(tmp_path)
    with (
        weft.join("F", "north", fom=RANGE, host=node) as north,
        weft.join("F", "tower", fom=RANGE, host=node) as tower,
    ):
        tower.subscribe("Fire", urgency=2, deadline=1e-9)
        tower.subscribe("Hit", deadline=1000.0)
        north.send("Fire", Target="one")
        hear(tower)
        north.send("Hit", Target="one")
        hear(tower)
        handles = (
            north.rti.get_federate_handle("north").number,
            tower.rti.get_federate_handle("tower").number,
        )
    node.stop_recording()
    (run,) = find_runs(tmp_path)
    kinds = {"push", "dispatch", "done", "miss"}
    rows = [row for row in open_run(run).read().to_pylist() if row["kind"] in kinds]
    assert sorted(row["kind"] for row in rows[:4]) == ["dispatch", "done", "miss", "push"]
    assert [row["kind"] for row in rows[4:]] == ["push", "dispatch", "done"]
    for row in rows:
        assert (row["name"], row["source"], row["federate"]) == ("tower", *handles)
        assert row["operation"] == f"tower:{row['class']}"
    assert [row["priority"] for row in rows] == [2] * 4 + [255] * 3
    assert [row["queue"] for row in rows[4:]] == [1, 1, 0]
    assert rows[-1]["deadline_ns"] > rows[-1]["mono_ns"]  # in time
    assert main(["timeline", str(run), "--json"]) == 0
    (lane,) = json.loads(capsys.readouterr().out)["lanes"]
    assert (lane["name"], lane["misses"]) == ("tower", 1)
