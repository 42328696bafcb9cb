"""The proving ground itself: scripts are plain text, what is planted is found, what fails is made short."""

from __future__ import annotations

import copy
import io
import random
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.federate import RTIambassador
from weft.federate.services.data_distribution import DataDistributionManagement
from weft.federate.services.declaration import DeclarationManagement
from weft.federate.services.federation import FederationManagement
from weft.federate.services.object import ObjectManagement
from weft.federate.services.ownership import OwnershipManagement
from weft.federate.services.support import SupportServices
from weft.federate.services.time import TimeManagement
from weft.host.log import JSON, TEXT, Log
from weft.kernel.node import faults
from weft.model.errors import SettingsError
from weft.prove import (
    Embedded,
    Played,
    Script,
    ScriptedCall,
    Simulated,
    Stage,
    judged,
    proving_model,
    read_script,
    shrunk,
    words_of,
)
from weft.prove.compare import _HOLDING, broken, first_difference
from weft.prove.player import CALLBACKS, CallRecord
from weft.prove.proof import BAD
from weft.prove.signatures import SIGNATURES

WORDS = words_of([proving_model()])
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
steps = st.builds(
    ScriptedCall,
    st.integers(0, 3), st.sampled_from(sorted(SIGNATURES)), st.lists(plain, max_size=3).map(tuple),
    st.text(max_size=3), st.booleans(),
)  # fmt: skip


@given(st.lists(steps, max_size=5))
def test_a_script_is_text_and_back(made: list[ScriptedCall]) -> None:
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
    made = [ScriptedCall(0, "query_galt", (number,)) for number in numbers]
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
    for group in (
        FederationManagement,
        DeclarationManagement,
        ObjectManagement,
        OwnershipManagement,
        TimeManagement,
        DataDistributionManagement,
        SupportServices,
    ):
        assert made & vars(group).keys()
    assert len(made) > 100
    assert 0.05 < sum(bool(one.error) for one in seen) / len(seen) < 0.35
    heard = {callback[0] for one in seen for told in one.heard.values() for callback in told}
    assert heard <= set(CALLBACKS)
    assert len(heard) > 35


def _callbacks(seen: list[CallRecord], wanted: Callable[[Any], bool]) -> list[tuple[CallRecord, int, int]]:
    return [
        (one, who, number)
        for one in seen
        for who, heard in one.heard.items()
        for number, callback in enumerate(heard)
        if wanted(callback)
    ]


def _drop(seen: list[CallRecord], chance: random.Random) -> None:
    one, who, number = chance.choice(_callbacks(seen, lambda callback: True))
    del one.heard[who][number]


def _repeat(seen: list[CallRecord], chance: random.Random) -> None:
    one, who, number = chance.choice(_callbacks(seen, lambda callback: True))
    one.heard[who].insert(number, one.heard[who][number])


def _misdirect(seen: list[CallRecord], chance: random.Random) -> None:
    one, who, number = chance.choice(_callbacks(seen, lambda callback: True))
    one.heard.setdefault(who + 1, []).append(one.heard[who].pop(number))


def _value(seen: list[CallRecord], chance: random.Random) -> None:
    one, who, number = chance.choice(
        _callbacks(seen, lambda callback: callback[0] == "reflect_attribute_values" and callback[2])
    )
    callback: Any = one.heard[who][number]
    callback[2][next(iter(callback[2]))] += "x"


def _time(seen: list[CallRecord], chance: random.Random) -> None:
    one, who, number = chance.choice(_callbacks(seen, lambda callback: callback[0] == "time_advance_grant"))
    callback: Any = one.heard[who][number]
    callback[1] += 1


def _late_grant(seen: list[CallRecord], chance: random.Random) -> None:
    found = _callbacks(seen[:-1], lambda callback: callback[0] == "time_advance_grant")
    one, who, _ = chance.choice(found)
    seen[seen.index(one) + 1].heard.setdefault(who, [])[:0] = one.heard.pop(who)


def _refuse(seen: list[CallRecord], chance: random.Random) -> None:
    one = chance.choice([one for one in seen if not one.error])
    one.error, one.result = "NotConnected", None


def _allow(seen: list[CallRecord], chance: random.Random) -> None:
    chance.choice([one for one in seen if one.error]).error = ""


def _other_exception(seen: list[CallRecord], chance: random.Random) -> None:
    chance.choice([one for one in seen if one.error]).error = "InvalidCredentials"


