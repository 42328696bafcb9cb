"""What crosses the network is counted (S2-3): many messages at once as one after the other."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from support.bare_federation import HERE, bare
from weft.kernel.state.traffic import EVERYBODY, Footprint, Traffic

CHANNELS = st.lists(st.integers(0, 3), unique=True, max_size=3).map(tuple)
HEARD = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 3), st.booleans()), max_size=4)


@given(CHANNELS, st.integers(0, 3), st.integers(0, 3), HEARD, st.integers(0, 5))
def test_so_many_times_is_as_often_one_by_one(
    channels: tuple[int, ...], copies: int, kept_from: int, heard: list[tuple[int, int, bool]], times: int
) -> None:
    told = []
    for steps in ([times], [1] * times):
        _, (sender,) = bare(HERE)
        receivers = [Traffic(), Traffic()]
        footprint = Footprint()
        footprint.sender = sender
        footprint.channels, footprint.copies, footprint.kept_from = channels, copies, kept_from
        footprint.receivers = [(receivers[who], channel, wanted) for who, channel, wanted in heard]
        for step in steps:
            footprint.count(step)
        told.append([one.data() for one in (sender.traffic, *receivers)] if times else [])
        if times:
            counts = sender.traffic.of(channels[0] if channels else EVERYBODY)
            assert (counts.copies, counts.filtered_sender) == (copies * times, kept_from * times)
            both = Traffic()
            for one in receivers:
                both.add(one)
            found = list(both.channels.values())
            assert sum(one.received for one in found) == times * len(heard)
            assert sum(one.wanted for one in found) == times * sum(wanted for _, _, wanted in heard)
            assert all(one.received == one.wanted + one.filtered_receiver for one in found)
    assert told[0] == told[1]
