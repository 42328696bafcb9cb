"""How data distribution is set up: the DataDistribution and MulticastOptions forms of a RID file (S2-4, S2-5, S2-9).

    (DataDistribution
      (StrategyToUse StaticGridPartitioned)
      (Options
        (BestEffortChannelType UDPmulticast) (ReliableChannelType TCP)
        (StaticGridPartitionedStrategyOptions
          (NumPartitionsPerDimension 2) (MaxNumberOfDataChannelsToUse 64)
          (SpaceOptions (Ground (DimensionOptions (x (NumPartitions 10))))))))
    (Networking (MulticastOptions (BaseAddress 239.1.2.0) (MaxAddress 239.1.2.255)))

Both forms are found wherever they stand in the file.  An option may stand in its own form, as above, or directly in a form
around it, as short files have it.  MaxPartitionsPerDimension is another spelling of NumPartitionsPerDimension.  A strategy NAME
finds what it alone knows in a form of its own: (NAMEStrategyOptions (Key value) …).

SynchronizedDeclarations, in that form or in none, says what goes by logical time besides regions (S4-21):

    Off         nothing: only classes with dimensions, and only calls that name a time
    Timed       also subscriptions of classes without dimensions, by calls that name a time
    Regulating  besides, what regulating federates call without a time counts as of their time plus lookahead
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import AddressValueError, IPv4Address

from weft.fom import Rid
from weft.interest.cell_settings import CellSettings, read_cell_settings
from weft.interest.spaces import Space, Spaces
from weft.interest.strategy import EXACT as EXACT
from weft.interest.strategy import GRID as GRID
from weft.interest.strategy import HOW_TO_INSTALL, known_strategy, strategy_names
from weft.interest.strategy import SIMPLE as SIMPLE
from weft.interest.strategy import SPACE as SPACE
from weft.interest.strategy import STRATEGIES as STRATEGIES
from weft.model.errors import SettingsError

TCP, UDP, MULTICAST = "TCP", "UDP", "UDPmulticast"
CHANNEL_TYPES = (TCP, UDP, MULTICAST)

_OPTIONS = "StrategyOptions"
GRID_OPTIONS = f"{GRID}{_OPTIONS}"
MAX_PARTITIONS = 1 << 20  # of one dimension, and of all spaces together

BASE_ADDRESS = IPv4Address("239.255.87.0")  # of the addresses that an organisation uses as it likes
MAX_ADDRESS = IPv4Address("239.255.87.255")
LAST_MULTICAST = IPv4Address("239.255.255.255")

SYNCHRONIZED = "SynchronizedDeclarations"
OFF, TIMED, REGULATING = "Off", "Timed", "Regulating"
DECLARATIONS = (OFF, TIMED, REGULATING)


@dataclass(frozen=True, slots=True)
class DdmSettings:
    """Without a RID file: a grid of one partition, which suits federations that know nothing of regions (S2-19)."""

    strategy: str = GRID
    partitions: int = 1
    # By space and dimension, in lower case.
    overrides: Mapping[tuple[str, str], int] = field(default_factory=dict)
    max_channels: int = 64
    best_effort: str = UDP  # datagrams to each node that listens
    reliable: str = TCP
    base_address: IPv4Address = BASE_ADDRESS
    max_address: IPv4Address = MAX_ADDRESS
    tbound: float = 0.0  # of regions as of a time: how far ahead of everybody's past Tbound is; 0: none
    cells: CellSettings = field(default_factory=CellSettings)  # of regions as of a time
    # Of the form NAMEStrategyOptions of the strategy; keys in lower case.
    options: Mapping[str, str] = field(default_factory=dict)
    declarations: str = OFF  # which go by logical time
    unknown: tuple[str, ...] = ()  # settings of these forms that mean nothing, as "file:line: name"

    def partitions_of(self, space: Space) -> tuple[int, ...]:
        """How many partitions each dimension of a space has."""
        return tuple(
            self.overrides.get((space.name.lower(), dimension.name.lower()), self.partitions)
            for dimension in space.dimensions
        )

    def group(self, channel: int) -> IPv4Address:
        """The multicast group of a channel's best-effort data; groups are used again where channels are more (S2-9)."""
        return self.base_address + channel % (int(self.max_address) - int(self.base_address) + 1)


