"""A call that is larger than a server or a link takes is refused at the call, by the name of the setting."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from host.server.test_serving import _free_port
from support.node_processes import write_file
from support.raw_client import NONE, frame
from support.server_in_thread import Listener, Talker, serving
from weft import CallbackModel, RTIambassador, RtiConfiguration, Source
from weft.cli.data import object_model
from weft.fabric import Topology
from weft.host.settings import ServeSettings
from weft.host.sizes import Most, most_of, told_most
from weft.model.errors import ErrorReadingFOM, RTIinternalError
from weft.wire.session.frames import BEGINNING, FrameReader
from weft.wire.session.websocket import BINARY, CONTINUATION, WebSocketReader, wrap

LIMIT = 100_000
PAIR = Topology(("S1", "S2"), {"A": ("S1", "S2")})


def large_model(size: int) -> Source:
    model = object_model("range.xml")
    return Source("large.xml", model.data + b"<!--" + b"x" * size + b"-->")


@pytest.mark.parametrize("kind", ["tcp", "ws"])
@pytest.mark.parametrize("settings", ["", "FedPro.asyncUpdates=true"])
def test_a_call_that_is_too_large_is_refused_where_it_is_made(kind: str, settings: str) -> None:
    """With both sizes and the setting; the federate stays joined, and sends on."""
    with serving(frame_bytes=LIMIT, serve=ServeSettings(ws_port=_free_port())) as server:
        talker = Talker(server.address(kind), settings)
        rti, instance = talker.rti, None
        tank = rti.get_object_class_handle("Vehicle.Tank")
        position = rti.get_attribute_handle(tank, "Position")
        rti.publish_object_class_attributes(tank, {position})
        instance = rti.register_object_instance(tank)
        said = rf"\d+ bytes, more than .* takes: {LIMIT}.*limits.frame_bytes"
        much = bytes(LIMIT)
        with pytest.raises(RTIinternalError, match=said):
            talker.say(much)
        with pytest.raises(RTIinternalError, match=said):
            rti.send_interaction(talker.fire, {}, much)
        with pytest.raises(RTIinternalError, match=said):
            rti.update_attribute_values(instance, {position: much}, b"")
        with pytest.raises(RTIinternalError, match=said):
            rti.register_federation_synchronization_point("here", much)
        with pytest.raises(ErrorReadingFOM, match=said):
            rti.create_federation_execution("G", large_model(LIMIT))
        other = RTIambassador()
        other.connect(Listener(), CallbackModel.EVOKED, RtiConfiguration("", server.address(kind), settings))
        with pytest.raises(ErrorReadingFOM, match=said):
            other.join_federation_execution("kind", "F", [large_model(LIMIT)])
        other.disconnect()
        hearer = Talker(server.address())
        talker.say(b"and on")
        rti.evoke_callback(0.0)  # what was not waited for leaves now at the latest
        assert hearer.listen(1) == [b"and on"]
        assert not talker.ears.lost
        assert not any("broke the protocol" in line for line in server.reports)
        hearer.leave()
        talker.leave()


@pytest.mark.parametrize("kind", ["tcp", "ws"])
def test_a_client_that_does_not_know_the_limit_is_answered(kind: str) -> None:
    """As clients of others: the server passes over what is too large, says so, and goes on with what follows."""
    with serving(frame_bytes=LIMIT, serve=ServeSettings(ws_port=_free_port())) as server:
        talker = Talker(server.address(kind))
        talker.rti._connection.most = None  # type: ignore[union-attr]
        for size in (LIMIT, 3 * LIMIT, 5_000_000):
            with pytest.raises(RTIinternalError, match=rf"send_interaction has \d+ bytes.*{LIMIT}"):
                talker.say(bytes(size))
            with pytest.raises(ErrorReadingFOM, match="create_federation_execution"):
                talker.rti.create_federation_execution("G", large_model(size))
        hearer = Talker(server.address())
        talker.say(b"on")
        assert hearer.listen(1) == [b"on"]
        assert not talker.ears.lost
        assert sum("was refused (limits.frame_bytes)" in line for line in server.reports) == 6
        hearer.leave()
        talker.leave()


def test_links_between_nodes_take_less_than_fills_their_queue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node of one's own refuses what would cut its links; what is just below passes."""
    monkeypatch.setenv("WEFT_SERVE_RUN_DIRECTORY", str(tmp_path / "runs"))
    monkeypatch.setenv("WEFT_FABRIC_RETRY_SECONDS", "0.02")
    monkeypatch.setenv("WEFT_FABRIC_QUEUE_BYTES", str(1 << 20))
    file = write_file(tmp_path, PAIR)
    try:
        one, two = Talker(f"mesh://S1@{file}"), Talker(f"mesh://S2@{file}")
        with pytest.raises(RTIinternalError, match=r"524298 bytes.*524288.*fabric.queue_bytes"):
            one.say(bytes((1 << 19) + 10))
        one.say(bytes((1 << 19) - 1000))
        one.say(b"on")
        assert [len(value) for value in two.listen(2)] == [(1 << 19) - 1000, 2]
        two.leave()
        one.leave()
    finally:
        weft.stop_node()


