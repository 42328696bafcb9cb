"""Columns of rows as a Parquet file: what the recorder writes, once a second.

Arrow's writer takes any table, some ten nanoseconds for each column of each row, and rows have more than forty columns.  A node
that passes on half a million messages a second has none to spare.  But most of what rows say they have in common: one of
few values, a number that is a little higher than that of the row before, bytes that lie behind one another already.  For
these three Parquet has encodings that numpy makes of whole columns at once, if it may choose widths of whole bytes:

    Coded     one of few values: a dictionary, and for each row a place in it (RLE_DICTIONARY), lists element by element
    Numbers   differences to the number before (DELTA_BINARY_PACKED), real numbers as they are (PLAIN)
    Pieces    bytes: their lengths, likewise, and then themselves (DELTA_LENGTH_BYTE_ARRAY)

What that wastes in bits, zstd takes away again.  A batch is a row group, a column in it one page (of version 1, which all readers
know) and its dictionary.  Each page has a checksum, so that a bit which a disk changes is found out; the footer says how many
nulls each column has, and of those that readers choose rows by what is least and most.  All columns of the schema are there,
those without any value as well, so that all files of a run have the same columns and whatever reads Parquet reads the folder as
one table.

Levels, as Parquet has them: of a plain column 0 is null and 1 a value; of a list 0 is null, 1 an empty list, 3 an element; the
level of repetition is 0 for the first element of a row and 1 for those behind it.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from weft.host.recording.encodings import (
    INT32_TYPE,
    STRUCT_TYPE,
    TEXT_TYPE,
    Indices,
    bits,
    coded,
    delta_body,
    delta_head,
    differences,
    int32_of,
    int64_of,
    lengths_of,
    listed,
    pairs,
    same_levels,
    struct_of,
    text_of,
    zigzag,
)
from weft.recorder import COLUMNS, FILTERED
from weft.wire.protobuf import varint

CREATED_BY = b"weft version 1 (build 0)"  # the form that readers look for
MAGIC = b"PAR1"
_COMPRESSION_LEVEL = 1
_FEW_WORDS = 256  # of which least and most are looked for …
_SHORT = 256  # … and told, if they have so many bytes at most

# Numbers of Parquet's own.
_INT32, _INT64, _DOUBLE, _BYTES = 1, 2, 5, 6
_PLAIN, _RLE, _DELTA, _DELTA_LENGTHS, _DICTIONARY = 0, 3, 5, 6, 8
_UNCOMPRESSED, _ZSTD = 0, 6
_OPTIONAL, _REPEATED = 1, 2
_PHYSICAL = {
    "word": _BYTES,
    "text": _BYTES,
    "bytes": _BYTES,
    "int32": _INT32,
    "int64": _INT64,
    "float64": _DOUBLE,
}
_NUMPY = {_INT32: "<i4", _INT64: "<i8", _DOUBLE: "<f8"}


Word = int | float | str | bytes
Cell = Word | Sequence[Word] | None
"""What a row has in a column."""


class Coded(NamedTuple):
    """One of few values for each row: lists as tuples, None for nothing."""

    values: Sequence[Cell]
    places: Indices  # of each row, in `values`; columns that share one should have the same array


class Numbers(NamedTuple):
    """A number for each row, where it has one: integers of 64 bits, or floats."""

    values: Indices | NDArray[np.float64]
    is_valid: NDArray[np.bool_] | None = None  # None: all are


class Counting(NamedTuple):
    """Consecutive numbers."""

    first: int


class Shifted(NamedTuple):
    """Numbers, each so much higher."""

    numbers: Numbers
    by: int


class Pieces(NamedTuple):
    """Bytes of some rows, behind one another."""

    data: bytes | memoryview
    sizes: Indices  # of each row
    is_valid: NDArray[np.bool_]


class PieceLists(NamedTuple):
    """Lists of bytes of some rows, all behind one another."""

    data: bytes | memoryview
    sizes: Indices  # of each piece
    counts: Indices  # of pieces, of each row
    is_valid: NDArray[np.bool_]


Data = Coded | Numbers | Counting | Shifted | Pieces | PieceLists


class RowGroup(NamedTuple):
    """Rows that were taken at once; a column that is not there is null."""

    rows: int
    columns: dict[str, Data]


class _Page(NamedTuple):
    """What a column has in a group."""

    slots: int  # values, and whatever stands for none
    encoding: int
    content: bytes
    dictionary: bytes | None = None
    words: int = 0  # values in the dictionary
    nulls: int = 0  # slots without a value
    least: bytes | None = None
    most: bytes | None = None


def parquet_file(groups: Sequence[RowGroup], metadata: dict[bytes, bytes]) -> list[bytes]:
    """The whole of it, in pieces."""
    codec = pa.Codec("zstd", compression_level=_COMPRESSION_LEVEL)
    out = [MAGIC]
    at = len(MAGIC)
    told = []
    for group in groups:
        maker = _Maker(group.rows)
        chunks = []
        begins = at
        for column in COLUMNS[1:]:  # `node` is in the path
            data = group.columns.get(column.name)
            if data is None:
                chunk, size = _put_nothing(out, at, column.name, column.type, group.rows)
            else:
                chunk, size = _put(out, at, column.name, column.type, maker.page(column.type, data), codec)
            chunks.append(chunk)
            at += size
        told.append(
            struct_of((1, listed(STRUCT_TYPE, chunks)), (2, int64_of(at - begins)), (3, int64_of(group.rows)))
        )
    by_type = [struct_of((1, (STRUCT_TYPE, b"\0")))] * (len(COLUMNS) - 1)  # how least and most compare
    footer = struct_of(
        (1, int32_of(2)),
        (2, _schema()),
        (3, int64_of(sum(group.rows for group in groups))),
        (4, listed(STRUCT_TYPE, told)),
        (5, listed(STRUCT_TYPE, [struct_of((1, text_of(k)), (2, text_of(v))) for k, v in metadata.items()])),
        (6, text_of(CREATED_BY)),
        (7, listed(STRUCT_TYPE, by_type)),
    )
    out += [footer, len(footer).to_bytes(4, "little"), MAGIC]
    return out


def _put(
    out: list[bytes], at: int, name: str, kind: str, page: _Page, codec: pa.Codec | None
) -> tuple[bytes, int]:
    """Append a column's pages; what the footer says of them, and how many bytes they are."""
    size = packed = 0
    dictionary_at = None
    if page.dictionary is not None:
        dictionary_at = at
        header = (7, (STRUCT_TYPE, struct_of((1, int32_of(page.words)), (2, int32_of(_PLAIN)))))
        size, packed = _put_page(out, 2, page.dictionary, header, codec)
    data_at = at + packed
    levels = (
        (1, int32_of(page.slots)),
        (2, int32_of(page.encoding)),
        (3, int32_of(_RLE)),
        (4, int32_of(_RLE)),
    )
    more, more_packed = _put_page(out, 0, page.content, (5, (STRUCT_TYPE, struct_of(*levels))), codec)
    fields = [
        (5, int64_of(page.slots)),
        (6, int64_of(size + more)),
        (7, int64_of(packed + more_packed)),
        (9, int64_of(data_at)),
    ]
    if dictionary_at is not None:
        fields.append((11, int64_of(dictionary_at)))
    fields.append((12, (STRUCT_TYPE, _statistics(name, page))))
    first = _first_fields(name, kind, page.encoding, dictionary_at is not None, codec is not None)
    chunk = first + struct_of(*fields, after=4)
    return struct_of((2, int64_of(at)), (3, (STRUCT_TYPE, chunk))), packed + more_packed


