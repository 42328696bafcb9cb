"""Strategies that each break one thing of the contract."""

from __future__ import annotations

from weft.interest import DEFAULT_REGION, DdmSettings, Region, Space, Spaces

Found = frozenset[int]


class Stripes:
    """A good one: the first dimension of a space in eight stripes, the same channels for all spaces."""

    name = "Stripes"
    matches_at_sender = False
    partitions = channels = 8

    def __init__(self, spaces: Spaces, settings: DdmSettings) -> None:
        self.settings = settings
        self.asked = 0

    def update_channels(self, space: Space | None, region: Region) -> Found:
        if not region.extents:
            return frozenset()
        if space is None or not space.dimensions:
            return frozenset((0,))
        along = space.dimensions[0]
        found: set[int] = set()
        for extent in region.extents:
            lower, upper = space.bounds(extent, along)
            found.update(range(lower * 8 // along.size + 1, (upper - 1) * 8 // along.size + 2))
        return frozenset(found)


class ForgetsTheEnd(Stripes):
    def update_channels(self, space: Space | None, region: Region) -> Found:
        found = super().update_channels(space, region)
        return found if len(found) < 2 else found - {max(found)}


class OneExtent(Stripes):
    """Looks at one extent of several."""

    def update_channels(self, space: Space | None, region: Region) -> Found:
        some = sorted(region.extents, key=repr)[:1]
        return super().update_channels(space, Region(some))


class NoDefault(Stripes):
    """Takes the default region for a place of its own."""

    def update_channels(self, space: Space | None, region: Region) -> Found:
        found = super().update_channels(space, region)
        return frozenset((8,)) if space is not None and region == DEFAULT_REGION else found


class TooMany(Stripes):
    channels = 7


class SaysNothing(Stripes):
    def update_channels(self, space: Space | None, region: Region) -> Found:
        found = super().update_channels(space, region)
        return frozenset() if 5 in found else found


class SaysNonsense(Stripes):
    def update_channels(self, space: Space | None, region: Region) -> Found:
        found = super().update_channels(space, region)
        return list(found) if 5 in found else found  # type: ignore[return-value]


class Raises(Stripes):
    def update_channels(self, space: Space | None, region: Region) -> Found:
        found = super().update_channels(space, region)
        if 8 in found and len(found) == 1:
            raise ZeroDivisionError("beyond the end")
        return found


class CountsCalls(Stripes):
    """Says all channels each hundredth time: lawful, and another thing at each node."""

    def update_channels(self, space: Space | None, region: Region) -> Found:
        self.asked += 1
        found = super().update_channels(space, region)
        return found | {3} if self.asked % 100 == 0 and found else found


class Hashes(Stripes):
    """By the hash of a name, which differs between processes."""

    def update_channels(self, space: Space | None, region: Region) -> Found:
        found = super().update_channels(space, region)
        if not found or space is None:
            return found
        turn = hash(space.name)
        return frozenset((channel + turn) % 8 + 1 for channel in found)


class Negative(Stripes):
    partitions = -1


class Unsure(Stripes):
    matches_at_sender = None  # type: ignore[assignment]


class FewSpaces(Stripes):
    """Cannot do with more than one space."""

    def __init__(self, spaces: Spaces, settings: DdmSettings) -> None:
        super().__init__(spaces, settings)
        if len(spaces.all) > 1:
            raise MemoryError("too many spaces")
