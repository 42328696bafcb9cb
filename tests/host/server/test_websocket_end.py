"""The end of a WebSocket connection (RFC 6455, 7.1): both sides send a close frame, nothing follows it, and the server closes."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

from host.server.test_serving import _free_port
from support.raw_client import frame
from support.server_in_thread import WAIT, Talker, eventually, serving
from weft.host.settings import ServeSettings
from weft.wire.session.websocket import BROKEN, CLOSE, GOING_AWAY, NORMAL, wrap

HELLO = (
    b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


def frames_of(stream: bytes) -> list[tuple[int, bytes]]:
    """Opcode and payload of each frame behind the handshake, read by the rules of RFC 6455, 5.2."""
    data = stream.partition(b"\r\n\r\n")[2]
    found = []
    while data:
        opcode, size, at = data[0] & 15, data[1] & 127, 2
        if size >= 126:
            width = 2 if size == 126 else 8
            size, at = int.from_bytes(data[2 : 2 + width], "big"), 2 + width
        mask = bytes(4)
        if data[1] & 128:
            mask, at = data[at : at + 4], at + 4
        payload = bytes(byte ^ mask[place % 4] for place, byte in enumerate(data[at : at + size]))
        found.append((opcode, payload))
        data = data[at + size :]
    return found


class Witness:
    """A relay that writes down what each side says."""

    def __init__(self, port: int) -> None:
        self.said = {"client": b"", "server": b""}
        self.ended: list[str] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._far_port = port
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        near, _ = self._listener.accept()
        far = socket.create_connection(("127.0.0.1", self._far_port))
        other = threading.Thread(target=self._relay, args=("server", far, near))
        other.start()
        self._relay("client", near, far)
        other.join(WAIT)
        near.close()
        far.close()
        self._listener.close()

    def _relay(self, who: str, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                self.said[who] += data
                sink.sendall(data)
        self.ended.append(who)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    def closes(self, who: str) -> list[int]:
        """The codes of its close frames, once all is over; and they are the last thing that it said."""
        self._thread.join(WAIT)
        assert not self._thread.is_alive()
        frames = frames_of(self.said[who])
        assert frames[-1][0] == CLOSE, frames[-3:]
        return [int.from_bytes(payload, "big") for opcode, payload in frames if opcode == CLOSE]


def test_a_federate_that_leaves_says_farewell_and_is_answered() -> None:
    with serving(serve=ServeSettings(ws_port=_free_port())) as server:
        witness = Witness(server.ports["ws"])
        talker = Talker(f"ws://127.0.0.1:{witness.port}")
        talker.say(b"x")
        talker.leave()
        assert witness.closes("client") == [NORMAL]
        assert witness.closes("server") == [NORMAL]
        assert eventually(lambda: not server.ask(lambda s: len(s._connections)))


def test_a_server_that_stops_says_so() -> None:
    with serving(serve=ServeSettings(ws_port=_free_port())) as server:
        witness = Witness(server.ports["ws"])
        talker = Talker(f"ws://127.0.0.1:{witness.port}")
    while not talker.ears.resigned and not talker.ears.lost:
        talker.rti.evoke_callback(0.1)
    talker.rti.leave()
    assert witness.closes("server") == [GOING_AWAY]


@contextlib.contextmanager
def stranger(port: int) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", port)) as found:
        found.settimeout(WAIT)
        found.sendall(HELLO)
        yield found


def all_of(connection: socket.socket) -> bytes:
    data = b""
    while more := connection.recv(65536):
        data += more
    return data


def test_who_breaks_the_protocol_is_told() -> None:
    """Code 1002; a client that does not answer is left after a while."""
    with serving(serve=ServeSettings(ws_port=_free_port())) as server:
        for nonsense in (b"\xff\xff", wrap(frame(77, 0, 0), mask=b"mask")):
            with stranger(server.ports["ws"]) as connection:
                connection.sendall(nonsense)
                assert frames_of(all_of(connection)) == [(CLOSE, BROKEN.to_bytes(2, "big"))]


def test_a_farewell_is_answered_once_and_nothing_after_it_is_heard() -> None:
    with (
        serving(serve=ServeSettings(ws_port=_free_port())) as server,
        stranger(server.ports["ws"]) as connection,
    ):
        code = NORMAL.to_bytes(2, "big")
        connection.sendall(wrap(code, CLOSE, b"mask") + wrap(code, CLOSE, b"mask"))
        assert frames_of(all_of(connection)) == [(CLOSE, code)]