@pytest.mark.parametrize(
    "plant", [_drop, _repeat, _misdirect, _value, _time, _late_grant, _refuse, _allow, _other_exception]
)
def test_what_is_planted_is_found(plant: Callable[[list[CallRecord], random.Random], None]) -> None:
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


def _receive_order(callback: Any) -> bool:
    return bool(
        callback[0] in ("reflect_attribute_values", "receive_interaction")
        and callback[-2:-1] != ["TIMESTAMP"]
    )


def _lose(seen: list[CallRecord], chance: random.Random) -> None:
    one, who, number = chance.choice(_callbacks(seen, _receive_order))
    del one.heard[who][number]


def _double(seen: list[CallRecord], chance: random.Random) -> None:
    one, who, number = chance.choice(_callbacks(seen, _receive_order))
    one.heard[who].insert(number, one.heard[who][number])


def _delay(seen: list[CallRecord], chance: random.Random) -> None:
    """To the next step, though nothing is held there."""
    found = _callbacks(seen[:-1], _receive_order)
    quiet = [
        (one, who, n) for one, who, n in found if not any(heard[0] in _HOLDING for heard in one.heard[who])
    ]
    one, who, number = chance.choice(quiet)
    seen[seen.index(one) + 1].heard.setdefault(who, []).append(one.heard[who].pop(number))


@pytest.mark.parametrize(
    "plant",
    [
        _lose,
        _double,
        _delay,
        _drop,
        _repeat,
        _misdirect,
        _value,
        _time,
        _late_grant,
        _refuse,
        _allow,
        _other_exception,
    ],
)
def test_what_is_planted_over_several_nodes_is_found(
    plant: Callable[[list[CallRecord], random.Random], None],
) -> None:
    """A message that never comes is late until the end, and no longer."""
    planted = 0
    for seed in range(6):
        honest = replace(_honest(seed), one_place=False)
        for number in range(5):
            lying = copy.deepcopy(honest)
            try:
                plant(lying.seen, random.Random(number))
            except IndexError:
                continue
            planted += 1
            assert judged(honest, lying) is not None
    assert planted > 8


def _said(
    *heard: Any, call: str = "query_galt", error: str = "", hurry: bool = False, **more: Any
) -> CallRecord:
    """What f0 heard after a step of its own."""
    return CallRecord(
        ScriptedCall(0, call, (), "", hurry), None, error, heard={0: list(heard)} if heard else {}, **more
    )


def _message(value: str, way: str = "HLAreliable", producer: str = "f1") -> list[Any]:
    return ["receive_interaction", "HLAinteractionRoot.Hail", {"Words": value}, "", way, producer, None]


_GRANT, _END = ["time_advance_grant", 1], "end"
A, B = _message("a"), _message("b")
_ADVANCE = "time_advance_request"


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        # It may come after the grant, and then by the next advance.
        ([_said(A, _GRANT), _said(call=_ADVANCE)], [_said(_GRANT), _said(A, call=_ADVANCE)]),
        ([_said(_GRANT), _said(call=_END)], [_said(_GRANT), _said(call=_END)]),
        ([_said(A, _GRANT), _said(call=_END)], [_said(_GRANT), _said(A, call=_END)]),
        # By different senders, or by best effort, in any order.
        ([_said(A, _message("b", producer="f2"))], [_said(_message("b", producer="f2"), A)]),
        ([_said(_message("a", "HLAbestEffort"), _message("b", "HLAbestEffort"))],
         [_said(_message("b", "HLAbestEffort"), _message("a", "HLAbestEffort"))]),
    ],
)  # fmt: skip
def test_what_is_free_over_several_nodes(expected: list[CallRecord], found: list[CallRecord]) -> None:
    """8.1: messages in receive order have no order, and who is time-constrained gets them while it advances."""
    assert first_difference(expected, found, "nodes", False) is None


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        ([_said(A, _GRANT), _said(call=_END)], [_said(_GRANT), _said(call=_END)]),  # never
        (
            [_said(A, _GRANT), _said(call=_ADVANCE), _said()],
            [_said(_GRANT), _said(call=_ADVANCE), _said(A)],
        ),  # too late
        ([_said(A, _GRANT), _said(B)], [_said(_GRANT), _said()]),  # nothing is held in the second step
        ([_said(A, B, _GRANT)], [_said(B, _GRANT)]),  # the second before the first
        ([_said(A, B, _GRANT), _said(call=_ADVANCE)], [_said(_GRANT), _said(B, A, call=_ADVANCE)]),
        ([_said(A, B, _GRANT)], [_said(B, A, _GRANT)]),
        ([_said(A, _GRANT), _said(call=_ADVANCE)], [_said(_GRANT), _said(A, A, call=_ADVANCE)]),  # twice
        ([_said(A), _said()], [_said(), _said(A)]),  # nothing was held
    ],
)
def test_what_is_not_free_over_several_nodes(expected: list[CallRecord], found: list[CallRecord]) -> None:
    """What was called late without end is not, and what is late keeps its order."""
    assert first_difference(expected, found, "nodes", False) is not None


