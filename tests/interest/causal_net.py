"""A causal network in miniature: random delays, and every message waits for those that came before it in causal order.

It stands in for the causal class of the fabric: one matrix of counts for each node (the algorithm of Raynal, Schiper and Toueg).
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from typing import Any


class CausalNet:
    def __init__(self, nodes: int, seed: int, delay: float) -> None:
        self.rng = random.Random(seed)
        self.delay = delay
        self.now = 0.0
        self.carried = 0
        self.handlers: list[Callable[[int, Any], None]] = []
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._number = 0
        self._sent = [[[0] * nodes for _ in range(nodes)] for _ in range(nodes)]  # as each node knows it
        self._got = [[0] * nodes for _ in range(nodes)]
        self._waiting: list[list[tuple[int, list[list[int]], Any]]] = [[] for _ in range(nodes)]

    def after(self, seconds: float, action: Callable[[], None]) -> None:
        self._number += 1
        heapq.heappush(self._due, (self.now + seconds, self._number, action))

    def send(self, source: int, target: int, message: Any) -> None:
        if source == target:
            self.handlers[target](source, message)
            return
        self.carried += 1
        stamp = [list(row) for row in self._sent[source]]
        self._sent[source][source][target] += 1
        self.after(
            self.rng.expovariate(1.0) * self.delay, lambda: self._arrive(source, target, stamp, message)
        )

    def _arrive(self, source: int, target: int, stamp: list[list[int]], message: Any) -> None:
        self._waiting[target].append((source, stamp, message))
        found = self._next(target)
        while found is not None:
            source, stamp, message = self._waiting[target].pop(found)
            self._got[target][source] += 1
            stamp[source][target] += 1
            known = self._sent[target]
            for row, there in zip(known, stamp, strict=True):
                row[:] = [max(one, other) for one, other in zip(row, there, strict=True)]
            self.handlers[target](source, message)
            found = self._next(target)

    def _next(self, target: int) -> int | None:
        got = self._got[target]
        for place, (_, stamp, _) in enumerate(self._waiting[target]):
            if all(stamp[node][target] <= got[node] for node in range(len(got))):
                return place
        return None

    def run(self) -> None:
        while self._due:
            self.now, _, action = heapq.heappop(self._due)
            action()
