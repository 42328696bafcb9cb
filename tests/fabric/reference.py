"""The corrected algorithm as it is written down, with a full scan of the matrix: slow, short, and the oracle of the fast one."""

from __future__ import annotations

Entry = tuple[int, int, int]


class ReferenceClock:
    def __init__(self, size: int, own: int) -> None:
        self.size, self.own = size, own
        self.state = 1
        self.value = [[0] * size for _ in range(size)]
        self.entry_state = [[0] * size for _ in range(size)]
        self.node = [[-1] * size for _ in range(size)]
        self.node_state = [0] * size

    def send(self, peers: list[int]) -> dict[int, list[Entry]]:
        """The stamps, own entry first; several receivers are counted first."""
        i = self.own
        for j in peers:
            self.value[i][j] += 1
            self.entry_state[i][j] = self.state
            self.node[i][j] = j
        stamps = {}
        for j in peers:
            rest = [
                (k, m, self.value[k][m])
                for k in range(self.size)
                for m in range(self.size)
                if self.entry_state[k][m] > self.node_state[j] and self.node[k][m] != j and (k, m) != (i, j)
            ]
            stamps[j] = [(i, j, self.value[i][j]), *rest]
        for j in peers:
            self.node_state[j] = self.state
        self.state += 1
        return stamps

    def verdict(self, peer: int, stamp: list[Entry]) -> str:
        i = self.own
        number = stamp[0][2]
        if number <= self.value[peer][i]:
            return "duplicate"
        if number == self.value[peer][i] + 1 and all(
            v <= self.value[k][i] for k, m, v in stamp[1:] if m == i
        ):
            return "deliver"
        return "wait"

    def deliver(self, peer: int, stamp: list[Entry]) -> None:
        for k, m, v in stamp:
            if v > self.value[k][m]:
                self.value[k][m] = v
                self.entry_state[k][m] = self.state
                self.node[k][m] = peer
