"""State for late joiners in `weft.join` (6.21, 6.22): what is known, who asks, who answers, and what is told of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import weft
from support.server_in_thread import serving
from weft import EmbeddedNode, Federate
from weft.cli.data import object_model

RANGE = object_model("range.xml")
HERE = {"X": 1.0, "Y": 2.0, "Z": 3.0}
THERE = {"X": 9.0, "Y": 2.0, "Z": 3.0}


@contextmanager
def federation(*names: str, **options: Any) -> Iterator[list[Federate]]:
    if "rti" not in options:
        options.setdefault("host", EmbeddedNode())
    with ExitStack() as stack:
        yield [stack.enter_context(weft.join("Range", name, fom=RANGE, **options)) for name in names]


@pytest.fixture(params=["embedded", "server"])
def options(request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    if request.param == "server":
        with serving() as server:
            yield {"rti": server.address()}
    else:
        yield {"host": EmbeddedNode()}


def talk(*federates: Federate, until: Any = None) -> None:
    """Until there is nothing more to handle; at a server, until it has come."""
    if until is not None:
        assert any(f.run_until(until, 0.05) for _ in range(4000) for f in federates)
    more = True
    while more:
        more = any(list(map(Federate.poll, federates)))


def test_a_late_joiner_sees_what_there_is(options: dict[str, Any]) -> None:
    """6.21, 6.22: who subscribes asks; the owner answers with what it sent last, of each attribute; nobody else is told twice."""
    with federation("owner", "early", **options) as (owner, early):
        told: list[dict[str, object]] = []
        early.on_update("Vehicle")(lambda vehicle, update: told.append(dict(update)))
        talk(owner, early)
        tank = owner.register("Tank", "T1")
        tank.update(Position=HERE, State="Intact")
        tank.update(Position=THERE)
        talk(owner, early, until=lambda: len(told) == 2)
        with federation("late", **options) as (late,):
            heard: list[tuple[str, dict[str, object], bytes, str]] = []
            late.on_update("Tank")(
                lambda t, update: heard.append((t.name, dict(update), update.tag, update.sender))
            )
            talk(owner, late, until=lambda: heard)
            assert heard == [("T1", {"Position": THERE, "State": "Intact"}, b"", "owner")]
            known = late.objects("Vehicle")
            assert list(known) == ["T1"]
            assert (known["T1"].Position, known["T1"]["State"], known["T1"].owner) == (
                THERE,
                "Intact",
                "owner",
            )
        talk(owner, early)
        assert told == [{"Position": HERE, "State": "Intact"}, {"Position": THERE}]


def test_values_of_a_time_are_not_told_before_it() -> None:
    """8.1: who is constrained and knows a value hears of changes in time stamp order only, whoever else asks."""
    node = EmbeddedNode()
    with federation("owner", "early", host=node, time=1) as (owner, early):
        told: list[tuple[float | None, str]] = []
        early.on_update("Tank")(lambda tank, update: told.append((update.time, update["State"])))
        tank = owner.register("Tank")
        for time, state in ((2, "Intact"), (4, "Damaged"), (6, "Destroyed")):
            tank.update(State=state, time=time)
        owner.request(7)
        early.advance(3)
        with federation("late", host=node) as (late,):
            late.on_update("Tank")(lambda tank, update: None)
            owner.poll()
            late.poll()
            assert late.objects("Tank")[tank.name].State == "Destroyed"
        early.advance(6)
        assert told == [(2, "Intact"), (4, "Damaged"), (6, "Destroyed")]


def test_a_value_of_a_time_to_come_is_answered_with_that_time() -> None:
    """8.1: a late joiner that is constrained gets it then."""
    node = EmbeddedNode()
    with federation("owner", host=node, time=1) as (owner,):
        tank = owner.register("Tank")
        tank.update(State="Damaged", time=5)
        with federation("late", host=node, time=1) as (late,):
            told: list[tuple[float | None, str]] = []
            late.on_update("Tank")(lambda tank, update: told.append((update.time, update["State"])))
            owner.poll()
            assert list(weft.steps([owner, late], 2, until=4)) == [2, 4]
            assert told == []
            assert list(weft.steps([owner, late], 2, until=6)) == [6]
            assert told == [(5, "Damaged")]


ATTRIBUTES = {
    "Position": st.builds(lambda x: {"X": x, "Y": 0.0, "Z": 0.0}, st.floats(-100, 100)),
    "State": st.sampled_from(["Intact", "Damaged", "Destroyed"]),
}
UPDATES = st.fixed_dictionaries({}, optional=ATTRIBUTES)


@settings(
    max_examples=40, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck)
)
@given(st.lists(st.tuples(st.integers(0, 2), UPDATES), max_size=12), st.lists(st.integers(0, 12), max_size=3))
def test_all_know_what_was_sent_last(updates: list[tuple[int, dict[str, object]]], joins: list[int]) -> None:
    """Whenever one joins it learns the value sent last of each attribute; each update is told once to who was there."""
    node = EmbeddedNode()
    with ExitStack() as stack:
        owner = stack.enter_context(weft.join("Range", "owner", fom=RANGE, host=node))
        tanks = [owner.register("Tank", f"T{n}") for n in range(3)]
        hearers: list[tuple[Federate, dict[tuple[str, str], list[object]]]] = []
        last: dict[tuple[str, str], object] = {}
        for place, (which, values) in enumerate([*updates, (0, {})]):
            for _ in range(joins.count(place)):
                hearer = stack.enter_context(weft.join("Range", fom=RANGE, host=node))
                told: dict[tuple[str, str], list[object]] = {}

                def note(tank: weft.RemoteObject, update: weft.Update, told: Any = told) -> None:
                    for name, value in update.items():
                        told.setdefault((tank.name, name), []).append(value)

                hearer.on_update("Tank")(note)
                talk(owner, hearer, *[one for one, _ in hearers])
                hearers.append((hearer, told))
                assert {key: values[-1] for key, values in told.items()} == last
                assert all(len(values) == 1 for values in told.values())
            if values:
                tanks[which].update(values=values)
                last.update({(tanks[which].name, name): value for name, value in values.items()})
                for hearer, told in hearers:
                    before = {key: len(all_of) for key, all_of in told.items()}
                    talk(hearer)
                    for name, value in values.items():
                        key = (tanks[which].name, name)
                        assert told[key][before.get(key, 0) :] == [value]
        for hearer, _ in hearers:
            known = hearer.objects("Tank")
            assert {(t, name): v for t in known for name, v in known[t].values.items()} == last


def test_what_is_assigned_is_sent_by_commit() -> None:
    """All at once; a name that is no attribute is refused, with the one that was meant, and so is what only reads."""
    with federation("owner", "other") as (owner, other):
        updates: list[dict[str, object]] = []
        other.on_update("Tank")(lambda tank, update: updates.append(dict(update)))
        tank = owner.register("Tank", "T1")
        assert tank.commit() is None
        tank.Position = HERE
        tank["State"] = "Damaged"
        assert (tank.Position, tank["State"], tank.values) == (HERE, "Damaged", {})
        talk(other)
        assert updates == []
        tank.commit()
        talk(other)
        assert updates == [{"Position": HERE, "State": "Damaged"}]
        assert tank.values == {"Position": HERE, "State": "Damaged"}
        with pytest.raises(AttributeError, match="did you mean 'Position'"):
            tank.Positon = HERE
        with pytest.raises(AttributeError, match="cannot be replaced"):
            tank.name = "T2"
        with pytest.raises(AttributeError, match="no value of 'Speed'"):
            tank.Speed
        with pytest.raises(AttributeError):
            other.objects("Tank")["T1"].Position = THERE  # type: ignore[attr-defined]
        tank.State = "no such state"
        with pytest.raises(weft.errors.EncodingError):
            tank.commit()
        tank.State = "Intact"
        tank.commit()
        talk(other)
        assert updates[1:] == [{"State": "Intact"}]


def test_objects_of_a_class_are_as_of_now() -> None:
    """A live mapping: those of classes below are in it, and one that is gone is not."""
    with federation("owner", "other") as (owner, other):
        vehicles = other.objects("Vehicle")
        other.subscribe("Vehicle")
        one, two = owner.register("Tank", "T1"), owner.register("Aircraft", "A1")
        talk(other)
        assert sorted(vehicles) == ["A1", "T1"]
        assert list(other.objects("Tank")) == []  # it is known as what was subscribed to (5.1.2)
        assert len(other.objects) == 2
        one.delete()
        talk(other)
        assert list(vehicles) == ["A1"]
        with pytest.raises(KeyError, match="A1"):
            vehicles["T1"]
        assert "A1" in repr(vehicles)
        two.delete()
        talk(other)
        assert len(vehicles) == 0


def test_after_a_restore_the_saved_values_are_answered() -> None:
    """4.24: what was sent after the save was never sent."""
    node = EmbeddedNode()
    with federation("owner", host=node) as (owner,):
        tank = owner.register("Tank", "T1")
        tank.update(State="Damaged")
        assert owner.save("s", 240.0)
        tank.update(State="Destroyed")
        assert owner.restore("s", 240.0)
        with federation("late", host=node) as (late,):
            late.on_update("Tank")(lambda tank, update: None)
            talk(owner, late)
            assert late.objects("Tank")["T1"].State == "Damaged"