@cache
def _first_fields(name: str, kind: str, encoding: int, has_dictionary: bool, is_packed: bool) -> bytes:
    """What the footer says of a column in the same way for many groups: an open struct, up to field 4."""
    path = [name.encode(), b"list", b"element"] if kind.startswith("[") else [name.encode()]
    used = sorted({_RLE, encoding, *([_PLAIN] if has_dictionary else [])})
    return struct_of(
        (1, int32_of(_PHYSICAL[kind.strip("[]")])),
        (2, listed(INT32_TYPE, [zigzag(one) for one in used])),
        (3, listed(TEXT_TYPE, [varint(len(one)) + one for one in path])),
        (4, int32_of(_ZSTD if is_packed else _UNCOMPRESSED)),
    )[:-1]


def _statistics(name: str, page: _Page) -> bytes:
    if name not in FILTERED or page.least is None or page.most is None:
        return struct_of((3, int64_of(page.nulls)))
    return struct_of((3, int64_of(page.nulls)), (5, text_of(page.most)), (6, text_of(page.least)))


def _put_nothing(out: list[bytes], at: int, name: str, kind: str, rows: int) -> tuple[bytes, int]:
    """A column without any value: the same for all of its kind."""
    content, page = _nothing(kind.startswith("["), rows)
    out.append(content)
    first = _first_fields(name, kind, _PLAIN, False, False)
    size = int64_of(len(content))
    chunk = first + struct_of((5, int64_of(rows)), (6, size), (7, size), (9, int64_of(at)), page, after=4)
    return struct_of((2, int64_of(at)), (3, (STRUCT_TYPE, chunk))), len(content)


