"""HLA 1.3 FED files (S2-18)."""

from __future__ import annotations

import pytest

from weft.fom import Attribute, merge, parse_module
from weft.model.errors import InvalidObjectModel, ObjectModelError, UnreadableObjectModel
from weft.model.records import Source

SMALL = b"""\
;; a federation of tanks and planes
(FED
  (Federation "Ground and Air")
  (FEDversion v1.3)
  (spaces
    (space Ground (dimension lat) (dimension long))
    (space Air (dimension lat) (dimension long) (dimension alt))
  )
  (objects
    (class ObjectRoot
      (attribute privilegeToDelete reliable timestamp)
      (class RTIprivate)
      (CLASS Tank
        (attribute lat reliable receive Ground)   ; one comment
        (attribute name BEST_EFFORT TimeStamp)
        (class Heavy (attribute weight reliable receive))
      )
      (class Plane (attribute alt reliable receive Air))
    )
  )
  (interactions
    (class InteractionRoot BEST_EFFORT RECEIVE
      (class Shot reliable timestamp Ground (parameter who) (parameter what))
    )
  )
)
"""


def fed(text: str | bytes) -> Source:
    return Source("small.fed", text.encode() if isinstance(text, str) else text)


def test_a_small_fed() -> None:
    """S2-15, S2-18."""
    module = parse_module(fed(SMALL))
    assert module.name == "Ground and Air"
    assert module.standard == "1.3"
    assert module.warnings == ()
    assert list(module.object_classes) == [
        "HLAobjectRoot",
        "HLAobjectRoot.RTIprivate",
        "HLAobjectRoot.Tank",
        "HLAobjectRoot.Tank.Heavy",
        "HLAobjectRoot.Plane",
    ]
    tank = module.object_classes["HLAobjectRoot.Tank"]
    assert tank.attributes == (
        Attribute("lat", "", "HLAreliable", "Receive", ("Ground.lat", "Ground.long")),
        Attribute("name", "", "HLAbestEffort", "TimeStamp"),
    )
    assert tank.attributes[0].place == "small.fed:14"
    assert module.spaces["Air"].dimensions == ("Air.lat", "Air.long", "Air.alt")
    assert {dimension.upper_bound for dimension in module.dimensions.values()} == {(1 << 32) - 1}
    shot = module.interaction_classes["HLAinteractionRoot.Shot"]
    assert [item.name for item in shot.parameters] == ["who", "what"]
    assert (shot.transportation, shot.order, shot.dimensions) == (
        "HLAreliable",
        "TimeStamp",
        ("Ground.lat", "Ground.long"),
    )


def test_a_fed_runs_with_the_mim() -> None:
    model = merge([parse_module(fed(SMALL))])
    (privilege,) = model.object_classes["HLAobjectRoot"].attributes
    assert privilege.name == "HLAprivilegeToDeleteObject"
    assert privilege.data_type == "HLAtoken"


def test_every_truncated_fed_is_an_error_with_a_line() -> None:
    """Every proper prefix is refused, and never with another kind of error."""
    whole = SMALL.rstrip()
    for length in range(len(whole)):
        with pytest.raises(ObjectModelError) as caught:
            parse_module(fed(whole[:length]))
        file, _, line = caught.value.place.partition(":")
        assert file == "small.fed"
        assert 1 <= int(line) <= whole.count(b"\n") + 1


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ("(FED\n(objects\n(class Tank)))", 3, "Tank"),
        ("(FED\n(interactions\n(class ObjectRoot)))", 3, "InteractionRoot"),
        ("(FED (objects (class ObjectRoot\n (attribute x reliable receive Nowhere))))", 2, "Nowhere"),
        ("(FED (objects (class ObjectRoot\n (attribute))))", 2, "attribute name"),
        ("(FED (objects (class ObjectRoot\n (class A)\n (class A))))", 3, "twice"),
        ("(FED (spaces\n (space S)\n (space S)))", 3, "twice"),
        ("(FED (objects (class ObjectRoot\n (class A.B))))", 2, "A.B"),
        ("(RID)", 1, "FED"),
    ],
)
def test_a_meaningless_fed_is_an_error_with_a_line(text: str, line: int, word: str) -> None:
    with pytest.raises(InvalidObjectModel, match=word) as caught:
        parse_module(fed(text))
    assert caught.value.place == f"small.fed:{line}"


@pytest.mark.parametrize(
    "text", ["(FED))", "(FED) x", '(FED (Federation "a\nb"))', "(" * 1000, "(FED\0)", ";", "(FED)\n(FED)"]
)
def test_an_unreadable_fed(text: str) -> None:
    with pytest.raises(ObjectModelError, match=r"^small\.fed:\d+: "):
        parse_module(fed(text))


def test_a_huge_fed_is_refused_quickly() -> None:
    with pytest.raises(UnreadableObjectModel, match="more than"):
        parse_module(fed(b"(FED " + b"x " * 2_000_000))


def test_unknown_sections_are_warned_about() -> None:
    module = parse_module(fed("(FED\n(weather sunny)\n(objects (class ObjectRoot (colour red))))"))
    assert [problem.place for problem in module.warnings] == ["small.fed:2", "small.fed:3"]
