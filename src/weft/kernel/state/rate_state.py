"""What waits for subscribers that named an update rate; `message.update_rates` says how."""

from __future__ import annotations

from weft.kernel.state.messages import Recipient, Update
from weft.model.handles import AttributeHandle, FederateHandle, ObjectInstanceHandle


class Held:
    """An update of which some attributes wait for one subscriber."""

    def __init__(self, message: Update, recipient: Recipient, number: int) -> None:
        self.message = message
        self.recipient = recipient
        # As callbacks have it.
        self.number = number


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
