"""An object model for tests: small, but with every shape that promotion, transportation and advisories can trip over.

The tables below are the model; `fom()` writes them as OMT XML (2025).  The oracle reads the same tables, never the RTI's catalog.
Attribute and parameter names are unique in the whole model, so a name says which attribute is meant.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from weft import Source

ROOT = "HLAobjectRoot"
INTERACTION_ROOT = "HLAinteractionRoot"
PRIVILEGE = "HLAprivilegeToDeleteObject"
RELIABLE = "HLAreliable"
BEST_EFFORT = "HLAbestEffort"

# Class (its name below the root) -> own attributes -> transportation.
OBJECTS: dict[str, dict[str, str]] = {
    "Vehicle": {"Position": BEST_EFFORT, "Name": RELIABLE},
    "Vehicle.GroundVehicle": {"Speed": BEST_EFFORT, "Crew": RELIABLE},
    "Vehicle.GroundVehicle.Tank": {"Turret": BEST_EFFORT, "Ammo": RELIABLE},
    "Vehicle.Aircraft": {"Altitude": BEST_EFFORT},
    "Building": {"Height": RELIABLE},
}
# Class -> transportation, own parameters.
INTERACTIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "Event": (RELIABLE, ("When",)),
    "Event.Fire": (BEST_EFFORT, ("Who", "Whom")),
    "Event.Fire.BigFire": (RELIABLE, ("Calibre",)),
    "Event.Hit": (RELIABLE, ("Where",)),
    "Command": (RELIABLE, ("Text",)),
    "Command.Halt": (RELIABLE, ("Until",)),
}
DIRECTED = {"Vehicle": ("Command", "Command.Halt")}
# So fast that nothing ever waits: the oracle has no clock.  `kernel/message/test_rates.py` has slower ones.
RATES = {"Low": 1e200, "High": 2e200}
DIMENSION = "Lane"
LANES = 16

_HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<objectModel xmlns="http://standards.ieee.org/IEEE1516-2025">
<modelIdentification><name>{name}</name><type>FOM</type></modelIdentification>
"""


@cache
def lineage(name: str, root: str) -> tuple[str, ...]:
    """The class itself first, the root last."""
    if name == root:
        return (root,)
    parts = name.split(".")
    return (*(".".join(parts[:length]) for length in range(len(parts), 0, -1)), root)


@cache
def attributes_of(name: str) -> Mapping[str, str]:
    """All attributes of an object class, inherited ones too, with their transportation."""
    found = {PRIVILEGE: RELIABLE}
    for ancestor in lineage(name, ROOT):
        found.update(OBJECTS.get(ancestor, {}))
    return found


@cache
def parameters_of(name: str) -> list[str]:
    return [
        p for ancestor in lineage(name, INTERACTION_ROOT) for p in INTERACTIONS.get(ancestor, ("", ()))[1]
    ]


def _object_class(name: str) -> str:
    rows = [f"<name>{name.rpartition('.')[2]}</name><sharing>PublishSubscribe</sharing>"]
    rows += [
        f"<directedInteraction><name>{INTERACTION_ROOT}.{directed}</name><sharing>PublishSubscribe</sharing></directedInteraction>"
        for directed in DIRECTED.get(name, ())
    ]
    for attribute, transportation in OBJECTS[name].items():
        rows.append(
            f"<attribute><name>{attribute}</name><dataType>HLAASCIIstring</dataType><updateType>Conditional</updateType>"
            "<updateCondition>on change</updateCondition><ownership>DivestAcquire</ownership>"
            f"<sharing>PublishSubscribe</sharing><dimensions><dimension>{DIMENSION}</dimension></dimensions>"
            f"<transportation>{transportation}</transportation><order>Receive</order></attribute>"
        )
    rows += [_object_class(child) for child in OBJECTS if child.rpartition(".")[0] == name]
    return f"<objectClass>{''.join(rows)}</objectClass>"


def _interaction_class(name: str) -> str:
    transportation, parameters = INTERACTIONS[name]
    rows = [
        f"<name>{name.rpartition('.')[2]}</name><sharing>PublishSubscribe</sharing>",
        f"<dimensions><dimension>{DIMENSION}</dimension></dimensions>",
        f"<transportation>{transportation}</transportation><order>Receive</order>",
    ]
    rows += [
        f"<parameter><name>{parameter}</name><dataType>HLAASCIIstring</dataType></parameter>"
        for parameter in parameters
    ]
    rows += [_interaction_class(child) for child in INTERACTIONS if child.rpartition(".")[0] == name]
    return f"<interactionClass>{''.join(rows)}</interactionClass>"


def fom(*switches: str, resign: str = "", name: str = "Test range") -> Source:
    """The object model with these switches on, and `resign` as its automatic resign action."""
    text = _HEAD.format(name=name)
    tops = "".join(_object_class(top) for top in OBJECTS if "." not in top)
    text += f"<objects><objectClass><name>{ROOT}</name>{tops}</objectClass></objects>\n"
    tops = "".join(_interaction_class(top) for top in INTERACTIONS if "." not in top)
    text += f"<interactions><interactionClass><name>{INTERACTION_ROOT}</name>{tops}</interactionClass></interactions>\n"
    text += (
        f"<dimensions><dimension><name>{DIMENSION}</name><dataType>HLAinteger32BE</dataType><upperBound>{LANES}</upperBound>"
        "<normalization>none</normalization><value>Excluded</value></dimension></dimensions>\n"
    )
    on = "".join(f'<{switch} isEnabled="true"/>' for switch in switches)
    if resign:
        on += f'<automaticResignAction resignAction="{resign}"/>'
    if on:
        text += f"<switches>{on}</switches>\n"
    rates = "".join(
        f"<updateRate><name>{r}</name><rate>{hertz}</rate></updateRate>" for r, hertz in RATES.items()
    )
    text += f"<updateRates>{rates}</updateRates>\n</objectModel>\n"
    return Source("test range", text.encode())


def extra_module(text: str, name: str = "extra") -> Source:
    """A further module with this body."""
    return Source(name, (_HEAD.format(name=name) + text + "</objectModel>").encode())


ADVISORIES = (
    "objectClassRelevanceAdvisory",
    "attributeRelevanceAdvisory",
    "attributeScopeAdvisory",
    "interactionRelevanceAdvisory",
)
