"""Declaration management (clause 5) against the rules that `weft.interest.declarations` begins with, read by brute force.

The model keeps what was called for, by names, and asks the tables of the small object model; it knows no catalog.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from support.bare_federation import HERE, attributes, bare, interaction_class, object_class, step_of, told
from support.small_fom import INTERACTION_ROOT, INTERACTIONS, OBJECTS, PRIVILEGE, ROOT, attributes_of, lineage
from weft.kernel.message import recipients
from weft.kernel.services import declaration
from weft.kernel.state.federation import Federation, Member

WHO = st.integers(0, 2)
LAWS = settings(max_examples=40, deadline=None)
ON_OFF = ("turn_interactions_on", "turn_interactions_off")
START_STOP = ("start_registration_for_object_class", "stop_registration_for_object_class")


def advised() -> tuple[Federation, list[Member]]:
    """Three federates that are told for whom they send."""
    federation, members = bare(HERE, HERE, HERE)
    for member in members:
        member.switches.interaction_relevance = member.switches.object_class_relevance = True
    return federation, members


@LAWS
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["publish", "unpublish", "subscribe", "passively", "unsubscribe"]),
            WHO,
            st.sampled_from(list(INTERACTIONS)),
        ),
        min_size=10,
        max_size=40,
    )
)
def test_an_interaction_is_heard_at_the_first_class_above_it(calls: list[tuple[str, int, str]]) -> None:
    """Clauses 5.4, 5.5, 5.10, 5.11: by whom, at which class; and who publishes is told when somebody actively wants it (5.15,
    5.16), alternately on and off."""
    federation, members = advised()
    sends: dict[int, set[str]] = defaultdict(set)
    hears: dict[int, dict[str, bool]] = defaultdict(dict)
    on: dict[int, set[Any]] = defaultdict(set)
    for call, who, name in calls:
        step = step_of(federation, members[who])
        handle = interaction_class(federation, name).handle
        if call == "publish":
            declaration.publish_interaction_class(step, handle)
            sends[who].add(name)
        elif call == "unpublish":
            declaration.unpublish_interaction_class(step, handle)
            sends[who].discard(name)
            on[who].discard(handle)  # told no more, nor that it is off
        elif call == "unsubscribe":
            declaration.unsubscribe_interaction_class(step, handle)
            hears[who].pop(name, None)
        else:
            declaration.subscribe_interaction_class(step, handle, call == "subscribe")
            hears[who][name] = call == "subscribe"
        for number, member in enumerate(members):
            for method, (one,) in told(step, member):
                assert (one in on[number]) == (method == ON_OFF[1]), "it has been told so already"
                on[number] ^= {one}
            for sent in INTERACTIONS:
                entry = interaction_class(federation, sent)
                above = lineage(sent, INTERACTION_ROOT)
                others = [hears[other] for other in range(3) if other != number]
                wanted = any(heard.get(cls) for heard in others for cls in above)
                assert (entry.handle in on[number]) == (sent in sends[number] and wanted)
                found = recipients.of_interaction(step, member, entry)
                expected = {
                    other: next(cls for cls in above if cls in hears[other])
                    for other in range(3)
                    if other != number and set(above) & hears[other].keys()
                }
                got = {members.index(r.member): r.received for r in found.here}
                assert {who: f"{INTERACTION_ROOT}.{cls}" for who, cls in expected.items()} == {
                    who: "" if received is None else received.name for who, received in got.items()
                }


CLASSES = st.sampled_from(["Vehicle", "Vehicle.Aircraft"])


@LAWS
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["publish", "unpublish", "subscribe", "passively", "unsubscribe", "none"]),
            st.integers(0, 1),
            CLASSES,
            st.integers(0, 7),
        ),
        min_size=10,
        max_size=40,
    )
)
def test_who_publishes_a_class_hears_if_somebody_wants_it(calls: list[tuple[str, int, str, int]]) -> None:
    """Clauses 5.2, 5.3, 5.8, 5.9, 5.13, 5.14: if another actively subscribes, at the class or above it, to what is published."""
    federation, members = advised()
    sends: dict[tuple[int, str], set[str]] = defaultdict(set)
    wants: dict[tuple[int, str], dict[str, bool]] = defaultdict(dict)
    on: dict[int, set[Any]] = defaultdict(set)
    for call, who, name, choice in calls:
        step = step_of(federation, members[who])
        entry = object_class(federation, name)
        known = list(attributes_of(name))
        chosen = [attribute for at, attribute in enumerate(known) if choice >> (at % 3) & 1]
        handles = attributes(entry, chosen)
        if call == "publish":
            declaration.publish_object_class_attributes(step, entry.handle, handles)
            # The privilege to delete goes with any publication of the class, and with the last other attribute.
            sends[who, name].update([*chosen, PRIVILEGE] if chosen else ())
        elif call == "unpublish":
            declaration.unpublish_object_class_attributes(step, entry.handle, handles)
            had = len(sends[who, name])
            sends[who, name].difference_update(chosen)
            if len(sends[who, name]) < had and sends[who, name] == {PRIVILEGE}:
                sends[who, name].clear()
        elif call == "unsubscribe":
            declaration.unsubscribe_object_class_attributes(step, entry.handle, handles)
            for attribute in chosen:
                wants[who, name].pop(attribute, None)
        elif call == "none":
            declaration.unsubscribe_object_class(step, entry.handle)
            declaration.unpublish_object_class(step, entry.handle)
            wants[who, name].clear()
            sends[who, name].clear()
        else:
            declaration.subscribe_object_class_attributes(
                step, entry.handle, handles, "", call == "subscribe"
            )
            wants[who, name].update(dict.fromkeys(chosen, call == "subscribe"))
        if not sends[who, name]:
            on[who].discard(entry.handle)
        for number, member in enumerate(members):
            for method, (one,) in told(step, member):
                assert method in START_STOP
                assert (one in on[number]) == (method == START_STOP[1]), "it has been told so already"
                on[number] ^= {one}
            for cls in OBJECTS:
                published = sends[number, cls]
                kept = member.declared.published.get(object_class(federation, cls).handle, {})
                assert set(kept) == set(attributes(object_class(federation, cls), published))
                wanted = any(
                    wants[other, above].get(attribute)
                    for other in range(3)
                    if other != number
                    for above in lineage(cls, ROOT)
                    for attribute in published
                )
                assert (object_class(federation, cls).handle in on[number]) == wanted, (cls, number)


@LAWS
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["publish", "unpublish", "subscribe", "universally", "unsubscribe"]),
            WHO,
            st.sampled_from(["Vehicle", "Vehicle.Aircraft"]),
            st.frozensets(st.sampled_from(["Command", "Command.Halt", "Event"]), max_size=2),
            st.booleans(),
        ),
        min_size=10,
        max_size=40,
    )
)
def test_directed_interactions_are_declared_by_class(
    calls: list[tuple[str, int, str, frozenset[str], bool]],
) -> None:
    """Clauses 5.6, 5.7, 5.12, 5.13: for this class and what is below it; without classes, all that were declared."""
    federation, members = advised()
    sends: dict[tuple[int, str], set[str]] = defaultdict(set)
    hears: dict[tuple[int, str], dict[str, bool]] = defaultdict(dict)
    for call, who, name, chosen, whole in calls:
        step = step_of(federation, members[who])
        target_class = object_class(federation, name).handle
        classes = [interaction_class(federation, one).handle for one in chosen]
        if call == "publish":
            declaration.publish_object_class_directed_interactions(step, target_class, classes)
            sends[who, name] |= chosen
        elif call == "unpublish":
            declaration.unpublish_object_class_directed_interactions(
                step, target_class, None if whole else classes
            )
            sends[who, name] -= sends[who, name] if whole else chosen
        elif call == "unsubscribe":
            given = None if whole else classes
            declaration.unsubscribe_object_class_directed_interactions(step, target_class, given)
            for one in list(hears[who, name]) if whole else chosen:
                hears[who, name].pop(one, None)
        else:
            universally = call == "universally"
            declaration.subscribe_object_class_directed_interactions(step, target_class, classes, universally)
            hears[who, name].update(dict.fromkeys(chosen, universally))
    for number, member in enumerate(members):
        for name in ("Vehicle", "Vehicle.Aircraft", "Building"):
            target = object_class(federation, name)
            above = lineage(name, ROOT)
            for sent in INTERACTIONS:
                entry = interaction_class(federation, sent)
                may = any(sent in sends[number, cls] for cls in above)
                assert member.declared.may_direct(target, entry.handle) == may
                found = member.declared.directed_class(target, entry)
                heard = [
                    (f"{INTERACTION_ROOT}.{one}", hears[number, cls][one])
                    for cls in above
                    for one in lineage(sent, INTERACTION_ROOT)
                    if one in hears[number, cls]
                ]
                assert (None if found is None else (found[0].name, found[1])) == next(iter(heard), None)
