"""RID files of data distribution (S2-4, S2-5, S2-9): where settings stand, both spellings, and errors with their line."""

from __future__ import annotations

from ipaddress import IPv4Address

import pytest

from interest.paper import settings_of, spaces_of
from weft.interest import DdmSettings, read_ddm_settings
from weft.model.errors import SettingsError

SPACES = spaces_of()

FULL = b"""\
(RTI
 (Federation
  (DataDistribution
   (StrategyToUse staticgridpartitioned)
   (Options
    (BestEffortChannelType udpmulticast)
    (ReliableChannelType TCP)
    (StaticGridPartitionedStrategyOptions
     (NumPartitionsPerDimension 0x4)
     (MaxNumberOfDataChannelsToUse 10)
     (SpaceOptions
      (2D (DimensionOptions (X (NumPartitions 10)) (y (NumPartitions 3)))))))))
 (Networking (MulticastOptions (BaseAddress 239.1.2.3) (MaxAddress "239.1.2.6"))))
"""


def test_a_full_file() -> None:
    """S2-9: names in any case, numbers in both notations."""
    found = settings_of(FULL, SPACES)
    assert found == DdmSettings(
        strategy="StaticGridPartitioned",
        partitions=4,
        overrides={("2d", "x"): 10, ("2d", "y"): 3},
        max_channels=10,
        best_effort="UDPmulticast",
        reliable="TCP",
        base_address=IPv4Address("239.1.2.3"),
        max_address=IPv4Address("239.1.2.6"),
    )
    assert found.partitions_of(SPACES.by_name["2D"]) == (10, 3)
    assert found.partitions_of(SPACES.by_name["3D"]) == (4, 4, 4)


def test_multicast_groups_are_used_again() -> None:
    """S2-9."""
    found = settings_of(FULL, SPACES)
    assert [str(found.group(channel)) for channel in (0, 1, 3, 4, 9)] == [
        "239.1.2.3", "239.1.2.4", "239.1.2.6", "239.1.2.3", "239.1.2.4",
    ]  # fmt: skip
    alone = settings_of(b"(MulticastOptions (BaseAddress 239.255.255.250))", SPACES)
    assert str(alone.max_address) == "239.255.255.255"


@pytest.mark.parametrize("name", ["NumPartitionsPerDimension", "MaxPartitionsPerDimension"])
@pytest.mark.parametrize(
    "form",
    [
        "(RTI (DataDistribution (Options (StaticGridPartitionedStrategyOptions ({} 7)))))",
        "(RTI (DataDistribution (Options ({} 7))))",
        "(RTI (DataDistribution ({} 7)))",
        "(DataDistribution (StaticGridPartitionedStrategyOptions ({} 7)))",
    ],
)
def test_both_spellings_in_every_place(name: str, form: str) -> None:
    """S2-9."""
    assert settings_of(form.format(name).encode(), SPACES).partitions == 7


def test_what_is_not_said() -> None:
    """S2-9, S2-19: one partition, 64 channels."""
    assert read_ddm_settings(None, SPACES) == settings_of(b"(RTI)", SPACES) == DdmSettings()
    assert (DdmSettings().partitions, DdmSettings().max_channels) == (1, 64)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(StrategyToUse Clever)", r"paper\.rid:2: StrategyToUse must be one of Simple, .*, not 'Clever'"),
        ("(StrategyToUse)", r"paper\.rid:2: StrategyToUse must have one value"),
        (
            "(StrategyToUse Simple)\n(StrategyToUse Exact)",
            r"paper\.rid:3: StrategyToUse contradicts paper\.rid:2",
        ),
        ("(NumPartitionsPerDimension 0)", r"paper\.rid:2: NumPartitionsPerDimension must be a whole .*'0'"),
        ("(NumPartitionsPerDimension two)", r"paper\.rid:2: .*'two'"),
        (
            "(NumPartitionsPerDimension 2)\n(MaxPartitionsPerDimension 3)",
            r"paper\.rid:3: MaxPartitionsPerDimension is 3, but NumPartitionsPerDimension, .* is 2",
        ),
        ("(MaxNumberOfDataChannelsToUse -1)", r"paper\.rid:2: MaxNumberOfDataChannelsToUse must be"),
        (
            "(BestEffortChannelType pigeon)",
            r"paper\.rid:2: BestEffortChannelType must be one of TCP, UDP, UDPm",
        ),
        ("(SpaceOptions\n(4D))", r"paper\.rid:3: SpaceOptions knows no space '4D'; there are: 1D, 2D, 3D"),
        (
            "(SpaceOptions (2D (DimensionOptions\n(q (NumPartitions 2)))))",
            r"paper\.rid:3: DimensionOptions knows no dimension 'q' of space 2D; there are: x, y",
        ),
        ("(SpaceOptions (2D (DimensionOptions (x))))", r"paper\.rid:2: DimensionOptions of x needs"),
        (
            "(SpaceOptions (2D (DimensionOptions (x (NumPartitions no)))))",
            r"paper\.rid:2: NumPartitions must be",
        ),
        (
            "(SynchronizedDeclarations Always)",
            r"paper\.rid:2: SynchronizedDeclarations must be one of Off, Timed, Regulating, not 'Always'",
        ),
        (
            "(TboundAhead 3)\n(SynchronizedDeclarations Regulating)",
            r"paper\.rid:3: SynchronizedDeclarations Regulating does not go with TboundAhead",
        ),
    ],
)
def test_what_is_wrong_is_said_with_file_line_and_setting(text: str, message: str) -> None:
    with pytest.raises(SettingsError, match=f"^{message}"):
        settings_of(f"(RTI (DataDistribution\n{text}))".encode(), SPACES)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(BaseAddress here)", "BaseAddress must be an IPv4 address, not 'here'"),
        ("(BaseAddress 10.0.0.1)", "BaseAddress 10.0.0.1 is no multicast address"),
        (
            "(BaseAddress 239.1.1.9) (MaxAddress 239.1.1.1)",
            "MaxAddress 239.1.1.1 lies below BaseAddress 239.1.1.9",
        ),
    ],
)
def test_wrong_addresses(text: str, message: str) -> None:
    with pytest.raises(SettingsError, match=f"^paper.rid:1: {message}"):
        settings_of(f"(MulticastOptions {text})".encode(), SPACES)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("(RTI (DataDistribution (SynchronizedDeclarations regulating)))", "Regulating"),
        ("(RTI (DataDistribution))\n(SynchronizedDeclarations timed)", "Timed"),
        ("(RTI)", "Off"),
    ],
)
def test_which_declarations_go_by_logical_time(text: str, found: str) -> None:
    """S4-21: in the form or in none, in any case."""
    settings = settings_of(text.encode(), SPACES)
    assert (settings.declarations, settings.unknown) == (found, ())


def test_two_forms_contradict() -> None:
    with pytest.raises(
        SettingsError, match=r"^paper.rid:2: DataDistribution stands here a second time, after paper.rid:1"
    ):
        settings_of(b"(RTI (DataDistribution)\n(DataDistribution))", SPACES)


def test_what_means_nothing_is_kept_for_advice() -> None:
    found = settings_of(b"(DataDistribution\n(Colour blue)\n(Options (Speed 3)))", SPACES)
    assert found.unknown == ("paper.rid:2: Colour", "paper.rid:3: Speed")
