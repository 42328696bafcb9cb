"""The replay history against a list that forgets nothing."""

from __future__ import annotations

import struct

from hypothesis import given
from hypothesis import strategies as st

from weft.wire.session.frames import LAST_NUMBER, NONE, number_of, split
from weft.wire.session.history import Bundle, FrameHistory


def frame(number: int, payload: bytes = b"") -> bytes:
    return struct.pack(">IiQii", 24 + len(payload), number, 5, NONE, 20) + payload


def bundle(numbers: list[int], payload: bytes = b"") -> Bundle:
    frames = [frame(number, payload) for number in numbers]
    return Bundle([b"".join(frames)], numbers[-1], len(frames), sum(map(len, frames)))


def numbers_in(parts: list[bytes]) -> list[int]:
    return [number_of(each) for each in split(b"".join(parts))]


STEPS = st.lists(
    st.tuples(st.sampled_from(["send", "control", "acknowledge", "bogus"]), st.integers(1, 5)), max_size=120
)


FEW = st.tuples(st.integers(1, 12), st.integers(1, 600))
MANY = st.tuples(st.integers(200, 800), st.integers(5_000, 50_000))  # small bundles become one


@given(STEPS, st.integers(0, LAST_NUMBER), FEW | MANY)
def test_it_replays_what_is_missing_or_says_that_it_cannot(
    steps: list[tuple[str, int]], first: int, most: tuple[int, int]
) -> None:
    """Positions count without wrapping: the model is exact where the history computes modulo 2^31."""
    max_frames, max_bytes = most
    longest = 5 if max_frames <= 12 else 16 * 5  # frames of a bundle
    history = FrameHistory(first, max_frames, max_bytes)
    position, acknowledged, sent, newest = 0, 0, [0], 0
    for step, amount in steps:
        if step == "acknowledge":
            acknowledged = max(acknowledged, sent[max(0, len(sent) - amount)])
            if acknowledged:
                history.acknowledge((first + acknowledged) % 2**31)
        elif step == "bogus":
            history.acknowledge((first + position + 1 + amount) % 2**31)
            history.acknowledge(-amount)
        elif step == "control":
            position += amount
        else:
            made = [position + 1 + each for each in range(amount)]
            position, newest = made[-1], len(made)
            sent += made
            history.append(bundle([(first + each) % 2**31 for each in made], bytes(amount)))
        missed = numbers_in(history.replay(NONE))
        assert len(missed) <= len(history) < len(missed) + longest  # of a bundle, some may be acknowledged
        assert len(history) <= max_frames or len(history) == newest
        assert history.size <= max_bytes or len(history) == newest
        unacknowledged = [(first + each) % 2**31 for each in sent[1:] if each > acknowledged]
        assert missed == unacknowledged[len(unacknowledged) - len(missed) :]
    first_kept = sent[1:][len(sent) - 1 - len(history) :]
    for received in sent:
        if received < acknowledged:
            continue
        last = NONE if received == 0 else (first + received) % 2**31
        missing = [each for each in sent if each > received]
        covered = missing == [each for each in first_kept if each > received]
        assert history.covers(last) == covered
        if covered and last != NONE:
            again = FrameHistory(first, 1 << 20, 1 << 30)
            for each in first_kept:
                again.append(bundle([(first + each) % 2**31]))
            assert numbers_in(again.replay(last)) == [(first + each) % 2**31 for each in missing]
    if len(sent) == 1:
        assert history.available_from == NONE
    elif len(history) == len(sent) - 1:
        assert history.available_from == (first + 1) % 2**31
    else:
        assert history.available_from == (first + sent[len(sent) - 1 - len(history)] + 1) % 2**31


@given(st.lists(st.integers(1, 5), min_size=1, max_size=10), st.data())
def test_a_bundle_that_was_received_in_part_is_replayed_in_part(
    sizes: list[int], data: st.DataObject
) -> None:
    history = FrameHistory(0, 1 << 20, 1 << 30)
    number = 0
    for size in sizes:
        history.append(bundle(list(range(number + 1, number + size + 1))))
        number += size
    received = data.draw(st.integers(1, number))
    assert numbers_in(history.replay(received)) == list(range(received + 1, number + 1))


def test_the_newest_bundle_is_kept_however_long_it_is() -> None:
    history = FrameHistory(0, 10, 100)
    history.append(bundle([1], bytes(10)))
    history.append(bundle([2], bytes(1000)))
    assert history.replay(NONE) == [frame(2, bytes(1000))]
    assert history.lost == 1
    assert not history.covers(NONE)
    assert history.covers(1)


def test_what_was_shed_and_then_acknowledged_is_not_lost() -> None:
    history = FrameHistory(0, 2, 1000)
    for number in (1, 2, 3, 4):
        history.append(bundle([number]))
    assert history.lost == 2
    history.acknowledge(3)
    assert history.covers(NONE)


def test_what_is_acknowledged_is_let_go() -> None:
    history = FrameHistory(0, 1 << 20, 1 << 30)
    for number in range(1, 5000):
        history.append(bundle([number]))
        history.acknowledge(number)
        assert len(history) == history.size == len(history._bundles) == 0


def test_small_bundles_that_nobody_acknowledges_take_little_more_than_their_bytes() -> None:
    """One object for sixteen of them; what is acknowledged leaves, whatever has become one."""
    history = FrameHistory(0, 1 << 16, 64 << 20)
    for number in range(1, 1001):
        history.append(bundle([number], bytes(64)))
    assert len(history._bundles) <= 1000 // 16 + 16
    assert numbers_in(history.replay(NONE)) == list(range(1, 1001))
    history.acknowledge(500)
    assert len(history) < 500 + 16
    assert numbers_in(history.replay(500)) == list(range(501, 1001))
    history.acknowledge(1000)
    assert (len(history), history.size, len(history._bundles)) == (0, 0, 0)


def test_large_bundles_stay_as_they_are() -> None:
    """What they share with other sessions is not copied."""
    shared = bytes(10_000)
    history = FrameHistory(0, 1 << 16, 64 << 20)
    for number in range(1, 101):
        head = frame(number, shared)[:24]
        history.append(Bundle([head, shared], number, 1, 24 + len(shared)))
    parts = history.replay(NONE)
    assert sum(part is shared for part in parts) == 100
