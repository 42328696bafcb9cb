"""The examples of paper 002 that its figures 1 to 4 show, as files: `weft ddm draw --example N`, and `weft papers 002`.

Hexadecimal numbers of the paper that lack a digit have it here (docs/explanation/ddm.md, "Where the paper is wrong").
"""

from __future__ import annotations

from typing import Final, NamedTuple

from weft.model.records import Source


class PaperExample(NamedTuple):
    title: str
    fed: Source
    rid: Source
    # As `ddm_regions` reads them.
    regions: str


_GROUND_AND_AIR = b"""\
(FED (Federation paper) (FEDversion v1.3)
 (spaces
  (space Ground (dimension doesNotMatter))
  (space Air (dimension doesNotMatter)))
 (objects (class ObjectRoot (attribute privilegeToDelete reliable timestamp)
  (class tank (attribute lat reliable receive Ground) (attribute long reliable receive Ground))
  (class plane (attribute lat reliable receive Air) (attribute long reliable receive Air)
   (attribute alt reliable receive Air))))
 (interactions (class InteractionRoot reliable receive)))
"""
_CANONICAL = b"""\
(FED (Federation paper) (FEDversion v1.3)
 (spaces
  (space 1D (dimension x))
  (space 2D (dimension x) (dimension y))
  (space 3D (dimension x) (dimension y) (dimension z)))
 (objects (class ObjectRoot (attribute privilegeToDelete reliable timestamp)
  (class A (attribute x reliable receive 1D))
  (class B (attribute x reliable receive 2D) (attribute y reliable receive 2D))))
 (interactions (class InteractionRoot reliable receive)))
"""
_CHANNELS = b"""\
(FED (Federation paper) (FEDversion v1.3)
 (spaces (space channels (dimension bin)))
 (objects (class ObjectRoot (attribute privilegeToDelete reliable timestamp)
  (class Unit (attribute state reliable receive channels))))
 (interactions (class InteractionRoot reliable receive)))
"""
_SPACES = """\
tanks subscribes tank.lat
tanks subscribes tank.long
planes subscribes plane.lat
planes subscribes plane.alt
sender updates tank.lat 10 times
sender updates plane.lat 10 times
"""
_REGIONS = """\
R1D-1 = 1D: x=0xf..0xff
R1D-2 = 1D: x=0x80001111..0xffff0000
R1D-3 = 1D: x=0xf..0x8fff0000
R2D-1 = 2D: x=0x0..0x10, y=0x0..0x10
R2D-2 = 2D: x=0x10..0x8fff0000, y=0x8fff0000..0xffff0000
R2D-3 = 2D: x=0x0..0x10, y=0x0..0x10; x=0x8fff0000..0xffff0000, y=0x8fff0000..0xffff0000
R2D-4 = 2D: x=0x0..0xffffffff, y=0x0..0xffffffff
R2D-5 = 2D: x=0x0..0x09, y=0x8fff0000..0xffff0000
Fed1 subscribes A.x R1D-1
Fed1 subscribes B.x R2D-1
Fed1 subscribes B.y R2D-4
Fed2 subscribes A.x R1D-3
Fed2 subscribes B.y R2D-2
Fed3 subscribes A.x R1D-1 R1D-3
Fed3 subscribes B.x R2D-1
Fed3 subscribes B.y R2D-3 R2D-4
"""


def _rid(options: str, strategy: str = "StaticGridPartitioned") -> Source:
    text = f"(RTI (Federation (DataDistribution (StrategyToUse {strategy}) (Options {options}))))"
    return Source("paper.rid", text.encode())


def _grid(options: str) -> Source:
    return _rid(f"(StaticGridPartitionedStrategyOptions {options})")


def point_region(number: int) -> str:
    """The small region R1 to R16 in the middle of its partition."""
    at = (number - 1) << 28
    return f"R{number} = channels: bin=0x{at | 0xFFFE:08x}..0x{at | 0xFFFF:08x}"


EXAMPLES: Final[dict[int, PaperExample]] = {
    1: PaperExample(
        "a channel for each routing space",
        Source("paper.fed", _GROUND_AND_AIR),
        _rid("", "StaticSpacePartitioned"),
        _SPACES,
    ),
    2: PaperExample(
        "regions and their channels, two partitions in each dimension",
        Source("paper.fed", _CANONICAL),
        _grid("(NumPartitionsPerDimension 2)"),
        _REGIONS,
    ),
    3: PaperExample(
        "ten pieces along x and three along y",
        Source("paper.fed", _CANONICAL),
        _grid(
            "(NumPartitionsPerDimension 2) "
            "(SpaceOptions (2D (DimensionOptions (x (NumPartitions 10)) (y (NumPartitions 3)))))"
        ),
        "",
    ),
    4: PaperExample(
        "point regions: one in each of sixteen partitions",
        Source("paper.fed", _CHANNELS),
        _grid("(NumPartitionsPerDimension 16)"),
        "\n".join(point_region(number) for number in range(1, 17)),
    ),
}