@lru_cache(64)
def _nothing(is_list: bool, rows: int) -> tuple[bytes, tuple[int, tuple[int, bytes]]]:
    """Its page, and its statistics."""
    content = (same_levels(0, rows) if is_list else b"") + same_levels(0, rows)
    out: list[bytes] = []
    levels = ((1, int32_of(rows)), (2, int32_of(_PLAIN)), (3, int32_of(_RLE)), (4, int32_of(_RLE)))
    _put_page(out, 0, content, (5, (STRUCT_TYPE, struct_of(*levels))), None)
    return b"".join(out), (12, (STRUCT_TYPE, struct_of((3, int64_of(rows)))))


def _put_page(
    out: list[bytes], kind: int, content: bytes, header: tuple[int, tuple[int, bytes]], codec: pa.Codec | None
) -> tuple[int, int]:
    """Bytes with its header, and those that it takes when it is compressed."""
    packed = content if codec is None else codec.compress(content, asbytes=True)
    checksum = zlib.crc32(packed)
    signed = checksum - (checksum >> 31 << 32)
    head = struct_of(
        (1, int32_of(kind)),
        (2, int32_of(len(content))),
        (3, int32_of(len(packed))),
        (4, int32_of(signed)),
        header,
    )
    out += [head, packed]
    return len(head) + len(content), len(head) + len(packed)


_Values = TypeVar("_Values", NDArray[np.signedinteger], NDArray[np.signedinteger] | NDArray[np.float64])


