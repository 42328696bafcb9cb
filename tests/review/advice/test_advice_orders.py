"""Which classes need an order: never one less than the causal pairs of the messages themselves ask for (issue 8, 3)."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from weft.review.advice.orders import ClassTraffic, advise


def traffic(
    name: str, sources: set[int], destinations: set[int], order: str = "CO", reliable: bool = True
) -> ClassTraffic:
    return ClassTraffic(name, {order: 10}, {order: 120}, 100, reliable, sources, destinations)


def test_a_class_that_nothing_depends_on_could_use_receive_order() -> None:
    classes = {
        "Fire": traffic("Fire", {1}, {2, 3}),
        "Hit": traffic("Hit", {2}, {1, 3}),
        "Weather": traffic("Weather", {4}, {1, 2, 3}),
    }
    found = {one["class"]: one for one in advise(classes, {("Fire", "Hit"): 7})}
    assert not found["Fire"]["could_use_RO"]
    assert not found["Hit"]["could_use_RO"]
    assert [(pair["cause"], pair["effect"], pair["times"]) for pair in found["Hit"]["pairs"]] == [
        ("Fire", "Hit", 7)
    ]
    assert found["Weather"]["could_use_RO"]
    assert found["Weather"]["saved_bytes"] == 120
    assert found["Weather"]["control_bytes_per_message"] == 12


def test_no_receiver_in_common_is_no_reason() -> None:
    classes = {"Ask": traffic("Ask", {1}, {2}), "Answer": traffic("Answer", {2}, {1})}
    assert all(one["could_use_RO"] for one in advise(classes, {("Ask", "Answer"): 5}))


def test_time_stamp_order_that_made_somebody_wait_is_kept() -> None:
    late = traffic("Late", {1}, {2}, "TSO")
    late.held, late.held_ns = 4, 8_000_000
    (kept,) = advise({"Late": late}, {})
    assert not kept["could_use_RO"]
    assert kept["held_ms"] == 2.0
    (free,) = advise({"Early": traffic("Early", {1}, {2}, "TSO")}, {})
    assert free["could_use_RO"]


def test_best_effort_of_one_sender_may_overtake() -> None:
    classes = {"Place": traffic("Place", {1}, {2}, reliable=False), "Done": traffic("Done", {1}, {2})}
    assert not any(one["could_use_RO"] for one in advise(classes, {}))


@given(st.integers(0, 10**6))
@settings(max_examples=100, deadline=None)
def test_every_pair_of_messages_that_order_is_for_is_a_reason(seed: int) -> None:
    """Against the happens-before of single messages: if some m1 came before m2 by a cause, and both had a receiver in common,
    neither class is advised to give up its order."""
    random = Random(seed)
    messages: list[
        tuple[int, str, set[int], set[int]]
    ] = []  # source, class, destinations, all messages before
    caused: list[set[int]] = []  # of those before, by a cause among the steps
    pairs: dict[tuple[str, str], int] = {}
    for _ in range(25):
        source = random.randrange(4)
        before: set[int] = set()
        by_cause: set[int] = set()
        for at, (other, _, _, known) in enumerate(messages):
            if other == source:
                before |= {at} | known
                by_cause |= caused[at]
        heard = [at for at, one in enumerate(messages) if source in one[2]]
        name = f"C{random.randrange(4)}{source if random.random() < 0.7 else ''}"
        if heard and random.random() < 0.5:
            cause = random.choice(heard)
            before |= {cause} | messages[cause][3]
            by_cause |= {cause} | messages[cause][3]
            pairs[messages[cause][1], name] = pairs.get((messages[cause][1], name), 0) + 1
        there = {one for one in range(4) if one != source and random.random() < 0.4}
        messages.append((source, name, there, before))
        caused.append(by_cause)
    classes: dict[str, ClassTraffic] = {}
    for source, name, there, _ in messages:
        one = classes.setdefault(name, traffic(name, set(), set()))
        one.sources.add(source)
        one.destinations |= there
    free = {one["class"] for one in advise(classes, pairs) if one["could_use_RO"]}
    for at, (_, name, there, _) in enumerate(messages):
        for earlier in caused[at]:
            if messages[earlier][2] & there:
                assert name not in free
                assert messages[earlier][1] not in free
