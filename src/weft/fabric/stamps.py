"""Stamps and packets: what a message carries on one hop, and how it is written in bytes.

All numbers are varints: seven bits to a byte, the lowest first, the high bit set on all but the last.

    stamp       number, count, then count times: gap, value
    packet      domain, origin, count of destinations, gaps of destinations, size of the stamp, the stamp, the payload

`number` counts the packets of this domain from this sender to this receiver, from 1: the sender's own entry of the matrix, whose
row and column both sides know.  The other entries come in the order of their cells (cell = row * size + column), each
by its distance from the cell before (the first from -1, and one less is written), so that an entry mostly takes two bytes.
Destinations are in rising order and written the same way.
"""

from __future__ import annotations

from typing import Final

from weft.model.errors import FabricError

MAX_SHIFT: Final = 63


class MatrixStamp:
    """What the sender knew of the domain's matrix that the receiver may not know: cells in rising order, with values."""

    __slots__ = ("cells", "number", "values")

    def __init__(self, number: int, cells: list[int], values: list[int]) -> None:
        self.number = number
        self.cells = cells
        self.values = values


class Packet:
    """A message on one hop.  `origin` and `destinations` are servers; the payload is opaque."""

    __slots__ = ("destinations", "domain", "number", "origin", "payload", "stamp")

    def __init__(
        self, domain: int, origin: int, destinations: list[int], number: int, stamp: bytes, payload: object
    ) -> None:
        self.domain = domain
        self.origin = origin
        self.destinations = destinations
        self.number = number  # the first number of the stamp, at hand for acknowledgements
        self.stamp = stamp
        self.payload = payload


def write_number(out: list[int], number: int) -> None:
    """As bytes in a list: compiled, it takes them several times as fast as a bytearray."""
    while number > 127:
        out.append((number & 127) | 128)
        number >>= 7
    out.append(number)


class NumberReader:
    """Reads varints one after the other; what is cut off or too long is the peer's fault."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def next(self) -> int:
        number = 0
        shift = 0
        data = self.data
        while True:
            if self.at >= len(data):
                raise FabricError("the bytes end within a number")
            byte = data[self.at]
            self.at += 1
            number |= (byte & 127) << shift
            if byte < 128:
                return number
            shift += 7
            if shift > MAX_SHIFT:
                raise FabricError("a number of more than 64 bits")

    def rising(self, count: int) -> list[int]:
        """Numbers in rising order, written by their distances."""
        last = -1
        found: list[int] = []
        for _ in range(count):
            last += self.next() + 1
            found.append(last)
        return found


def encode_stamp(number: int, cells: list[int], values: list[int]) -> bytes:
    """`cells` in rising order."""
    out: list[int] = []
    write_number(out, number)
    write_number(out, len(cells))
    last = -1
    for index in range(len(cells)):
        cell = cells[index]
        write_number(out, cell - last - 1)
        write_number(out, values[index])
        last = cell
    return bytes(out)


def decode_stamp(data: bytes, cell_count: int) -> MatrixStamp:
    """Refuses what no sender of a domain with so many cells can have written."""
    reader = NumberReader(data)
    number = reader.next()
    count = reader.next()
    if number < 1 or count > cell_count:
        raise FabricError("the stamp has no number, or more entries than its domain")
    cells: list[int] = []
    values: list[int] = []
    last = -1
    for _ in range(count):
        last += reader.next() + 1
        cells.append(last)
        values.append(reader.next())
    if last >= cell_count:
        raise FabricError(f"the stamp speaks of cell {last} in a domain of {cell_count}")
    if reader.at != len(data):
        raise FabricError(f"{len(data) - reader.at} bytes follow the stamp")
    return MatrixStamp(number, cells, values)


def encode_packet(packet: Packet) -> bytes:
    """For the wire and for the journal.  The payload has to be bytes by then."""
    payload = packet.payload
    if not isinstance(payload, bytes):
        raise TypeError(
            f"the payload of a packet that is written must be bytes, not {type(payload).__name__}"
        )
    out: list[int] = []
    write_number(out, packet.domain)
    write_number(out, packet.origin)
    write_number(out, len(packet.destinations))
    last = -1
    for destination in packet.destinations:
        write_number(out, destination - last - 1)
        last = destination
    write_number(out, len(packet.stamp))
    return bytes(out) + packet.stamp + payload


def decode_packet(data: bytes) -> Packet:
    """The packet of these bytes; its stamp is looked into when a channel receives it."""
    reader = NumberReader(data)
    domain = reader.next()
    origin = reader.next()
    count = reader.next()
    if count > len(data):
        raise FabricError("a packet with more destinations than bytes")
    destinations = reader.rising(count)
    size = reader.next()
    start = reader.at
    if start + size > len(data):
        raise FabricError("the bytes end within the stamp")
    stamp = data[start : start + size]
    number = NumberReader(stamp).next()
    return Packet(domain, origin, destinations, number, stamp, data[start + size :])
