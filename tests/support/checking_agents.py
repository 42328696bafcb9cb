"""Agents that check the fabric with a matrix of their own: what each knew when it sent goes along with the message.

A walker passes tokens on to walkers elsewhere, until there is the file that WALK_UNTIL names.  Its state is its log: how many it
sent to whom, how many it heard from whom, what it knows of the others' sends, and every violation it saw."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import weft
from weft.host.mesh.agents import AgentEvent

TOKENS = 4


class Walker(weft.Agent):
    def begin(self) -> None:
        self.sent: dict[str, int] = {}
        self.heard: dict[str, int] = {}
        self.known: dict[str, dict[str, int]] = {}  # sender → receiver → count
        self.wrong: list[str] = []
        self.steps = 0
        peers = os.environ["WALK_PEERS"].split(",")
        me = self.name.partition("@")[2]
        self.peers = [f"Walker@{peer}" for peer in peers if peer != me]
        for token in range(TOKENS):
            self._pass_on(token * 7)

    def _pass_on(self, seed: int) -> None:
        self.steps += 1
        to = self.peers[(seed * 31 + self.steps * 17) % len(self.peers)]
        self.sent[to] = self.sent.get(to, 0) + 1
        self.known.setdefault(self.name, {})[to] = self.sent[to]
        self.send(to, {"number": self.sent[to], "known": self.known})

    def react(self, event: AgentEvent) -> None:
        value: dict[str, Any] = event.value
        expected = self.heard.get(event.sender, 0) + 1
        if value["number"] != expected:
            self.wrong.append(f"{event.sender}: {value['number']} instead of {expected}")
        self.heard[event.sender] = value["number"]
        for sender, counts in value["known"].items():
            known = self.known.setdefault(sender, {})
            for receiver, count in counts.items():
                if receiver == self.name and count > self.heard.get(sender, 0):
                    self.wrong.append(f"{event.sender} overtook {sender}: {count}")
                known[receiver] = max(count, known.get(receiver, 0))
        if not Path(os.environ["WALK_UNTIL"]).exists():
            self._pass_on(value["number"])


class Echo(weft.Agent):
    heard = 0

    def react(self, event: AgentEvent) -> None:
        self.heard += 1
        self.send(event.sender, event.value)


class Asker(weft.Agent):
    """Sends numbers, one after the other, and wants them back in order."""

    def begin(self) -> None:
        self.next = 0
        self.back: list[int] = []
        self._ask()

    def _ask(self) -> None:
        for _ in range(5):
            self.send("echo", self.next)
            self.next += 1

    def react(self, event: AgentEvent) -> None:
        self.back.append(event.value)
        if len(self.back) == self.next and self.next < 50:
            self._ask()
