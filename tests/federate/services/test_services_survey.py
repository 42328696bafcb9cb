"""The survey of a federation, at one node and over three, against what was called and heard (issue 9)."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.federation import NAME, Federation, federation, refused
from support.placement import Placement
from support.saves import LABEL, begin, begin_restore, instruct, save
from support.small_fom import DIMENSION, INTERACTION_ROOT, INTERACTIONS, LANES, OBJECTS, ROOT, attributes_of
from support.surveys import asked, everywhere, of_federates, summed
from support.timed_federation import REQUESTS, Timed
from weft.cli.observe.status import lines
from weft.model.errors import RTIinternalError
from weft.model.records import RangeBounds

# A placement is the same for all examples: each makes its own federation in it.
PLACED = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]
SEATS = 3
SHARES = 3  # the federate that shares a node with the first one
bare = pytest.mark.bare(reason="the middleware has classes, synchronization and messages of its own")


# --- classes: declarations and messages ------------------------------------------------------------------------


class Talk:
    """What federates declare and send, written down as it is done."""

    def __init__(self, f: Federation) -> None:
        self.f = f
        self.publishers: dict[str, set[int]] = {}
        self.subscribers: dict[str, set[int]] = {}
        self.sent: Counter[str] = Counter()
        self.received: Counter[str] = Counter()
        self.instances: dict[Any, tuple[int, str]] = {}

    def act(self, act: str, who: int, place: int) -> None:
        if who in self.f.present:
            getattr(self, act)(who, list(OBJECTS)[place % len(OBJECTS)], list(INTERACTIONS)[place])

    def publish(self, who: int, cls: str, event: str) -> None:
        self.f.publish(who, cls, *attributes_of(cls))
        self.f.rti[who].publish_interaction_class(self.f.interaction(event))
        self.publishers.setdefault(f"{ROOT}.{cls}", set()).add(who)
        self.publishers.setdefault(f"{INTERACTION_ROOT}.{event}", set()).add(who)

    def unpublish(self, who: int, cls: str, event: str) -> None:
        """Only interactions: of objects it would give up ownership."""
        self.f.rti[who].unpublish_interaction_class(self.f.interaction(event))
        self.publishers.get(f"{INTERACTION_ROOT}.{event}", set()).discard(who)

    def subscribe(self, who: int, cls: str, event: str) -> None:
        self.f.subscribe(who, cls, *attributes_of(cls))
        self.f.rti[who].subscribe_interaction_class(self.f.interaction(event))
        self.subscribers.setdefault(f"{ROOT}.{cls}", set()).add(who)
        self.subscribers.setdefault(f"{INTERACTION_ROOT}.{event}", set()).add(who)

    def unsubscribe(self, who: int, cls: str, event: str) -> None:
        self.f.rti[who].unsubscribe_object_class(self.f.object_class(cls))
        self.f.rti[who].unsubscribe_interaction_class(self.f.interaction(event))
        self.subscribers.get(f"{ROOT}.{cls}", set()).discard(who)
        self.subscribers.get(f"{INTERACTION_ROOT}.{event}", set()).discard(who)

    def speak(self, who: int, cls: str, event: str) -> None:
        if who in self.publishers.get(f"{INTERACTION_ROOT}.{event}", ()):
            name = f"{INTERACTION_ROOT}.{event}"
            self.f.send(who, event, tag=name.encode())
            self.sent[name] += 1
        if who in self.publishers.get(f"{ROOT}.{cls}", ()):
            name = f"{ROOT}.{cls}"
            instance = self.f.register(who, cls)
            self.instances[instance] = who, name
            self.f.update(who, instance, cls, next(iter(attributes_of(cls))), tag=name.encode())
            self.sent[name] += 1

    def leave(self, who: int, cls: str, event: str) -> None:
        """What it has sent and heard stays counted, as long as its node has somebody of the federation."""
        if who == SHARES:
            self.hear()
            self.f.resign(who)
            for declared in (self.publishers, self.subscribers):
                for whom in declared.values():
                    whom.discard(who)
            self.instances = {h: one for h, one in self.instances.items() if one[0] != who}

    def hear(self) -> None:
        """A message says in its tag of which class it was sent."""
        self.f.drain()
        for log in self.f.log:
            for method, arguments in log.take():
                if method in ("reflect_attribute_values", "receive_interaction"):
                    self.received[arguments[2].decode()] += 1

    def names(self, declared: dict[str, set[int]]) -> dict[str, set[str]]:
        return {name: {f"federate {i}" for i in whom} for name, whom in declared.items() if whom}


ACTS = ("publish", "publish", "unpublish", "subscribe", "subscribe", "unsubscribe", "speak", "speak", "leave")


@bare
@settings(max_examples=12, suppress_health_check=PLACED)
@given(
    st.lists(
        st.tuples(st.sampled_from(ACTS), st.integers(0, SHARES), st.integers(0, len(INTERACTIONS) - 1)),
        min_size=5,
        max_size=25,
    )
)
def test_classes_are_as_declared_and_messages_as_sent_and_heard(
    placement: Placement, acts: list[tuple[str, int, int]]
) -> None:
    with federation(SHARES + 1, placement=placement) as f:
        talk = Talk(f)
        for act, who, place in acts:
            talk.act(act, who, place)
        talk.hear()
        surveys = everywhere(f)
        # A class that nobody declares any more is not shown, nor what was sent of it.
        shown = set(next(iter(surveys.values()))["classes"])
        assert summed(surveys, "sent") == {n: c for n, c in talk.sent.items() if n in shown}
        assert summed(surveys, "received") == {n: c for n, c in talk.received.items() if n in shown and c}
        publishers, subscribers = talk.names(talk.publishers), talk.names(talk.subscribers)
        above = {n[: n.rfind(".", 0, end)] for n in (*publishers, *subscribers) for end in _ends(n)}
        for found in surveys.values():
            classes = found["classes"]
            assert set(classes) == {*publishers, *subscribers, *above}
            for name, facts in classes.items():
                assert set(facts["publishers"]) == publishers.get(name, set())
                assert set(facts["subscribers"]) == subscribers.get(name, set())
                assert facts["kind"] == ("object" if name.startswith(ROOT) else "interaction")
                if facts["kind"] == "object":
                    assert facts["instances"] == sum(one == name for _, one in talk.instances.values())
            assert found["instances"] == len(talk.instances)


def _ends(name: str) -> list[int]:
    """Where the names of the classes above end."""
    return [len(name)] + [place for place, one in enumerate(name) if one == "." and name.find(".") < place]


@bare
def test_order_and_transportation_are_the_object_models(placement: Placement) -> None:
    with federation(1, placement=placement) as f:
        f.publish(0, "Vehicle", "Position")
        f.publish(0, "Building", "Height")
        f.rti[0].publish_interaction_class(f.interaction("Event.Fire"))
        classes = asked(f.rti[0], "classes")["federations"][NAME]["classes"]
        ways = {
            name.rpartition(".")[2]: (one.get("order"), one.get("transport")) for name, one in classes.items()
        }
        assert ways["Vehicle"] == ("Receive", "mixed")
        assert ways["Building"] == ("Receive", "HLAreliable")
        assert ways["Fire"] == ("Receive", "HLAbestEffort")
        assert ways["HLAobjectRoot"] == (None, None)


# --- regions ---------------------------------------------------------------------------------------------------


@bare
@settings(max_examples=12, suppress_health_check=PLACED)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(("make", "make", "commit", "commit", "set", "hear", "place", "delete")),
            st.integers(0, SEATS - 1),
            st.integers(0, 7),
            st.tuples(st.integers(0, LANES - 1), st.integers(1, LANES)).filter(lambda one: one[0] < one[1]),
        ),
        max_size=20,
    )
)
def test_regions_are_those_that_were_committed(
    placement: Placement, acts: list[tuple[str, int, int, tuple[int, int]]]
) -> None:
    with federation(SEATS, placement=placement) as f:
        lane = f.rti[0].get_dimension_handle(DIMENSION)
        event, vehicle = f.interaction("Event"), f.object_class("Vehicle")
        made: list[tuple[int, Any]] = []
        templates: dict[Any, tuple[int, int]] = {}
        committed: dict[Any, tuple[int, int]] = {}
        hears, places = set(), set()
        instances = {}
        for i in range(SEATS):
            f.publish(i, "Vehicle", "Position", "Name")
            instances[i] = f.register(i, "Vehicle")
        for act, who, which, bounds in acts:
            mine = [region for owner, region in made if owner == who]
            if act == "make":
                region = f.rti[who].create_region({lane})
                made.append((who, region))
                templates[region] = 0, LANES
                continue
            if not mine:
                continue
            region = mine[which % len(mine)]
            if act == "set":
                f.rti[who].set_range_bounds(region, lane, RangeBounds(*bounds))
                templates[region] = bounds
            elif act == "commit":
                f.rti[who].commit_region_modifications({region})
                committed[region] = templates[region]
            elif act == "hear" and region in committed:
                f.rti[who].subscribe_interaction_class_with_regions(event, {region})
                hears.add(region)
            elif act == "place" and region in committed:
                pairs = [({f.attribute("Vehicle", "Position")}, {region})]
                f.rti[who].associate_regions_for_updates(instances[who], pairs)
                places.add(region)
            elif act == "delete" and region not in hears | places:
                f.rti[who].delete_region(region)
                made.remove((who, region))
                committed.pop(region, None)
        assert vehicle is not None
        owners = {region: owner for owner, region in made}
        nodes = {name: facts["node"] for name, facts in of_federates(everywhere(f)).items()}
        expected = {
            f"federate {owners[region]}/{region.number}": {
                "owner": f"federate {owners[region]}",
                "node": nodes[f"federate {owners[region]}"],
                "ranges": {DIMENSION: list(bounds)},
                "publishes": [f"{ROOT}.Vehicle"] if region in places else [],
                "subscribes": [f"{INTERACTION_ROOT}.Event"] if region in hears else [],
            }
            for region, bounds in committed.items()
        }
        for found in everywhere(f).values():
            assert found["dimensions"] == {DIMENSION: LANES}
            assert found["regions"] == expected
            assert "cells" not in found  # nothing is divided by the strategy Exact


# --- logical time ----------------------------------------------------------------------------------------------


def expected_blockers(blocking: Any, home: str) -> list[str]:
    """What a survey says, from what the federate itself is told."""
    found = [
        f"{node}, for a change as of {one.time}" for one in blocking.settling for node in one.nodes or (home,)
    ]
    if blocking.save:
        return [*found, f"the save {blocking.save!r}"]
    return found + [one.federate for one in blocking.blocked_by]


@bare
@settings(max_examples=12, suppress_health_check=PLACED)
@given(
    st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 3)), min_size=SEATS, max_size=SEATS),
    st.lists(
        st.tuples(
            st.integers(0, SEATS - 1), st.sampled_from(sorted(set(REQUESTS) - {"FQR"})), st.integers(1, 9)
        ),
        max_size=8,
    ),
)
def test_who_waits_is_blocked_by_whom_it_is_told(
    placement: Placement, timed: list[tuple[bool, bool, int]], asks: list[tuple[int, str, int]]
) -> None:
    f = Timed(SEATS, placement=placement)
    try:
        for i, (regulates, is_constrained, lookahead) in enumerate(timed):
            if regulates:
                f.regulate(i, lookahead)
            if is_constrained:
                f.constrain(i)
        f.drain()
        for i, kind, by in asks:
            blocking = f.rti[i].query_blocking()
            if blocking.requested is None and (timed[i][0] or timed[i][1]):
                f.ask(i, kind, blocking.time + by)
        surveys = everywhere(f)
        facts = of_federates(surveys)
        assert set(facts) == {f"federate {i}" for i in range(SEATS)}
        for i in range(SEATS):
            blocking, one = f.rti[i].query_blocking(), facts[f"federate {i}"]
            assert (one["regulating"], one["constrained"]) == timed[i][:2]
            assert ("asks" in one) == (blocking.requested is not None)
            assert one.get("time", 0) == blocking.time
            if "asks" in one:
                home = surveys[one["node"]]["home"]
                assert (one["asks"], one["requested"]) == (blocking.state, blocking.requested)
                assert one.get("galt") == blocking.galt
                assert one["blocked_by"]
                told = expected_blockers(blocking, home)
                assert one["blocked_by"] == told or (not told and len(one["blocked_by"]) == 1)
            else:
                assert "blocked_by" not in one
                assert "requested" not in one
    finally:
        f.close()


@bare
def test_a_federate_that_nobody_holds_up_is_told_that_nobody_regulates(placement: Placement) -> None:
    f = Timed(1, placement=placement)
    f.constrain(0)
    f.drain()
    f.ask(0, "NMR", 5)
    (one,) = of_federates(everywhere(f)).values()
    assert f.rti[0].query_blocking().requested == 5
    assert one["blocked_by"] == ["nobody regulates time"]
    f.close()


# --- what goes on in steps -------------------------------------------------------------------------------------


@bare
@settings(max_examples=12, suppress_health_check=PLACED)
@given(st.lists(st.tuples(st.sampled_from("AB"), st.integers(0, SEATS - 1)), max_size=5), st.booleans())
def test_a_point_waits_for_those_who_have_not_achieved_it(
    placement: Placement, achieved: list[tuple[str, int]], some: bool
) -> None:
    with federation(SEATS, placement=placement) as f:
        f.rti[0].register_federation_synchronization_point("A", b"text")
        chosen = {f.handle(0), f.handle(1)} if some else {f.handle(i) for i in range(SEATS)}
        f.rti[1].register_federation_synchronization_point("B", b"\xff\x00", chosen)
        f.drain()
        waiting = {"A": set(range(SEATS)), "B": {0, 1} if some else set(range(SEATS))}
        done: dict[str, set[int]] = {"A": set(), "B": set()}
        for label, who in achieved:
            if who in waiting[label]:
                f.rti[who].synchronization_point_achieved(label)
                waiting[label].remove(who)
                done[label].add(who)
        for found in everywhere(f).values():
            points = found["synchronization"]
            assert set(points) == {label for label, whom in waiting.items() if whom}
            for label, facts in points.items():
                assert set(facts["waits_for"]) == {f"federate {i}" for i in waiting[label]}
                assert set(facts["achieved"]) == {f"federate {i}" for i in done[label]}
                assert facts["tag"] == {"A": "text", "B": "ff00"}[label]


def _saves(f: Federation, what: str = "save") -> Any:
    """The same at all nodes."""
    (found,) = {repr(one.get(what)): one.get(what) for one in everywhere(f).values()}.values()
    return found


@bare
def test_a_save_and_a_restore_say_whom_they_wait_for(placement: Placement) -> None:
    with federation(SEATS, placement=placement) as f:
        everybody = [f"federate {i}" for i in range(SEATS)]
        assert _saves(f) is None
        instruct(f)
        assert _saves(f) == {"label": LABEL, "state": "instructed", "waits_for": everybody}
        assert {one["state"] for one in of_federates(everywhere(f)).values()} == {"saving"}
        begin(f)
        assert _saves(f) == {"label": LABEL, "state": "saving", "waits_for": everybody}
        f.rti[0].federate_save_complete()
        f.rti[1].federate_save_not_complete()
        found = _saves(f)
        assert found["waits_for"] == everybody[2:]
        assert found["failure"] == "FEDERATE_REPORTED_FAILURE_DURING_SAVE"
        f.rti[2].federate_save_complete()
        f.drain()
        assert _saves(f) is None
        save(f)
        begin_restore(f)
        assert _saves(f, "restore") == {"label": LABEL, "state": "restoring", "waits_for": everybody}
        assert {one["state"] for one in of_federates(everywhere(f)).values()} == {"restoring"}
        f.rti[1].federate_restore_complete()
        assert _saves(f, "restore")["waits_for"] == [everybody[0], everybody[2]]
        for i in (0, 2):
            f.rti[i].federate_restore_complete()
        f.drain()
        assert _saves(f, "restore") is None
        assert {one["state"] for one in of_federates(everywhere(f)).values()} == {"joined"}


@bare
def test_a_save_that_waits_for_its_time_is_named_to_whom_it_holds(placement: Placement) -> None:
    """`weft status` names it, too."""
    f = Timed(2, placement=placement)
    f.all_timed(1)
    f.rti[0].request_federation_save("late", f.time(5))
    home = next(one for node, one in everywhere(f).items() if one["home"] == node)
    assert home["save"] == {
        "label": "late",
        "state": "scheduled",
        "time": 5,
        "waits_for": ["federate 0", "federate 1"],
    }
    for i in range(2):
        f.ask(i, "TAR", 9)
    # All have come, so everybody is told to save; nobody goes on before.
    for one in of_federates(everywhere(f)).values():
        assert one["blocked_by"] == ["the save 'late'"]
    assert "the save 'late' blocks federate 0" in "\n".join(lines(f.rti[0].query_status()))
    f.drain()
    f.close()


# --- the rest --------------------------------------------------------------------------------------------------


def test_only_what_is_asked_for_is_told(placement: Placement) -> None:
    with federation(2, placement=placement) as f:
        always = {
            "home",
            "instances",
            "strategy",
            "time_type",
            "ordered",
            "regions_in_time",
            "synchronization",
        }
        found = asked(f.rti[0], "federates")
        assert {"node", "version", "now", "federations"} <= set(found)
        assert not {"server", "fabric", "recording"} & set(found)
        assert set(found["federations"][NAME]) == always | {"federates"}
        more = asked(f.rti[0], "classes", "consumers")["federations"][NAME]
        assert set(more) == always | {"federates", "classes", "consumers"}
        assert set(asked(f.rti[0])["federations"][NAME]) >= always | {"classes", "regions", "channels"}
        with refused(RTIinternalError):
            f.rti[0].query_survey(["weather"])
        with refused(RTIinternalError):
            f.rti[0].query_survey([1])  # type: ignore[list-item]


@bare
def test_a_node_tells_of_federates_elsewhere_only_what_it_knows(placement: Placement) -> None:
    with federation(SEATS, placement=placement) as f:
        for node, found in everywhere(f).items():
            for facts in found["federates"].values():
                assert {"handle", "type", "node", "state", "regulating", "constrained"} <= set(facts)
                assert ("queued" in facts) == (facts["node"] == node)
                if facts["node"] != node:
                    assert not {"calls", "callbacks", "traffic", "last_callback"} & set(facts)


@bare
def test_consumers_with_deadlines(placement: Placement) -> None:
    with federation(2, placement=placement) as f:
        event = f.interaction("Event")
        f.rti[0].publish_interaction_class(event)
        f.rti[1].subscribe_interaction_class(event)
        f.rti[1].set_class_qos(event, deadline=1000.0)
        f.drain()
        for number in range(105):
            f.send(0, "Event", tag=b"%d" % number)
        name = f"{INTERACTION_ROOT}.Event"
        own = of_federates(everywhere(f))["federate 1"]["node"]

        def consumer() -> Any:
            (found,) = [one["consumers"] for node, one in everywhere(f).items() if node == own]
            assert list(found) == ["federate 1"]
            return found["federate 1"]

        waiting = consumer()
        assert (waiting["queue"], waiting["handed"], waiting["missed"]) == (105, 105, 0)
        assert waiting["classes"][name] == {"deadline": 1000.0, "handed": 105, "missed": 0}
        assert waiting["recent"] == []
        f.drain(1)
        done = consumer()
        assert (done["queue"], len(done["recent"])) == (0, 100)
        assert 0 < done["classes"][name]["laxity"] <= 1000.0
        for begun, ended, told, missed in done["recent"]:
            assert begun <= ended
            assert (told, missed) == (name, False)
        ends = [end for _, end, _, _ in done["recent"]]
        assert ends == sorted(ends)
