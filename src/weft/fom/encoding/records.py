"""Fixed records.

Runs of fields of fixed layout fuse into blocks, one `Struct` each; fields of variable size are calls between
them.  What is known of the position at compile time is (offset, modulus): the position is `offset` modulo
`modulus`.  A record begins at a multiple of its own boundary; after a field of variable size nothing is known,
and the first part that needs more than is known gets a run-time alignment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from weft.fom.encoding.blocks import block_codec
from weft.fom.encoding.codec import Codec, as_fields, wrong_fields
from weft.fom.encoding.explain import why_not_packed, why_not_unpacked
from weft.fom.encoding.generate import CodecSource, pack_arguments, record_prologue, targets, unpacked_value
from weft.fom.encoding.misfit import inside
from weft.fom.encoding.shape import Block, RecordShape, Shape, fusable, lay_out, realigned, record_shape

PYTHON_TYPE = "dict[str, Any]"


@dataclass(frozen=True, slots=True)
class CountedBy:
    """An array without a length of its own: an earlier field of the record tells how many elements there are."""

    field: str
    count: Callable[[int], int]
    write: Callable[[bytearray, object, int], None]
    read: Callable[[bytes, int, int], tuple[object, int]]


@dataclass(frozen=True, slots=True)
class RecordField:
    name: str
    codec: Codec
    boundary: int
    counted: CountedBy | None = None


def record_codec(name: str, fields: Sequence[RecordField]) -> Codec:
    """The codec of a fixed record; its values are dicts, or objects with attributes of these names."""
    shape = _whole_shape(fields)
    if shape is not None and fusable(shape):
        return block_codec(name, shape, PYTHON_TYPE)
    return _RecordBuilder(name, fields).build()


def _whole_shape(fields: Sequence[RecordField]) -> RecordShape | None:
    shapes: list[tuple[str, Shape]] = []
    for field in fields:
        if field.codec.shape is None:
            return None
        shapes.append((field.name, realigned(field.codec.shape, field.boundary)))
    return record_shape(tuple(shapes))


class _RecordBuilder:
    """Generates `write` and `read` side by side, step by step, so that both agree on every position."""

    def __init__(self, name: str, fields: Sequence[RecordField]) -> None:
        self.name = name
        self.fields = fields
        self.names = tuple(field.name for field in fields if not field.codec.padding)
        self.ignored = tuple(field.name for field in fields if field.codec.padding)
        self.boundary = max((field.boundary for field in fields), default=1)
        self.offset, self.modulus = 0, self.boundary
        self.size: int | None = 0
        self.least = 0
        self.steps: list[Block | str] = []
        self.pending: list[tuple[str, Shape]] = []
        self.variables: dict[str, str] = {}
        self.writing, self.reading = CodecSource(), CodecSource()

    def build(self) -> Codec:
        self._heads()
        for field in self.fields:
            self._place(field)
        self._flush()
        self._tails()
        self.writing.run(self.name)
        self.reading.run(self.name)
        return Codec(
            self.name,
            self.writing.bound["write"],
            self.reading.bound["read"],
            boundary=self.boundary,
            python_type=PYTHON_TYPE,
            static_size=self.size,
            min_size=self.least,
            loose_end=self.fields[-1].codec.loose_end,
        )

    def _heads(self) -> None:
        self.writing.line("def write(out, value):", 0)
        self.writing.line("at = 0; whole = value", 1)
        self.writing.line("try:", 1)
        record_prologue(self.writing, "value", self.names, self.ignored)
        self.reading.line("def read(data, position):", 0)
        self.reading.line("at = 0", 1)
        self.reading.line("try:", 1)

    def _tails(self) -> None:
        self.writing.bound["failed"] = self._write_failed
        self.writing.line("except Exception as error:", 1)
        self.writing.line("raise failed(error, at, whole) from None")
        self.reading.bound["failed"] = self._read_failed
        values = ", ".join(f"{name!r}: {self.variables[name]}" for name in self.names)
        self.reading.line(f"return {{{values}}}, position")
        self.reading.line("except Exception as error:", 1)
        self.reading.line("raise failed(error, at, data, position) from None")

    def _place(self, field: RecordField) -> None:
        codec = field.codec
        self.least += codec.min_size
        if codec.padding:
            self._flush()
            self._align(codec.padding)
            return
        if codec.shape is not None and not field.counted:
            self._fuse(field.name, realigned(codec.shape, field.boundary))
            return
        self._flush()
        self._align(field.boundary)
        self._child(field)
        self._advance(codec.static_size)

    def _fuse(self, name: str, shape: Shape) -> None:
        if self.pending:
            together = record_shape((*self.pending, (name, shape)), partial=True)
            # What will be known of the position once the pending block is placed: its start decides.
            known = max(self.modulus, self.pending[0][1].boundary)
            if known < shape.boundary or not fusable(together):
                self._flush()
        self.pending.append((name, shape))

    def _flush(self) -> None:
        if not self.pending:
            return
        shape = record_shape(tuple(self.pending), partial=True)
        self.pending.clear()
        self._align_unknown(shape.fields[0][1].boundary)
        block = lay_out(shape, start=self.offset)
        self._step(block)
        arguments = [
            argument
            for name, part in shape.fields
            for argument in pack_arguments(self.writing, part, f"value[{name!r}]")
        ]
        self.writing.line(f"out += {self.writing.bind('pack', block.struct.pack)}({', '.join(arguments)})")
        self._unpack(block, shape)
        self._advance(block.struct.size)

    def _unpack(self, block: Block, shape: RecordShape) -> None:
        left, names = targets(len(block.spots))
        self.reading.line(f"{left} = {self.reading.bind('unpack', block.struct.unpack_from)}(data, position)")
        remaining = iter(names)
        for name, part in shape.fields:
            variable = self.variables[name] = self.reading.fresh("f")
            self.reading.line(f"{variable} = {unpacked_value(self.reading, part, remaining)}")
        self.reading.line(f"position += {block.struct.size}")

    def _child(self, field: RecordField) -> None:
        self._step(field.name)
        variable = self.variables[field.name] = self.reading.fresh("f")
        value = f"value[{field.name!r}]"
        counted = field.counted
        if counted is None:
            self.writing.line(f"{self.writing.bind('write', field.codec.write)}(out, {value})")
            self.reading.line(
                f"{variable}, position = {self.reading.bind('read', field.codec.read)}(data, position)"
            )
            return
        count = f"{self.writing.bind('count', counted.count)}(value[{counted.field!r}])"
        self.writing.line(f"{self.writing.bind('write', counted.write)}(out, {value}, {count})")
        count = f"{self.reading.bind('count', counted.count)}({self.variables[counted.field]})"
        self.reading.line(
            f"{variable}, position = {self.reading.bind('read', counted.read)}(data, position, {count})"
        )

    def _step(self, step: Block | str) -> None:
        self.writing.line(f"at = {len(self.steps)}")
        self.reading.line(f"at = {len(self.steps)}")
        self.steps.append(step)

    def _advance(self, size: int | None) -> None:
        if size is None:
            self.offset, self.modulus, self.size = 0, 1, None
            return
        self.offset += size
        if self.size is not None:
            self.size += size

    def _align(self, boundary: int) -> None:
        """Bring both sides to a boundary, by a constant where the position is known well enough."""
        self._align_unknown(boundary)
        gap = -self.offset % boundary
        if gap:
            self.writing.line(f"out += PADS[{gap}]")
            self.reading.line(f"position += {gap}")
            self._advance(gap)

    def _align_unknown(self, boundary: int) -> None:
        if boundary <= self.modulus:
            return
        self.writing.line(f"out += PADS[-len(out) & {boundary - 1}]")
        self.reading.line(f"position = position + {boundary - 1} & -{boundary}")
        self.offset, self.modulus, self.size = 0, boundary, None

    def _write_failed(self, error: Exception, at: int, value: object) -> Exception:
        try:
            fields = as_fields(value, self.names)
            wrong = wrong_fields(fields, self.names, self.ignored)
            if wrong:
                return wrong
            step = self.steps[at]
            if isinstance(step, Block):
                return why_not_packed(step.shape, fields) or error
        except Exception as other:  # the value itself misbehaves
            return other
        return inside(error, step)

    def _read_failed(self, error: Exception, at: int, data: bytes, position: int) -> Exception:
        step = self.steps[at]
        if isinstance(step, Block):
            return why_not_unpacked(step, data, position, exact=False) or error
        return inside(error, step)
