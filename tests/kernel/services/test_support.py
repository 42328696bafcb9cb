"""Support services (clause 10): names and handles are two ways to say the same, in the whole object model."""

from __future__ import annotations

import pytest

from support.bare_federation import HERE, bare, step_of
from weft.kernel.services import support
from weft.model.enums import OrderType
from weft.model.errors import AttributeNotDefined, InvalidAttributeHandle, NameNotFound
from weft.model.handles import AttributeHandle


def test_every_name_of_the_object_model_has_a_handle_that_has_the_name() -> None:
    """10.6 to 10.26: classes, attributes, parameters, transportations, dimensions; and handles are told apart."""
    federation, members = bare(HERE)
    step = step_of(federation, members[0])
    catalog = federation.catalog
    for kind, entry in catalog.object_classes.items():
        assert support.get_object_class_handle(step, support.get_object_class_name(step, kind)) == kind
        for attribute in entry.attributes:
            name = support.get_attribute_name(step, kind, attribute)
            assert support.get_attribute_handle(step, kind, name) == attribute
    for sent, one in catalog.interaction_classes.items():
        assert (
            support.get_interaction_class_handle(step, support.get_interaction_class_name(step, sent)) == sent
        )
        for parameter in one.parameters:
            name = support.get_parameter_name(step, sent, parameter)
            assert support.get_parameter_handle(step, sent, name) == parameter
    for way in catalog.transportations:
        assert (
            support.get_transportation_type_handle(step, support.get_transportation_type_name(step, way))
            == way
        )
    for dimension in catalog.dimensions:
        assert support.get_dimension_handle(step, support.get_dimension_name(step, dimension)) == dimension


@pytest.mark.parametrize("order", OrderType)
def test_every_order_has_a_name_that_means_it(order: OrderType) -> None:
    """10.17, 10.18."""
    federation, members = bare(HERE)
    step = step_of(federation, members[0])
    assert support.get_order_type(step, support.get_order_name(step, order)) is order


def test_an_attribute_of_another_class_is_told_from_none_at_all() -> None:
    """10.10: the one is not defined for the class, the other is no attribute."""
    federation, members = bare(HERE)
    step = step_of(federation, members[0])
    building = support.get_object_class_handle(step, "Building")
    vehicle = support.get_object_class_handle(step, "Vehicle")
    with pytest.raises(AttributeNotDefined):
        support.get_attribute_name(step, building, support.get_attribute_handle(step, vehicle, "Position"))
    with pytest.raises(InvalidAttributeHandle):
        support.get_attribute_name(step, building, AttributeHandle.of(1 << 20))
    with pytest.raises(NameNotFound):
        support.get_attribute_handle(step, building, "Position")
