"""Stand-in until the strategies come."""

from __future__ import annotations

from typing import Protocol

from weft.interest.regions import Extent


class Strategy(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def exact(self) -> bool: ...

    @property
    def multicast(self) -> bool: ...

    def attribute_channels(
        self, object_class: str, attribute: str, extents: tuple[Extent, ...] | None
    ) -> tuple[int, ...]: ...

    def interaction_channels(
        self, interaction_class: str, extents: tuple[Extent, ...] | None
    ) -> tuple[int, ...]: ...

    def group(self, channel: int) -> str: ...


class Exact:
    name = "Exact"
    exact = True
    multicast = False

    def attribute_channels(
        self, object_class: str, attribute: str, extents: tuple[Extent, ...] | None
    ) -> tuple[int, ...]:
        return (0,)

    def interaction_channels(
        self, interaction_class: str, extents: tuple[Extent, ...] | None
    ) -> tuple[int, ...]:
        return (0,)

    def group(self, channel: int) -> str:
        return ""
