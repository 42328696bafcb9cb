"""Effects: what the kernel wants done.  The kernel decides, the host does (`weft.host`)."""

from __future__ import annotations

from typing import Final

from weft.kernel.state.parcels import Commit
from weft.model.deliveries import Delivery
from weft.model.enums import OrderType

LEAST_URGENT: Final = 1 << 30
"""The priority of a message that nobody called urgent: after all others."""


class Effect:
    """Base of all effects."""


class Reply(Effect):
    """A call has succeeded: hand `value` to whoever made call `number` in that session."""

    def __init__(self, session: int, number: int, value: object) -> None:
        self.session = session
        self.number = number
        self.value = value


class Refuse(Effect):
    """A call has failed: raise `error` at whoever made call `number` in that session."""

    def __init__(self, session: int, number: int, error: Exception) -> None:
        self.session = session
        self.number = number
        self.error = error


class Callback(Effect):
    """Invoke a service of the federate ambassador of that session.

    Of a message there is a `delivery`, and the arguments are its own.  `number`: of the message, among those of its producer;
    negative if its delivery has been recorded already, 0: it is none, or its stamp says it.
    """

    # The federate has ended with it.
    handled = False

    def __init__(
        self,
        session: int,
        method: str,
        arguments: tuple[object, ...] = (),
        number: int = 0,
        delivery: Delivery | None = None,
    ) -> None:
        self.session = session
        self.method = method
        self.number = number
        self.delivery = delivery
        self._arguments = arguments

    @property
    def arguments(self) -> tuple[object, ...]:
        return self._arguments if self.delivery is None else self.delivery.arguments()

    def __repr__(self) -> str:
        return f"Callback({self.session}, {self.method}{self.arguments!r})"


class UrgentCallback(Callback):
    """A message that says how urgent it is: by its priority order, or because its receiver has said so (`qos.consumers`).

    It is taken before callbacks that wait and are less urgent, as far as orders allow (`state.callback_queue`).  Lower numbers
    are more urgent: `priority`, then `dynamic`, then `sub`.  `order` is the order it was delivered in; None: not known any more.
    With a `ticket`, whoever hands it over says when that is over (`Node.done`): it has a deadline.
    """

    def __init__(
        self,
        session: int,
        method: str,
        arguments: tuple[object, ...],
        priority: int,
        order: OrderType | None = OrderType.PRIORITY,
        dynamic: float = 0.0,
        sub: int = 0,
        ticket: int = 0,
        number: int = 0,
        delivery: Delivery | None = None,
    ) -> None:
        super().__init__(session, method, arguments, number, delivery)
        self.priority = priority
        self.order = order
        self.dynamic = dynamic
        self.sub = sub
        self.ticket = ticket


class Alarm(Effect):
    """Call `Node.tick` at that time: something waits for that session, or watches it or comes again and again (`recurring`).

    `Node.next_tick` says so, too; the alarm is for hosts that would not ask in time.
    """

    def __init__(self, session: int, when: float, recurring: bool = False) -> None:
        self.session = session
        self.when = when
        self.recurring = recurring


class Record(Effect):
    """Append a line to a file of service reports."""

    def __init__(self, file: str, line: str) -> None:
        self.file = file
        self.line = line


class Carried(Effect):
    """For what joins the node to the others (`weft.host.mesh.federations`); without one, to nobody."""


class Transmit(Carried):
    """Send a parcel to another node: reliably and in order with what was sent before, or at best effort."""

    def __init__(self, node: str, parcel: object, reliable: bool = True) -> None:
        self.node = node
        self.parcel = parcel
        self.reliable = reliable


class Cast(Carried):
    """Send a parcel at best effort to all who listen to one of these multicast groups: that is, to these nodes."""

    def __init__(self, nodes: tuple[str, ...], groups: tuple[str, ...], parcel: object) -> None:
        self.nodes = nodes
        self.groups = groups
        self.parcel = parcel


class Listen(Carried):
    """For this federation listen to these multicast groups, and to no others."""

    def __init__(self, federation: str, groups: tuple[str, ...]) -> None:
        self.federation = federation
        self.groups = groups


class Remember(Carried):
    """A federation at home here has gone on by this commit; None: it has begun, ended, or come back.

    A host that is to outlive a crash writes it down, and from time to time `Node.remembered` instead.
    """

    def __init__(self, federation: str, commit: Commit | None) -> None:
        self.federation = federation
        self.commit = commit


class Named(Carried):
    """At the directory: the federation of that name has its home there; empty: the name is free."""

    def __init__(self, federation: str, home: str, time_implementation: str) -> None:
        self.federation = federation
        self.home = home
        self.time_implementation = time_implementation


class Store(Effect):
    """Keep the save of a federation under this label; then tell `Node.stored` how it went."""

    def __init__(self, federation: str, execution: str, label: str, data: object) -> None:
        self.federation = federation
        self.execution = execution
        self.label = label
        self.data = data  # plain data: dicts, lists, text, bytes, numbers


class Fetch(Effect):
    """Look for the save of a federation under this label; hand it to `Node.fetched`, or None."""

    def __init__(self, federation: str, execution: str, label: str) -> None:
        self.federation = federation
        self.execution = execution
        self.label = label


class Notice(Effect):
    """Something whoever runs the node should read; if it is not a `warning`, then in the log."""

    def __init__(self, text: str, warning: bool = True) -> None:
        self.text = text
        self.warning = warning
