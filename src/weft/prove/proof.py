"""One seed: written in the first world, played in the others, compared; and a failing script made short."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from weft.prove.author import Author
from weft.prove.calls import CHOICES
from weft.prove.compare import Difference, broken, first_difference
from weft.prove.player import CallRecord, Player
from weft.prove.script import Script, ScriptedCall
from weft.prove.words import ModelWords
from weft.prove.world import World

T = TypeVar("T")
HANG = 120.0  # seconds; nothing here takes one
BAD = ("internal-error", "internal error in", "Traceback")
TIMES = ("HLAinteger64Time", "HLAfloat64Time")


@dataclass
class Played:
    """What became of a script in one world."""

    world: str
    script: Script
    seen: list[CallRecord]
    troubles: list[str] = field(default_factory=list)
    calls: int = 0
    callbacks: int = 0
    federation: str = ""
    one_place: bool = True
    end: list[CallRecord] = field(default_factory=list)  # what still waited for federates after the last step

    @property
    def all_seen(self) -> list[CallRecord]:
        return [*self.seen, *self.end]


class Stage:
    """Where scripts are played, one after another, each in a federation of its own."""

    def __init__(self, words: ModelWords, tag: str = "P") -> None:
        self.words = words
        self._tag = tag
        self._count = 0

    def write(self, seed: int, world: World, federates: int, steps: int, declarations: str = "") -> Played:
        """A new script, as it is played for the first time; the world has that setting of `declarations`."""
        head = Script(seed, federates, TIMES[seed % 2], declarations=declarations)
        author = Author(seed, self.words, federates, head.time, CHOICES, bool(declarations))

        def act(player: Player, played: Played) -> None:
            for step in author.opening():
                self._act(player, played, step, author)
            while len(played.seen) < steps:
                self._act(player, played, author.next(), author)

        return self._run(head, world, act)

    def play(self, script: Script, world: World) -> Played:
        def act(player: Player, played: Played) -> None:
            for step in script.steps:
                self._act(player, played, step, None)

        return self._run(script, world, act)

    def _act(self, player: Player, played: Played, step: ScriptedCall, author: Author | None) -> None:
        played.script = played.script.with_steps((*played.script.steps, step)) if author else played.script
        seen = player.play(step)
        played.seen.append(seen)
        if author is not None:
            author.saw(seen)

    def _run(self, script: Script, world: World, act: Callable[[Player, Played], None]) -> Played:
        self._count += 1
        federation = f"{self._tag}{self._count}"
        played = Played(world.name, script, [], federation=federation, one_place=world.one_place)
        players: list[Player] = []

        def work() -> None:
            player = Player(world, self.words, script, federation)
            players.append(player)
            act(player, played)
            player.settle()
            played.end.append(player.finish())

        try:
            bounded(work, lambda: players[0].at if players else "connect")
        except Exception as error:
            played.troubles.append(
                f"{type(error).__name__}: {error}, at {players[0].at if players else 'connect'}"
            )
        if players:
            player = players[0]
            played.troubles += player.troubles
            played.calls, played.callbacks = player.calls, player.callbacks
        played.troubles += [line for line in world.log() if any(bad in line for bad in BAD)]
        return played


def bounded(work: Callable[[], T], what: Callable[[], str], seconds: float = HANG) -> T:
    """In a thread of its own, so that a call that never returns is found and named."""
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, name="weft prove", daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise TimeoutError(f"no end within {seconds:g} s: {what()}")
    if errors:
        raise errors[0]
    return results[0]


def judged(expected: Played, found: Played) -> Difference | None:
    """What is wrong with a script in a world, compared with the first one; its troubles before all."""
    if found.troubles:
        return Difference(max(0, len(found.seen) - 1), "trouble", f"at {found.world}: {found.troubles[0]}")
    wrong = broken(found.all_seen)
    if wrong is not None:
        return wrong
    if found is expected:
        return None
    return first_difference(expected.all_seen, found.all_seen, found.world, found.one_place)


def shrunk(
    steps: Sequence[ScriptedCall], fails: Callable[[Sequence[ScriptedCall]], bool], tries: int = 400
) -> list[ScriptedCall]:
    """As short as leaving out steps makes it, so that it still fails (delta debugging)."""
    left = list(steps)
    size = max(1, len(left) // 2)
    while tries > 0:
        shorter = False
        at = 0
        while at < len(left) and tries > 0:
            without = left[:at] + left[at + size :]
            tries -= 1
            if without and fails(without):
                left = without
                shorter = True
            else:
                at += size
        if size == 1 and not shorter:
            break
        size = max(1, size // 2)
    return left
