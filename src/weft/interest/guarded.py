"""A strategy of another package, kept from doing harm (S2-23).

Where it raises, or its answer is none, all channels are taken instead, channel 0 among them.  They meet the channels of every
other region, so nothing is lost, only more is sent; `fault` says what it was.  An answer that *is* one, but misses the channels
of an overlapping region, shows where messages are sent (`kernel.message.other_nodes`), and is put right there.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Final

from weft.interest.ddm_settings import DdmSettings
from weft.interest.regions import Region
from weft.interest.spaces import Space, Spaces
from weft.interest.strategy import NO_CHANNELS, Channels, Strategy, load_strategy, origin
from weft.model.errors import SettingsError

MAX_CHANNELS: Final = 65_535
_CHOOSE: Final = "mend that package, or choose another StrategyToUse"


class GuardedStrategy:
    def __init__(self, spaces: Spaces, settings: DdmSettings) -> None:
        """As the settings name it; one that cannot even begin is refused."""
        self.name = settings.strategy
        self.origin = origin(self.name)
        self.fault = ""  # the first thing that it did wrong
        self._inner = self._begin(spaces, settings)
        self.partitions = _number(self, self._inner, "partitions", 1 << 62)
        self.channels = _number(self, self._inner, "channels", MAX_CHANNELS)
        self.matches_at_sender = getattr(self._inner, "matches_at_sender", None) is True
        self._everything: Channels = frozenset(range(self.channels + 1))

    def __repr__(self) -> str:
        return f"strategy {self.name!r} of {self.origin}"

    def _begin(self, spaces: Spaces, settings: DdmSettings) -> Strategy:
        make = load_strategy(self.name)
        if not callable(make):
            raise SettingsError(f"{self!r} is no class and no function: {make!r}; {_CHOOSE}")
        try:
            made: Strategy = make(spaces, settings)
        except SettingsError as error:
            raise SettingsError(f"{self!r} refuses its settings: {error}") from error
        except Exception as error:
            raise SettingsError(f"{self!r} cannot begin: {error!r}; {_CHOOSE}") from error
        if not callable(getattr(made, "update_channels", None)):
            raise SettingsError(f"{self!r} has no method update_channels(space, region); {_CHOOSE}")
        return made

    def update_channels(self, space: Space | None, region: Region) -> Channels:
        if not region.extents:
            return NO_CHANNELS
        try:
            found: object = self._inner.update_channels(space, region)
        except Exception as error:
            return self._instead(f"raised {error!r}", space, region)
        if not isinstance(found, Set):
            return self._instead(f"returned {found!r} and no set of channels", space, region)
        if not found:
            return self._instead("returned no channel", space, region)
        for channel in found:
            if type(channel) is not int or not 0 <= channel <= self.channels:
                return self._instead(
                    f"returned channel {channel!r}, and has 0 to {self.channels}", space, region
                )
        return frozenset(found)

    def _instead(self, what: str, space: Space | None, region: Region) -> Channels:
        self.blame(f"{what} for {region!r} in {'no space' if space is None else f'space {space.name}'}")
        return self._everything

    def blame(self, what: str) -> None:
        """It did something wrong; the first of it is told."""
        if not self.fault:
            self.fault = (
                f"{self!r} {what}; the message went to more nodes than need be, and none was lost: {_CHOOSE}"
            )


def _number(guard: GuardedStrategy, inner: Strategy, name: str, most: int) -> int:
    value: object = getattr(inner, name, None)
    if type(value) is not int or not 0 <= value <= most:
        raise SettingsError(
            f"{guard!r}: {name} must be a whole number from 0 to {most}, not {value!r}; {_CHOOSE}"
        )
    return value
