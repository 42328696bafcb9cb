"""What users, hosts and dispatchers implement."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from weft.channel.event import Events
from weft.channel.qos import Publication
from weft.channel.scheduling.urgency import Urgency
from weft.channel.subscriptions import Pattern
from weft.channel.work import PushWork

Clock = Callable[[], float]
"""Handed in by whoever owns the time; nothing here looks at a clock of its own."""


class PushConsumer(Protocol):
    """A plain function that takes the events will do as well."""

    def push(self, events: Events, /) -> object:
        """Returns None when done.  Returning MORE, or being a generator, lets more urgent consumers come between."""


class PushSupplier(Protocol):
    def wanted(self, publications: frozenset[Publication], /) -> None:
        """Those of its publications that somebody wants, whenever that has changed; none: it may stop."""


class SubscriptionObserver(Protocol):
    def wants_changed(self, added: frozenset[Pattern], removed: frozenset[Pattern], /) -> None:
        """What the consumers of a channel want, gateways left out, taken together, has changed."""


class ChannelObserver(Protocol):
    """Hears of what went wrong, with who and what.  What derives from this class need not care for everything."""

    def consumer_failed(self, consumer: str, events: Events, error: Exception, /) -> None: ...

    def overran(self, consumer: str, spent: float, worst: float, /) -> None: ...

    def missed(self, consumer: str, events: Events, late: float, /) -> None:
        """It ended so many seconds after its deadline."""

    def discarded(self, consumer: str, events: Events, /) -> None: ...

    def admitted_late(self, who: str, why: str, /) -> None:
        """It was connected, by a channel that admits all, though deadlines can be missed with it; the verdict says whose."""
        return

    def hanging(self, consumer: str, events: Events, seconds: float, /) -> None:
        """It has not come back for so long; told once for each push, by hosts that can find out."""


class Dispatcher(Protocol):
    """Carries out what was decided: in whose thread or process, and in which order (S3-9).

    The contract, for every implementation: work that is dispatched is carried out once, or its receiver is told that it was
    discarded; work of a receiver that is no longer connected is dropped; a consumer that raises is reported to its receiver
    and hurts nobody else; work of one urgency stays in order.
    """

    def dispatch(self, work: PushWork, /) -> None: ...

    def must_yield(self) -> bool:
        """Asked by a consumer that runs: does something of a higher preemption priority wait?"""

    def pending(self) -> int:
        """How much work waits."""

    def run_one(self) -> bool:
        """Carry out what comes first; was there anything?  Where the dispatcher has threads of its own: always False."""

    def hand_over(self, successor: Dispatcher, /) -> list[PushWork]:
        """All that waits, in the order in which it would have been carried out.  What is interrupted from now on goes to the
        successor."""

    def take_over(self, work: list[PushWork], /) -> None:
        """What waited at another dispatcher.  None of it is discarded, whatever the water marks say."""

    def rerank(self, urgency: Callable[[PushWork], Urgency], /) -> None:
        """Another schedule: each piece of work, also what runs, is as urgent as this says from now on.  None of it is lost, and
        what is equally urgent stays in the order in which it came."""


class Scheduler(Protocol):
    """The run-time scheduler: an O(1) table (see `schedule`)."""

    def urgency(self, rt_info: str, /) -> Urgency: ...
