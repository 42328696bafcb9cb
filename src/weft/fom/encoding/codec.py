"""The codec: one data type, ready to encode and decode.

Inside the package a codec offers more than `encode` and `decode`:

- `write(out, value)` appends to a buffer whose length is a multiple of the codec's octet boundary, and
  `read(data, position)` returns the value and the position after it.  Positions count from the beginning of the
  encoded value, so alignment needs no further context.
- `shape`, if the type has a fixed layout: an enclosing record then packs it together with its neighbours.
- `loose_end`: some encoders pad the discriminant of a variant record even where no alternative follows.  Zeros
  up to this boundary are then taken at the very end of a value, where they cannot be mistaken for anything.
- `padding`, if the type only brings the next field to a boundary (RPR's padding arrays): it has no value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from weft.fom.encoding.misfit import Misfit, Step, finished, octets, shown, wanted
from weft.fom.encoding.shape import Shape

Write = Callable[[bytearray, object], None]
Read = Callable[[bytes, int], tuple[object, int]]
Octets = bytes | bytearray | memoryview

PADS = tuple(bytes(count) for count in range(256))
"""PADS[n] is n zero octets; no boundary is larger than 256."""


class Codec:
    """Encodes and decodes the values of one data type; compiled once, used for every value."""

    __slots__ = (
        "decode",
        "encode",
        "loose_end",
        "min_size",
        "name",
        "octet_boundary",
        "padding",
        "python_type",
        "read",
        "shape",
        "static_size",
        "write",
    )

    def __init__(
        self,
        name: str,
        write: Write,
        read: Read,
        *,
        boundary: int,
        python_type: str,
        static_size: int | None = None,
        min_size: int = 0,
        shape: Shape | None = None,
        padding: int = 0,
        loose_end: int = 1,
        encode: Callable[[object], bytes] | None = None,
        decode: Callable[[Octets], Any] | None = None,
    ) -> None:
        self.name = name
        self.write = write
        self.read = read
        self.octet_boundary = boundary
        self.python_type = python_type
        self.static_size = static_size
        self.min_size = min_size if static_size is None else static_size
        self.shape = shape
        self.padding = padding
        self.loose_end = loose_end
        self.encode: Callable[[object], bytes] = encode or _encoder(name, write)
        # A caller knows what type it asked for.
        self.decode: Callable[[Octets], Any] = decode or _decoder(name, read, loose_end)

    def named(self, name: str, loose_end: int = 0) -> Codec:
        """The same encoding under another type's name, which errors then begin with."""
        return Codec(
            name,
            self.write,
            self.read,
            boundary=self.octet_boundary,
            python_type=self.python_type,
            static_size=self.static_size,
            min_size=self.min_size,
            shape=self.shape,
            padding=self.padding,
            loose_end=loose_end or self.loose_end,
        )

    def __repr__(self) -> str:
        return f"<Codec {self.name}>"


def _encoder(name: str, write: Write) -> Callable[[object], bytes]:
    def encode(value: object) -> bytes:
        out = bytearray()
        try:
            write(out, value)
        except Exception as error:
            raise finished(error, name) from None
        return bytes(out)

    return encode


def _decoder(name: str, read: Read, loose_end: int) -> Callable[[Octets], object]:
    def decode(octets: Octets) -> object:
        try:
            data = octets if type(octets) is bytes else as_bytes(octets)
            value, position = read(data, 0)
            if position != len(data) and (
                any(data[position:]) or position + -position % loose_end != len(data)
            ):
                raise left_over(position, len(data))
        except Exception as error:
            raise finished(error, name) from None
        return value

    return decode


def as_bytes(data: object) -> bytes:
    if isinstance(data, bytes | bytearray | memoryview):
        return bytes(data)
    raise wanted("bytes", data)


def left_over(position: int, length: int) -> Misfit:
    if position > length:
        return Misfit(f"{octets(position - length)} missing at the end")
    return Misfit(f"{octets(length - position)} left over after the value")


def as_fields(value: object, names: tuple[str, ...]) -> dict[object, object]:
    """The fields of a record given as a mapping or as any object with attributes, a dataclass for instance."""
    if isinstance(value, Mapping):
        return dict(value)
    found: dict[object, object] = {name: getattr(value, name) for name in names if hasattr(value, name)}
    if not found and names:
        raise wanted("a record", value)
    return found


def wrong_fields(
    fields: Mapping[object, object], names: tuple[str, ...], ignored: tuple[str, ...] = ()
) -> Misfit | None:
    """What is wrong with the field names of a record, if anything."""
    for name in names:
        if name not in fields:
            return Misfit("missing field", name)
    for key in fields:
        if key not in names and key not in ignored:
            step: Step = key if isinstance(key, str) else shown(key)
            known = ", ".join(names) or "none"
            return Misfit(f"unknown field; the fields are {known}", step)
    return None
