"""What waits for subscribers that named an update rate; `message.update_rates` says how."""

from __future__ import annotations

from typing import Any

from weft.model.handles import AttributeHandle, FederateHandle, ObjectInstanceHandle, TransportationTypeHandle


class Held:
    """An update of which some attributes wait."""

    def __init__(
        self,
        values: Any,
        tag: bytes,
        transportation: TransportationTypeHandle,
        producer: FederateHandle,
        stamp: tuple[Any, ...],
        regions: Any = None,
        number: int = 0,
    ) -> None:
        self.values = values
        self.tag = tag
        self.transportation = transportation
        self.producer = producer
        self.stamp = stamp
        self.regions = regions  # as its subscriber is told of them
        self.number = number  # of the message


class Pace:
    """What a member was handed of an instance, and what waits for it."""

    def __init__(self) -> None:
        self.last: dict[AttributeHandle, float] = {}  # when it was handed the attribute
        self.held: dict[AttributeHandle, Held] = {}  # the newest value that came too soon
        self.alarm = 0.0  # when it is looked at again; 0: not at all


class Paces:
    """All paces of the members of a federation that are here."""

    def __init__(self) -> None:
        self.of: dict[FederateHandle, dict[ObjectInstanceHandle, Pace]] = {}
        self.alarms: list[tuple[float, FederateHandle, ObjectInstanceHandle]] = []  # a heap
