"""The replay history against a list that forgets nothing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from weft.wire.frames import LAST_NUMBER, NONE
from weft.wire.history import DEAD_BYTES, DEAD_FRAMES, History


def body(position: int) -> bytes:
    return b"%d" % position


STEPS = st.lists(
    st.tuples(st.sampled_from(["send", "control", "acknowledge", "bogus"]), st.integers(0, 40)), max_size=120
)


@given(STEPS, st.integers(0, LAST_NUMBER), st.integers(1, 12), st.integers(1, 300))
def test_it_replays_what_is_missing_or_says_that_it_cannot(
    steps: list[tuple[str, int]], first: int, max_frames: int, max_bytes: int
) -> None:
    """Positions count without wrapping: the model is exact where the history computes modulo 2^31."""
    history = History(first, max_frames, max_bytes)
    position, acknowledged, sent = 0, 0, [0]
    for step, amount in steps:
        if step == "acknowledge":
            acknowledged = max(acknowledged, sent[max(0, len(sent) - 1 - amount)])
            if acknowledged:
                history.acknowledge((first + acknowledged) % 2**31)
        elif step == "bogus":
            history.acknowledge((first + position + 1 + amount) % 2**31)
            history.acknowledge(-1 - amount)
        else:
            position += 1
            if step == "send":
                sent.append(position)
                history.append((first + position) % 2**31, b"h" * 24, body(position))
        kept = history.replay(NONE)[1::2]
        assert len(history) == len(kept) <= max_frames
        assert history.size == sum(24 + len(each) for each in kept)
        assert history.size <= max_bytes or len(kept) == 1
        unacknowledged = [body(each) for each in sent[1:] if each > acknowledged]
        assert kept == unacknowledged[len(unacknowledged) - len(kept) :]
    first_kept = sent[1:][len(sent) - 1 - len(history) :]
    for received in sent:
        if received < acknowledged:
            continue
        last = NONE if received == 0 else (first + received) % 2**31
        missing = [each for each in sent if each > received]
        assert history.covers(last) == (missing == [each for each in first_kept if each > received])
    if len(sent) == 1:
        assert history.available_from == NONE
    elif len(history) == len(sent) - 1:
        assert history.available_from == (first + 1) % 2**31
    else:
        assert history.available_from == (first + sent[len(sent) - 1 - len(history)] + 1) % 2**31


def test_the_newest_frame_is_kept_however_long_it_is() -> None:
    history = History(0, 10, 100)
    history.append(1, bytes(24), bytes(10))
    history.append(2, bytes(24), bytes(1000))
    assert history.replay(NONE)[1::2] == [bytes(1000)]
    assert history.lost == 1
    assert not history.covers(NONE)
    assert history.covers(1)


def test_what_was_shed_and_then_acknowledged_is_not_lost() -> None:
    history = History(0, 2, 1000)
    for number in (1, 2, 3, 4):
        history.append(number, bytes(24), b"")
    assert history.lost == 2
    history.acknowledge(3)
    assert history.covers(NONE)


def test_bodies_are_shared_not_copied() -> None:
    payload = bytes(1000)
    one, two = History(0, 10, 10000), History(0, 10, 10000)
    for history in (one, two):
        history.append(1, bytes(24), payload)
        assert history.replay(NONE)[1] is payload


def test_dropped_frames_are_let_go() -> None:
    """The dead front of the lists is cut before it outweighs the rest by much, in frames and in bytes."""
    history = History(0, 1 << 20, 1 << 30)
    for number in range(1, 5000):
        history.append(number, bytes(24), b"")
        history.acknowledge(number)
        assert len(history._numbers) <= DEAD_FRAMES + 2
    large = bytes(DEAD_BYTES // 4)
    for number in range(5000, 5100):
        history.append(number, bytes(24), large)
        history.acknowledge(number)
        assert sum(map(len, history._parts)) <= DEAD_BYTES + 2 * len(large) + 24 * 2 * DEAD_FRAMES
