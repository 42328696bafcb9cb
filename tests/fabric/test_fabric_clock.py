"""The matrix clock against its oracle, and the bytes of stamps (S1-2, S1-3, S1-4)."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.reference import Entry, ReferenceClock
from weft.fabric import MatrixClock, Packet, decode_packet, decode_stamp, encode_packet, encode_stamp
from weft.fabric.clock import DELIVER, DUPLICATE, WAIT
from weft.model.errors import FabricError

WORDS = {DELIVER: "deliver", WAIT: "wait", DUPLICATE: "duplicate"}
NUMBERS = st.integers(0, 2**40)


class Pair:
    """The clock and its oracle, given the same to do."""

    def __init__(self, size: int, own: int) -> None:
        self.clock = MatrixClock(size, own)
        self.oracle = ReferenceClock(size, own)

    def send(self, peers: list[int]) -> dict[int, list[Entry]]:
        clock, size = self.clock, self.clock.size
        numbers = {peer: clock.count(peer) for peer in peers}
        stamps = self.oracle.send(peers)
        for peer in peers:
            own, *rest = stamps[peer]
            assert own[2] == numbers[peer]
            cells = clock.updates(peer)
            assert [(cell // size, cell % size, clock.value[cell]) for cell in cells] == rest
        clock.sent()
        return stamps

    def receive(self, peer: int, stamp: list[Entry]) -> str:
        clock, size = self.clock, self.clock.size
        verdict = self.oracle.verdict(peer, stamp)
        column = [(k, v) for k, m, v in stamp[1:] if m == clock.own]
        judged = clock.judge(peer, stamp[0][2], [k for k, _ in column], [v for _, v in column])
        assert WORDS[judged] == verdict
        if verdict == "deliver":
            self.oracle.deliver(peer, stamp)
            clock.deliver(
                peer, stamp[0][2], [k * size + m for k, m, _ in stamp[1:]], [v for *_, v in stamp[1:]]
            )
        assert clock.value == [value for row in self.oracle.value for value in row]
        return verdict

    def restart(self) -> None:
        old, size = self.clock, self.clock.size
        cells = [
            (c, old.value[c], old.changed[c], old.source[c]) for c in range(size * size) if old.changed[c]
        ]
        Random(old.now).shuffle(cells)
        self.clock = MatrixClock(size, old.own)
        self.clock.restore(old.now, dict(enumerate(old.told)), cells, {})


@pytest.mark.parametrize("seed", range(40))
def test_the_clock_does_what_its_oracle_does(seed: int) -> None:
    """S1-2, S1-3, S1-4: the same stamps, the same verdicts, the same matrix, over restarts and in any order of arrival."""
    random = Random(seed)
    size = random.randint(2, 7)
    pairs = [Pair(size, own) for own in range(size)]
    under_way: list[tuple[int, int, list[Entry]]] = []
    seen = set()
    for _ in range(300):
        if under_way and random.random() < 0.55:
            at = random.randrange(len(under_way))
            sender, receiver, stamp = under_way[at]
            verdict = pairs[receiver].receive(sender, stamp)
            seen.add(verdict)
            if verdict == "duplicate" or (verdict == "deliver" and random.random() < 0.5):
                del under_way[at]
        else:
            sender = random.randrange(size)
            peers = random.sample(
                [one for one in range(size) if one != sender], random.randint(1, min(3, size - 1))
            )
            for peer, stamp in pairs[sender].send(sorted(peers)).items():
                under_way.append((sender, peer, stamp))
        if random.random() < 0.1:
            random.choice(pairs).restart()
    assert "deliver" in seen
    assert "duplicate" in seen


def test_a_flat_clock_of_150_sends_only_what_changed() -> None:
    """S1-4, S1-15: what is told once is not told again, whatever the size of the matrix."""
    clock = MatrixClock(150, 0)
    for peer in range(1, 150):
        clock.count(peer)
        assert len(clock.updates(peer)) == peer - 1
        clock.sent()
    clock.count(1)
    assert clock.updates(1) == list(range(2, 150))
    clock.sent()
    clock.count(1)
    assert clock.updates(1) == []


@given(st.integers(1, 2**60), st.dictionaries(st.integers(0, 150 * 150 - 1), NUMBERS, max_size=50))
def test_a_stamp_survives_its_bytes(number: int, entries: dict[int, int]) -> None:
    cells = sorted(entries)
    values = [entries[cell] for cell in cells]
    stamp = decode_stamp(encode_stamp(number, cells, values), 150 * 150)
    assert (stamp.number, stamp.cells, stamp.values) == (number, cells, values)


@given(NUMBERS, NUMBERS, st.sets(st.integers(0, 500), min_size=1), st.integers(1, 2**60), st.binary())
def test_a_packet_survives_its_bytes(
    domain: int, origin: int, to: set[int], number: int, payload: bytes
) -> None:
    made = Packet(domain, origin, sorted(to), number, encode_stamp(number, [3], [4]), payload)
    read = decode_packet(encode_packet(made))
    for name in ("domain", "origin", "destinations", "number", "stamp", "payload"):
        assert getattr(read, name) == getattr(made, name)


@given(st.binary(max_size=40))
def test_bytes_that_are_no_stamp_are_refused_and_nothing_worse(data: bytes) -> None:
    """Whatever is read could have been written, up to the length of its numbers."""
    try:
        stamp = decode_stamp(data, 64)
    except FabricError:
        return
    assert stamp.cells == sorted(set(stamp.cells))
    assert all(0 <= cell < 64 for cell in stamp.cells)
    assert len(encode_stamp(stamp.number, stamp.cells, stamp.values)) <= len(data)


@given(st.binary(max_size=40))
def test_bytes_that_are_no_packet_are_refused_and_nothing_worse(data: bytes) -> None:
    try:
        packet = decode_packet(data)
    except FabricError:
        return
    assert len(encode_packet(packet)) <= len(data)


def test_a_payload_that_is_not_bytes_cannot_be_written() -> None:
    with pytest.raises(TypeError, match="must be bytes, not str"):
        encode_packet(Packet(0, 0, [1], 1, encode_stamp(1, [], []), "text"))


def test_small_numbers_take_one_byte() -> None:
    """Two bytes for an entry of a small clock."""
    assert encode_stamp(1, [0, 1, 5], [1, 2, 3]) == bytes([1, 3, 0, 1, 0, 2, 3, 3])