def read_ddm_settings(rid: Rid | None, spaces: Spaces) -> DdmSettings:
    """The settings of a RID file, checked against the spaces they speak of."""
    if rid is None:
        return DdmSettings()
    forms = [*_anywhere(rid, "DataDistribution")]
    if len(forms) > 1:
        raise _error(forms[1], "DataDistribution", f"stands here a second time, after {forms[0].place}")
    top = forms[0] if forms else Rid("DataDistribution")
    options = top.child("Options") or top
    grid = options.child(GRID_OPTIONS) or top.child(GRID_OPTIONS) or options
    levels = [*{id(form): form for form in (grid, options, top)}.values()]
    strategy = _strategy(levels)
    own = f"{strategy}{_OPTIONS}"
    base, last = _addresses([*_anywhere(rid, "MulticastOptions")])
    tbound, declarations = (
        _positive(levels, "TboundAhead"),
        _choice([*levels, rid], SYNCHRONIZED, DECLARATIONS, OFF),
    )
    if tbound and declarations == REGULATING:
        message = f"{REGULATING} does not go with TboundAhead, which would refuse what federates call without a time"
        raise _error(_first([*levels, rid], SYNCHRONIZED) or top, SYNCHRONIZED, message)
    return DdmSettings(
        strategy=strategy,
        partitions=_partitions(levels),
        overrides=_overrides(levels, spaces),
        max_channels=_number(levels, "MaxNumberOfDataChannelsToUse", 64, 65_535),
        best_effort=_choice(levels, "BestEffortChannelType", CHANNEL_TYPES, UDP),
        reliable=_choice(levels, "ReliableChannelType", (TCP, MULTICAST), TCP),
        tbound=tbound,
        declarations=declarations,
        cells=read_cell_settings([form for level in levels for form in level.all("CellOptions")], spaces),
        base_address=base,
        max_address=last,
        options={} if strategy == GRID else _own_options(_first([options, top], own)),
        unknown=_unknown(levels, own),
    )


# Finding


def _anywhere(form: Rid, name: str) -> Iterator[Rid]:
    """Every form of that name, not looking inside those found."""
    for child in form.children:
        if child.name.lower() == name.lower():
            yield child
        else:
            yield from _anywhere(child, name)


def _first(levels: Sequence[Rid], name: str) -> Rid | None:
    found = [child for level in levels for child in level.all(name)]
    for other in found[1:]:
        if other.values != found[0].values:
            raise _error(other, name, f"contradicts {found[0].place}")
    return found[0] if found else None


def _error(form: Rid, name: str, message: str) -> SettingsError:
    return SettingsError(f"{form.place}: {name} {message}")


# Values


def _value(form: Rid, name: str) -> str:
    if len(form.values) != 1 or form.children:
        raise _error(form, name, f"must have one value, as in ({name} VALUE)")
    return form.values[0]


def _choice(levels: Sequence[Rid], name: str, choices: Sequence[str], default: str) -> str:
    form = _first(levels, name)
    if form is None:
        return default
    value = _value(form, name)
    for choice in choices:
        if value.lower() == choice.lower():
            return choice
    raise _error(form, name, f"must be one of {', '.join(choices)}, not {value!r}")


def _strategy(levels: Sequence[Rid]) -> str:
    form = _first(levels, "StrategyToUse")
    if form is None:
        return GRID
    value = _value(form, "StrategyToUse")
    known = known_strategy(value)
    if known is None:
        names = ", ".join(strategy_names())
        raise _error(form, "StrategyToUse", f"must be one of {names}, not {value!r}; {HOW_TO_INSTALL}")
    return known


def _own_options(form: Rid | None) -> dict[str, str]:
    return {} if form is None else {child.name.lower(): _value(child, child.name) for child in form.children}


def _number(levels: Sequence[Rid], name: str, default: int, most: int) -> int:
    form = _first(levels, name)
    return default if form is None else _whole(form, name, most)


