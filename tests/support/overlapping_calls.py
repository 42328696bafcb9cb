"""Many calls under way at once: each federate makes its next call as soon as the one before has ended."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable
from typing import Any

from support.random_kernel_calls import LOST, Call
from support.simulated_federates import Seat
from weft.host.effects import PendingCall
from weft.host.simulated.simulated import SimulatedNetwork
from weft.model.errors import NotConnected, RTIexception


class Driver:
    """`at(time, call)` plans, `run` lets it happen; every call that was begun is in `made`."""

    def __init__(self, network: SimulatedNetwork, made: list[Seat]) -> None:
        self.network = network
        self.seats = made
        self.made: list[tuple[Call, PendingCall]] = []
        self._waiting: list[deque[Call]] = [deque() for _ in made]
        self._current: list[PendingCall | None] = [None] * len(made)

    def at(self, when: float, call: Call) -> None:
        self.network.clock.at(self.network.clock.now + when, lambda: self._waiting[call.seat].append(call))

    def act(self, when: float, action: Callable[[], Any]) -> None:
        self.network.clock.at(self.network.clock.now + when, action)

    def run(self) -> None:
        self.network.run_until(self._next)
        self._next()
        self.network.settle()

    def _next(self) -> bool:
        for number, queue in enumerate(self._waiting):
            current = self._current[number]
            while queue and (current is None or current.has_come()):
                current = self._begin(queue.popleft())
                self._current[number] = current
        return False

    def _begin(self, call: Call) -> PendingCall | None:
        seat = self.seats[call.seat]
        if call.service == LOST:
            seat.connection.lose()
            return None
        try:
            pending = seat.begin(call.service, *call.arguments)
        except NotConnected:  # its node has crashed
            return None
        self.made.append((call, pending))
        return pending

    def check_all_ended(self) -> None:
        """Nothing hangs, and nothing fails but by an HLA exception."""
        for call, pending in self.made:
            assert pending.has_come(), f"{call} is still under way"
            with contextlib.suppress(RTIexception):
                pending.result()
