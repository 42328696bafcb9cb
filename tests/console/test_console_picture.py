"""The picture: merged from what nodes say, with rates, and its changes as patches (issue 9, console)."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.console_in_thread import federate
from support.console_page_server import merged
from weft.console import merging, pages, patches, picture, rates
from weft.console.merging import UNREACHABLE, NodeReport
from weft.console.pages import Page, ShownPicture
from weft.console.picture import SECTIONS, SILENCE, Look, Painter, look_of
from weft.console.rates import FEDERATE

Object = dict[str, Any]
# Tests look deep inside of what is JSON, and make some that is not.
federations: Callable[..., Any] = merging.federations
difference: Callable[..., Any] = patches.difference
without_nulls: Callable[..., Any] = patches.without_nulls
view: Callable[..., Any] = picture.view
rated: Callable[..., Any] = rates.rated
with_rates: Callable[..., Any] = rates.with_rates

NAMES = st.sampled_from(["a", "b", "c", "__proto__", "", "<script>"])
PLAIN = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats(allow_nan=False, width=16)
    | st.sampled_from(["", "x"])
)
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)
PICTURES = st.dictionaries(NAMES, VALUES, max_size=5).map(without_nulls)


def exact(value: Any) -> str:
    """As JSON has it, where 1, 1.0 and true differ."""
    return json.dumps(value, sort_keys=True)


# --- patches -------------------------------------------------------------------------------------------------


@settings(max_examples=25)
@given(st.lists(PICTURES, min_size=1, max_size=6))
def test_the_first_picture_and_all_patches_make_the_last(course: list[Object]) -> None:
    shown = course[0]
    for before, after in itertools.pairwise(course):
        patch = json.loads(json.dumps(difference(before, after)))
        assert (patch == {}) == (exact(before) == exact(after))
        shown = merged(shown, patch)
    assert exact(shown) == exact(course[-1])


@settings(max_examples=25)
@given(PICTURES, PICTURES)
def test_a_patch_names_only_what_differs(old: Object, new: Object) -> None:
    for name in difference(old, new):
        assert name not in old or name not in new or exact(old[name]) != exact(new[name])


def test_a_picture_has_no_null_and_nothing_that_json_cannot_write() -> None:
    made = without_nulls({"a": None, "b": {"c": None, "d": [None, {"e": None}]}, "f": float("inf")})
    assert made == {"b": {"d": [None, {}]}, "f": "inf"}
    assert json.dumps(made, allow_nan=False)


FEDERATIONS = st.dictionaries(
    st.sampled_from(["F", "G"]),
    st.fixed_dictionaries(
        {
            "federates": st.dictionaries(
                NAMES, st.fixed_dictionaries({"calls": st.integers(0, 9)}), max_size=3
            )
        },
        optional={section: st.dictionaries(NAMES, st.integers(0, 3), max_size=2) for section in SECTIONS},
    ),
    max_size=2,
)
LOOKS = st.builds(Look, st.sampled_from([None, "F", "G"]), st.frozensets(st.sampled_from(SECTIONS)))
STEPS = st.lists(st.one_of(FEDERATIONS, LOOKS), max_size=12)


@settings(max_examples=25)
@given(FEDERATIONS, STEPS, st.sampled_from([0, pages.LARGE]), st.data())
def test_a_page_has_what_it_looks_at_whatever_it_missed(
    first: Object, steps: list[Any], large: int, data: st.DataObject
) -> None:
    """It reads now and then; what it is sent never takes more than the whole picture, and its numbers follow one another."""
    page, number, numbered = Page(may_steer=True), 0, 0
    shown: Object = {}
    before, pages.LARGE = pages.LARGE, large
    try:
        for step in [first, *steps, first]:
            if isinstance(step, Look):
                page.looks_at(step)
                continue
            numbered += 1
            picture = {"federations": step, "console": {"pages": 1}}
            newest = ShownPicture(numbered, picture)
            page.offer(newest)
            if numbered == 1 or data.draw(st.booleans()) or step is first:
                text = page.message()
                want = {**view(picture, page.look), "console": {"pages": 1, "may_steer": True}}
                number += 1
                said = json.loads(text)
                assert said["seq"] == number
                shown = said["picture"] if said["type"] == "full" else merged(shown, said["patch"])
                assert len(text) <= max(large, len(newest.full((page.look, True)))) + 60
                assert exact(shown) == exact(want)
    finally:
        pages.LARGE = before


@pytest.mark.parametrize(
    "said", [[], "look", {"type": "look", "sections": ["all"]}, {"type": "look", "federation": 3}, {}]
)
def test_what_is_no_look_is_refused(said: Any) -> None:
    with pytest.raises(ValueError):
        look_of(said)


# --- rates ---------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 10**6), st.floats(0.25, 4.0)), min_size=2, max_size=10))
def test_a_rate_is_what_came_in_the_time_and_never_negative(course: list[tuple[int, float]]) -> None:
    """A counter that went back has begun anew, from zero."""
    old: Object | None = None
    before = 0
    for count, seconds in course:
        new = with_rates({"calls": count}, old, seconds, FEDERATE)
        assert ("calls_rate" in new) == (old is not None)
        if old is not None:
            came = count - before if count >= before else count
            assert new["calls_rate"] >= 0
            assert new["calls_rate"] == pytest.approx(came / seconds, abs=0.51)
        old, before = new, count


def test_rates_are_by_the_clock_of_the_node_and_of_the_same_federate() -> None:
    def survey(now: float, calls: int, handle: int = 1) -> Object:
        facts = {**federate("tug", handle=handle), "handle": handle, "calls": calls}
        return {
            "now": now,
            "server": {"cpu_seconds": now / 2},
            "federations": {"F": {"federates": {"tug": facts}}},
        }

    def rate(new: Object, old: Object | None) -> Any:
        return rated(new, old)["federations"]["F"]["federates"]["tug"].get("calls_rate")

    assert rate(survey(10, 100), None) is None
    assert rate(survey(12, 300), survey(10, 100)) == 100.0
    assert rate(survey(12, 300, handle=2), survey(10, 100)) == 150.0  # joined again by its name
    assert rate(survey(5, 300), survey(10, 100)) is None  # its machine was started again
    assert rated(survey(12, 0), survey(10, 0))["server"]["cpu"] == 0.5


# --- merging -------------------------------------------------------------------------------------------------

NODES = ("S1", "S2", "S3")
WORLDS = st.fixed_dictionaries(
    {
        "home": st.sampled_from(NODES),
        "up": st.frozensets(st.sampled_from(NODES)),
        "federates": st.dictionaries(st.sampled_from("abcdef"), st.sampled_from(NODES), max_size=6),
        "sent": st.dictionaries(st.sampled_from(NODES), st.integers(0, 99)),
    }
)


@given(WORLDS, st.permutations(NODES))
def test_of_each_federate_the_facts_of_its_own_node_and_members_as_the_home_has_them(
    world: Object, order: list[str]
) -> None:
    """Against the world itself: each node knows all of its own, and of others the name and the node."""
    told = []
    for node in order:
        members = {
            name: federate(name, at, **({"calls": 7} if at == node else {}))
            for name, at in world["federates"].items()
        }
        classes = {
            "C": {"publishers": [n for n, at in world["federates"].items() if at == node], "instances": 4}
        }
        if node in world["sent"]:
            classes["C"]["sent"] = world["sent"][node]
        facts = {"home": world["home"], "federates": members, "classes": classes}
        told.append(NodeReport(node, {"federations": {"F": facts}}, node in world["up"]))
    made = federations(told)["F"]
    assert set(made["federates"]) == set(world["federates"])
    for name, at in world["federates"].items():
        one = made["federates"][name]
        assert one["node"] == at
        if at in world["up"]:
            assert (one["state"], one["calls"]) == ("joined", 7)
        else:
            assert one["state"] == UNREACHABLE
    assert made["classes"]["C"]["publishers"] == sorted(world["federates"])
    assert made["classes"]["C"]["instances"] == 4
    assert made["classes"]["C"].get("sent", 0) == sum(world["sent"].values())


def test_who_has_left_is_gone_once_the_home_says_so() -> None:
    """A node that does not answer any more last said that the federate was there."""
    old: Object = {"home": "S1", "federates": {"a": federate("a", "S2")}}
    new: Object = {"home": "S1", "federates": {}}
    told = [
        NodeReport("S2", {"federations": {"F": old}}, False),
        NodeReport("S1", {"federations": {"F": new}}, True),
    ]
    assert federations(told)["F"]["federates"] == {}


# --- nodes ---------------------------------------------------------------------------------------------------


def test_a_node_is_down_when_it_has_not_answered_for_three_seconds_though_asked() -> None:
    painter = Painter()
    painter.named("S1", "S1", "here:1")

    def state(now: float) -> Any:
        painted: Any = painter.paint(now)
        return painted["nodes"]["S1"]

    assert state(0.0)["state"] == "starting"
    painter.asked("S1", 10.0)
    painter.answered("S1", {"node": "S1", "now": 1.0}, 10.1)
    assert state(100.0)["state"] == "up"  # nobody has asked since
    painter.asked("S1", 100.0)
    painter.asked("S1", 101.0)
    assert state(100.0 + SILENCE - 0.1)["state"] == "up"
    down = state(100.0 + SILENCE)
    assert (down["state"], down["why"]) == ("down", "no answer for 3 s from here:1")
    painter.answered("S1", {"node": "S1", "now": 2.0}, 104.0)
    assert state(104.0) == {"state": "up", "address": "here:1", "age": 0.0}
    painter.failed("S1", "connection refused", 105.0)
    assert state(105.0)["why"] == "connection refused"


def test_two_that_call_themselves_the_same_are_not_mixed_up() -> None:
    painter = Painter()
    for address in ("here:1", "here:2"):
        painter.named(address, "", address)
    assert painter.answered("here:1", {"node": "server", "federations": {"F": {"federates": {}}}}, 1.0) == ""
    why = painter.answered("here:2", {"node": "server", "federations": {"G": {"federates": {}}}}, 1.0)
    assert "here:2 calls itself 'server', as here:1 does" in why
    painted: Any = painter.paint(1.0)
    assert painted["nodes"]["here:2"]["state"] == "down"
    assert list(painted["federations"]) == ["F"]


def test_details_go_only_to_who_looks_at_them() -> None:
    federation: Object = {"federates": {}, "classes": {"C": {}}, "regions": {}, "cells": {}, "consumers": {}}
    picture = {"federations": {"F": dict(federation), "G": dict(federation)}}
    assert view(picture, Look())["federations"]["F"] == {"federates": {}}
    one = view(picture, Look("F", frozenset(["classes"])))["federations"]
    assert one == {"F": {"federates": {}, "classes": {"C": {}}}, "G": {"federates": {}}}
    assert view(picture, Look(None, frozenset(SECTIONS))) == picture


def test_how_long_a_link_is_up_is_told_in_seconds() -> None:
    """A node says since when on its own clock, which no page knows."""
    survey = {
        "node": "S1",
        "now": 1000.0,
        "fabric": {"links": {"S2": {"up": True, "since": 940.0, "sent": 1}}},
    }
    assert rated(survey, None)["fabric"]["links"]["S2"]["since"] == 60


def test_whom_a_federate_waits_for_is_for_the_home_to_say() -> None:
    """A node elsewhere knows who was behind when the bound last changed; texts that are no federates are its own."""
    waits = {"requested": 27, "asks": "TAR"}
    home: Object = {"tank": {"node": "S1"} | waits | {"blocked_by": ["radar"]}, "radar": {"node": "S2"}}
    home["sub"] = {"node": "S3"} | waits | {"blocked_by": ["radar"]}
    there: Object = {
        "sub": {"node": "S3"} | waits | {"blocked_by": ["the operator (paused)", "tank", "radar"]}
    }
    told = [
        NodeReport(node, {"federations": {"F": {"home": "S1", "federates": federates}}}, True)
        for node, federates in (("S1", home), ("S3", there))
    ]
    found = federations(told)["F"]["federates"]
    assert found["sub"]["blocked_by"] == ["the operator (paused)", "radar"]
    assert found["tank"]["blocked_by"] == ["radar"]
