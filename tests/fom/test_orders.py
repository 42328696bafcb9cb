"""The order of a class or attribute as object models spell it: the standard's two, and Weft's own."""

from __future__ import annotations

import pytest

from weft import Source
from weft.fom import merge, parse_module
from weft.fom.catalog import Catalog
from weft.fom.orders import meaning, spelled, standard
from weft.fom.writer import write_omt
from weft.model.enums import OrderType

OMT = """<?xml version="1.0" encoding="UTF-8"?>
<objectModel xmlns="http://standards.ieee.org/IEEE1516-2025">
<modelIdentification><name>orders</name><type>FOM</type></modelIdentification>
<interactions><interactionClass><name>HLAinteractionRoot</name><interactionClass><name>Word</name>
<sharing>PublishSubscribe</sharing><transportation>HLAreliable</transportation><order>{order}</order>
</interactionClass></interactionClass></interactions>
</objectModel>"""
FED = """(FED (Federation orders) (FEDversion v1.3) (spaces)
  (objects (class ObjectRoot (attribute privilegeToDelete reliable timestamp) (class RTIprivate)
    (class Tank (attribute Position reliable {order}))))
  (interactions (class InteractionRoot reliable receive (class Word reliable {order}))))"""


@pytest.mark.parametrize(
    ("text", "name", "order", "priority"),
    [
        ("Receive", "Receive", OrderType.RECEIVE, 0),
        ("HLAtimeStamp", "TimeStamp", OrderType.TIMESTAMP, 0),
        ("causal", "Causal", OrderType.CAUSAL, 0),
        ("HLAcausal", "Causal", OrderType.CAUSAL, 0),
        ("TOTAL", "Total", OrderType.TOTAL, 0),
        ("Priority", "Priority", OrderType.PRIORITY, 0),
        ("hlapriority( 12 )", "Priority(12)", OrderType.PRIORITY, 12),
        ("priority:7", "Priority(7)", OrderType.PRIORITY, 7),
    ],
)
def test_orders_are_spelled(text: str, name: str, order: OrderType, priority: int) -> None:
    """S0-1."""
    assert spelled(text) == name
    assert meaning(name) == (order, priority)
    assert spelled(name) == name


@pytest.mark.parametrize("text", ["", "soon", "Priority(x)", "Priority(-1)", "Priority(99999999)", "HLA"])
def test_what_is_no_order(text: str) -> None:
    assert spelled(text) == ""


@pytest.mark.parametrize("text", ["Causal", "HLAtotal", "Priority(3)"])
def test_an_object_model_in_xml(text: str) -> None:
    """Read with a warning that other RTIs do not know it, written as it was meant, and read again."""
    module = parse_module(Source("orders.xml", OMT.format(order=text).encode()))
    assert any("Weft's own" in str(warning) for warning in module.warnings)
    catalog = Catalog(merge([module]))
    entry = catalog.interaction_class_names["HLAinteractionRoot.Word"]
    assert entry.order is meaning(spelled(text))[0]
    assert catalog.ordered
    again = parse_module(Source("again.xml", write_omt(module)))
    assert Catalog(merge([again])).interaction_class_names["HLAinteractionRoot.Word"].order is entry.order
    assert not standard(spelled(text))


@pytest.mark.parametrize("text", ["causal", "total", "priority", "priority:4"])
def test_a_fed_file(text: str) -> None:
    catalog = Catalog(merge([parse_module(Source("orders.fed", FED.format(order=text).encode()))]))
    word = next(e for n, e in catalog.interaction_class_names.items() if n.endswith(".Word"))
    tank = next(e for n, e in catalog.object_class_names.items() if n.endswith(".Tank"))
    position = tank.attributes[tank.names["Position"]]
    assert (word.order, word.priority) == meaning(spelled(text))
    assert (position.order, position.priority) == meaning(spelled(text))


def test_a_model_without_them_costs_nothing() -> None:
    assert not Catalog(merge([parse_module(Source("o.xml", OMT.format(order="Receive").encode()))])).ordered
