"""Thousands of hostile sessions against a running server: it does not fail, keeps nothing of them, and disturbs nobody."""

from __future__ import annotations

import gc
import os
import random
import sys
from pathlib import Path
from typing import Any

import pytest

from host.server.test_serving import _free_port
from support.hostile_sessions import FEDERATE, MUTATIONS, TANK, attack, frames_of
from support.raw_client import Raw, connected, destroy, frame
from support.server_in_thread import Running, Talker, eventually, serving
from weft import Federate, ResignAction
from weft.cli.data import object_model
from weft.host.client.streams import Stream
from weft.host.settings import ServeSettings

CACHES = 12_000
STEADY = "a federation of two"


def record(running: Running) -> list[bytes]:
    """The frames of a true client that uses a good part of the services."""
    sent: list[bytes] = []
    send = Stream.send

    def recording(stream: Stream, parts: list[bytes]) -> None:
        sent.extend(parts)
        send(stream, parts)

    Stream.send = recording  # type: ignore[method-assign, assignment]
    try:
        _use(running)
    finally:
        Stream.send = send  # type: ignore[method-assign]
    frames = frames_of(b"".join(sent))
    assert len(frames) > 30
    return frames[1:]


def _use(running: Running) -> None:
    with Federate(
        "Attack", FEDERATE.decode(), fom=object_model("range.xml"), rti=running.address()
    ) as federate:
        rti: Any = federate.rti
        federate.on_interaction("Fire")(lambda _: None)
        federate.on_update("Vehicle")(lambda vehicle, changes: None)
        federate.send("Fire", Target="b", Round=3)
        tank = federate.register("Tank", TANK.decode())
        tank.update(Position={"X": 1.0, "Y": 2.0, "Z": 3.0})
        rti.set_automatic_resign_directive(ResignAction.DELETE_OBJECTS)
        kind = rti.get_object_class_handle("Vehicle.Tank")
        position = rti.get_attribute_handle(kind, "Position")
        instance = rti.get_object_instance_handle(TANK.decode())
        rti.register_federation_synchronization_point("ready", b"")
        rti.synchronization_point_achieved("ready")
        rti.request_attribute_value_update(instance, {position}, b"")
        rti.query_attribute_ownership(instance, {position})
        rti.negotiated_attribute_ownership_divestiture(instance, {position}, b"")
        rti.cancel_negotiated_attribute_ownership_divestiture(instance, {position})
        root = "HLAinteractionRoot.HLAmanager.HLAfederation"
        asked = rti.get_interaction_class_handle(f"{root}.HLArequest.HLArequestFOMmoduleData")
        rti.publish_interaction_class(asked)
        index = rti.get_parameter_handle(asked, "HLAFOMmoduleIndicator")
        rti.send_interaction(asked, {index: bytes(4)}, b"")
        manager = rti.get_object_class_handle("HLAobjectRoot.HLAmanager.HLAfederate")
        name = rti.get_attribute_handle(manager, "HLAfederateName")
        rti.subscribe_object_class_attributes(manager, {name})
        rti.list_federation_executions()
        rti.delete_object_instance(instance, b"")


class Pair:
    """Two federates that go on exchanging numbered messages, and check each."""

    def __init__(self, running: Running) -> None:
        self.one, self.two = (Talker(running.address(), federation=STEADY) for _ in range(2))
        self.said = 0

    def exchange(self) -> None:
        expected = b"%d" % self.said
        self.said += 1
        for speaker, listener in ((self.one, self.two), (self.two, self.one)):
            speaker.say(expected)
            assert listener.listen(1) == [expected]
            listener.ears.heard.clear()
        assert not self.one.ears.lost
        assert not self.two.ears.lost


def kept(server: Any) -> dict[str, int]:
    """What a server has for its sessions."""
    gc.collect()
    names = [type(one).__name__ for one in gc.get_objects()]
    return {
        "sessions": len(server.sessions),
        "connections": len(server._connections),
        "kernel": len(server.board.node.sessions),
        "by kernel": len(server.board._by_kernel) if hasattr(server.board, "_by_kernel") else 0,
        **{name: names.count(name) for name in ("Served", "ServerSession", "Session", "Member")},
    }


def besiege(sessions: int, seed: int) -> None:
    limits: dict[str, Any] = {
        "greeting_seconds": 1.0,
        "reconnect_seconds": 0.5,
        "queue_bytes": 4 << 20,
        "slow_bytes": 1 << 20,
        "frame_bytes": 2 << 20,
        "federations": 8,
    }
    rng = random.Random(seed)
    with serving(serve=ServeSettings(ws_port=_free_port()), **limits) as running:
        pair = Pair(running)
        pair.exchange()
        recording = record(running)
        _clean(running)
        base, blocks, resident = None, 0, 0
        joined = 0
        for count in range(1, sessions + 1):
            attack(rng, running.ports, recording)
            if count % 5 == 0:
                pair.exchange()
                joined += _took(running)
            if count == sessions // 4:  # caches are warm now
                base = _settled(running)
                blocks, resident = _memory()
        assert _settled(running) == base
        joined += _took(running)
        blocks_now, resident_now = _memory()
        # Caches are filled, up to a bound; of an attack nothing is left, where one session would be some forty objects.
        assert blocks_now - blocks < CACHES + sessions
        assert resident_now - resident < 64 << 20
        assert joined > sessions // 10, "the attackers get as far as joining"
        pair.exchange()
        pair.one.leave()
        pair.two.leave()
        print(f"{sessions} hostile sessions, {pair.said} checked exchanges, seed {seed}")


def _took(running: Running) -> int:
    """Take what was reported, which must be no error of the server's own: how many joined, and are gone?"""
    lines = list(running.reports)
    del running.reports[: len(lines)]
    assert not [line for line in lines if "internal error" in line]
    return sum("'Attack' is gone" in line for line in lines)


def _settled(running: Running) -> dict[str, int]:
    """What is kept once the attackers are gone, and somebody has destroyed what they created."""
    assert eventually(lambda: running.ask(lambda server: len(server.sessions)) == 2)
    assert eventually(lambda: running.ask(lambda server: len(server._connections)) == 2)
    _clean(running)
    assert eventually(lambda: running.ask(kept)["sessions"] == 2)
    found: dict[str, int] = running.ask(kept)
    return found


def _memory() -> tuple[int, int]:
    """Blocks of Python's allocator, and bytes of the process."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return sys.getallocatedblocks(), pages * os.sysconf("SC_PAGESIZE")


def _clean(running: Running) -> None:
    with connected(running.ports["tcp"]) as cleaner:
        for name in running.ask(lambda server: list(server.board.node.federations)):
            if name != STEADY:
                cleaner.call(destroy(name))
        cleaner.send(_farewell(cleaner))
        assert cleaner.is_closed()


def _farewell(client: Raw) -> bytes:
    return frame(5, client.number + 1, client.session, client.last)


def test_hostile_sessions() -> None:
    besiege(1200, 20)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(5))
def test_many_more_hostile_sessions(seed: int) -> None:
    besiege(20_000, seed)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda one: one.__name__)
def test_mutations_mutate(mutation: Any) -> None:
    """None of them is without effect."""
    frames = [bytes.fromhex("0000001c 00000001 27da309fe4d03a9e 80000000 00000014 0a040001")] * 5
    before = list(frames)
    frames[2] = frames[2] + b"\x0a\x04\0\0\0\1"
    assert any(_changes(mutation, list(frames), seed) for seed in range(20)), before


def _changes(mutation: Any, frames: list[bytes], seed: int) -> bool:
    before = list(frames)
    mutation(random.Random(seed), frames)
    return frames != before
