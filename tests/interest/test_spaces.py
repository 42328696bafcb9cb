"""Routing spaces of FED files and of FOMs (S2-1, S2-15)."""

from __future__ import annotations

import pytest

from interest.listeners import boxes_of
from interest.paper import spaces_of
from weft.fom import merge, parse_module
from weft.interest import DEFAULT_REGION, DdmSettings, Extent, Region, Spaces, make_strategy
from weft.interest.ddm_advice import advise
from weft.model.records import Source

INTERACTIONS = b"""(FED (Federation f) (FEDversion v1.3)
 (spaces (space Ground (dimension x)) (space Air (dimension x) (dimension y)))
 (objects (class ObjectRoot (attribute privilegeToDelete reliable timestamp)
  (class Tank (attribute lat reliable receive Ground) (attribute name reliable receive)
   (class Heavy (attribute weight reliable receive Air)))))
 (interactions (class InteractionRoot reliable receive
  (class Shot reliable receive Ground (class Near reliable receive) (class High reliable receive Air))
  (class Word reliable receive))))"""

FOM = b"""<?xml version="1.0"?>
<objectModel xmlns="http://standards.ieee.org/IEEE1516-2010">
 <objects><objectClass><name>HLAobjectRoot</name>
  <objectClass><name>Tank</name>
   <attribute><name>Place</name><dimensions><dimension>X</dimension><dimension>Y</dimension></dimensions></attribute>
   <attribute><name>Fuel</name><dimensions><dimension>Y</dimension><dimension>X</dimension></dimensions></attribute>
   <attribute><name>Name</name></attribute>
  </objectClass></objectClass></objects>
 <interactions><interactionClass><name>HLAinteractionRoot</name>
  <interactionClass><name>Shot</name><dimensions><dimension>X</dimension></dimensions>
   <interactionClass><name>High</name><dimensions><dimension>Y</dimension></dimensions></interactionClass>
  </interactionClass></interactionClass></interactions>
 <dimensions>
  <dimension><name>X</name><upperBound>10</upperBound></dimension>
  <dimension><name>Y</name><upperBound>20</upperBound></dimension>
 </dimensions>
</objectModel>"""


def from_fom() -> Spaces:
    return Spaces(merge([parse_module(Source("a.xml", FOM))]))


def names(spaces: Spaces, interaction_class: str) -> list[str]:
    return [space.name if space else "" for space in spaces.heard(interaction_class)]


def test_spaces_of_a_fed() -> None:
    """S2-1: dimensions are called as in the file, have 2^32 numbers, and the number of their handle."""
    spaces = spaces_of(INTERACTIONS)
    assert [(space.name, space.number, space.named) for space in spaces.all] == [
        ("Ground", 1, True),
        ("Air", 2, True),
    ]
    air = spaces.by_name["Air"]
    handles = list(spaces.model.dimensions)
    assert [(one.name, handles[one.number - 1], one.size) for one in air.dimensions] == [
        ("x", "Air.x", 1 << 32),
        ("y", "Air.y", 1 << 32),
    ]
    assert spaces.of_attribute("HLAobjectRoot.Tank.Heavy", "lat") == spaces.by_name["Ground"]
    assert spaces.of_attribute("HLAobjectRoot.Tank.Heavy", "weight") == air
    assert spaces.of_attribute("HLAobjectRoot.Tank", "name") is None
    with pytest.raises(KeyError, match="has no attribute 'colour'"):
        spaces.of_attribute("HLAobjectRoot.Tank", "colour")


def test_who_subscribes_to_an_interaction_class_listens_for_its_subclasses() -> None:
    spaces = spaces_of(INTERACTIONS)
    root = "HLAinteractionRoot"
    assert spaces.of_interaction(f"{root}.Shot.Near") == spaces.by_name["Ground"]
    assert spaces.of_interaction(f"{root}.Shot.High") == spaces.by_name["Air"]
    assert spaces.of_interaction(f"{root}.Word") is None
    assert names(spaces, f"{root}.Shot") == ["Ground", "Air"]
    assert names(spaces, f"{root}.Word") == [""]