def test_who_is_told_what() -> None:
    """A server of a mesh takes no more than its links; other RTIs say nothing of a limit."""
    assert str(most_of(100, None)) == "limits.frame_bytes=100"
    assert str(most_of(100, 1000)) == "limits.frame_bytes=100"
    assert str(most_of(1000, 1000)) == "fabric.queue_bytes=500"
    message, most = told_most(f"Weft, recording\n{Most(7, 'limits.frame_bytes')}")
    assert message == "Weft, recording"
    assert most is not None
    assert (most.size, most.setting) == (7, "limits.frame_bytes")
    for theirs in ("", "some RTI", "a\nb=c", "x\nlimits.frame_bytes=much"):
        assert told_most(theirs) == (theirs, None)


# --- laws ---------------------------------------------------------------------------------------------------------

Cut = st.lists(st.integers(1, 400), min_size=1, max_size=8)


def pieces(data: bytes, sizes: list[int]) -> list[bytes]:
    """The data in pieces of these sizes, again and again."""
    found, at, turn = [], 0, 0
    while at < len(data):
        size = sizes[turn % len(sizes)]
        found.append(data[at : at + size])
        at, turn = at + size, turn + 1
    return found


@given(st.lists(st.integers(8, 900), min_size=1, max_size=12), Cut)
def test_frames_that_are_too_large_are_passed_over(sizes: list[int], cut: list[int]) -> None:
    """However they are cut: each frame comes once and in order, the large ones with size and beginning."""
    sent = [bytes([number]) * size for number, size in enumerate(sizes)]
    reader = FrameReader(True, 324, True)
    heard = []
    data = b"".join(frame(20, number, 5, NONE, payload) for number, payload in enumerate(sent))
    for piece in pieces(data, cut):
        reader.feed(piece)
        while reader.next():
            heard.append((reader.sequence, reader.excess, reader.payload))
        assert reader.held <= 324 + max(cut)
    assert heard == [
        (number, 24 + len(payload), payload[:BEGINNING]) if len(payload) > 300 else (number, 0, payload)
        for number, payload in enumerate(sent)
    ]


@given(st.lists(st.tuples(st.integers(1, 900), st.integers(1, 300)), min_size=1, max_size=6), Cut)
def test_large_messages_of_a_websocket_pass_in_pieces(
    messages: list[tuple[int, int]], cut: list[int]
) -> None:
    """Masked, in fragments, and however they are cut: the bytes come as they were sent, and little is held."""
    sent = [bytes([number + 1]) * size for number, (size, _) in enumerate(messages)]
    data = b""
    for payload, (_, most) in zip(sent, messages, strict=True):
        parts = [payload[at : at + most] for at in range(0, len(payload), most)]
        for number, part in enumerate(parts):
            made = bytearray(wrap(part, CONTINUATION if number else BINARY, b"mask"))
            if number < len(parts) - 1:
                made[0] &= 0x7F
            data += bytes(made)
    reader = WebSocketReader(True, 300)
    reader.passes_large = True
    heard = b""
    for piece in pieces(data, cut):
        heard += b"".join(reader.feed(piece))
    assert heard == b"".join(sent)
