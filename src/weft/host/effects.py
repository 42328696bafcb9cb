"""Carries out what a kernel has decided, where federates are in the same process.

Callbacks go to the inboxes of their sessions and answers to the calls that wait for them; for the rest there is the host.
A server has its own way (`server.outbox`), since its callbacks become frames.

Whoever decides puts a callback into an inbox, whoever evokes takes it out, each in a thread of its own: both are one operation
of a deque.  A producer wakes a consumer only if that really sleeps, which keeps the cost of a callback at one `append`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from weft.kernel import (
    PAUSES,
    Alarm,
    Callback,
    Carried,
    Effect,
    Fetch,
    LastMile,
    Node,
    Notice,
    Record,
    Refuse,
    Reply,
    Store,
    UrgentCallback,
)

_FREE = nullcontext()
_WITHOUT_FEDERATION = (
    "connection_lost",
    "report_federation_executions",
    "report_federation_execution_members",
    "report_federation_execution_does_not_exist",
)


def drop_federation(inbox: deque[Callback]) -> None:
    """Keep only what does not depend on being joined: reports about federations, and the loss of the connection."""
    kept = [callback for callback in inbox if callback.method in _WITHOUT_FEDERATION]
    inbox.clear()
    inbox.extend(kept)


def _nobody_sleeps() -> None:
    """There is nobody to be woken."""


class Inbox:
    """Callbacks in the order in which they came or, once a message says how urgent it is, the most urgent first.

    Of a session of a node in this process: the node is told when the federate takes a callback, with `guard` held.  What adds
    the way to call is a `Connection`.
    `wake` is called for a callback that comes while `asleep`.
    """

    def __init__(
        self,
        node: Node | None = None,
        session: int = 0,
        guard: AbstractContextManager[object] = _FREE,
        clock: Callable[[], float] = float,
        wake: Callable[[], None] = _nobody_sleeps,
    ) -> None:
        self.session = session
        self.closed = False
        self.asleep = False
        self.wake = wake
        self._arrived: deque[Callback] = deque()
        self._urgent: LastMile | None = None
        self._node = node
        self._guard = guard
        self._clock = clock
        # For surveys (`observing.survey`).
        self.calls = 0
        self.callbacks = 0
        self.last_method = ""
        self.last_at = 0.0

    def put(self, callback: Callback) -> None:
        if self._urgent is None and isinstance(callback, UrgentCallback):
            self._urgent = LastMile()
        self.callbacks += 1
        self.last_method = callback.method
        self._arrived.append(callback)
        if self.asleep:
            self.wake()

    def take(self) -> Callback | None:
        """Remove and return the next callback, if there is one."""
        arrived = self._arrived
        if arrived and self._urgent is None:
            callback: Callback | None = arrived.popleft()
        else:
            self.look()
            urgent = self._urgent
            if urgent is not None:
                callback = urgent.take(arrived)
            else:
                callback = arrived.popleft() if arrived else None
        node = self._node
        if node is None or callback is None or self.closed:
            return callback
        if node.holding and callback.method in PAUSES:
            with self._guard:
                node.took(self.session, callback.method)
        if node.recordings is not None:
            node.handles(self.session, callback)
            if isinstance(callback, UrgentCallback) and callback.ticket:
                with self._guard:
                    node.began(self.session, callback.ticket, self._clock())
        return callback

    def look(self) -> None:
        """What comes now might be taken next: a host that can see to it does, without waiting."""

    def now(self) -> float:
        return self._clock()

    def pending(self) -> bool:
        """Is a callback there?"""
        return bool(self._arrived) or (self._urgent is not None and self._urgent.waiting > 0)

    def waiting(self) -> int:
        """How many callbacks there are."""
        return len(self._arrived) + (0 if self._urgent is None else self._urgent.waiting)

    def is_worth_a_look(self) -> bool:
        """Might something that comes now be taken next?"""
        return not self._arrived or self._urgent is not None

    def forget_federation(self) -> None:
        """Drop what depends on being joined."""
        with self._guard:
            drop_federation(self._arrived)
            if self._urgent is not None:
                self._urgent.clear()


class EffectHost(Protocol):
    """What a host does itself."""

    def carry(self, effect: Carried) -> None:
        """Send or keep what is for other nodes."""

    def alarm(self, effect: Alarm) -> None:
        """See to it that the node is ticked then."""

    def write_report(self, effect: Record) -> None:
        """Append a line to a file of service reports."""

    def keep(self, effect: Store | Fetch) -> None:
        """Write or read a save, and tell the node how it went, now or later."""

    def tell(self, effect: Notice) -> None:
        """Say something to whoever runs the node."""


class PendingCall:
    """A call that has been made and may not have ended yet."""

    def __init__(self, session: int, service: str) -> None:
        self.session = session
        self.service = service
        self.answer: Reply | Refuse | None = None

    def has_come(self) -> bool:
        return self.answer is not None

    def result(self) -> object:
        """The value of the answer, or its error raised."""
        answer = self.answer
        if isinstance(answer, Refuse):
            raise answer.error
        return None if answer is None else answer.value


class EffectRunner:
    """One for each node."""

    def __init__(self, host: EffectHost) -> None:
        self.inboxes: dict[int, Inbox] = {}  # by session
        self.calls: dict[int, PendingCall] = {}  # those that wait, by number
        self._host = host

    def perform(self, effects: list[Effect], now: float) -> None:
        inboxes = self.inboxes
        for effect in effects:
            if isinstance(effect, Callback):
                inbox = inboxes.get(effect.session)
                if inbox is not None:
                    inbox.last_at = now
                    inbox.put(effect)
            elif isinstance(effect, (Reply, Refuse)):
                if self.calls:
                    self._answer(effect)
            elif isinstance(effect, Carried):
                self._host.carry(effect)
            elif isinstance(effect, Alarm):
                self._host.alarm(effect)
            elif isinstance(effect, Record):
                self._host.write_report(effect)
            elif isinstance(effect, (Store, Fetch)):
                self._host.keep(effect)
            elif isinstance(effect, Notice):
                self._host.tell(effect)

    def _answer(self, effect: Reply | Refuse) -> None:
        call = self.calls.pop(effect.number, None)
        if call is not None:
            call.answer = effect
