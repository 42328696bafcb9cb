"""`weft.join`: federates that save and come back without being told how."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import weft
from weft import CallbackModel, EmbeddedNode
from weft.cli.data import object_model
from weft.host.simulated.simulated import SimulatedNetwork
from weft.model.errors import ObjectInstanceNotKnown, SaveInProgress

RANGE = object_model("range.xml")


def alternately(*federates: Any) -> None:
    """Several federates in one thread: each in turn, until nothing comes."""
    for _ in range(6):
        for one in federates:
            one.poll()


def test_a_federate_saves_and_comes_back_in_another_process(tmp_path: Path) -> None:
    """Its own state through on_save and on_restore, its objects by their names, the objects of others by themselves."""
    kept: dict[str, Any] = {}
    with (
        weft.join("Range", "tank", fom=RANGE, host=(node := EmbeddedNode(save_directory=tmp_path))) as tank,
        weft.join("Range", "watch", fom=RANGE, host=node) as watch,
    ):
        fuel = {"left": 40}
        tank.on_save(lambda label: kept.update({label: dict(fuel)}))
        tank.register("Tank", "Rhino").update(Position={"X": 1.0, "Y": 2.0, "Z": 0.0})
        watch.subscribe("Tank")
        tank.rti.request_federation_save("noon")
        tank.poll()
        paused = [tank.paused]
        with pytest.raises(SaveInProgress):
            tank.send("Fire", Target="x", Round=1)
        alternately(watch, tank)
        paused.append(tank.paused)
        assert paused == [True, False]
        assert kept == {"noon": {"left": 40}}
    with (
        weft.join(
            "Range",
            "other name",
            kind="tank",
            fom=RANGE,
            host=(node := EmbeddedNode(save_directory=tmp_path)),
        ) as tank,
        weft.join("Range", "watch", fom=RANGE, host=node) as watch,
    ):
        back: dict[str, int] = {}
        tank.on_restore(lambda label: back.update(kept[label]))
        heard: list[Any] = []
        watch.rti.request_federation_restore("noon")
        alternately(watch, tank)
        assert (tank.name, back) == ("tank", {"left": 40})
        watch.on_update("Tank")(lambda thing, values: heard.append((thing.name, values["Position"]["X"])))
        tank.recall("Rhino").update(Position={"X": 3.0, "Y": 4.0, "Z": 0.0})
        alternately(watch)
        assert heard == [("Rhino", 3.0)]
        assert [thing.name for thing in watch.objects.values()] == ["Rhino"]


def test_save_and_restore_wait_for_their_end() -> None:
    """Over a simulated network, and with callbacks in threads of their own."""
    network = SimulatedNetwork(["S1", "S2"])
    with weft.join("Range", "alone", fom=RANGE, host=network.at("S1")) as alone:
        assert alone.restore("never") is False
        assert alone.save("noon") is True
        thing = alone.register("Tank", "Later")
        assert alone.restore("noon") is True
        with pytest.raises(ObjectInstanceNotKnown):
            thing.delete()


def test_with_immediate_callbacks(tmp_path: Path) -> None:
    node = EmbeddedNode(save_directory=tmp_path)
    options: Any = {"fom": RANGE, "host": node, "callbacks": CallbackModel.IMMEDIATE}
    with weft.join("Range", "one", **options) as one, weft.join("Range", "two", **options) as two:
        assert one.save("noon") is True
        assert two.restore("noon") is True


def test_a_handler_that_fails_fails_the_save(tmp_path: Path) -> None:
    """The others are told, and the error comes out where callbacks run."""
    with weft.join("Range", "one", fom=RANGE, host=EmbeddedNode(save_directory=tmp_path)) as one:

        @one.on_save
        def fail(label: str) -> None:
            raise ValueError("no room for " + label)

        with pytest.raises(ValueError, match="no room"):
            one.save("noon")
        one.poll()
        assert one._pauses.outcome is False
