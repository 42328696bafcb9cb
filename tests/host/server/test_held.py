"""A federate that takes nothing costs the others no writes, and what a peak needed is given back."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.raw_client import Gunner
from support.server_in_thread import Talker, eventually, serving
from weft.host.memory import _WORTH_IT, Peak, give_back
from weft.host.server import server as server_module
from weft.host.server.session import Served

SIZE = 1000


def served_of(running: object, session: int) -> Served:
    found: Served = running.ask(lambda server: server.sessions[session])  # type: ignore[attr-defined]
    return found


def heard(gunner: Gunner) -> bytes:
    """The next callback, as it came."""
    while True:
        found = gunner.raw.receive()
        if found.kind == 22:
            return found.payload


def test_what_is_for_a_stopped_federate_gathers_without_writes() -> None:
    """Its connection is not written to any more, and the session keeps large bundles, not one for each message."""
    with serving() as running:
        talker, listener = Talker(running.address()), Talker(running.address())
        deaf = Gunner(running.ports["tcp"], receive_buffer=4096)
        session = served_of(running, deaf.raw.session)
        sent = 0
        while not running.ask(lambda _: session.held):
            talker.say(sent.to_bytes(4, "big") + bytes(100_000))
            sent += 1
            assert sent < 1000
        line = session.line
        assert line is not None
        queued, bundles = running.ask(lambda _: (line.queued(), len(session.wire._history._bundles)))
        unread = running.ask(lambda _: session.unread)
        for _ in range(500):
            talker.say(sent.to_bytes(4, "big") + bytes(SIZE))
            sent += 1
        assert len(listener.listen(sent)) == sent  # nobody else waits
        assert running.ask(lambda _: session.held)
        assert running.ask(lambda _: line.queued()) == queued
        assert running.ask(lambda _: len(session.wire._history._bundles)) <= bundles + 4
        assert running.ask(lambda _: session.unread) >= unread + 500 * SIZE
        assert running.ask(lambda _: session.wire.unacknowledged) >= 500  # HLAROlength counts them
        for number in range(sent):
            assert number.to_bytes(4, "big") + bytes(SIZE) in heard(deaf)
        assert eventually(lambda: not running.ask(lambda _: session.held))
        assert running.ask(lambda server: server.board._held) == []
        talker.say(b"after")
        assert b"after" in heard(deaf)
        talker.leave()
        listener.leave()


@pytest.mark.parametrize("how", ["lost", "dropped"])
def test_a_federate_that_is_held_may_go_away(how: str) -> None:
    limits: dict[str, Any] = {"queue_bytes": 4 << 20, "slow_bytes": 1 << 20} if how == "dropped" else {}
    with serving(reconnect_seconds=0.2, **limits) as running:
        talker = Talker(running.address())
        deaf = Gunner(running.ports["tcp"], receive_buffer=4096)
        session = served_of(running, deaf.raw.session)
        for number in range(1000):
            talker.say(number.to_bytes(4, "big") + bytes(50_000))
            if running.ask(lambda _: session.held) and how == "lost":
                deaf.raw.close()
                break
            if any("limits.queue_bytes" in line for line in running.reports):
                break
        assert eventually(lambda: running.ask(lambda server: len(server.sessions)) == 1)
        assert running.ask(lambda server: server.board._held) == []
        talker.leave()


@given(st.lists(st.integers(0, 1 << 28), max_size=50))
def test_a_peak_is_over_once(kept: list[int]) -> None:
    """And not before it has come to its end."""
    peak, most, last = Peak(), 0, 0
    for one in kept:
        over = peak.is_over(one)
        assert over == (most >= _WORTH_IT and one <= most // 4 and last <= one < most)
        last = one
        most = one if over else max(most, one)


def test_memory_is_given_back_after_a_peak(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside the loop, once it is over: when everybody has acknowledged, or who did not read is gone."""
    given_back: list[int] = []
    monkeypatch.setattr(server_module, "give_back", lambda: given_back.append(1))
    with serving(reconnect_seconds=0.2) as running:
        talker = Talker(running.address())
        deaf = Gunner(running.ports["tcp"], receive_buffer=4096)
        session = served_of(running, deaf.raw.session)
        noise = random.Random(1).randbytes(1 << 20)
        for _ in range(24):
            talker.say(noise)
        assert eventually(lambda: running.ask(lambda server: server._peak._most) > _WORTH_IT)
        assert not given_back
        deaf.raw.close()
        assert eventually(lambda: given_back)
        assert session.wire.unacknowledged_bytes < 1 << 20
        talker.leave()
    give_back()
