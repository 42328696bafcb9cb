"""Messages from everybody to everybody: what a server keeps for a pair of sender and receiver, and after all have been read."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from support.raw_client import CALLBACK, CALLBACK_ANSWER, RESPONSE, Gunner, frame, ints
from support.server_in_thread import WAIT, eventually, serving
from weft.host import causes as causes_module
from weft.host.causes import NamedCauses
from weft.host.server.server import Server
from weft.model.recording import EACH, Pattern, rows_in, spread

FEDERATES = 12


def kept(server: Server) -> list[tuple[int, int, int]]:
    """For each session: bytes to be sent again, bytes that wait to be sent, messages in both."""
    return [
        (one.wire.unacknowledged_bytes, one.unread + one.wire.untaken_bytes, one.wire.unacknowledged)
        for one in server.sessions.values()
    ]


def number_from(server: Server, first: int = 1000) -> None:
    """Federates that join from now on: Python has one object for each small number anyway."""
    (federation,) = server.board.node.federations.values()
    federation.membership.joined = first


def shapes_of(server: Server) -> list[tuple[Pattern, ...]]:
    """Those of what was sent, as the recorder's book has them."""
    (federation,) = server.board.node.federations.values()
    recorder: Any = federation.recorder
    return [shape for shape in recorder._shapes if ("kind", "send") in shape[0]]


def test_what_everybody_has_read_leaves_nothing_but_references(tmp_path: Path) -> None:
    """A pair of sender and receiver costs a reference, in the book of a recorded run, too; histories and queues are empty."""
    with serving(record=str(tmp_path)) as running:
        all_of_them = [Gunner(running.ports["tcp"])]
        running.ask(number_from)
        all_of_them += [Gunner(running.ports["tcp"]) for _ in range(FEDERATES - 1)]
        for number, gunner in enumerate(all_of_them):
            gunner.raw.send(gunner.shot(bytes([number]) * 50))
        for gunner in all_of_them:
            for _ in range(FEDERATES):  # its answer, and the others' shots
                gunner.raw.receive()
        for gunner in all_of_them:
            raw = gunner.raw
            raw.number += 1
            raw.send(frame(3, raw.number, raw.session, raw.last))  # a heartbeat, which acknowledges
        assert eventually(lambda: running.ask(kept) == [(0, 0, 0)] * FEDERATES)
        shapes = running.ask(shapes_of)
        assert len(shapes) == FEDERATES
        receivers: dict[str, set[int]] = {}
        numbers: dict[int, set[int]] = {}
        for shape in shapes:
            first, deliveries = shape
            assert rows_in(shape) == FEDERATES
            sender = dict(first)["federate"]
            column, each = deliveries[-1]
            assert column == EACH
            assert sorted(dict(one)["federate"] for one in each) == list(dict(first)["destinations"])
            assert sender not in dict(first)["destinations"]
            for one in dict(first)["destinations"]:
                numbers.setdefault(one, set()).add(id(one))
            for one in each:
                receivers.setdefault(dict(one)["name"], set()).add(id(one))
        assert len(receivers) == len(numbers) == FEDERATES
        objects = [*receivers.values(), *numbers.values()]
        assert all(len(one) == 1 for one in objects), "each is there once, for all senders"

        def recipients(server: Server) -> int:
            (federation,) = server.board.node.federations.values()
            sent = [one for one in federation.kept_recipients if len(one.here) == FEDERATES - 1]
            assert len(sent) == FEDERATES
            assert all(found.destinations == [one.member for one in found.here] for found in sent)
            return len({id(one) for found in sent for one in found.here})

        assert running.ask(recipients) == FEDERATES


