"""A `Federate` in logical time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, cast

from weft.federate.clock import Number, steps
from weft.federate.easy.base import FederatePart
from weft.model.errors import InvalidMessageRetractionHandle
from weft.model.handles import MessageRetractionHandle
from weft.model.records import Blocking
from weft.model.time import AnyTime

if TYPE_CHECKING:
    from weft.federate.federate import Federate


class TimingPart(FederatePart):
    """Logical time: steps, advances, and who blocks them."""

    @property
    def now(self) -> Number:
        """The logical time that this federate was granted last."""
        return self._clock.now

    @property
    def earliest(self) -> Number:
        """The earliest time of a message that is sent now: that of the federate, or that it has asked for, plus its lookahead."""
        return self._clock.earliest

    @property
    def behind(self) -> float:
        """By how many seconds the last step of `steps(…, pace=…)` began too late."""
        return self._clock.behind

    def steps(self, step: Number, until: Number = math.inf, pace: float | None = None) -> Iterator[Number]:
        """Go through logical time: `for t in federate.steps(0.1, until=10)` asks for 0.1, 0.2 … 10.0, from where it is now.

        In the block all messages up to `t` have come.  `pace`: so many seconds of logical time pass in one second; what one step
        takes too long the next ones take less.
        """
        return steps([cast("Federate", self)], step, until, pace)

    def advance(self, to: AnyTime, *, available: bool = False) -> Number:
        """Wait until the federation has come to that time, and handle messages meanwhile; returns the time.

        That is Time Advance Request, or Time Advance Request Available, after which more messages of just that time may come.
        """
        rti = self.rti
        ask = rti.time_advance_request_available if available else rti.time_advance_request
        return self._clock.advance(ask, to)

    def next_message(self, until: AnyTime = math.inf, *, available: bool = False) -> Number:
        """Wait until the time of the next message, or that one if none comes; returns the time (Next Message Request)."""
        rti = self.rti
        ask = rti.next_message_request_available if available else rti.next_message_request
        return self._clock.advance(ask, until)

    def flush(self, until: AnyTime = math.inf) -> Number:
        """Take all messages there are, also those of later times; returns the time (Flush Queue Request)."""
        return self._clock.advance(self.rti.flush_queue_request, until)

    def request(self, to: AnyTime) -> None:
        """Ask for that time and do not wait; `wait` does, or it comes while callbacks are handled."""
        self._clock.request(self.rti.time_advance_request, to)

    def wait(self) -> Number:
        """Handle messages until the time that was asked for is granted; returns it."""
        return self._clock.wait()

    def retract(self, message: MessageRetractionHandle | None) -> None:
        """Take back a message that was sent with a time; None, which one without a time returns, is refused."""
        if message is None:
            raise InvalidMessageRetractionHandle(
                "only a message with a logical time, sent in time stamp order, can be taken back"
            )
        self.rti.retract(message)

    def on_blocked(self, handler: Callable[[Blocking], object]) -> Callable[[Blocking], object]:
        """Call the function, every few seconds, with whom this federate waits for; without one that is logged."""
        self._clock.watchers.append(handler)
        return handler
