"""Ownership among random timed federates (`support.random_timed_federates`): one attribute of one instance, which goes
from hand to hand.

What must hold in the end: each federate owns it just if it has heard so, and no two do; also after the federation was saved and
restored while the attribute was changing hands.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from support.random_timed_federates import Run, Timed

CLASS = "Vehicle"
ATTRIBUTE = "Name"


def begin(one: Timed, first: bool) -> None:
    """It may own the attribute; the first federate registers the instance, and does."""
    kind = one.rti.get_object_class_handle(CLASS)
    attributes = {one.rti.get_attribute_handle(kind, ATTRIBUTE)}
    one.rti.publish_object_class_attributes(kind, attributes)
    one.rti.subscribe_object_class_attributes(kind, attributes)
    if first:
        one.thing = one.rti.register_object_instance(kind)
        one.owns = True


def attribute(one: Timed) -> Any:
    return one.rti.get_attribute_handle(one.rti.get_object_class_handle(CLASS), ATTRIBUTE)


def hear(one: Timed, method: str, arguments: tuple[Any, ...]) -> None:
    if method == "discover_object_instance":
        one.thing = arguments[0]
    elif method == "remove_object_instance":
        one.thing, one.owns, one.sought = None, False, False
    elif method == "attribute_ownership_acquisition_notification":
        assert not one.owns, f"seed {one.run.seed}: {one.name} is given twice what it owns"
        one.owns, one.sought = True, False
    elif method == "attribute_ownership_unavailable":
        one.sought = False


def move(one: Timed, random: Random) -> None:
    """Give it away, or ask for it."""
    if one.thing is None:
        return
    what = {attribute(one)}
    if one.owns and random.random() < 0.7:
        one.owns = not one.rti.attribute_ownership_divestiture_if_wanted(one.thing, what, b"")
    elif one.owns:
        one.rti.unconditional_attribute_ownership_divestiture(one.thing, what, b"")
        one.owns = False
    elif not one.sought:
        one.sought = True
        if random.random() < 0.5:
            one.rti.attribute_ownership_acquisition(one.thing, what, b"")
        else:
            one.rti.attribute_ownership_acquisition_if_available(one.thing, what, b"")


def check(run: Run) -> None:
    run.settle()
    there = [one for one in run.federates if one.joined and one.thing is not None]
    for one in there:
        one.evoke()
    there = [one for one in there if one.joined and one.thing is not None]
    for one in there:
        owns = one.rti.is_attribute_owned_by_federate(one.thing, attribute(one))
        assert owns == one.owns, f"seed {run.seed}: {one.name} has heard {one.owns}, and owns it: {owns}"
    assert sum(one.owns for one in there) <= 1, f"seed {run.seed}: two owners"