def test_all_of_one_sender_at_one_node_has_one_order() -> None:
    other: list[Any] = [
        "receive_interaction",
        "HLAinteractionRoot.Report",
        {},
        "",
        "HLAbestEffort",
        "f1",
        None,
    ]
    assert first_difference([_said(A, other)], [_said(other, A)], "server", True) is not None
    assert first_difference([_said(A, other)], [_said(other, A)], "nodes", False) is None


def test_equal_times_have_the_order_that_weft_promises() -> None:
    """8.1 leaves it free; weft.ordering.stamped does not."""
    one, two = ([*_message(value), 5, "TIMESTAMP", "TIMESTAMP", "r"] for value in "ab")
    assert first_difference([_said(one, two)], [_said(two, one)], "nodes", False) is not None


@pytest.mark.parametrize(
    ("told", "alike"),
    [(["NotConnected"], True), ([], False), (["SaveInProgress"], False), (["NotConnected"] * 2, False)],
)
def test_a_refusal_in_a_hurry_is_one_of_those(told: list[str], alike: bool) -> None:
    calls: dict[str, Any] = {"call": "update_attribute_values"}
    expected = [_said(error="NotConnected", hurry=True, **calls), _said(**calls)]
    found = [_said(hurry=True, unsure=True, **calls), _said(unsure=True, told=told, **calls)]
    assert (first_difference(expected, found, "async", True) is None) is alike


def test_what_was_late_at_a_save_is_late_again_after_the_restore() -> None:
    save, saved = ["initiate_federate_save", "one"], ["federation_saved"]
    restore, restored = ["initiate_federate_restore", "one", "f0", "f0"], ["federation_restored"]
    first = [
        _said(A, _GRANT),
        _said(save),
        _said(saved),
        _said(call=_ADVANCE),
        _said(restore),
        _said(restored),
    ]
    other = [
        _said(_GRANT),
        _said(save),
        _said(saved),
        _said(A, call=_ADVANCE),
        _said(restore),
        _said(restored),
    ]
    again, never = _said(A, call=_ADVANCE), _said(call=_ADVANCE)
    assert first_difference([*first, never], [*other, again], "nodes", False) is None
    assert first_difference([*first, never], [*other, never], "nodes", False) is not None


def test_nothing_is_reflected_of_what_a_restore_has_undone() -> None:
    """4.1: after a restore a federate knows what it knew when it was saved."""
    discover = ["discover_object_instance", "o1", "HLAobjectRoot.Buoy", "o1", "f1"]
    reflect: list[Any] = ["reflect_attribute_values", "o1", {}, "", "HLAreliable", "f1", None]
    saved = [_said(["initiate_federate_save", "one"]), _said(["federation_saved"])]
    restored = [_said(["initiate_federate_restore", "one", "f0", "f0"]), _said(["federation_restored"])]
    assert broken([_said(discover), *saved, *restored, _said(reflect)]) is None
    wrong = broken([*saved, _said(discover), *restored, _said(reflect)])
    assert wrong is not None
    assert wrong.kind == "unknown"


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


@pytest.mark.parametrize("form", [TEXT, JSON])
def test_an_error_of_the_rtis_own_is_seen_in_any_log(form: str) -> None:
    """Item 2.1: no internal error in a log, ever; so the words that a log has are those that are looked for."""
    notice = faults.fault(ValueError("planted"), "a call")
    written = io.StringIO()
    Log("S1", form, written)(notice.text)
    assert any(bad in written.getvalue() for bad in BAD)


def test_the_recorders_thread_takes_no_rows_in_the_middle_of_a_call(tmp_path: Path) -> None:
    """A book that two threads empty at a time hands out its rows twice."""
    held: list[bool] = []
    embedded, simulated = Embedded(tmp_path / "embedded"), Simulated(tmp_path / "simulated")
    embedded.start()
    embedded._recordings._guard(lambda: held.append(embedded.node._lock.locked()))
    embedded.stop()
    simulated.start()
    for recordings in simulated._recordings:
        recordings._guard(lambda: held.append(False))  # nothing tells that thread when its network is at rest
    simulated.stop()
    assert held == [True]
