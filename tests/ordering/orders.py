"""Causal and total order as one process has them: what drives `Mses` in the tests, without a kernel (S0-1).

Total order needs no clock of its own.  It is causal order by way of one process, the sequencer, at the federation's home:

    the sender sends the message to the sequencer alone, in causal order;
    the sequencer sends what it is handed on to the destinations, as messages of its own, in causal order.

All messages that anybody delivers in total order are then messages of one process, and causal order keeps those in the order
in which they were sent: the same for all.  If m caused n, by any chain of causal and total messages, the sequencer gets m first
and sends it first.  And what came before m in causal order comes before it at its destinations, since the sequencer's
tag says so.  One thing is not promised: a causal message that its sender sends after m goes straight, and may overtake m.

Each federate has one `CausalOrder` for both: their messages share a past.
"""

from __future__ import annotations

from weft.model.errors import OrderingError
from weft.ordering.message import Tag, TaggedMessage
from weft.ordering.mses import PRESENT, Mses
from weft.ordering.tags import encode_tag


class CausalOrder:
    """The stage of one process for causal and total order, at its sending and at its receiving end."""

    def __init__(self, process: Mses) -> None:
        self.process = process
        self.tag_bytes = 0
        self.tags_written = 0

    def stamp(self, destinations: list[int]) -> Tag:
        """Of a new message to exactly these."""
        return self.process.send(destinations)

    def write(self, tag: Tag, recipient: int = -1) -> bytes:
        """The tag as it goes over a link, to all recipients or to one; counted."""
        data = encode_tag(tag, recipient)
        self.tag_bytes += len(data)
        self.tags_written += 1
        return data

    def admit(self, message: TaggedMessage) -> list[TaggedMessage]:
        return _heard(self.process.admit(message))

    def crashed(self, processes: list[int]) -> list[TaggedMessage]:
        """A view ends: what its end releases."""
        return _heard(self.process.crashed(processes))


def _heard(released: list[TaggedMessage]) -> list[TaggedMessage]:
    for message in released:
        if message.filtered:
            return [one for one in released if not one.filtered]
    return released


class Sequenced:
    """The payload of a message on its way to the sequencer."""

    __slots__ = ("destinations", "payload")

    def __init__(self, destinations: list[int], payload: object) -> None:
        self.destinations = destinations
        self.payload = payload


class Sequencer:
    """At the home: `admit` takes messages that are to be totally ordered and releases them with new tags, to be sent on."""

    def __init__(self, process: Mses) -> None:
        self.process = process

    def admit(self, message: TaggedMessage) -> list[TaggedMessage]:
        return self._pass_on(self.process.admit(message))

    def crashed(self, processes: list[int]) -> list[TaggedMessage]:
        """Those who crashed get nothing more; what they had sent is passed on to the others."""
        return self._pass_on(self.process.crashed(processes))

    def _pass_on(self, released: list[TaggedMessage]) -> list[TaggedMessage]:
        made: list[TaggedMessage] = []
        for message in released:
            inner = message.payload
            if not isinstance(inner, Sequenced):
                raise OrderingError("the sequencer got a message that does not say whom it is for")
            state = self.process.state
            destinations = [k for k in inner.destinations if k >= len(state) or state[k] == PRESENT]
            if destinations:
                made.append(TaggedMessage(inner.payload, self.process.send(destinations)))
        return made