def _whole(form: Rid, name: str, most: int) -> int:
    text = _value(form, name)
    try:
        value = int(text, 0)
    except ValueError:
        value = 0
    if not 1 <= value <= most:
        raise _error(form, name, f"must be a whole number from 1 to {most}, not {text!r}")
    return value


def _positive(levels: Sequence[Rid], name: str) -> float:
    """0 where it is not given."""
    form = _first(levels, name)
    if form is None:
        return 0.0
    text = _value(form, name)
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < float("inf"):
        raise _error(form, name, f"must be a number above 0, not {text!r}")
    return value


def _partitions(levels: Sequence[Rid]) -> int:
    """S2-9: both spellings; saying different things with them is an error."""
    one, other = "NumPartitionsPerDimension", "MaxPartitionsPerDimension"
    first, second = (_number(levels, name, 0, MAX_PARTITIONS) for name in (one, other))
    contradicting = _first(levels, other)
    if first and second and first != second and contradicting is not None:
        message = f"is {second}, but {one}, which means the same, is {first}"
        raise _error(contradicting, other, message)
    return first or second or 1


def _overrides(levels: Sequence[Rid], spaces: Spaces) -> dict[tuple[str, str], int]:
    found: dict[tuple[str, str], int] = {}
    known = {space.name.lower(): space for space in spaces.all}
    for level in levels:
        for options in level.all("SpaceOptions"):
            for named in options.children:
                space = known.get(named.name.lower())
                if space is None:
                    names = ", ".join(one.name for one in spaces.all) or "none"
                    raise _error(named, "SpaceOptions", f"knows no space {named.name!r}; there are: {names}")
                found.update(_dimension_options(named, space))
    return found


def _dimension_options(named: Rid, space: Space) -> dict[tuple[str, str], int]:
    known = {dimension.name.lower() for dimension in space.dimensions}
    found: dict[tuple[str, str], int] = {}
    for options in named.all("DimensionOptions"):
        for dimension in options.children:
            name = dimension.name.lower()
            if name not in known:
                names = ", ".join(one.name for one in space.dimensions)
                message = f"knows no dimension {dimension.name!r} of space {space.name}; there are: {names}"
                raise _error(dimension, "DimensionOptions", message)
            number = dimension.child("NumPartitions")
            if number is None:
                raise _error(dimension, "DimensionOptions", f"of {dimension.name} needs (NumPartitions N)")
            found[space.name.lower(), name] = _whole(number, "NumPartitions", MAX_PARTITIONS)
    return found


def _addresses(forms: Sequence[Rid]) -> tuple[IPv4Address, IPv4Address]:
    given = [_address(forms, name) for name in ("BaseAddress", "MaxAddress")]
    base, last = given[0] or BASE_ADDRESS, given[1] or MAX_ADDRESS
    if given[0] and not given[1]:
        last = IPv4Address(min(int(base) + 255, int(LAST_MULTICAST)))
    if base > last:
        form = _first(forms, "MaxAddress") or forms[0]
        raise _error(form, "MaxAddress", f"{last} lies below BaseAddress {base}")
    return base, last


def _address(forms: Sequence[Rid], name: str) -> IPv4Address | None:
    form = _first(forms, name)
    if form is None:
        return None
    text = _value(form, name)
    try:
        address = IPv4Address(text)
    except AddressValueError:
        raise _error(form, name, f"must be an IPv4 address, not {text!r}") from None
    if not address.is_multicast:
        raise _error(form, name, f"{text} is no multicast address; those are 224.0.0.0 to 239.255.255.255")
    return address


_KNOWN = frozenset(
    name.lower()
    for name in (
        "StrategyToUse", "Options", GRID_OPTIONS, "NumPartitionsPerDimension", "MaxPartitionsPerDimension",
        "MaxNumberOfDataChannelsToUse", "TboundAhead", "CellOptions", "SpaceOptions", "BestEffortChannelType",
        "ReliableChannelType", SYNCHRONIZED,
    )
)  # fmt: skip


def _unknown(levels: Sequence[Rid], own: str) -> tuple[str, ...]:
    return tuple(
        f"{child.place}: {child.name}"
        for level in reversed(levels)
        for child in level.children
        if child.name.lower() not in _KNOWN and child.name.lower() != own.lower()
    )