class _Maker:
    """Makes pages of one group: what several columns have in common is made once."""

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._chosen: dict[tuple[int, bytes, int], tuple[bytes, Indices]] = {}
        self._flat: dict[tuple[int, bytes], Indices] = {}
        self._bodies: dict[int, bytes] = {}

    def page(self, kind: str, data: Data) -> _Page:
        if isinstance(data, Coded):
            return self._coded(kind, data)
        if isinstance(data, Counting):
            return self._counted(data.first)
        if isinstance(data, Numbers):
            return self._numbers(data, 0)
        if isinstance(data, Shifted):
            return self._numbers(data.numbers, data.by)
        return self._pieces(data) if isinstance(data, Pieces) else self._piece_lists(data)

    def _counted(self, first: int) -> _Page:
        body = delta_head(self._rows, first) + delta_body(self._rows, 1, 0, None)
        least, most = _ends(first, first + self._rows - 1)
        return _Page(self._rows, _DELTA, same_levels(1, self._rows) + body, least=least, most=most)

    def _numbers(self, data: Numbers, shift: int) -> _Page:
        levels, values = self._where(data.is_valid, data.values)
        if values.dtype == np.float64:
            least, most = _float_ends(values)
            nulls = self._rows - len(values)
            return _Page(self._rows, _PLAIN, levels + values.tobytes(), nulls=nulls, least=least, most=most)
        if not len(values):
            return _Page(self._rows, _PLAIN, levels, nulls=self._rows)
        body = self._bodies.get(id(data))
        if body is None:
            body = self._bodies[id(data)] = differences(values.astype(np.int64, copy=False))
        content = levels + delta_head(len(values), int(values[0]) + shift) + body
        least, most = _ends(int(values.min()) + shift, int(values.max()) + shift)
        return _Page(self._rows, _DELTA, content, nulls=self._rows - len(values), least=least, most=most)

    def _where(self, is_valid: NDArray[np.bool_] | None, values: _Values) -> tuple[bytes, _Values]:
        """Levels, and the values that there are."""
        if is_valid is None or is_valid.all():
            return same_levels(1, self._rows), values
        return bits(is_valid), values[is_valid]

    def _coded(self, kind: str, data: Coded) -> _Page:
        inner = kind.strip("[]")
        words, codes = _words(data.values)
        index = data.places
        repeated = b""
        levels_of, width = np.array([code >= 0 for code in codes], np.uint8), 1
        if kind != inner:
            elements = [value if isinstance(value, (tuple, list)) else () for value in data.values]
            lengths = np.array([max(1, len(one)) for one in elements])
            none = [0 if value is None else 1 for value in data.values]
            levels_of = np.array(
                [3 if one else none[place] for place, one in enumerate(elements) for _ in one or (None,)],
                np.uint8,
            )
            width = 2
            index = self._flattened(index, lengths)
            firsts = np.zeros(int(lengths.sum()), np.uint8)
            firsts[np.cumsum(lengths) - lengths] = 1
            repeated = same_levels(0, len(index)) if firsts.all() else bits(1 - firsts.take(index))
        slots = len(index)
        levels, index = self._having(levels_of, width, index)
        content = repeated + levels + coded(codes, len(words), index)
        least, most = _ends_of(inner, words)
        nulls = slots - len(index)
        return _Page(slots, _DICTIONARY, content, _plain(inner, words), len(words), nulls, least, most)

    def _flattened(self, index: Indices, lengths: Indices) -> Indices:
        """Of each slot, its place among the elements of all values."""
        if (lengths == 1).all():
            return index
        key = (id(index), lengths.tobytes())
        found = self._flat.get(key)
        if found is None:
            counts = lengths.take(index)
            ends = np.cumsum(counts)
            begins = (np.cumsum(lengths) - lengths).take(index)
            slots = np.arange(int(ends[-1]) if len(ends) else 0)
            found = self._flat[key] = np.repeat(begins - (ends - counts), counts) + slots
        return found

    def _having(self, levels_of: NDArray[np.uint8], width: int, index: Indices) -> tuple[bytes, Indices]:
        """Levels of these slots, and the places of those which have a value."""
        full = (1 << width) - 1
        if (levels_of == full).all():
            return same_levels(full, len(index)), index
        key = (id(index), levels_of.tobytes(), width)
        found = self._chosen.get(key)
        if found is None:
            levels = levels_of.take(index)
            packed = bits(levels) if width == 1 else pairs(levels)
            found = self._chosen[key] = (packed, index[levels == full])
        return found

    def _pieces(self, data: Pieces) -> _Page:
        levels, sizes = self._where(data.is_valid, data.sizes)
        content = levels + lengths_of(sizes) + data.data
        return _Page(self._rows, _DELTA_LENGTHS, content, nulls=self._rows - len(sizes))

    def _piece_lists(self, data: PieceLists) -> _Page:
        level = np.where(data.is_valid, np.where(data.counts > 0, 3, 1), 0).astype(np.uint8)
        slots = len(level)
        repeated = same_levels(0, slots)
        if data.counts.max(initial=0) > 1:
            each = np.maximum(data.counts, 1)
            slots = int(each.sum())
            behind = np.ones(slots, np.uint8)
            behind[np.cumsum(each) - each] = 0
            level, repeated = np.repeat(level, each), bits(behind)
        content = repeated + pairs(level) + lengths_of(data.sizes) + data.data
        return _Page(slots, _DELTA_LENGTHS, content, nulls=slots - len(data.sizes))


