"""The RTI ambassador's services of Weft's own for urgency, deadlines and groups of messages (docs/explanation/urgency.md).

Another vendor's RTI refuses these calls.
"""

from __future__ import annotations

from typing import Any

from weft.channel import Dependency, Urgency
from weft.federate.correlation import Heard, plain
from weft.federate.services.calls import Calls
from weft.model.errors import InteractionClassNotDefined, RTIinternalError
from weft.model.handles import AttributeHandle, InteractionClassHandle, ObjectClassHandle

AnyClass = InteractionClassHandle | ObjectClassHandle


class UrgencyServices(Calls):
    def set_class_qos(
        self, class_handle: AnyClass, urgency: int | Urgency | None = None, deadline: float = 0.0
    ) -> None:
        """Not of the standard: how urgent messages of a class are for this federate, and by when it should have dealt with each.

        It holds for the classes below it that have no QoS of their own, and for messages that come from now on.
        `urgency`: lower is more urgent; None is less urgent than all.
        `deadline`: seconds from when the callback is issued; 0: none.
        """
        if not isinstance(class_handle, (InteractionClassHandle, ObjectClassHandle)):
            raise InteractionClassNotDefined(
                f"set_class_qos takes the handle of a class, not {class_handle!r}"
            )
        word = "interaction" if isinstance(class_handle, InteractionClassHandle) else "object"
        self._call("set_class_qos", (word, class_handle.number, _plain_urgency(urgency), deadline))

    def query_qos(self) -> dict[str, Any]:
        """Not of the standard: what was set, and how many deadlines were missed, by class.

        Who has asked is told of misses, also of deadlines that the node's schedule sets.
        """
        return self._ask(dict, "query_qos")

    def correlate(self, dependency: Dependency, singly: bool = False, number: int = 0) -> int:
        """Not of the standard: have messages of this federate's subscriptions in groups (`receive_correlation`).

        Leaves are `heard(handle, …)`.  What a group waits for comes with the group alone, or also by itself if `singly`.
        Returns the number of the group: that given, or one that is free.
        """
        return self._ask(int, "correlate", plain(dependency, _by_handles), singly, number)

    def correlate_singly(self, number: int, singly: bool) -> None:
        """Not of the standard: whether messages of a group also come by themselves, from now on."""
        self._call("correlate_singly", (number, singly))

    def cancel_correlation(self, number: int) -> None:
        """Not of the standard: the group is no longer wanted, and what it has is dropped."""
        self._call("cancel_correlation", (number,))


def _plain_urgency(urgency: int | Urgency | None) -> list[int | float | None] | None:
    if urgency is None:
        return None
    if isinstance(urgency, Urgency):
        return [urgency.preemption, urgency.sub, urgency.lead if urgency.dynamic else None]
    return [urgency, 0, None]


def _by_handles(leaf: Heard) -> tuple[AnyClass, list[AttributeHandle]]:
    if isinstance(leaf.what, str) or any(isinstance(one, str) for one in leaf.attributes):
        raise RTIinternalError(
            f"heard({leaf.what!r}, …): an RTIambassador takes handles; Federate.correlate takes names"
        )
    return leaf.what, [one for one in leaf.attributes if isinstance(one, AttributeHandle)]
