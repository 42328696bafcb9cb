"""Writes a script, step by step, from a seed.

It is told what became of each step (by the world that runs it first) and so knows what is worth doing next: most calls are valid,
and a share is wrong on purpose.  `weft.prove.calls` has the calls by group, with how often each is made.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from weft.fom import OBJECT_ROOT, PRIVILEGE_TO_DELETE
from weft.model.json_types import Json
from weft.prove.knowledge import AuthorKnowledge, Insight
from weft.prove.player import CallRecord
from weft.prove.script import ScriptedCall
from weft.prove.signatures import AS_OF
from weft.prove.values import Values
from weft.prove.words import ModelWords

T = TypeVar("T")
WRONG = 0.12
"""So many calls are made with whatever comes, whether or not it makes sense."""
_MESSAGES = ("update_attribute_values", "send_interaction")
BYTES = 0.15
"""So many values are random bytes, of whatever data type they should be."""
NOBODY = "nobody"  # a name that stands for no handle


class NotNow(Exception):
    """What such a call needs is not there; the author makes another."""


class Author:
    def __init__(
        self,
        seed: int,
        words: ModelWords,
        federates: int,
        time: str,
        choices: Sequence[tuple[float, Make]],
        as_of: bool = False,
    ) -> None:
        """`as_of`: declarations and regions also change as of a time."""
        self.random = random.Random(seed)
        self.words = words
        self._values = Values(words.model, self.random)
        self.known = AuthorKnowledge(federates)
        self.federates = federates
        self.float_time = time.startswith("HLAfloat")
        self.time_name = time
        self.wild = False
        self._as_of = as_of
        # A few classes that all talk about: else federates would seldom meet.
        self.classes = self.some(words.classes, min(2, len(words.classes)))[:4]
        self.interactions = self.some(words.interactions, min(2, len(words.interactions)))[:4]
        self._weights = [weight for weight, _ in choices]
        self._makers = [make for _, make in choices]
        self._plan: list[ScriptedCall] = []
        self._hurried: int | None = None  # who is in a hurry: what others did meanwhile would be up to chance

    # --- steps ------------------------------------------------------------------------------------------------

    def saw(self, seen: CallRecord) -> None:
        self.known.saw(seen)

    def opening(self) -> list[ScriptedCall]:
        """The federation is there, and somebody to talk to."""
        steps = [self.create()]
        steps += [self.join(who) for who in range(self.federates) if who < 2 or self.chance(0.85)]
        for step in list(steps[1:]):
            steps += self._declarations(step.federate)
        return steps

    def _declarations(self, who: int) -> list[ScriptedCall]:
        """Something to begin with, so that there is traffic soon."""
        made = []
        for cls in self.classes:
            if self.chance(0.6):
                made.append(
                    ScriptedCall(
                        who, "publish_object_class_attributes", (cls, list(self.words.attributes(cls)))
                    )
                )
                if self.chance(0.6):
                    made.append(ScriptedCall(who, "register_object_instance", (cls,), self.known.new("o")))
            if self.chance(0.6):
                made.append(
                    ScriptedCall(
                        who, "subscribe_object_class_attributes", (cls, list(self.words.attributes(cls)))
                    )
                )
        for interaction in self.interactions:
            made += [ScriptedCall(who, "publish_interaction_class", (interaction,))] * self.chance(0.5)
            made += [ScriptedCall(who, "subscribe_interaction_class", (interaction,))] * self.chance(0.5)
        if self.chance(0.3):
            made.append(ScriptedCall(who, "enable_time_regulation", (self.number(0, 3),)))
        if self.chance(0.3):
            made.append(ScriptedCall(who, "enable_time_constrained"))
        return made

    def create(self, who: int = 0) -> ScriptedCall:
        return ScriptedCall(who, "create_federation_execution", ("F", "model", self.time_name))

    def join(self, who: int, name: str = "") -> ScriptedCall:
        return ScriptedCall(who, "join_federation_execution", (name or f"f{who}", "prover", "F"))

    def next(self) -> ScriptedCall:
        step = self._plan.pop(0) if self._plan else self._chosen()
        if self._as_of and step.call in AS_OF:
            step = self._timed(step)
        self._hurried = step.federate if step.hurry else None
        return step

    def _timed(self, step: ScriptedCall) -> ScriptedCall:
        """The same as of a time, most of the time if that is allowed."""
        if not self.chance(0.65 if self.one(step.federate).regulating else 0.08):
            return step
        before = (*step.arguments, *AS_OF[step.call][len(step.arguments) :])
        return replace(step, arguments=(*before, self.stamp(step.federate)))

    @property
    def hurries(self) -> bool:
        return self._hurried is not None

    def _chosen(self) -> ScriptedCall:
        for _ in range(200):
            self.wild = self.chance(WRONG)
            who = self._whose_turn()
            progress = self._progress(who) if self._hurried is None else None
            if progress is not None:
                return progress
            (make,) = self.random.choices(self._makers, self._weights)
            with contextlib.suppress(NotNow):
                step = make(self, who)
                if self._hurried is None or self._may_follow(step):
                    return step
        return ScriptedCall(self._whose_turn(), "get_order_name", ("RECEIVE",))

    def _may_follow(self, step: ScriptedCall) -> bool:
        """In a hurry: more messages, or a question.  Over several nodes all else may overtake the messages before it."""
        if step.federate != self._hurried or self._plan:
            self._plan.clear()
            return False
        return step.call in _MESSAGES and "HLAmanager" not in str(step.arguments[0])

    def follow(self, *steps: ScriptedCall) -> ScriptedCall:
        """The first now, the others right after it."""
        self._plan += steps[1:]
        return steps[0]

    def _whose_turn(self) -> int:
        if self._hurried is not None:
            return self._hurried
        joined = self.known.joined()
        if joined and not self.chance(0.04):
            return self.random.choice(joined)
        return self.random.randrange(self.federates)

    def _progress(self, who: int) -> ScriptedCall | None:
        """A save or restore that is under way goes on, most of the time."""
        known = self.known
        if not (known.is_saving() or known.is_restoring()) or self.chance(0.15):
            return None
        for number in self.shuffled(range(self.federates)):
            one = known.of[number]
            if one.save == "initiated":
                return ScriptedCall(number, "federate_save_begun")
            if one.restore == "initiated":
                failed = self.chance(0.04)
                return ScriptedCall(
                    number, "federate_restore_not_complete" if failed else "federate_restore_complete"
                )
        for number in self.shuffled(range(self.federates)):
            if known.of[number].save == "begun":
                failed = self.chance(0.04)
                return ScriptedCall(
                    number, "federate_save_not_complete" if failed else "federate_save_complete"
                )
        return None

    # --- chances ----------------------------------------------------------------------------------------------

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def any(self, items: Sequence[T]) -> T:
        return self.random.choice(items)

    def shuffled(self, items: Sequence[T]) -> list[T]:
        return self.random.sample(items, len(items))

    def some(self, items: Sequence[T], least: int = 1) -> list[T]:
        if not items:
            return []
        count = self.random.randint(min(least, len(items)), len(items))
        return self.random.sample(items, count)

    def require(self, condition: object) -> None:
        if not condition:
            raise NotNow

    def one(self, who: int) -> Insight:
        return self.known.of[who]

    # --- what to call it with ---------------------------------------------------------------------------------

    def text(self) -> str:
        return "".join(self.random.choices("abcdefgh", k=self.random.randint(0, 6)))

    def tag(self) -> str:
        return self.any(["", "tag", "t\x00\xff"])

    def cls(self) -> str:
        if self.wild and self.chance(0.3):
            return self.any([OBJECT_ROOT, NOBODY])
        return (
            self.any(self.classes)
            if self.classes and self.chance(0.9)
            else self.any(self.words.classes or [NOBODY])
        )

    def published_class(self, who: int) -> str:
        if self.wild:
            return self.cls()
        mine = sorted(self.one(who).published)
        self.require(mine)
        return self.any(mine)

    def names_of(self, cls: str) -> list[str]:
        """Attributes of a class; wild: also others."""
        if cls not in self.words.all_classes or (self.wild and self.chance(0.2)):
            cls = self.any(self.words.all_classes)
        found = self.some(self.words.attributes(cls))
        if self.chance(0.1):
            found.append(PRIVILEGE_TO_DELETE)
        if self.wild and self.chance(0.2):
            found.append(NOBODY)
        if self.wild and self.chance(0.1):
            return []
        return sorted(found)

    def interaction(self) -> str:
        if self.wild and self.chance(0.2):
            return NOBODY
        if self.interactions and self.chance(0.9):
            return self.any(self.interactions)
        return self.any(self.words.interactions or [NOBODY])

    def instance(self, who: int, mine: bool = False) -> str:
        """One it knows, or owns something of."""
        one = self.one(who)
        if self.wild:
            return self.any([*self.known.classes, NOBODY])
        some = [i for i, names in one.owns.items() if names] if mine else list(one.knows)
        found = sorted(i for i in some if i in self.known.classes)
        self.require(found)
        return self.any(found)

    def owned(self, who: int) -> tuple[str, list[str]]:
        """An instance, and some of what it owns of it."""
        instance = self.instance(who, mine=True)
        owned = sorted(self.one(who).owns.get(instance, set()))
        names = self.some(owned) if owned and not self.wild else self.names_of(self.class_of(who, instance))
        return instance, sorted(names)

    def class_of(self, who: int, instance: str) -> str:
        return self.one(who).knows.get(instance) or self.known.classes.get(instance) or self.cls()

    def values(self, instance: str, names: Sequence[str]) -> dict[str, Json]:
        cls = self.known.classes.get(instance, "")
        return {name: self._value(self.words.attribute_type(cls, name)) for name in names}

    def parameters(self, interaction: str) -> dict[str, Json]:
        if interaction not in self.words.all_interactions:
            return {}
        names = self.some(self.words.parameters(interaction), 0)
        found = {name: self._value(self.words.parameter_type(interaction, name)) for name in names}
        if self.wild and self.chance(0.3):
            found[NOBODY] = "x"
        return found

    def _value(self, data_type: str) -> Json:
        """Of that data type, mostly; the RTI passes on any bytes."""
        if not data_type or self.chance(BYTES):
            return self.text()
        return self._values.of(data_type) or self.text()

    def federate(self) -> str:
        if self.wild and self.chance(0.3):
            return NOBODY
        return f"f{self.random.randrange(self.federates)}"

    def stamp(self, who: int) -> float:
        """A time at which it may send; wild: any."""
        one = self.one(who)
        if self.wild:
            return self.number(0, 30)
        return one.time + one.lookahead + self.number(0, 6)

    def number(self, low: int, high: int) -> float:
        if self.float_time:
            return self.random.randint(2 * low, 2 * high) / 2
        return self.random.randint(low, high)


Make = Callable[[Author, int], ScriptedCall]
"""A call by the federate of that number."""


def one_of(*services: str) -> Make:
    """A call without arguments."""
    return lambda a, who: ScriptedCall(who, a.any(services))
