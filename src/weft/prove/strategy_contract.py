"""The test kit of strategies of data distribution (S2-4, S2-23): does one keep what all must keep?

    from weft.prove import check_strategy

    def test_stripes():
        check_strategy(Stripes)

It is asked about spaces of many shapes, with random regions and all small ones, and each answer is compared with brute force:

    numbers      how many channels and partitions it says it has, and that it uses no others
    the law      channels of overlapping regions meet, in every space; the default region meets all; several extents
    the storm    regions are subscribed, moved and deleted, and every update still finds all who want it
    determinism  one made anew, one asked in another order, and one in a process with other hashes say the same: nodes never
                 compare what theirs say
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator, Mapping, Set
from hashlib import sha256
from importlib import import_module
from itertools import combinations, product
from typing import Final

from weft.fom import merge, parse_module
from weft.interest import (
    DEFAULT_REGION,
    NOWHERE,
    STRATEGIES,
    DdmSettings,
    Extent,
    Region,
    Space,
    Spaces,
    Strategy,
    make_strategy,
)
from weft.interest.guarded import MAX_CHANNELS
from weft.interest.strategies import MakeStrategy
from weft.interest.strategy import load_strategy
from weft.model.records import Source

Placed = tuple[Space | None, Region]

_SMALL: Final = b"""<objectModel xmlns="http://standards.ieee.org/IEEE1516-2010">
<objects><objectClass><name>HLAobjectRoot</name><attribute><name>a</name><dimensions><dimension>Six</dimension></dimensions>
</attribute><attribute><name>b</name><dimensions><dimension>Three</dimension><dimension>Four</dimension></dimensions>
</attribute></objectClass></objects>
<dimensions><dimension><name>Six</name><upperBound>6</upperBound></dimension>
<dimension><name>Three</name><upperBound>3</upperBound></dimension>
<dimension><name>Four</name><upperBound>4</upperBound></dimension></dimensions></objectModel>"""


class StrategyContractBroken(AssertionError):
    """What a strategy was asked, what it said, and what it must say."""


def check_strategy(
    strategy: str | MakeStrategy,
    *,
    options: Mapping[str, str] | None = None,
    seed: int = 0,
    rounds: int = 300,
) -> None:
    """Raise `StrategyContractBroken` unless the strategy keeps what all must keep.

    `strategy`: its class, or whatever else makes one from spaces and settings; or the name under which it is installed.
    `options`: what its own form of a RID file would say.  `rounds`: random questions about each object model.
    """
    kit = _Kit(strategy, dict(options or {}), random.Random(seed))
    for name, spaces in _models():
        for settings in kit.settings():
            kit.look_at(name, spaces, settings, rounds)
    kit.compare_processes()


def _models() -> Iterator[tuple[str, Spaces]]:
    yield "no space", _fed()
    yield "one, two and three dimensions", _fed(1, 2, 3)
    yield "a space without dimensions", _fed(0, 1)
    yield "70 spaces", _fed(*[1] * 70)
    yield "small dimensions", Spaces(merge([parse_module(Source("small.xml", _SMALL))]))


def _fed(*dimensions: int) -> Spaces:
    spaces = "".join(
        f"(space S{number} {' '.join(f'(dimension d{place})' for place in range(count))})"
        for number, count in enumerate(dimensions, 1)
    )
    text = f"(FED (Federation kit) (FEDversion v1.3) (spaces {spaces}) (objects (class ObjectRoot)) (interactions))"
    return Spaces(merge([parse_module(Source("kit.fed", text.encode()))]))


class _Kit:
    def __init__(self, strategy: str | MakeStrategy, options: dict[str, str], rng: random.Random) -> None:
        self._asked = strategy
        self._options = options
        self._random = rng
        self.name = strategy if isinstance(strategy, str) else getattr(strategy, "__name__", repr(strategy))

    def settings(self) -> list[DdmSettings]:
        name = self._asked if isinstance(self._asked, str) else self.name
        return [
            DdmSettings(strategy=name, options=self._options, partitions=partitions, max_channels=channels)
            for partitions, channels in ((1, 64), (3, 64), (2, 5))
        ]

    def make(self, spaces: Spaces, settings: DdmSettings) -> Strategy:
        """Not guarded: what it does wrong is to be seen."""
        make = self._asked
        if isinstance(make, str):
            if make in STRATEGIES:
                return make_strategy(spaces, settings)
            found = load_strategy(make)
            if not callable(found):
                raise self.fail(f"its entry point stands for {found!r}, which is no class and no function")
            make = found
        made: Strategy = make(spaces, settings)
        return made

    def fail(self, text: str, *where: object) -> StrategyContractBroken:
        return StrategyContractBroken(
            f"strategy {self.name}: {text}" + "".join(f"\n  {one}" for one in where)
        )

    # --- one object model ---------------------------------------------------------------------------------------

    def look_at(self, model: str, spaces: Spaces, settings: DdmSettings, rounds: int) -> None:
        limits = f"NumPartitionsPerDimension {settings.partitions}, MaxNumberOfDataChannelsToUse {settings.max_channels}"
        where = f"with {model}, {limits}"
        made = self.make(spaces, settings)
        self._numbers(made, where)
        asked = [self.placed(spaces) for _ in range(rounds)]
        said = [(one, self._answer(made, one, where)) for one in asked]
        for (one, mine), (other, yours) in zip(said, self._shuffled(said), strict=True):
            self._law(one, mine, other, yours, where)
        for space in (*spaces.all, None):
            if made.update_channels(space, NOWHERE) != frozenset():
                raise self.fail("a region without extents must have no channels", where)
            default: Placed = (space, DEFAULT_REGION)
            whole = self._answer(made, default, where)
            for one, mine in said:
                self._law(one, mine, default, whole, where)
            self._every_small_region(made, space, where)
        self._storm(made, spaces, where)
        again = self.make(spaces, settings)
        for one, mine in self._shuffled(said):
            for strategy, what in ((made, "asked again"), (again, "made anew and asked in another order")):
                if strategy.update_channels(*one) != mine:
                    raise self.fail(f"{what}, it says something else than {sorted(mine)}", _told(one), where)

    def _shuffled(self, said: list[tuple[Placed, Set[int]]]) -> list[tuple[Placed, Set[int]]]:
        return self._random.sample(said, len(said))

    def _numbers(self, made: Strategy, where: str) -> None:
        name: object = made.name
        if not isinstance(name, str) or not name:
            raise self.fail(f"name must be a text, not {name!r}", where)
        matches: object = made.matches_at_sender
        if not isinstance(matches, bool):
            raise self.fail(f"matches_at_sender must be True or False, not {matches!r}", where)
        for what, most in (("partitions", 1 << 62), ("channels", MAX_CHANNELS)):
            value: object = getattr(made, what)
            if type(value) is not int or not 0 <= value <= most:
                raise self.fail(f"{what} must be a whole number from 0 to {most}, not {value!r}", where)

    def _answer(self, made: Strategy, asked: Placed, where: str) -> Set[int]:
        try:
            found: object = made.update_channels(*asked)
        except Exception as error:
            raise self.fail(f"raised {error!r}", _told(asked), where) from error
        if not isinstance(found, Set):
            raise self.fail(f"must return a frozenset of channels, not {found!r}", _told(asked), where)
        if not found:
            raise self.fail("returned no channel: nobody would hear it", _told(asked), where)
        for channel in found:
            if type(channel) is not int or not 0 <= channel <= made.channels:
                raise self.fail(f"channel {channel!r} is none of 0 to {made.channels}", _told(asked), where)
        return frozenset(found)

    def _law(self, one: Placed, mine: Set[int], other: Placed, yours: Set[int], where: str) -> None:
        if one[0] is other[0] and _overlap(one[1], other[1]) and not mine & yours:
            raise self.fail(
                "overlapping regions have no channel in common, so a message would be lost",
                f"{_told(one)} has channels {sorted(mine)}",
                f"{_told(other)} has channels {sorted(yours)}",
                where,
            )

    def _every_small_region(self, made: Strategy, space: Space | None, where: str) -> None:
        """All boxes of a space that has few numbers, each with each."""
        if space is None or any(dimension.size > 6 for dimension in space.dimensions):
            return
        ranges = [list(combinations(range(dimension.size + 1), 2)) for dimension in space.dimensions]
        numbers = [dimension.number for dimension in space.dimensions]
        boxes: list[Placed] = [
            (space, Region((Extent(dict(zip(numbers, bounds, strict=True))),))) for bounds in product(*ranges)
        ]
        answers = [self._answer(made, box, where) for box in boxes]
        for place, box in enumerate(boxes):
            for other, answer in zip(boxes[:place], answers, strict=False):
                self._law(box, answers[place], other, answer, where)

    def _storm(self, made: Strategy, spaces: Spaces, where: str) -> None:
        """Subscribers come, move and go; every update finds all who want it."""
        held: dict[int, tuple[Placed, Set[int]]] = {}
        for _ in range(200):
            who = self._random.randrange(12)
            change = self._random.random()
            if change < 0.2:
                held.pop(who, None)
            elif change < 0.6:
                wish = self.placed(spaces)
                held[who] = (wish, self._answer(made, wish, where))
            else:
                update = self.placed(spaces)
                sent = self._answer(made, update, where)
                for wish, heard in held.values():
                    self._law(update, sent, wish, heard, where)

    # --- questions ----------------------------------------------------------------------------------------------

    def placed(self, spaces: Spaces) -> Placed:
        if not spaces.all or self._random.random() < 0.1:
            return None, DEFAULT_REGION
        space = self._random.choice(spaces.all)
        extents = [self._extent(space) for _ in range(self._random.choice((1, 1, 2, 3)))]
        return space, Region(extents)

    def _extent(self, space: Space) -> Extent:
        """Near the ends, the middle and the borders of grids more often than elsewhere; dimensions may be left out."""
        ranges = {}
        for dimension in space.dimensions:
            if self._random.random() < 0.15:
                continue
            size = dimension.size
            marks = {0, 1, size // 3, size // 2 - 1, size // 2, size // 2 + 1, 2 * size // 3, size - 1}
            number = self._random.choice([mark for mark in sorted(marks) if 0 <= mark < size])
            lower = number if self._random.random() < 0.5 else self._random.randrange(size)
            longest = size - lower
            length = self._random.choice(
                (1, longest, self._random.randint(1, longest), max(1, longest // 50))
            )
            ranges[dimension.number] = (lower, lower + length)
        return Extent(ranges)

    # --- other processes ----------------------------------------------------------------------------------------

    def compare_processes(self) -> None:
        """By another hash seed, texts come in another order in sets: what depends on that differs between nodes."""
        asked = self._asked if isinstance(self._asked, str) else _importable(self._asked)
        if not asked:
            return
        said = {_digest_elsewhere(asked, self._options, hashes) for hashes in (1, 2)}
        if len(said) > 1:
            raise self.fail(
                "two processes say different things of the same regions, as two nodes would",
                "does it depend on hash(), on the order of a set, on random numbers or on the time?",
            )


def _overlap(one: Region, other: Region) -> bool:
    """By brute force: do two extents have a number in common, in every dimension that both name?"""
    for mine, yours in product(one.extents, other.extents):
        bounds, there = mine.ranges(), yours.ranges()
        if all(max(bounds[d][0], there[d][0]) < min(bounds[d][1], there[d][1]) for d in bounds if d in there):
            return True
    return False


def _told(asked: Placed) -> str:
    space, region = asked
    return f"{region!r} in {'no space' if space is None else f'space {space.name}'}"


def _importable(made: MakeStrategy) -> str:
    """Where another process finds it; nothing if that cannot be."""
    module, name = getattr(made, "__module__", "__main__"), getattr(made, "__qualname__", "<")
    return "" if module == "__main__" or "<" in name else f"{module}:{name}"


def _digest_elsewhere(asked: str, options: Mapping[str, str], hashes: int) -> str:
    """What the strategy says in a process of its own, as one text."""
    environment = {
        **os.environ,
        "PYTHONHASHSEED": str(hashes),
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    program = "import sys, json; from weft.prove import strategy_contract as kit; "
    program += "print(kit.digest(sys.argv[1], json.loads(sys.argv[2])))"
    command = [sys.executable, "-c", program, asked, json.dumps(dict(options))]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise StrategyContractBroken(f"strategy {asked} fails in a process of its own:\n{done.stderr}")
    return done.stdout


def digest(asked: str, options: dict[str, str]) -> str:
    """Of the answers to the same questions."""
    strategy: str | MakeStrategy = asked
    if ":" in asked:
        module, _, path = asked.partition(":")
        found: object = import_module(module)
        for name in path.split("."):
            found = getattr(found, name)
        assert callable(found)
        strategy = found
    kit = _Kit(strategy, options, random.Random(7))
    told = sha256()
    for _, spaces in _models():
        for settings in kit.settings():
            made = kit.make(spaces, settings)
            for _ in range(100):
                told.update(repr(sorted(made.update_channels(*kit.placed(spaces)))).encode())
    return told.hexdigest()
