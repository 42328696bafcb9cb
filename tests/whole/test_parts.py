"""The proving ground itself: scripts are plain text, what is planted is found, what fails is made short."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.federate import RTIambassador
from weft.model.errors import SettingsError
from weft.prove import (
    Embedded,
    Played,
    Script,
    Stage,
    Step,
    judged,
    proving_model,
    read_script,
    shrunk,
    words_of,
)
from weft.prove.choices import CHOICES, GROUPS
from weft.prove.player import CALLBACKS, Seen
from weft.prove.signatures import SIGNATURES

WORDS = words_of([proving_model()])
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
steps = st.builds(
    Step,
    st.integers(0, 3), st.sampled_from(sorted(SIGNATURES)), st.lists(plain, max_size=3).map(tuple),
    st.text(max_size=3), st.booleans(),
)  # fmt: skip


@given(st.lists(steps, max_size=5))
def test_a_script_is_text_and_back(made: list[Step]) -> None:
    """Item 2.1: plain data, one line a call."""
    script = Script(7, 3, "HLAinteger64Time", tuple(made))
    assert read_script(script.text()) == script
    assert len(script.text().splitlines()) == len(made) + 1


@pytest.mark.parametrize(
    "text", ["", "{}", '{"weft": "script"}', '{"weft": "script", "seed": 1, "federates": 2, "time": "x"}\n{']
)
def test_what_is_no_script_is_told_with_its_line(text: str) -> None:
    with pytest.raises(SettingsError):
        read_script(text)


@given(st.lists(st.integers(0, 99), min_size=1, max_size=60, unique=True), st.data())
def test_a_failing_script_is_made_as_short_as_its_cause(numbers: list[int], data: st.DataObject) -> None:
    """Item 2.1: delta debugging leaves only what is needed, whatever that is."""
    needed = set(data.draw(st.lists(st.sampled_from(numbers), min_size=1, max_size=4)))
    made = [Step(0, "query_galt", (number,)) for number in numbers]
    left = shrunk(made, lambda some: needed <= {step.arguments[0] for step in some}, 10_000)
    assert {step.arguments[0] for step in left} == needed


def played(seed: int, steps: int = 120) -> Played:
    world = Embedded()
    world.start()
    try:
        return Stage(WORDS).write(seed, world, 3, steps)
    finally:
        world.stop()


def test_the_same_seed_writes_the_same_script() -> None:
    """Item 2.1: a run is known by its seed."""
    one, other = played(5), played(5)
    assert one.script == other.script
    assert judged(one, other) is None


def test_scripts_have_all_groups_and_most_calls_are_good() -> None:
    """Item 2.1: all service groups together, and a share that is refused."""
    seen = [one for seed in range(12) for one in played(seed, 150).seen]
    made = {one.step.call for one in seen}
    for group in GROUPS:
        assert any(choice.group == group for choice in CHOICES)
    assert len(made) > 100
    assert 0.05 < sum(bool(one.error) for one in seen) / len(seen) < 0.35
    heard = {callback[0] for one in seen for told in one.heard.values() for callback in told}
    assert heard <= set(CALLBACKS)
    assert len(heard) > 35


def _callbacks(seen: list[Seen], wanted: Callable[[Any], bool]) -> list[tuple[Seen, int, int]]:
    return [
        (one, who, number)
        for one in seen
        for who, heard in one.heard.items()
        for number, callback in enumerate(heard)
        if wanted(callback)
    ]


def _drop(seen: list[Seen], chance: random.Random) -> None:
    one, who, number = chance.choice(_callbacks(seen, lambda callback: True))
    del one.heard[who][number]


def _repeat(seen: list[Seen], chance: random.Random) -> None:
    one, who, number = chance.choice(_callbacks(seen, lambda callback: True))
    one.heard[who].insert(number, one.heard[who][number])


def _misdirect(seen: list[Seen], chance: random.Random) -> None:
    one, who, number = chance.choice(_callbacks(seen, lambda callback: True))
    one.heard.setdefault(who + 1, []).append(one.heard[who].pop(number))


def _value(seen: list[Seen], chance: random.Random) -> None:
    one, who, number = chance.choice(
        _callbacks(seen, lambda callback: callback[0] == "reflect_attribute_values" and callback[2])
    )
    callback = one.heard[who][number]
    callback[2][next(iter(callback[2]))] += "x"


def _time(seen: list[Seen], chance: random.Random) -> None:
    one, who, number = chance.choice(_callbacks(seen, lambda callback: callback[0] == "time_advance_grant"))
    one.heard[who][number][1] += 1


def _late_grant(seen: list[Seen], chance: random.Random) -> None:
    found = _callbacks(seen[:-1], lambda callback: callback[0] == "time_advance_grant")
    one, who, _ = chance.choice(found)
    seen[seen.index(one) + 1].heard.setdefault(who, [])[:0] = one.heard.pop(who)


def _refuse(seen: list[Seen], chance: random.Random) -> None:
    one = chance.choice([one for one in seen if not one.error])
    one.error, one.result = "NotConnected", None


def _allow(seen: list[Seen], chance: random.Random) -> None:
    chance.choice([one for one in seen if one.error]).error = ""


def _other_exception(seen: list[Seen], chance: random.Random) -> None:
    chance.choice([one for one in seen if one.error]).error = "InvalidCredentials"


@pytest.mark.parametrize(
    "plant", [_drop, _repeat, _misdirect, _value, _time, _late_grant, _refuse, _allow, _other_exception]
)
def test_what_is_planted_is_found(plant: Callable[[list[Seen], random.Random], None]) -> None:
    """Item 2.1: no fault of these kinds passes for a choice of the standard, where all federates are at one node."""
    planted = 0
    for seed in range(6):
        honest = _honest(seed)
        for number in range(5):
            lying = copy.deepcopy(honest)
            try:
                plant(lying.seen, random.Random(number))
            except IndexError:  # nothing in this run that could be falsified so
                continue
            planted += 1
            assert judged(honest, lying) is not None
    assert planted > 8


@cache
def _honest(seed: int) -> Played:
    return played(seed + 20)


class _Forgetful(Embedded):
    """A node whose federates never hear an interaction."""

    def ambassador(self, federate: int) -> RTIambassador:
        made = super().ambassador(federate)
        connect = made.connect

        def deaf(ear: Any, *more: Any) -> Any:
            hear = ear.hear
            ear.hear = lambda method, given: None if method == "receive_interaction" else hear(method, given)
            return connect(ear, *more)

        setattr(made, "connect", deaf)  # noqa: B010
        return made


def test_a_world_that_lies_is_found_and_its_script_is_short() -> None:
    """Item 2.1: a failing seed shrinks to a script that can be run again."""
    from weft.prove import Campaign

    campaign = Campaign(WORDS, [lambda record: _Forgetful()], 100, record=False)
    outcome = campaign.run(range(3))
    assert not outcome.proven
    shown = read_script(outcome.findings[0].script)
    assert len(shown.steps) <= 8
    assert Campaign(WORDS, [lambda record: _Forgetful()], record=False).replay(shown).findings
    assert Campaign(WORDS, [], record=False).replay(shown).proven
