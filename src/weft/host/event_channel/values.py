"""Payloads of events as bytes, for the way to another process: plain data, and nothing that could run.

None, booleans, integers of any size, floats, text, bytes, and tuples, lists and dicts of these.  What arrives is equal to what
was sent, its types too; so subclasses of them, which could not arrive as what they are, are refused like everything else.  A
value is one byte that says what it is, then its content:

    0, 1, 2         None, False, True
    3, 10           an integer: zigzag (0, -1, 1, -2 …) as a varint, or, of more than 63 bits, its size and its bytes
    4               a float, 8 bytes
    5, 6            text (UTF-8), bytes: size and content
    7, 8, 9         a list, a tuple, a dict: size and items, of a dict key, value, key, value …
    128 … 255       the integers 0 … 127
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final

DEPTH: Final = 64  # how deep lists, tuples and dicts may be in one another

_NONE, _FALSE, _TRUE, _INT, _FLOAT, _TEXT, _BYTES, _LIST, _TUPLE, _DICT, _BIG = range(11)
_SMALL: Final = 128
MOST: Final = (1 << 63) - 1  # of a varint
_DOUBLE = struct.Struct(">d")
_NAMES = {_LIST: "list", _TUPLE: "tuple", _DICT: "dict"}


class ValueRefused(Exception):
    """This is no plain data, or these bytes are not what `write_value` makes."""


def write_number(out: bytearray, number: int) -> None:
    """From 0 to MOST: seven bits in a byte, the lowest first."""
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)


def write_value(out: bytearray, value: object, depth: int = 0) -> None:
    if value is None or value is False or value is True:
        out.append(_NONE if value is None else _TRUE if value else _FALSE)
        return
    if type(value) is int:
        _write_int(out, value)
    elif type(value) is float:
        out.append(_FLOAT)
        out += _DOUBLE.pack(value)
    elif type(value) is str:
        _write_bytes(out, _TEXT, value.encode("utf-8", "surrogatepass"))
    elif type(value) is bytes:
        _write_bytes(out, _BYTES, value)
    elif type(value) is list:
        _write_items(out, _LIST, value, depth)
    elif type(value) is tuple:
        _write_items(out, _TUPLE, value, depth)
    elif type(value) is dict:
        _write_items(out, _DICT, [part for item in value.items() for part in item], depth)
    else:
        kind = type(value)
        raise ValueRefused(f"a {kind.__module__}.{kind.__qualname__}".replace("builtins.", ""))


def _write_int(out: bytearray, value: int) -> None:
    if 0 <= value < 128:
        out.append(_SMALL + value)
    elif -MOST // 2 <= value <= MOST // 2:
        out.append(_INT)
        write_number(out, 2 * value if value >= 0 else -2 * value - 1)
    else:
        size = value.bit_length() // 8 + 1
        out.append(_BIG)
        write_number(out, size)
        out += value.to_bytes(size, "big", signed=True)


def _write_bytes(out: bytearray, kind: int, data: bytes) -> None:
    out.append(kind)
    write_number(out, len(data))
    out += data


def _write_items(out: bytearray, kind: int, items: Sequence[object], depth: int) -> None:
    """Of a dict: key, value, key, value …, and half as many as its size."""
    if depth >= DEPTH:
        raise ValueRefused(f"a {_NAMES[kind]} more than {DEPTH} deep in others, or in itself")
    out.append(kind)
    write_number(out, len(items) // 2 if kind == _DICT else len(items))
    for item in items:
        write_value(out, item, depth + 1)


class ValueReader:
    """Reads one after the other; ValueRefused where the bytes end too soon or say what nobody writes."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data = data
        self.at = at

    def number(self) -> int:
        data, at = self.data, self.at
        found = shift = 0
        while True:
            if at >= len(data):
                raise ValueRefused("it ends within a number")
            byte = data[at]
            at += 1
            found |= (byte & 127) << shift
            if byte < 128:
                self.at = at
                return found
            shift += 7
            if shift > 56:
                raise ValueRefused("it has a number that is too large")

    def take(self, size: int) -> bytes:
        taken = self.data[self.at : self.at + size]
        if len(taken) != size:
            raise ValueRefused("it ends too soon")
        self.at += size
        return taken

    def double(self) -> float:
        found: float = _DOUBLE.unpack(self.take(8))[0]
        return found

    def value(self, depth: int = 0) -> object:
        kind = self.take(1)[0]
        if kind >= _SMALL:
            return kind - _SMALL
        if kind <= _TRUE:
            return None if kind == _NONE else kind == _TRUE
        if kind == _INT:
            number = self.number()
            return -(number + 1 >> 1) if number & 1 else number >> 1
        if kind == _FLOAT:
            return self.double()
        if kind == _BYTES:
            return self.take(self.number())
        if kind == _TEXT:
            return self._text()
        if kind == _BIG:
            return int.from_bytes(self.take(self.number()), "big", signed=True)
        if kind > _DICT or depth >= DEPTH:
            raise ValueRefused(f"it has a value of kind {kind}, {depth} deep")
        return self._items(kind, depth + 1)

    def _text(self) -> str:
        try:
            return self.take(self.number()).decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            raise ValueRefused(f"its text is none: {error}") from error

    def _items(self, kind: int, depth: int) -> object:
        size = self.number()
        if size > len(self.data) - self.at:  # each takes a byte at least
            raise ValueRefused("it ends too soon")
        if kind == _DICT:
            try:
                return {self.value(depth): self.value(depth) for _ in range(size)}
            except TypeError as error:
                raise ValueRefused(f"it has a key that cannot be one: {error}") from error
        found = [self.value(depth) for _ in range(size)]
        return found if kind == _LIST else tuple(found)
