"""Plain data as bytes: the part of CBOR (RFC 8949) that saves need, so that any CBOR tool can look into one.

None, booleans, integers of any size, floats, text, bytes, lists, and maps with text or integer keys.
"""

from __future__ import annotations

import struct
from typing import Any

_BREADTHS = ((24, ">B"), (25, ">H"), (26, ">I"), (27, ">Q"))
_SIMPLE = {20: False, 21: True, 22: None}
_MOST = 1 << 64


class CborError(ValueError):
    """These bytes are not what `encode` makes."""


def encode(value: object) -> bytes:
    parts: list[bytes] = []
    _write(parts, value)
    return b"".join(parts)


def _head(major: int, number: int) -> bytes:
    if number < 24:
        return bytes([major << 5 | number])
    for code, layout in _BREADTHS:
        if number < 1 << 8 * struct.calcsize(layout):
            return bytes([major << 5 | code]) + struct.pack(layout, number)
    raise CborError(f"{number} is too large for a head")


def _write(parts: list[bytes], value: object) -> None:
    if value is None or value is True or value is False:
        parts.append(b"\xf6" if value is None else b"\xf5" if value else b"\xf4")
    elif isinstance(value, int):
        _write_int(parts, value)
    elif isinstance(value, str):
        data = value.encode("utf-8", "surrogatepass")
        parts += (_head(3, len(data)), data)
    elif isinstance(value, bytes):
        parts += (_head(2, len(value)), bytes(value))
    elif isinstance(value, list):
        parts.append(_head(4, len(value)))
        for item in value:
            _write(parts, item)
    elif isinstance(value, dict):
        parts.append(_head(5, len(value)))
        for key, item in value.items():
            _write(parts, key)
            _write(parts, item)
    elif isinstance(value, float):
        parts.append(b"\xfb" + struct.pack(">d", value))
    else:
        raise CborError(f"{type(value).__name__} is no plain data")


def _write_int(parts: list[bytes], value: int) -> None:
    major, number = (0, value) if value >= 0 else (1, -1 - value)
    if number < _MOST:
        parts.append(_head(major, number))
    else:
        data = number.to_bytes((number.bit_length() + 7) // 8, "big")
        parts += (_head(6, 2 + major), _head(2, len(data)), data)


def decode(data: bytes) -> Any:
    reader = _CborReader(data)
    try:
        value = reader.read()
    except (IndexError, struct.error, UnicodeDecodeError, RecursionError, TypeError) as error:
        raise CborError(f"at byte {reader.at}: {error!r}") from error
    if reader.at != len(data):
        raise CborError(f"{len(data) - reader.at} bytes are left over")
    return value


class _CborReader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def read(self) -> object:
        first = self.data[self.at]
        self.at += 1
        major, code = first >> 5, first & 31
        if major == 7:
            return self._simple(code)
        number = self._number(code)
        if major == 0:
            return number
        if major == 1:
            return -1 - number
        if major == 2:
            return self._take(number)
        if major == 3:
            return self._take(number).decode("utf-8", "surrogatepass")
        if major == 4:
            return [self.read() for _ in range(number)]
        if major == 5:
            return {self.read(): self.read() for _ in range(number)}
        return self._big(number)

    def _simple(self, code: int) -> float | bool | None:
        if code == 27:
            found: float = struct.unpack(">d", self._take(8))[0]
            return found
        if code not in _SIMPLE:
            raise CborError(f"at byte {self.at}: simple value {code} is not used here")
        return _SIMPLE[code]

    def _number(self, code: int) -> int:
        if code < 24:
            return code
        for one, layout in _BREADTHS:
            if one == code:
                found: int = struct.unpack(layout, self._take(struct.calcsize(layout)))[0]
                return found
        raise CborError(f"at byte {self.at}: length code {code} is not used here")

    def _take(self, size: int) -> bytes:
        taken = self.data[self.at : self.at + size]
        if len(taken) != size:
            raise CborError(f"at byte {self.at}: it ends too soon")
        self.at += size
        return taken

    def _big(self, tag: int) -> int:
        found = self.read()
        if tag not in (2, 3) or not isinstance(found, bytes):
            raise CborError(f"at byte {self.at}: tag {tag} is not used here")
        number = int.from_bytes(found, "big")
        return number if tag == 2 else -1 - number
