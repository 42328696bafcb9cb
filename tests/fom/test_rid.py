"""RID files (S2-9, S2-18)."""

from __future__ import annotations

import pytest

from weft.fom import parse_rid
from weft.model.errors import ObjectModelError, SettingsError
from weft.model.records import Source

TEXT = b"""\
;; run-time settings
(RTI
  (DataDistribution
    (StrategyToUse StaticGridPartitioned)
    (NumPartitionsPerDimension 2)
    (SpaceOptions
      (Ground (DimensionOptions (x (NumPartitions 0x10))))
      (Air (DimensionOptions (x (NumPartitions many)))))
    (BestEffortChannelType UDPmulticast)
    (Empty)
    (Debug Yes))
  (MulticastOptions (BaseAddress "224.1.2.3")))
"""


def test_dotted_look_up() -> None:
    """S2-9: also SpaceOptions/<space>/DimensionOptions/<dim>/NumPartitions."""
    rid = parse_rid(Source("a.rid", TEXT))
    assert rid.get("DataDistribution.StrategyToUse") == "StaticGridPartitioned"
    assert rid.get("RTI.DataDistribution.StrategyToUse") == "StaticGridPartitioned"
    assert rid.get("datadistribution.strategytouse") == "StaticGridPartitioned"
    assert rid.get("DataDistribution.NumPartitionsPerDimension") == "2"
    assert rid.get("DataDistribution.MaxNumberOfDataChannelsToUse", "64") == "64"
    assert rid.get("DataDistribution.SpaceOptions.Ground.DimensionOptions.x.NumPartitions") == "0x10"
    assert rid.get("MulticastOptions.BaseAddress") == "224.1.2.3"
    assert rid.get("No.Such.Thing") is None
    spaces = rid.find("DataDistribution.SpaceOptions")
    assert spaces is not None
    assert [child.name for child in spaces.children] == ["Ground", "Air"]


def test_a_missing_value_names_its_line() -> None:
    rid = parse_rid(Source("a.rid", TEXT))
    with pytest.raises(SettingsError, match=r"^a\.rid:10: "):
        rid.get("DataDistribution.Empty")


@pytest.mark.parametrize("text", ["", "(RTI", "(RTI))", "RTI", "(RTI ((x)))", "()", "(" * 10_000, '("open'])
def test_bad_rid_files(text: str) -> None:
    with pytest.raises(ObjectModelError, match=r"^a\.rid:\d+: "):
        parse_rid(Source("a.rid", text.encode()))
