"""The recorder and those it records have different fates: what goes wrong in it costs rows, never a call or a callback."""

from __future__ import annotations

import time
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

from support.memory_recordings import MemoryRecordings
from support.recording_ambassador import Recorder
from support.server_in_thread import eventually, serving
from support.simulated_federates import handles
from support.small_fom import fom
from support.traffic_of_every_kind import World
from weft import CallbackModel, ResignAction, RTIambassador
from weft.cli.terminal.facts_lines import recording_texts
from weft.host.in_process.embedded import EmbeddedNode
from weft.kernel.recording import call_rows, callback_rows, message_rows, order_rows
from weft.model.time import HLAinteger64Interval, HLAinteger64Time
from weft.recorder.book import Book

TANK = "Vehicle.GroundVehicle.Tank"


class Planted(Exception):
    """What no part of the recorder expects."""


# --- what waits when its object is deleted ----------------------------------------------------------------------------


def late_reflection(places: list[RTIambassador], address: str | None) -> list[str]:
    """A receive-order reflection waits for a time-constrained federate, the object is deleted, the federate advances."""
    sender, receiver = places
    said, ears = Recorder(), Recorder()
    h = handles()
    for rti, own in ((sender, said), (receiver, ears)):
        if address is None:
            rti.connect(own, CallbackModel.EVOKED)
        else:
            rti.connect(own, CallbackModel.EVOKED, address)
    sender.create_federation_execution("F", [fom()], "HLAinteger64Time")
    for number, rti in enumerate(places):
        rti.join_federation_execution(f"F{number}", "kind", "F")
    sender.enable_time_regulation(HLAinteger64Interval(1))
    until(sender, said, "time_regulation_enabled")
    receiver.subscribe_object_class_attributes(h.classes[TANK], h.set_of("Name"))
    receiver.enable_time_constrained()
    until(receiver, ears, "time_constrained_enabled")
    sender.publish_object_class_attributes(h.classes[TANK], h.set_of("Name"))
    thing = sender.register_object_instance(h.classes[TANK])
    sender.update_attribute_values(thing, {h.attributes["Name"]: b"waits"}, b"")
    sender.delete_object_instance(thing, b"")
    sender.time_advance_request(HLAinteger64Time(5))
    receiver.time_advance_request(HLAinteger64Time(5))
    until(receiver, ears, "time_advance_grant")
    return [method for method, _ in ears.calls]


def until(rti: RTIambassador, ears: Recorder, method: str) -> None:
    def heard() -> bool:
        if not ears.of(method):
            rti.evoke_callback(0.05)
        return bool(ears.of(method))

    assert eventually(heard), (method, ears.calls)


EXPECTED = [
    "time_constrained_enabled",
    "discover_object_instance",
    "reflect_attribute_values",
    "remove_object_instance",
    "time_advance_grant",
]


def test_a_reflection_that_waited_until_its_object_was_deleted_is_heard_and_recorded_embedded() -> None:
    """6.11, 8.1.8 (receive order waits while a constrained federate is granted), 8.8: recorded with its class and attributes."""
    node = EmbeddedNode()
    recordings = MemoryRecordings()
    node._node.record(recordings, time.monotonic())
    places = [RTIambassador(node) for _ in range(2)]
    assert late_reflection(places, None) == EXPECTED
    (row,) = [
        row
        for row in recordings.take()
        if row["kind"] == "deliver" and row["service"] == "reflect_attribute_values"
    ]
    assert (row["class"], row["items"], row["transport"]) == (f"HLAobjectRoot.{TANK}", ["Name"], "reliable")
    assert not any(book.failed for _, _, book in recordings.books)


def test_a_reflection_that_waited_until_its_object_was_deleted_is_heard_at_a_server(tmp_path: Path) -> None:
    """The same, over the Federate Protocol and with the recorder that is on by default."""
    with serving(record=str(tmp_path)) as server:
        places = [RTIambassador() for _ in range(2)]
        assert late_reflection(places, server.address()) == EXPECTED
        assert not [line for line in server.reports if "error" in line]
        for rti in places:
            rti.resign_federation_execution(ResignAction.NO_ACTION)
            rti.disconnect()