def test_what_many_send_at_once_goes_to_each_in_one_write() -> None:
    """A message to a crowd is as many writes; those of others that have come by then go with it.  Each hears all, once."""
    many = 24
    with serving() as running:
        crowd = [Gunner(running.ports["tcp"]) for _ in range(many)]
        before = running.ask(lambda server: (server.board.frames, server.board.writes))
        all_sent, stands = threading.Event(), threading.Event()

        def stand_still() -> None:
            stands.set()
            assert all_sent.wait(WAIT)

        running.loop.call_soon_threadsafe(stand_still)
        assert stands.wait(WAIT)
        for number, gunner in enumerate(crowd):
            gunner.raw.send(gunner.shot(bytes([number]) * 50))
        all_sent.set()
        for number, gunner in enumerate(crowd):
            heard = [
                found.payload for found in (gunner.raw.receive() for _ in range(many)) if found.kind == 22
            ]
            shots = [one for one in range(many) if any(bytes([one]) * 50 in payload for payload in heard)]
            assert len(heard) == len(shots) == many - 1
            assert number not in shots
        frames, writes = running.ask(lambda server: (server.board.frames, server.board.writes))
        assert frames - before[0] == many * many
        assert writes - before[1] <= 4 * many, "one for each message and receiver would be many more"


def test_what_is_for_a_crowd_gathers_whatever_the_crowd_answers() -> None:
    """Each of a thousand answers each message: if that counted, each would be written by itself.  What is for them does count."""
    with serving() as running:
        crowd = [Gunner(running.ports["tcp"]) for _ in range(24)]
        raw = crowd[1].raw
        answers = b"".join(
            frame(CALLBACK_ANSWER, raw.number + each, raw.session, raw.last, ints(0))
            for each in range(1, 40_001)
        )
        shots = crowd[0].shot(bytes(64)), crowd[2].shot(bytes(1 << 20))

        def heard(server: Server) -> list[bool]:
            """Does it go on gathering, after each?  The server does nothing else meanwhile."""
            spoken = ((crowd[0], shots[0]), (crowd[1], answers), (crowd[2], shots[1]))
            found = []
            for gunner, data in spoken:
                server.board.received(server.sessions[gunner.raw.session], data, time.monotonic())
                found.append(server.board.gathers)
            server.flush()
            return found

        assert running.ask(heard) == [True, True, False]
        for number, gunner in enumerate(crowd):
            kinds = {gunner.raw.receive().kind for _ in range(2)}
            assert kinds == ({CALLBACK, RESPONSE} if number in (0, 2) else {CALLBACK})


ROWS = st.lists(
    st.tuples(
        st.dictionaries(st.sampled_from("abc"), st.integers(), min_size=1),
        st.lists(st.dictionaries(st.sampled_from("de"), st.integers()), max_size=3),
    ),
    min_size=1,
)


@given(ROWS)
def test_a_shape_is_all_its_rows(rows: list[tuple[dict[str, int], list[dict[str, int]]]]) -> None:
    made: list[Pattern] = []
    meant: list[dict[str, int]] = []
    for common, others in rows:
        pattern: Pattern = tuple(common.items())
        if others:
            pattern = (*pattern, (EACH, tuple(tuple(one.items()) for one in others)))
        made.append(pattern)
        meant += [common | one for one in others] or [common]
    assert spread(tuple(made)) == meant
    assert rows_in(tuple(made)) == len(meant)


@given(st.lists(st.integers(1, 3), max_size=200), st.integers(0, 2**31 - 1))
def test_the_latest_callbacks_are_known_however_few_slots_there_were(steps: list[int], first: int) -> None:
    """Numbers of frames have gaps, those of responses; and they begin again at 0."""
    causes, numbers = NamedCauses(), [first]
    for step in steps:
        numbers.append((numbers[-1] + step) % 2**31)
    for place, number in enumerate(numbers):
        causes.put(number, 7, place)
    causes.answered(numbers[-1], False)
    for place, number in enumerate(numbers):
        causes.answered(number, False)
        assert causes.cause(numbers[-1]) == (7, place)
    assert causes._slots <= max(causes_module._FEW, 4 * 3 * len(numbers))
