"""The book: rows of one federation at one node, packed in memory until somebody takes them to a file.

Every message passes through `Book.enter`, so it has two bodies: compiled by mypyc it uses the primitives of librt.strings, in
pure Python struct is the faster one.  An entry is a fixed number of bytes, big-endian, that stands for all rows of its shape:

    offset  size  field
    0       4     number of the shape, from that of the first shape of the batch
    4       4     flags: is there a time, is it a float; are there values, are they kept, and in which form
    8       8     now, seconds (float)
    16      8     number of the message; 0: none
    24      8     number of the instance; NO_OBJECT: none
    32      8     source of the cause
    40      8     number of the cause; 0: none
    48      8     logical time, an integer or a float
    56      4     bytes of the values
    60      4     bytes of the tag
    64      4     bytes that ordering added
    68      4     which of the batch's `more`, from 1; 0: none

What is kept of messages lies behind one another in pieces of bytes of their own: values, whose lengths are in a further one;
messages as they came from the wire; tags.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable
from typing import Any, Final

from weft.model.packed import PackedValues
from weft.model.recording import NO_OBJECT, Pattern, Recorder

try:
    from librt.strings import BytesWriter, write_f64_be, write_i32_be, write_i64_be
except ImportError:
    LIBRT_FOUND = False  # pure Python does without
else:
    LIBRT_FOUND = True

ENTRY_SIZE: Final = 72
TIMED: Final = 1
FLOAT: Final = 2
VALUES: Final = 4
PACKED: Final = 8
SIZED: Final = 16
SHAPES: Final = 50_000
"""So many are remembered; then all are forgotten, and those still in use learnt again."""
_ENTRY: Final = struct.Struct(">iidqqqqqiiii")
_FLOAT_ENTRY: Final = struct.Struct(">iidqqqqdiiii")
_SIZE: Final = struct.Struct(">i")


class Batch:
    """What a book had when it was taken."""

    def __init__(
        self,
        entries: bytes,
        values: bytes,
        sizes: bytes,
        packed: bytes,
        tags: bytes,
        more: list[dict[str, Any]],
        shapes: list[tuple[Pattern, ...]],
        rows: int,
    ) -> None:
        self.entries = entries
        self.values = values
        self.sizes = sizes
        self.packed = packed
        self.tags = tags
        self.more = more
        self.shapes = shapes  # by number
        self.rows = rows

    @property
    def size(self) -> int:
        """About what it takes in memory."""
        kept = len(self.values) + len(self.sizes) + len(self.packed) + len(self.tags)
        return len(self.entries) + kept + 400 * len(self.more)


class Book(Recorder):
    """`full` is called once there are so many entries, or bytes of values; it is to `take` them."""

    def __init__(
        self,
        payloads: bool = True,
        most_entries: int = 65_536,
        most_bytes: int = 16 << 20,
        full: Callable[[], None] | None = None,
    ) -> None:
        super().__init__()
        self.others: dict[str, None] = {}  # nodes that have, or had, members
        self._happenings: deque[Any] = deque()  # appended to by any thread
        self._payloads = payloads
        self._most_entries = most_entries
        self._most_bytes = most_bytes
        self._full = full
        self._taking = False
        self._shapes: list[tuple[Pattern, ...]] = []
        self._lengths: list[int] = []
        self._clear()

    def _clear(self) -> None:
        self.count = 0
        self.rows = 0
        self._kept = 0  # bytes of values
        self._more: list[dict[str, Any]] = []
        if NATIVE:
            self._entries = BytesWriter()
            self._values = BytesWriter()
            self._sizes = BytesWriter()
            self._packed = BytesWriter()
            self._tags = BytesWriter()
        else:
            self._plain_entries = bytearray()
            self._plain_values = bytearray()
            self._plain_sizes = bytearray()
            self._plain_packed = bytearray()
            self._plain_tags = bytearray()

    def learn(self, key: Any, rows: tuple[Pattern, ...]) -> int:
        if len(self.shapes) >= SHAPES:
            self._turn_over()
        number = self.first + len(self._shapes)
        self._shapes.append(rows)
        self._lengths.append(len(rows))
        self.shapes[key] = number
        return number

    def _turn_over(self) -> None:
        """A batch has shapes of one time only, so what there is goes first."""
        if self.count and self._full is not None:
            self._full()
        if self.count:
            return  # nobody takes it: then the list grows
        self.first += len(self._shapes)
        self.shapes.clear()
        self._shapes = []
        self._lengths = []

    def took_part(self, node: str) -> None:
        self.others[node] = None

    def happened(self, happening: Any) -> None:
        self._happenings.append(happening)

    def _enter_happenings(self) -> None:
        for _ in range(len(self._happenings)):
            one = self._happenings.popleft()
            key = ("channel", one.kind, one.name, one.operation, one.priority, one.sub_priority)
            shape = self.shapes.get(key, -1)
            if shape < self.first:
                row: Pattern = (
                    ("kind", one.kind),
                    ("federate", 0),
                    ("name", one.name),
                    ("operation", one.operation or None),
                    ("priority", one.priority),
                    ("sub_priority", one.sub_priority),
                )
                shape = self.learn(key, (row,))
            more: dict[str, Any] = {"queue": one.queue}
            if one.deadline_ns:
                more["deadline_ns"] = one.deadline_ns
            if one.detail:
                more["detail"] = one.detail
            self.enter(shape, one.mono_ns / 1e9, 0, NO_OBJECT, 0, 0, None, None, b"", 0, more)

    def enter(
        self,
        shape: int,
        now: float,
        message: int,
        instance: int,
        cause_source: int,
        cause: int,
        time: Any,
        values: Any,
        tag: bytes,
        control: int,
        more: dict[str, Any] | None,
    ) -> None:
        place = shape - self.first
        self.count += 1
        self.rows += self._lengths[place]
        flags = 0
        size = 0
        tag_size = 0
        if values is not None:
            flags = SIZED
            if isinstance(values, PackedValues):
                fields = values.encoded(tag)  # which has the tag in it
                size = len(fields)
                if self._payloads:
                    flags |= PACKED
                    self._keep_packed(fields)
            else:
                size = self._measure(values)
                if self._payloads:
                    flags |= VALUES
                    if tag:
                        tag_size = len(tag)
                        self._keep_tag(tag)
        if more is None:
            which = 0
        else:
            self._more.append(more)
            which = len(self._more)
        whole = 0
        real = 0.0
        if isinstance(time, float):
            flags |= TIMED | FLOAT
            real = time
        elif time is not None:
            flags |= TIMED
            whole = time
        if NATIVE:
            writer = self._entries
            write_i32_be(writer, place)
            write_i32_be(writer, flags)
            write_f64_be(writer, now)
            write_i64_be(writer, message)
            write_i64_be(writer, instance)
            write_i64_be(writer, cause_source)
            write_i64_be(writer, cause)
            if flags & FLOAT:
                write_f64_be(writer, real)
            else:
                write_i64_be(writer, whole)
            write_i32_be(writer, size)
            write_i32_be(writer, tag_size)
            write_i32_be(writer, control)
            write_i32_be(writer, which)
        else:
            form = _FLOAT_ENTRY if flags & FLOAT else _ENTRY
            self._plain_entries += form.pack(
                place,
                flags,
                now,
                message,
                instance,
                cause_source,
                cause,
                real if flags & FLOAT else whole,
                size,
                tag_size,
                control,
                which,
            )
        if self.count >= self._most_entries or self._kept >= self._most_bytes:
            self._overflow()

    def enter_packed(self, shape: int, now: float, message: int, instance: int, fields: bytes) -> None:
        place = shape - self.first
        self.count += 1
        self.rows += self._lengths[place]
        size = len(fields)
        flags = SIZED
        if self._payloads:
            flags = SIZED | PACKED
            self._keep_packed(fields)
        if NATIVE:
            writer = self._entries
            write_i32_be(writer, place)
            write_i32_be(writer, flags)
            write_f64_be(writer, now)
            write_i64_be(writer, message)
            write_i64_be(writer, instance)
            write_i64_be(writer, 0)
            write_i64_be(writer, 0)
            write_i64_be(writer, 0)
            write_i32_be(writer, size)
            write_i32_be(writer, 0)
            write_i32_be(writer, 0)
            write_i32_be(writer, 0)
        else:
            self._plain_entries += _ENTRY.pack(place, flags, now, message, instance, 0, 0, 0, size, 0, 0, 0)
        if self.count >= self._most_entries or self._kept >= self._most_bytes:
            self._overflow()

    def _measure(self, values: dict[Any, bytes]) -> int:
        """How many bytes there are; they are kept if payloads are."""
        size = 0
        for value in values.values():
            size += len(value)
            if self._payloads:
                if NATIVE:
                    self._values.write(value)
                    write_i32_be(self._sizes, len(value))
                else:
                    self._plain_values += value
                    self._plain_sizes += _SIZE.pack(len(value))
        self._kept += size
        return size

    def _keep_packed(self, fields: bytes) -> None:
        self._kept += len(fields)
        if NATIVE:
            self._packed.write(fields)
        else:
            self._plain_packed += fields

    def _keep_tag(self, tag: bytes) -> None:
        self._kept += len(tag)
        if NATIVE:
            self._tags.write(tag)
        else:
            self._plain_tags += tag

    def _overflow(self) -> None:
        if self._full is not None:
            self._full()

    def take(self) -> Batch | None:
        """All there is by now; None if there is nothing."""
        if self._happenings and not self._taking:
            self._taking = True  # a full book takes, too
            self._enter_happenings()
            self._taking = False
        if not self.count:
            return None
        if NATIVE:
            pieces = [
                self._entries.getvalue(),
                self._values.getvalue(),
                self._sizes.getvalue(),
                self._packed.getvalue(),
                self._tags.getvalue(),
            ]
        else:
            pieces = [
                bytes(self._plain_entries),
                bytes(self._plain_values),
                bytes(self._plain_sizes),
                bytes(self._plain_packed),
                bytes(self._plain_tags),
            ]
        entries, values, sizes, packed, tags = pieces
        taken = Batch(entries, values, sizes, packed, tags, self._more, self._shapes, self.rows)
        self._clear()
        return taken


def _is_native() -> bool:
    return LIBRT_FOUND


# mypyc's functions are built-in ones, which have no code object.
NATIVE: Final[bool] = not hasattr(_is_native, "__code__")