# --- whatever goes wrong in it ----------------------------------------------------------------------------------------

ROWS = (message_rows, callback_rows, call_rows, order_rows)
ENTRIES: list[tuple[Any, str]] = [
    (module, name)
    for module in ROWS
    for name, found in vars(module).items()
    if isinstance(found, FunctionType)
    and found.__module__.startswith("weft.kernel.recording")
    and (name.startswith("_") or found.__module__ != module.__name__)
]
"""What the entries of the recorder are made of: functions of a module that are its own, or come from the others."""
BOOK: list[tuple[Any, str]] = [
    (Book, "enter"),
    (Book, "add"),
    (Book, "learn"),
    (Book, "_keep"),
    (Book, "took_part"),
]


def life(seed: int, recordings: MemoryRecordings | None) -> tuple[list[Any], list[Any]]:
    """All results and callbacks of a run."""
    node = EmbeddedNode()
    if recordings is not None:
        node._node.record(recordings, time.monotonic())
    world = World(node, seed)
    for number in range(3):
        world.join(number)
    world.do_register(0, world.rtis[0])
    world.do_regions(0, world.rtis[0])
    for _ in range(120):
        world.step()
        world.take()
    world.leave()
    assert not world.internal
    return world.results, [(method, repr(arguments)) for method, arguments in world.heard]


@pytest.fixture(scope="module")
def unrecorded() -> tuple[list[Any], list[Any]]:
    return life(1, None)


@pytest.mark.plants
@pytest.mark.parametrize(("owner", "name"), ENTRIES + BOOK, ids=lambda one: getattr(one, "__name__", one))
def test_an_error_in_the_recorder_costs_rows_and_nothing_else(
    owner: Any, name: str, unrecorded: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every call and callback is as without a recorder; lost rows are counted, and those that are left can be read."""
    real = getattr(owner, name)
    hits = 0

    def planted(*arguments: Any, **more: Any) -> Any:
        nonlocal hits
        hits += 1
        if hits % 2:
            raise Planted("planted")
        return real(*arguments, **more)

    monkeypatch.setattr(owner, name, planted)
    recordings = MemoryRecordings()
    assert life(1, recordings) == unrecorded
    if hits:  # some are met only in a mesh
        assert sum(book.failed for _, _, book in recordings.books) >= (hits + 1) // 2
        assert all(isinstance(book.failure, Planted) for _, _, book in recordings.books)
    assert recordings.take()


def test_recorded_or_not_a_run_is_the_same(unrecorded: Any) -> None:
    """And a recorder that works loses nothing."""
    recordings = MemoryRecordings()
    assert life(1, recordings) == unrecorded
    assert not any(book.failed for _, _, book in recordings.books)


@pytest.mark.plants
def test_lost_rows_are_told_in_the_log_the_run_and_the_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """docs/how-to/recording.md: rows that were dropped are counted where a reader of the run, or of `weft status`, sees them."""

    def planted(*_: Any, **__: Any) -> None:
        raise Planted("planted")

    monkeypatch.setattr(call_rows, "note", planted)
    with serving(record=str(tmp_path)) as server:
        rti = RTIambassador()
        rti.connect(Recorder(), CallbackModel.EVOKED, server.address())
        rti.create_federation_execution("F", [fom()], "HLAinteger64Time")
        rti.join_federation_execution("one", "F")
        rti.enable_time_regulation(HLAinteger64Interval(1))
        assert eventually(lambda: any("Planted" in line for line in server.reports))
        (line,) = [line for line in server.reports if "Planted" in line]
        assert "'F'" in line
        assert "dropped" in line
        facts = server.ask(lambda found: found.recordings.facts())
        assert facts["dropped"] >= 1
        shown = recording_texts({"nodes": {"S": {"state": "up", "recording": facts}}, "federations": {}})
        assert any("dropped" in one for one in shown), shown
        rti.resign_federation_execution(ResignAction.NO_ACTION)
        rti.disconnect()
    (described,) = tmp_path.rglob("nodes/*.json")
    assert '"dropped": 0' not in described.read_text()
