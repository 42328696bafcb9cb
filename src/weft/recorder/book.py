"""The book: rows of one federation at one node, packed in memory until somebody takes them to a file.

Every message passes through `Book.enter`, so that does little: it looks at nothing twice and makes no objects.  Compiled by
mypyc it uses the primitives of librt.strings, in pure Python struct is the faster one.  An entry is a fixed number of bytes,
little-endian as the machines are that read it, and stands for all rows of its shape:

    offset  size  field
    0       4     number of the shape, from that of the first shape of the batch
    4       4     flags: are there values, are they kept, and in which form
    8       8     now, seconds (float)
    16      8     number of the message; 0: none
    24      8     number of the instance; NO_OBJECT: none
    32      4     bytes of the values
    36      4     bytes of the tag

What most entries do not have is in a second list, of additions (`Book.add`):

    0       4     which entry
    4       4     flags: is there a time, is it a float
    8       8     source of the cause
    16      8     number of the cause; 0: none
    24      8     logical time, an integer or a float
    32      4     bytes that ordering added
    36      4     which of the batch's `more`, from 1; 0: none

Commands are few: a third list has their numbers, and from which entry on each holds (`Book.carried_out`).

What is kept of messages lies behind one another in pieces of bytes of their own: values, whose lengths are in a further one;
messages as they came from the wire; tags.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable, Hashable
from typing import Final, NamedTuple

from weft.model.packed import PackedValues
from weft.model.recording import NO_OBJECT, ChannelEntry, Pattern, Recorder, rows_in

try:
    from librt.strings import BytesWriter, write_f64_le, write_i32_le, write_i64_le
except ImportError:
    LIBRT_FOUND = False  # pure Python does without
else:
    LIBRT_FOUND = True

TIMED: Final = 1
FLOAT: Final = 2
VALUES: Final = 4
PACKED: Final = 8
SIZED: Final = 16
_KEPT: Final = SIZED | VALUES
_KEPT_PACKED: Final = SIZED | PACKED
SHAPES: Final = 50_000
ROWS: Final = 4_000_000
"""So many, of so many rows in all, are remembered; then all are forgotten, and those still in use learnt again."""
_pack: Final = struct.Struct("<iidqqii").pack
_ADDITION: Final = struct.Struct("<iiqqqii")
_FLOAT_ADDITION: Final = struct.Struct("<iiqqdii")


Bytes = bytes | memoryview


class BookBatch(NamedTuple):
    """What a book had when it was taken; its pieces are bytes, or views of some."""

    entries: Bytes
    additions: Bytes
    values: Bytes
    sizes: Bytes
    packed: Bytes
    tags: Bytes
    more: list[dict[str, object]]
    commands: list[tuple[int, int]]  # from which entry on, which number; the first from the first entry on
    shapes: list[tuple[Pattern, ...]]  # by number
    rows: int

    @property
    def size(self) -> int:
        """About what it takes in memory."""
        kept = len(self.values) + len(self.sizes) + len(self.packed) + len(self.tags)
        return len(self.entries) + len(self.additions) + kept + 400 * len(self.more)


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
        self._happenings: deque[ChannelEntry] = deque()  # appended to by any thread
        self._payloads = payloads
        self._form = _KEPT if payloads else SIZED
        self._most_entries = most_entries
        self._most_bytes = most_bytes
        self._full = full
        self._taking = False
        self._shapes: list[tuple[Pattern, ...]] = []
        self._lengths: list[int] = []
        self._remembered = 0  # rows of shapes
        self._command = 0
        self._clear(False)

    def _clear(self, again: bool) -> None:
        """`again`: as much is to be expected, so what it was packed in is kept; it would have to grow again, copy by copy."""
        self.count = 0
        self.rows = 0
        self._entering = False  # in the midst of an entry
        self._kept = 0  # bytes of values
        self._more: list[dict[str, object]] = []
        self._commands: list[tuple[int, int]] = [(0, self._command)]
        if NATIVE and not again:
            self._entries = BytesWriter()
            self._additions = BytesWriter()
            self._values = BytesWriter()
            self._sizes = BytesWriter()
            self._packed = BytesWriter()
            self._tags = BytesWriter()
        elif NATIVE:
            self._entries.truncate(0)
            self._additions.truncate(0)
            self._values.truncate(0)
            self._sizes.truncate(0)
            self._packed.truncate(0)
            self._tags.truncate(0)
        else:
            self._plain_entries = bytearray()
            self._plain_additions = bytearray()
            self._plain_values: list[bytes] = []
            self._plain_packed: list[bytes] = []
            self._plain_tags: list[bytes] = []

    def next_shape(self) -> int:
        return self.first + len(self._shapes)

    def learn(self, key: Hashable, rows: tuple[Pattern, ...]) -> int:
        if len(self.shapes) >= SHAPES or self._remembered >= ROWS:
            self._turn_over()
        number = self.next_shape()
        self._shapes.append(rows)
        length = rows_in(rows)
        self._lengths.append(length)
        self._remembered += length
        self.shapes[key] = number
        return number

    def fail(self, error: Exception) -> None:
        """An entry that is not whole would be read as another, and all behind it: then what there is is given up."""
        super().fail(error)
        if self._entering:
            self.failed += self.rows - 1
            self._clear(False)

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
        self._remembered = 0

    def took_part(self, node: str) -> None:
        self.others[node] = None

    def carried_out(self, command: int) -> None:
        self._command = command
        if self._commands[-1][0] == self.count:
            self._commands.pop()
        self._commands.append((self.count, command))

    def happened(self, happening: ChannelEntry) -> None:
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
            more: dict[str, object] = {"queue": one.queue}
            if one.deadline_ns:
                more["deadline_ns"] = one.deadline_ns
            if one.detail:
                more["detail"] = one.detail
            self.enter(shape, one.mono_ns / 1e9, 0, NO_OBJECT, None, b"")
            self.add(0, 0, None, 0, more)

    def enter(self, shape: int, now: float, message: int, instance: int, values: object, tag: bytes) -> None:
        if self.count >= self._most_entries or self._kept >= self._most_bytes:
            self._overflow()
        place = shape - self.first
        rows = self._lengths[place]
        self._entering = True
        self.count += 1
        self.rows += rows
        flags = 0
        size = 0
        tag_size = 0
        if values is not None:
            if isinstance(values, dict):
                flags = self._form
                size = self._keep(values)
                if tag and self._payloads:
                    tag_size = len(tag)
                    self._kept += tag_size
                    if NATIVE:
                        self._tags.write(tag)
                    else:
                        self._plain_tags.append(tag)
            elif isinstance(values, PackedValues):
                flags, size = self._unpacked(values, tag)
        if NATIVE:
            writer = self._entries
            write_i32_le(writer, place)
            write_i32_le(writer, flags)
            write_f64_le(writer, now)
            write_i64_le(writer, message)
            write_i64_le(writer, instance)
            write_i32_le(writer, size)
            write_i32_le(writer, tag_size)
        else:
            self._plain_entries += _pack(place, flags, now, message, instance, size, tag_size)
        self._entering = False

    def enter_packed(self, shape: int, now: float, message: int, instance: int, fields: bytes) -> None:
        if self.count >= self._most_entries or self._kept >= self._most_bytes:
            self._overflow()
        place = shape - self.first
        rows = self._lengths[place]
        self._entering = True
        self.count += 1
        self.rows += rows
        size = len(fields)
        flags = SIZED
        if self._payloads:
            flags = _KEPT_PACKED
            self._kept += size
            if NATIVE:
                self._packed.write(fields)
            else:
                self._plain_packed.append(fields)
        if NATIVE:
            writer = self._entries
            write_i32_le(writer, place)
            write_i32_le(writer, flags)
            write_f64_le(writer, now)
            write_i64_le(writer, message)
            write_i64_le(writer, instance)
            write_i32_le(writer, size)
            write_i32_le(writer, 0)
        else:
            self._plain_entries += _pack(place, flags, now, message, instance, size, 0)
        self._entering = False

    def add(
        self,
        cause_source: int,
        cause: int,
        time: int | float | None,
        control: int,
        more: dict[str, object] | None,
    ) -> None:
        flags = 0
        whole = 0
        real = 0.0
        which = 0
        if more is not None:
            self._more.append(more)
            which = len(self._more)
        if isinstance(time, float):
            flags = TIMED | FLOAT
            real = time
        elif time is not None:
            flags = TIMED
            whole = time
        entry = self.count - 1
        self._entering = True
        if NATIVE:
            writer = self._additions
            write_i32_le(writer, entry)
            write_i32_le(writer, flags)
            write_i64_le(writer, cause_source)
            write_i64_le(writer, cause)
            if flags & FLOAT:
                write_f64_le(writer, real)
            else:
                write_i64_le(writer, whole)
            write_i32_le(writer, control)
            write_i32_le(writer, which)
        elif flags & FLOAT:
            self._plain_additions += _FLOAT_ADDITION.pack(
                entry, flags, cause_source, cause, real, control, which
            )
        else:
            self._plain_additions += _ADDITION.pack(entry, flags, cause_source, cause, whole, control, which)
        self._entering = False

    def _keep(self, values: dict[bytes, bytes]) -> int:
        """How many bytes there are; they are kept if payloads are."""
        size = 0
        if NATIVE and self._payloads:
            writer = self._values
            sizes = self._sizes
            for value in values.values():
                length = len(value)
                size += length
                writer.write(value)
                write_i32_le(sizes, length)
        else:
            for value in values.values():
                size += len(value)
            if self._payloads:
                self._plain_values.extend(values.values())
        self._kept += size
        return size

    def _unpacked(self, values: PackedValues, tag: bytes) -> tuple[int, int]:
        """Flags and size of what came packed, but not along a lane."""
        fields = values.encoded(tag)  # which has the tag in it
        size = len(fields)
        if not self._payloads:
            return SIZED, size
        self._kept += size
        if NATIVE:
            self._packed.write(fields)
        else:
            self._plain_packed.append(fields)
        return _KEPT_PACKED, size

    def _overflow(self) -> None:
        if self._full is not None:
            self._full()

    def take(self) -> BookBatch | None:
        """All there is by now; None if there is nothing."""
        if self._happenings and not self._taking:
            self._taking = True  # a full book takes, too
            self._enter_happenings()
            self._taking = False
        if not self.count:
            return None
        if NATIVE:
            pieces = (
                self._entries.getvalue(),
                self._additions.getvalue(),
                self._values.getvalue(),
                self._sizes.getvalue(),
                self._packed.getvalue(),
                self._tags.getvalue(),
            )
        else:
            pieces = (
                bytes(self._plain_entries),
                bytes(self._plain_additions),
                b"".join(self._plain_values),
                struct.pack(f"<{len(self._plain_values)}i", *map(len, self._plain_values)),
                b"".join(self._plain_packed),
                b"".join(self._plain_tags),
            )
        taken = BookBatch(*pieces, self._more, self._commands, self._shapes, self.rows)
        self._clear(again=2 * self.count > self._most_entries)
        return taken


def _is_native() -> bool:
    return LIBRT_FOUND


# mypyc's functions are built-in ones, which have no code object.
NATIVE: Final[bool] = not hasattr(_is_native, "__code__")