def test_spaces_of_a_fom_are_sets_of_dimensions() -> None:
    """The order in which dimensions are named makes no difference, and the MOM has no space."""
    spaces = from_fom()
    assert [(space.name, space.named) for space in spaces.all] == [("X+Y", False), ("X", False)]
    assert spaces.of_attribute("HLAobjectRoot.Tank", "Place") == spaces.of_attribute(
        "HLAobjectRoot.Tank", "Fuel"
    )
    assert [one.size for one in spaces.all[0].dimensions] == [10, 20]
    assert names(spaces, "HLAinteractionRoot.Shot") == ["X", "X+Y"]
    assert (
        spaces.of_interaction(
            "HLAinteractionRoot.HLAmanager.HLAfederate.HLAreport.HLAreportServiceInvocation"
        )
        is None
    )
    assert not any("HLAmanager" in name for name, _, _ in spaces.users())


def test_a_region_is_a_box_of_its_space_whatever_else_it_names() -> None:
    """A dimension left out has its full range; one of another space does not count."""
    plane, line = from_fom().all
    x, y = plane.dimensions
    region = Region([Extent({y.number: (3, 4)})])
    assert boxes_of(plane, region) == [(0, 3, 10, 4)]
    assert boxes_of(line, region) == boxes_of(line, DEFAULT_REGION) == [(0, 10)]
    assert line.dimension("X") == x
    assert line.dimension("Y") is None


def test_small_dimensions_have_small_partitions() -> None:
    """S2-10 on a FOM: ten numbers in four partitions of three."""
    spaces = from_fom()
    made = make_strategy(spaces, DdmSettings(partitions=4))
    line = spaces.by_name["X"]
    number = line.dimensions[0].number
    channels = [
        sorted(made.update_channels(line, Region([Extent({number: (at, at + 1)})]))) for at in range(10)
    ]
    assert channels == [[17]] * 3 + [[18]] * 3 + [[19]] * 3 + [[20]]


# Advice


def rules(spaces: Spaces, settings: DdmSettings) -> dict[str, str]:
    return {advice.rule: str(advice) for advice in advise(spaces, settings)}


def test_advice_on_spaces() -> None:
    """S2-19: one space for each class or attribute."""
    found = rules(spaces_of(INTERACTIONS), DdmSettings())
    assert (
        "space Air is shared by Shot.High, Tank.Heavy: who subscribes to one hears all"
        in found["shared-space"]
    )
    assert found["shared-space"].startswith("paper.fed:2: ")
    assert found["no-space"].startswith("Tank.name, Word without a space: sent on channel 0")
    assert "fine-grid" not in found
    assert rules(spaces_of(b"(FED (objects (class ObjectRoot)))"), DdmSettings())["no-spaces"]
    assert rules(spaces_of(), DdmSettings()) == {
        "unused-space": "paper.fed:5: nothing travels in space 3D [unused-space]"
    }


def test_advice_on_strategies() -> None:
    """S2-19: finer is not better; Simple is for debugging."""
    spaces = spaces_of()
    assert "debugging" in rules(spaces, DdmSettings(strategy="Simple"))["simple"]
    assert "known to all senders" in rules(spaces, DdmSettings(strategy="Exact"))["exact"]
    assert "channels are few" in rules(spaces, DdmSettings(strategy="AdaptivePartitioned"))["adaptive"]
    assert "adaptive" not in rules(spaces, DdmSettings("AdaptivePartitioned", best_effort="UDPmulticast"))
    found = rules(spaces, DdmSettings(partitions=16))
    assert "4368 partitions share 64 channels" in found["channels-reused"]
    assert "sent 4096 times" in found["fine-grid"]
    assert "10 numbers and 16 partitions" in rules(from_fom(), DdmSettings(partitions=16))["empty-partitions"]


def test_advice_on_the_network() -> None:
    base = DdmSettings().base_address
    settings = DdmSettings(
        partitions=2, reliable="UDPmulticast", best_effort="UDPmulticast", base_address=base, max_address=base + 3,
        unknown=("a.rid:3: Colour",),
    )  # fmt: skip
    found = rules(spaces_of(), settings)
    assert "15 channels share 4 multicast groups" in found["groups-reused"]
    assert "keeps reliable data on TCP" in found["reliable-multicast"]
    assert found["unknown-setting"].startswith("a.rid:3: Colour means nothing here")
