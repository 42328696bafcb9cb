"""A server that speaks only the standard's wire: a relay before ours that lets nothing of Weft's own through.

Calls with a member or a field that the Federate Protocol does not have end the connection and are remembered; callbacks lose
such fields, as a server has them that never heard of Weft.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from support.raw_client import CALL, CALLBACK, HEADER, header, varint
from support.server_in_thread import serving

STANDARD_KINDS = {1, 2, 3, 4, 5, 6, 10, 11, 20, 21, 22, 23}
OWN = 1000  # from here on the numbers of members and fields are Weft's own


class NotStandardError(Exception):
    pass


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        number |= (data[at] & 0x7F) << shift
        at += 1
        if data[at - 1] < 0x80:
            return number, at
        shift += 7


def fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Number and bytes of each field of a message."""
    at = 0
    while at < len(data):
        start = at
        key, at = read_varint(data, at)
        kind = key & 7
        if kind == 0:
            _, at = read_varint(data, at)
        elif kind == 2:
            size, at = read_varint(data, at)
            at += size
        else:
            at += 8 if kind == 1 else 4
        yield key >> 3, data[start:at]


def content(field: bytes) -> bytes:
    """Of a field that is a message."""
    _, at = read_varint(field, 0)
    _, at = read_varint(field, at)
    return field[at:]


def check_call(payload: bytes) -> bytes:
    for member, field in fields(payload):
        own = [number for number, _ in fields(content(field)) if number >= OWN]
        if member >= OWN or own:
            raise NotStandardError(
                f"a call with member {member} and fields {own} that the standard does not have"
            )
    return payload


def plain_callback(payload: bytes) -> bytes:
    made = b""
    for member, field in fields(payload):
        if member >= OWN:
            raise NotStandardError(f"a callback {member} that nobody can have asked for")
        inner = b"".join(one for number, one in fields(content(field)) if number < OWN)
        made += varint(member << 3 | 2) + varint(len(inner)) + inner
    return made


class PlainServer:
    def __init__(self, port: int) -> None:
        self.faults: list[str] = []
        self.calls = 0
        self.connections = 0
        self._behind = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets: list[socket.socket] = [self._listener]
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._listener.getsockname()[1]}"

    def close(self) -> None:
        for one in self._sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._sockets.append(client)
            try:
                server = socket.create_connection(("127.0.0.1", self._behind))
            except OSError:
                client.close()
                continue
            self._sockets.append(server)
            for one in (client, server):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for pair in ((client, server), (server, client)):
                thread = threading.Thread(target=self._relay, args=pair, daemon=True)
                self._threads.append(thread)
                thread.start()

    def _relay(self, source: socket.socket, target: socket.socket) -> None:
        try:
            with source.makefile("rb") as stream:
                while len(head := stream.read(HEADER.size)) == HEADER.size:
                    size, number, session, last, kind = HEADER.unpack(head)
                    payload = self._standard(kind, stream.read(size - HEADER.size))
                    target.sendall(header(HEADER.size + len(payload), number, session, last, kind) + payload)
        except NotStandardError as error:
            self.faults.append(str(error))
        except OSError:
            pass
        finally:
            for one in (source, target):
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)

    def _standard(self, kind: int, payload: bytes) -> bytes:
        if kind not in STANDARD_KINDS:
            raise NotStandardError(f"a frame of kind {kind}")
        if kind == CALL:
            self.calls += 1
            return check_call(payload)
        return plain_callback(payload) if kind == CALLBACK else payload


@contextmanager
def plain_server() -> Iterator[PlainServer]:
    with serving() as running:
        plain = PlainServer(running.ports["tcp"])
        try:
            yield plain
        finally:
            plain.close()
