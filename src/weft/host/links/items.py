"""What a frame of a link holds: items, one behind the other, so that all of one turn of the loop goes out as one frame.

item        kind (one byte), size (varint), body

HELLO       who this is (CBOR); the first item of a session, from both sides
REFUSED     why not (text); the connection is closed behind it
LEFT        likewise: the node has finished with the domains that the peer is in
PACKET      a packet of the causal channel of the federations …
ACKS        … and what has come of it: pairs of domain and number
AGENT_PACKET, AGENT_ACKS    the same for the causal channel of the agents
DATA        origin, destination, port, class of service (varints), payload
REACH       which nodes are beyond the sender (CBOR), only what has changed
PING        nothing; so that silence means that the peer is gone
BYE         nothing; the node stops, and need not be waited for
"""

from __future__ import annotations

from typing import Final

from weft.fabric.stamps import NumberReader, write_number
from weft.model.errors import FabricError

DATAGRAM: Final = 0  # not an item: DATA that came by itself
HELLO: Final = 1
REFUSED: Final = 2
PACKET: Final = 3
ACKS: Final = 4
DATA: Final = 5
REACH: Final = 6
PING: Final = 7
BYE: Final = 8
AGENT_PACKET: Final = 9
AGENT_ACKS: Final = 10
LEFT: Final = 11


def write_item(out: bytearray, kind: int, body: bytes) -> None:
    head = [kind]
    write_number(head, len(body))
    out += bytes(head)
    out += body


class ItemReader:
    """Reads the items of one frame: `next` says whether there is another, `kind` and `body` what it is."""

    def __init__(self, data: bytes) -> None:
        self.kind = 0
        self.body = b""
        self._data = data
        self._at = 0

    def next(self) -> bool:
        data = self._data
        at = self._at
        if at >= len(data):
            return False
        self.kind = data[at]
        at += 1
        size = 0
        shift = 0
        while True:
            if at >= len(data) or shift > 35:
                raise FabricError("a frame of a link ends within an item")
            byte = data[at]
            at += 1
            size |= (byte & 127) << shift
            if byte < 128:
                break
            shift += 7
        if at + size > len(data):
            raise FabricError("a frame of a link ends within an item")
        self.body = data[at : at + size]
        self._at = at + size
        return True


def encode_acks(pairs: list[tuple[int, int]]) -> bytes:
    out: list[int] = []
    for domain, number in pairs:
        write_number(out, domain)
        write_number(out, number)
    return bytes(out)


def decode_acks(body: bytes) -> list[tuple[int, int]]:
    reader = NumberReader(body)
    found: list[tuple[int, int]] = []
    while reader.at < len(body):
        domain = reader.next()
        found.append((domain, reader.next()))
    return found


class DataItem:
    """A reliable or best-effort message on its way."""

    def __init__(self, origin: int, destination: int, port: int, kind: int, payload: bytes) -> None:
        self.origin = origin
        self.destination = destination
        self.port = port
        self.kind = kind
        self.payload = payload


def encode_data(data: DataItem) -> bytes:
    out: list[int] = []
    write_number(out, data.origin)
    write_number(out, data.destination)
    write_number(out, data.port)
    write_number(out, data.kind)
    return bytes(out) + data.payload


def decode_data(body: bytes) -> DataItem:
    reader = NumberReader(body)
    origin = reader.next()
    destination = reader.next()
    port = reader.next()
    kind = reader.next()
    return DataItem(origin, destination, port, kind, body[reader.at :])
