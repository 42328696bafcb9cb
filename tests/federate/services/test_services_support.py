"""Support services (clauses 10.2 to 10.56): names and handles, rates, orders, dimensions, normalization, switches, factories."""

from __future__ import annotations

import pytest

from support.federation import federation
from support.placement import Placement
from support.refusals import TANK, tank
from support.small_fom import (
    ADVISORIES,
    DIMENSION,
    INTERACTION_ROOT,
    INTERACTIONS,
    LANES,
    OBJECTS,
    RATES,
    ROOT,
    attributes_of,
    fom,
    parameters_of,
)
from weft import OrderType, ResignAction, RTIambassador
from weft.model import handles
from weft.model.enums import ServiceGroup
from weft.model.time import HLAfloat64TimeFactory, HLAinteger64TimeFactory


def test_classes_attributes_and_parameters_have_names_and_handles(placement: Placement) -> None:
    """Clauses 10.4, 10.5, 10.9, 10.10, 10.13 to 10.16: there and back; the root may be left out of a class's name."""
    with federation(1, placement=placement) as f:
        rti = f.rti[0]
        for name in OBJECTS:
            handle = rti.get_object_class_handle(name)
            assert rti.get_object_class_name(handle) == f"{ROOT}.{name}"
            assert rti.get_object_class_handle(f"{ROOT}.{name}") == handle
            for attribute in attributes_of(name):
                assert (
                    rti.get_attribute_name(handle, rti.get_attribute_handle(handle, attribute)) == attribute
                )
        for name in INTERACTIONS:
            interaction = rti.get_interaction_class_handle(name)
            assert rti.get_interaction_class_name(interaction) == f"{INTERACTION_ROOT}.{name}"
            for parameter in parameters_of(name):
                found = rti.get_parameter_handle(interaction, parameter)
                assert rti.get_parameter_name(interaction, found) == parameter


def test_an_inherited_attribute_is_one_attribute(placement: Placement) -> None:
    """Clause 10.9: it has the same handle at every class that has it."""
    with federation(1, placement=placement) as f:
        assert len({f.attribute(name, "Position") for name in OBJECTS if name.startswith("Vehicle")}) == 1


def test_federates_and_instances_have_names_and_handles(placement: Placement) -> None:
    """Clauses 10.2, 10.3, 10.6 to 10.8: an instance's class is the one at which each federate knows it."""
    with federation(2, placement=placement) as f:
        instance = tank(f)
        assert f.rti[1].get_federate_handle("federate 0") == f.handle(0)
        assert f.rti[1].get_federate_name(f.handle(0)) == "federate 0"
        name = f.rti[1].get_object_instance_name(instance)
        assert f.rti[0].get_object_instance_handle(name) == instance
        assert f.rti[0].get_known_object_class_handle(instance) == f.object_class(TANK)
        assert f.rti[1].get_known_object_class_handle(instance) == f.object_class("Vehicle")


def test_update_rates(placement: Placement) -> None:
    """Clauses 10.11 and 10.12: the rate one subscribed with; 0 where every update is wanted, or none."""
    with federation(2, placement=placement) as f:
        for name, rate in RATES.items():
            assert f.rti[0].get_update_rate_value(name) == rate
        instance = tank(f)
        f.subscribe(1, "Vehicle", "Name", rate="High")
        ask = f.rti[1].get_update_rate_value_for_attribute
        assert ask(instance, f.attribute("Vehicle", "Name")) == RATES["High"]
        assert ask(instance, f.attribute("Vehicle", "Position")) == 0.0


def test_orders_and_transportations(placement: Placement) -> None:
    """Clauses 10.17 to 10.20."""
    with federation(1, placement=placement) as f:
        rti = f.rti[0]
        for order, name in {OrderType.RECEIVE: "Receive", OrderType.TIMESTAMP: "TimeStamp"}.items():
            assert rti.get_order_name(order) == name
            assert rti.get_order_type(f"HLA{name}".replace("HLAR", "HLAr").replace("HLAT", "HLAt")) is order
            assert rti.get_order_type(name) is order
        for name in ("HLAreliable", "HLAbestEffort"):
            assert rti.get_transportation_type_name(rti.get_transportation_type_handle(name)) == name


def test_dimensions(placement: Placement) -> None:
    """Clauses 10.21 to 10.25."""
    with federation(1, placement=placement) as f:
        rti = f.rti[0]
        lane = rti.get_dimension_handle(DIMENSION)
        assert rti.get_dimension_name(lane) == DIMENSION
        assert rti.get_dimension_upper_bound(lane) == LANES
        assert rti.get_available_dimensions_for_object_class(f.object_class(TANK)) == {lane}
        assert rti.get_available_dimensions_for_interaction_class(f.interaction("Event")) == {lane}