def _ends(least: int, most: int) -> tuple[bytes, bytes]:
    return least.to_bytes(8, "little", signed=True), most.to_bytes(8, "little", signed=True)


def _float_ends(
    values: NDArray[np.floating] | NDArray[np.signedinteger],
) -> tuple[bytes | None, bytes | None]:
    """As Parquet wants it: nothing where there is a NaN, and both zeros are between -0.0 and 0.0."""
    least, most = values.min(initial=np.inf), values.max(initial=-np.inf)
    if not least <= most:  # none, or a NaN
        return None, None
    return np.float64(least or -0.0).tobytes(), np.float64(most or 0.0).tobytes()


def _ends_of(inner: str, words: list[Word]) -> tuple[bytes | None, bytes | None]:
    """Of the words of a dictionary, all of which some row has, or might have."""
    if inner == "int64" and words:
        numbers = [word for word in words if isinstance(word, int)]
        return _ends(min(numbers), max(numbers))
    if inner in ("word", "text") and 0 < len(words) <= _FEW_WORDS:
        texts = [_encoded(word) for word in words]
        least, most = min(texts), max(texts)
        if len(least) <= _SHORT and len(most) <= _SHORT:
            return least, most
    return None, None


def _encoded(word: Word) -> bytes:
    return word if isinstance(word, bytes) else str(word).encode("utf-8", "replace")


def _words(values: Sequence[Cell]) -> tuple[list[Word], list[int]]:
    """The dictionary, and of each value, or each element of each, its place there; -1: there is none."""
    words: dict[Word, int] = {}
    codes: list[int] = []
    for value in values:
        elements: Sequence[Word | None] = (value or (None,)) if isinstance(value, (tuple, list)) else (value,)
        codes += [-1 if one is None else words.setdefault(one, len(words)) for one in elements]
    return list(words), codes


def _plain(inner: str, words: list[Word]) -> bytes:
    physical = _PHYSICAL[inner]
    if physical != _BYTES:
        return np.array(words, _NUMPY[physical]).tobytes()
    packed = [_encoded(word) for word in words]
    return b"".join(len(one).to_bytes(4, "little") + one for one in packed)


@cache
def _schema() -> tuple[int, bytes]:
    """Lists as everybody writes them: a group of one repeated group of one element."""
    nothing = (STRUCT_TYPE, b"\0")
    parts = [struct_of((4, text_of(b"schema")), (5, int32_of(len(COLUMNS) - 1)))]
    for column in COLUMNS[1:]:
        name, inner = column.name.encode(), column.type.strip("[]")
        if inner != column.type:
            is_list = ((6, int32_of(3)), (10, (STRUCT_TYPE, struct_of((3, nothing)))))
            parts.append(struct_of((3, int32_of(_OPTIONAL)), (4, text_of(name)), (5, int32_of(1)), *is_list))
            parts.append(struct_of((3, int32_of(_REPEATED)), (4, text_of(b"list")), (5, int32_of(1))))
            name = b"element"
        is_text = (
            ((6, int32_of(0)), (10, (STRUCT_TYPE, struct_of((1, nothing)))))
            if inner in ("word", "text")
            else ()
        )
        parts.append(
            struct_of((1, int32_of(_PHYSICAL[inner])), (3, int32_of(_OPTIONAL)), (4, text_of(name)), *is_text)
        )
    return listed(STRUCT_TYPE, parts)
