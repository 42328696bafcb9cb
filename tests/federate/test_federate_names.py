"""Names and values: what a person writes, and what is said when it does not fit."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import weft
from support.small_fom import extra_module, fom
from weft import EmbeddedNode, Federate
from weft.cli.data import object_model
from weft.model.errors import EncodingError, NameNotFound, ObjectInstanceNameInUse, WeftError

RANGE = object_model("range.xml")
FED = weft.Source(
    "range.fed",
    b"""(FED (Federation "Range") (FEDversion v1.3)
  (objects (class ObjectRoot (attribute privilegeToDelete reliable timestamp)
    (class Tank (attribute name reliable receive))))
  (interactions (class InteractionRoot reliable receive
    (class Shot reliable receive (parameter who)))))""",
)


@pytest.fixture
def one() -> Iterator[Federate]:
    with weft.join("Range", "one", fom=RANGE, host=EmbeddedNode()) as made:
        yield made


def test_any_ending_of_a_full_name_will_do(one: Federate) -> None:
    """ "Tank", "Vehicle.Tank" and the whole name are the same class."""
    for name in ("Tank", "Vehicle.Tank", "HLAobjectRoot.Vehicle.Tank"):
        one.publish(name)
        one.subscribe(name, "State")
        one.register(name)
    for name in ("Fire", "HLAinteractionRoot.Fire"):
        one.publish(name)
        one.send(name, Target="x", Round=1)
    assert one.rti.get_object_class_handle("HLAobjectRoot.Vehicle.Tank")


@pytest.mark.parametrize(
    ("attempt", "said"),
    [
        (
            lambda one: one.send("Fier", Round=1),
            "no interaction class 'Fier' in the object model; did you mean 'Fire'",
        ),
        (lambda one: one.register("Tnak"), "no object class 'Tnak' in the object model; did you mean 'Tank'"),
        (
            lambda one: one.publish("Airkraft"),
            "no class 'Airkraft' in the object model; did you mean 'Aircraft'",
        ),
        (lambda one: one.subscribe("Hitt"), "no class 'Hitt' in the object model; did you mean 'Hit'"),
        (lambda one: one.on_update("Vehikle"), "did you mean 'Vehicle'"),
        (lambda one: one.on_discovery("Tanks"), "did you mean 'Tank'"),
        (lambda one: one.on_removal("Tanks"), "did you mean 'Tank'"),
        (lambda one: one.on_interaction("Fires"), "did you mean 'Fire'"),
        (
            lambda one: one.on_interaction("Tank"),
            "HLAobjectRoot.Vehicle.Tank is an object class; use on_update",
        ),
        (
            lambda one: one.send("Fire", Targt="x"),
            "HLAinteractionRoot.Fire has no parameter 'Targt'; did you mean 'Target'",
        ),
        (
            lambda one: one.register("Tank").update(Stat="Intact"),
            "has no attribute 'Stat'; did you mean 'State'",
        ),
        (lambda one: one.publish("Tank", "Positon"), "has no attribute 'Positon'; did you mean 'Position'"),
        (
            lambda one: one.subscribe("Tank", "Heading"),
            "HLAobjectRoot.Vehicle.Tank has no attribute 'Heading'",
        ),
        (lambda one: one.publish("Zebra"), "no class 'Zebra' in the object model$"),
    ],
)
def test_an_unknown_name_is_answered_with_a_near_one(one: Federate, attempt: Any, said: str) -> None:
    """The error names what was not found, where, and what may have been meant."""
    with pytest.raises(NameNotFound, match=said):
        attempt(one)


AMBIGUOUS = extra_module(
    "<objects><objectClass><name>HLAobjectRoot</name>"
    "<objectClass><name>Sea</name><sharing>Neither</sharing><objectClass><name>Mine</name><sharing>PublishSubscribe</sharing></objectClass></objectClass>"
    "<objectClass><name>Land</name><sharing>Neither</sharing><objectClass><name>Mine</name><sharing>PublishSubscribe</sharing></objectClass></objectClass>"
    "<objectClass><name>Both</name><sharing>PublishSubscribe</sharing></objectClass></objectClass></objects>"
    "<interactions><interactionClass><name>HLAinteractionRoot</name>"
    "<interactionClass><name>Both</name><sharing>PublishSubscribe</sharing></interactionClass></interactionClass></interactions>"
)


def test_a_name_that_fits_two_classes() -> None:
    """The error lists what the name may mean; more of the name decides."""
    with weft.join("Range", "one", fom=[fom(), AMBIGUOUS], host=EmbeddedNode()) as one:
        with pytest.raises(
            NameNotFound, match=r"'Mine' may mean HLAobjectRoot\.Sea\.Mine or HLAobjectRoot\.Land\.Mine"
        ):
            one.subscribe("Mine")
        with pytest.raises(NameNotFound, match=r"may mean HLAobjectRoot\.Both or HLAinteractionRoot\.Both"):
            one.publish("Both")
        one.on_discovery("Land.Mine")(print)
        one.send("Both")
        one.publish("HLAobjectRoot.Both", "HLAprivilegeToDeleteObject")


@pytest.mark.parametrize(
    ("attempt", "said"),
    [
        (lambda one: one.send("Fire", Round="many"), "HLAinteractionRoot.Fire.Round"),
        (lambda one: one.send("Fire", Round=2**31), "HLAinteractionRoot.Fire.Round"),
        (lambda one: one.send("Fire", Target=5), "HLAinteractionRoot.Fire.Target"),
        (lambda one: one.send("Hit", Result="Broken"), "HLAinteractionRoot.Hit.Result"),
        (
            lambda one: one.register("Aircraft").update(Heading="north"),
            "HLAobjectRoot.Vehicle.Aircraft.Heading",
        ),
        (lambda one: one.register("Tank").update(Position={"X": 1.0, "Y": 2.0}), "Vehicle.Tank.Position"),
        (lambda one: one.register("Tank").update(Position={"X": 1.0, "Y": 2.0, "Z": "up"}), "Z"),
    ],
)
def test_a_value_that_does_not_fit_names_its_place(one: Federate, attempt: Any, said: str) -> None:
    """A bad value is refused where it is given, with the class and the parameter or attribute; nothing is sent."""
    with weft.join("Range", "two", fom=RANGE, host=one.rti._host) as two:
        heard: list[Any] = []
        for name in ("Fire", "Hit"):
            two.on_interaction(name)(heard.append)
        two.on_update("Vehicle")(lambda *seen: heard.append(seen))
        with pytest.raises(EncodingError, match=said):
            attempt(one)
        two.poll()
        assert not heard


def test_bytes_that_do_not_fit_name_their_place(one: Federate) -> None:
    """What a careless sender sends by the services is noted at the receiver, with class and parameter; the rest is heard."""
    with weft.join("Range", "two", fom=RANGE, host=one.rti._host) as two:
        heard: list[Any] = []
        two.on_interaction("Fire")(heard.append)
        fire = one.rti.get_interaction_class_handle("Fire")
        one.rti.publish_interaction_class(fire)
        one.rti.send_interaction(fire, {one.rti.get_parameter_handle(fire, "Round"): b"x"}, b"")
        two.poll()
        assert [one.values for one in heard] == [{}]
        (found,) = two.undecoded
        assert "Fire.Round" in str(found)


def test_an_instance_name_that_is_taken(one: Federate) -> None:
    """Clause 6.8."""
    one.register("Tank", "Rhino")
    with pytest.raises(ObjectInstanceNameInUse, match="Rhino"):
        one.register("Tank", "Rhino")


def test_a_fed_file_has_no_types_so_values_are_bytes() -> None:
    """HLA 1.3 object models: bytes in, bytes out, and an error that says so otherwise."""
    node = EmbeddedNode()
    with (
        weft.join("Range", "one", fom=FED, host=node) as one,
        weft.join("Range", "two", fom=FED, host=node) as two,
    ):
        heard: list[Any] = []
        two.on_interaction("Shot")(lambda shot: heard.append(shot["who"]))
        two.on_update("Tank")(lambda tank, changes: heard.append(changes))
        one.send("Shot", who=b"me")
        one.register("Tank").update(name=b"Rhino")
        two.poll()
        assert heard == [b"me", {"name": b"Rhino"}]
        with pytest.raises(
            EncodingError, match=r"Shot\.who has no data type in the object model; give bytes, not str"
        ):
            one.send("Shot", who="me")


NUMBERS = st.floats(allow_nan=True, allow_infinity=True)
VALUES = st.fixed_dictionaries(
    {},
    optional={
        "Position": st.fixed_dictionaries({"X": NUMBERS, "Y": NUMBERS, "Z": NUMBERS}),
        "State": st.sampled_from(["Intact", "Damaged", "Destroyed"]),
        "Heading": NUMBERS,
    },
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float):
        return (math.isnan(one) and math.isnan(other)) or one == other
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    return bool(one == other)


@settings(
    max_examples=60, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck)
)
@given(
    changes=st.lists(VALUES, min_size=1, max_size=3), target=TEXTS, number=st.integers(-(2**31), 2**31 - 1)
)
def test_values_survive_the_way(changes: list[dict[str, Any]], target: str, number: int) -> None:
    """What is sent is what is received, for every type of the range's object model."""
    node = EmbeddedNode()
    with (
        weft.join("Range", "one", fom=RANGE, host=node) as one,
        weft.join("Range", "two", fom=RANGE, host=node) as two,
    ):
        seen: list[dict[str, Any]] = []
        shots: list[dict[str, Any]] = []
        two.on_update("Aircraft")(lambda plane, values: seen.append(dict(values)))
        two.on_interaction("Fire")(lambda shot: shots.append(shot.values))
        plane = one.register("Aircraft")
        for change in changes:
            plane.update(**change)
        one.send("Fire", Target=target, Round=number)
        while two.poll():
            pass  # on a machine that is busy, once may not be enough
        wanted = [change for change in changes if change]
        assert len(seen) == len(wanted)
        assert all(_same(*both) for both in zip(seen, wanted, strict=True))
        assert shots == [{"Target": target, "Round": number}]
        mirror = next(iter(two.objects.values())).values
        assert _same(mirror, {key: value for change in changes for key, value in change.items()})


def test_all_these_errors_are_weft_errors() -> None:
    """One root for all errors."""
    assert issubclass(NameNotFound, WeftError)
    assert issubclass(EncodingError, WeftError)


def test_a_named_object_is_registered_where_the_federate_is_called(one: Federate) -> None:
    """6.2, 6.8: by name, within a handler, where no other callback could tell that the name is reserved."""
    with weft.join("Range", "two", fom=RANGE, host=one.rti._host) as two:
        made: list[str] = []
        two.on_interaction("Fire")(lambda _: made.append(two.register("Tank", "Rhino").name))
        one.send("Fire")
        two.poll()
        assert made == ["Rhino"]
        with pytest.raises(ObjectInstanceNameInUse):
            two.register("Tank", "Rhino")
        two.poll()
        assert two.register("Tank", "Hippo").name == "Hippo"