def test_normalization_tells_things_apart(placement: Placement) -> None:
    """Clauses 10.29 to 10.33: a number for each, the same for the same thing at every federate."""
    with federation(2, placement=placement) as f:
        instances = [tank(f), f.register(0, TANK)]
        for rti in f.rti:
            assert len({rti.normalize_service_group(group) for group in ServiceGroup}) == len(ServiceGroup)
            assert len({rti.normalize_federate_handle(f.handle(i)) for i in (0, 1)}) == 2
            classes = {rti.normalize_object_class_handle(f.object_class(name)) for name in OBJECTS}
            assert len(classes) == len(OBJECTS)
            interactions = {rti.normalize_interaction_class_handle(f.interaction(n)) for n in INTERACTIONS}
            assert len(interactions) == len(INTERACTIONS)
            assert len({rti.normalize_object_instance_handle(instance) for instance in instances}) == 2
        assert f.rti[0].normalize_federate_handle(f.handle(1)) == f.rti[1].normalize_federate_handle(
            f.handle(1)
        )


SWITCHES = [
    "object_class_relevance_advisory",
    "attribute_relevance_advisory",
    "attribute_scope_advisory",
    "interaction_relevance_advisory",
    "convey_region_designator_sets",
    "service_reporting",
    "exception_reporting",
    "send_service_reports_to_file",
]
FEDERATION_SWITCHES = {
    "auto_provide": "autoProvide",
    "delay_subscription_evaluation": "delaySubscriptionEvaluation",
    "advisories_use_known_class": "advisoriesUseKnownClass",
    "allow_relaxed_ddm": "allowRelaxedDDM",
    "non_regulated_grant": "nonRegulatedGrant",
}


@pytest.mark.parametrize("switch", SWITCHES)
def test_a_switch_keeps_its_value(switch: str, placement: Placement) -> None:
    """Clauses 10.34 to 10.43 and 10.46 to 10.51: each federate has its own."""
    with federation(2, placement=placement) as f:
        for value in (True, True, False):
            getattr(f.rti[0], f"set_{switch}_switch")(value)
            assert getattr(f.rti[0], f"get_{switch}_switch")() is value
            assert getattr(f.rti[1], f"get_{switch}_switch")() is False


@pytest.mark.parametrize(("switch", "in_the_model"), FEDERATION_SWITCHES.items())
def test_a_switch_of_the_federation_is_the_object_models(
    switch: str, in_the_model: str, placement: Placement
) -> None:
    """Clauses 10.52 to 10.56."""
    for on in (False, True):
        with federation(1, model=fom(*[in_the_model] if on else []), placement=placement) as f:
            assert getattr(f.rti[0], f"get_{switch}_switch")() is on


def test_switches_of_the_object_model_are_where_federates_start(placement: Placement) -> None:
    """Clause 10.34: all that the object model turns on is on."""
    more = (
        "conveyRegionDesignatorSets",
        "serviceReporting",
        "exceptionReporting",
        "sendServiceReportsToFile",
    )
    with federation(1, model=fom(*ADVISORIES, *more), placement=placement) as f:
        assert all(getattr(f.rti[0], f"get_{switch}_switch")() for switch in SWITCHES)


def test_the_resign_directive_can_be_changed(placement: Placement) -> None:
    """Clauses 10.44 and 10.45."""
    with federation(2, placement=placement) as f:
        for action in ResignAction:
            f.rti[0].set_automatic_resign_directive(action)
            assert f.rti[0].get_automatic_resign_directive() is action


@pytest.mark.parametrize(
    ("name", "factory"),
    [("HLAfloat64Time", HLAfloat64TimeFactory), ("HLAinteger64Time", HLAinteger64TimeFactory)],
)
def test_the_time_factory_is_the_federations(name: str, factory: type, placement: Placement) -> None:
    """Clause 10.60."""
    with federation(1, time=name, placement=placement) as f:
        made = f.rti[0].get_time_factory()
        assert isinstance(made, factory)
        assert made.name == name


HANDLES = ["Attribute", "Dimension", "Federate", "InteractionClass", "MessageRetraction", "ObjectClass"]
HANDLES += ["ObjectInstance", "Parameter", "Region", "TransportationType"]


@pytest.mark.parametrize("kind", HANDLES)
def test_a_handle_survives_its_encoding(kind: str) -> None:
    """Clause 10.60: another federate's factory decodes what `encode` gave to an equal handle."""
    expected = getattr(handles, f"{kind}Handle")
    snake = "".join(f"_{c.lower()}" if c.isupper() else c for c in kind)
    factory = getattr(RTIambassador(), f"get{snake}_handle_factory")()
    handle = expected.of(7)
    assert factory.decode(handle.encode()) == handle
    assert type(factory.decode(handle.encode())) is expected


@pytest.mark.parametrize(
    ("factory", "empty"),
    [
        ("attribute_handle_set", set()),
        ("dimension_handle_set", set()),
        ("federate_handle_set", set()),
        ("interaction_class_handle_set", set()),
        ("region_handle_set", set()),
        ("attribute_handle_value_map", {}),
        ("parameter_handle_value_map", {}),
        ("attribute_set_region_set_pair_list", []),
    ],
)
def test_sets_and_maps_are_pythons_own(factory: str, empty: object) -> None:
    """Clause 10.60."""
    assert getattr(RTIambassador(), f"get_{factory}_factory")()() == empty


def test_the_version() -> None:
    """Clause 10.60: can be asked at any time."""
    assert RTIambassador().get_hla_version() == "IEEE 1516-2025"
