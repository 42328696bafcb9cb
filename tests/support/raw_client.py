"""A client of the Federate Protocol made of nothing but a socket: says exactly what a test wants, true or not.

Payloads are written by the rules of FEDPRO.md, section 4, so that nothing of the code under test is needed to speak to it.
"""

from __future__ import annotations

import socket
import struct

from weft.cli.data import object_model

WAIT = 240.0
HEADER = struct.Struct(">IiQii")
NONE = -0x80000000
CALL, RESPONSE, CALLBACK, CALLBACK_ANSWER = 20, 21, 22, 23

DISCONNECT = bytes.fromhex("2a00")
CONNECT = bytes.fromhex("1a020a00")
LIST = bytes.fromhex("6a00")


def header(size: int, number: int, session: int, last: int, kind: int) -> bytes:
    return HEADER.pack(size, number, session, last, kind)


def frame(kind: int, number: int, session: int, last: int = NONE, payload: bytes = b"") -> bytes:
    return header(24 + len(payload), number, session, last, kind) + payload


def ints(*numbers: int) -> bytes:
    return struct.pack(f">{len(numbers)}i", *numbers)


# --- protobuf ------------------------------------------------------------------------------------------------


def varint(number: int) -> bytes:
    made = bytearray()
    while number > 0x7F:
        made.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*made, number])


def field(number: int, *content: bytes | str) -> bytes:
    """A string, bytes or message; its content in pieces."""
    data = b"".join(piece.encode() if isinstance(piece, str) else piece for piece in content)
    return varint(number << 3 | 2) + varint(len(data)) + data


def module(name: str = "range.xml") -> bytes:
    """A FomModule with one of the demo's object models."""
    return field(1, field(1, name), field(2, object_model(name).data))


def create(federation: str, time: str = "", fom: bytes | None = None) -> bytes:
    modules = field(2, field(1, module() if fom is None else fom))
    return field(9, field(1, federation), modules, field(3, time) if time else b"")


def destroy(federation: str) -> bytes:
    return field(12, field(1, federation))


def join(federation: str, kind: str = "raw") -> bytes:
    return field(15, field(1, kind), field(2, federation))


def join_named(federation: str, name: str) -> bytes:
    return field(17, field(1, name), field(2, "raw"), field(3, federation))


def handle(data: bytes) -> bytes:
    return field(1, data)


def interaction_class(name: str) -> bytes:
    return field(135, field(1, name))


def parameter(kind: bytes, name: str) -> bytes:
    return field(137, field(1, handle(kind)), field(2, name))


def publish(kind: bytes) -> bytes:
    return field(38, field(1, handle(kind)))


def subscribe(kind: bytes) -> bytes:
    return field(49, field(1, handle(kind)))


def send(kind: bytes, parameter: bytes, value: bytes, tag: bytes = b"") -> bytes:
    values = field(1, field(1, handle(parameter)), field(2, value))
    return field(64, field(1, handle(kind)), field(2, values), field(3, tag) if tag else b"")


# --- the client ----------------------------------------------------------------------------------------------


class Closed(Exception):
    """The server has closed the connection."""


class Frame:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.size, self.number, self.session, self.last, self.kind = HEADER.unpack_from(data)
        self.payload = data[24:]
        self.answers = NONE
        if self.kind in (RESPONSE, CALLBACK_ANSWER):
            self.answers = struct.unpack_from(">i", data, 24)[0]
            self.payload = data[28:]


class Raw:
    """One connection, and what its sender remembers of the session."""

    def __init__(self, port: int, receive_buffer: int = 0) -> None:
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(WAIT)
        self.socket.connect(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.session = 0
        self.number = 0
        self.last = NONE
        self._data = b""

    def __enter__(self) -> Raw:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def send_until_refused(self, data: bytes) -> None:
        """Again and again; raises ConnectionError once the server has closed."""
        for _ in range(100_000):
            self.send(data)

    def receive(self) -> Frame:
        """The next frame; Closed if there is none."""
        while len(self._data) < 24 or len(self._data) < HEADER.unpack_from(self._data)[0]:
            try:
                more = self.socket.recv(1 << 18)
            except ConnectionError:
                more = b""
            if not more:
                raise Closed
            self._data += more
        size = HEADER.unpack_from(self._data)[0]
        found, self._data = Frame(self._data[:size]), self._data[size:]
        if found.kind in (RESPONSE, CALLBACK):
            self.last = found.number
        return found

    def is_closed(self) -> bool:
        """Does the server close it, whatever it says before?"""
        try:
            while True:
                self.receive()
        except Closed:
            return True
        except TimeoutError:
            return False

    def close(self) -> None:
        self.socket.close()

    # --- a session ------------------------------------------------------------------------------------------

    def greet(self) -> Raw:
        self.send(frame(1, 0, 0, NONE, ints(1)))
        answer = self.receive()
        assert (answer.kind, answer.payload) == (2, ints(0)), answer.data.hex()
        self.session = answer.session
        return self

    def request(self, payload: bytes) -> bytes:
        """The frame of the next call."""
        self.number += 1
        return frame(CALL, self.number, self.session, self.last, payload)

    def call(self, payload: bytes) -> bytes:
        """Call and wait; the payload of the answer."""
        self.send(self.request(payload))
        while True:
            answer = self.receive()
            if answer.kind == RESPONSE:
                assert answer.answers == self.number
                return answer.payload

    def ask(self, payload: bytes) -> bytes:
        """Call something that answers with a handle; its bytes."""
        answer = self.call(payload)
        assert answer[-6:-4] == b"\x0a\x04", answer
        return answer[-4:]

    def callback(self) -> Frame:
        while True:
            found = self.receive()
            if found.kind == CALLBACK:
                return found

    def resume(self, session: int, last: int, oldest: int = NONE) -> tuple[int, int]:
        """Ask to resume; status and LRF."""
        self.send(frame(10, NONE, session, last, ints(last, oldest)))
        answer = self.receive()
        assert answer.kind == 11
        self.session = session
        status, received = struct.unpack(">ii", answer.payload)
        return status, received


def connected(port: int, receive_buffer: int = 0) -> Raw:
    client = Raw(port, receive_buffer).greet()
    assert client.call(CONNECT)[:1] == b"\x22"
    return client


class Gunner:
    """A raw federate that is joined and sends and hears Fire."""

    def __init__(self, port: int, federation: str = "F", receive_buffer: int = 0) -> None:
        self.raw = connected(port, receive_buffer)
        self.raw.call(create(federation))
        assert self.raw.call(join(federation))[:2] == b"\x82\x01"
        self.fire = self.raw.ask(interaction_class("Fire"))
        self.target = self.raw.ask(parameter(self.fire, "Target"))
        self.raw.call(publish(self.fire))
        self.raw.call(subscribe(self.fire))

    def shot(self, value: bytes) -> bytes:
        return self.raw.request(send(self.fire, self.target, value))
