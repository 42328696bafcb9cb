"""Files of rows are what was recorded, whoever reads them (issue 8, item 1): random columns, and books, against plain lists."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from weft.host.recording.columns import ARROW_SCHEMA, to_group
from weft.host.recording.files import NodeFiles, arrow_schema
from weft.host.recording.parquet import (
    Coded,
    Counting,
    Data,
    Numbers,
    PieceLists,
    Pieces,
    RowGroup,
    Shifted,
    parquet_file,
)
from weft.recorder import COLUMNS, FILTERED, Book

INT64 = st.integers(-(2**63), 2**63 - 1)
INT32 = st.integers(-(2**31), 2**31 - 1)
ELEMENTS: dict[str, st.SearchStrategy[Any]] = {
    "word": st.text(st.characters(codec="utf-8"), max_size=4),
    "text": st.text(st.characters(codec="utf-8"), max_size=4),
    "int64": INT64,
    "int32": INT32,
    "float64": st.floats(allow_nan=False),
}
ZSTD = b"\x28\xb5\x2f\xfd"  # with which what it has compressed begins
CODED = [column for column in COLUMNS[1:] if column.type.strip("[]") != "bytes"]


def read(pieces: list[bytes]) -> Any:
    return pq.ParquetFile(pa.BufferReader(b"".join(pieces))).read()


@st.composite
def coded(draw: st.DrawFn, kind: str, rows: int) -> tuple[Coded, list[Any]]:
    """A column of few values, and the same as a list."""
    inner = kind.strip("[]")
    one: st.SearchStrategy[Any] = ELEMENTS[inner]
    if inner != kind:
        one = st.lists(one, max_size=3).map(tuple)
    few = draw(st.lists(st.none() | one, min_size=1, max_size=draw(st.sampled_from([3, 300]))))
    index = draw(st.lists(st.integers(0, len(few) - 1), min_size=rows, max_size=rows))
    return Coded(few, np.array(index, np.int64)), [few[place] for place in index]


@st.composite
def numbers(draw: st.DrawFn, kind: str, rows: int) -> tuple[Numbers, list[Any]]:
    steps = draw(
        st.sampled_from([st.just(1), st.integers(-3, 3), st.integers(-(2**20), 2**20), INT64])
        if kind == "int64"
        else st.just(st.floats(allow_nan=False))
    )
    values = draw(st.lists(steps, min_size=rows, max_size=rows))
    whole = np.array(values, "i8" if kind == "int64" else "f8")
    if kind == "int64" and draw(st.booleans()):
        with np.errstate(over="ignore"):
            whole = np.cumsum(whole)
    is_valid = np.array(draw(st.lists(st.booleans(), min_size=rows, max_size=rows)), bool)
    if draw(st.booleans()):
        return Numbers(whole), whole.tolist()
    return Numbers(whole, is_valid), [
        v if ok else None for v, ok in zip(whole.tolist(), is_valid, strict=True)
    ]


@st.composite
def pieces(draw: st.DrawFn, rows: int) -> tuple[Pieces, list[Any]]:
    found = draw(st.lists(st.none() | st.binary(max_size=5), min_size=rows, max_size=rows))
    sizes = np.array([len(one or b"") for one in found], np.int32)
    data = b"".join(one or b"" for one in found)
    return Pieces(data, sizes, np.array([one is not None for one in found], bool)), found


@st.composite
def piece_lists(draw: st.DrawFn, rows: int) -> tuple[PieceLists, list[Any]]:
    one = st.none() | st.lists(st.binary(max_size=5), max_size=3)
    found = draw(st.lists(one, min_size=rows, max_size=rows))
    flat = [piece for lists in found for piece in lists or ()]
    made = PieceLists(
        b"".join(flat),
        np.array([len(piece) for piece in flat], np.int32),
        np.array([len(lists or ()) for lists in found], np.int64),
        np.array([lists is not None for lists in found], bool),
    )
    return made, found


@st.composite
def groups(draw: st.DrawFn) -> tuple[RowGroup, dict[str, list[Any]]]:
    rows = draw(st.sampled_from([1, 2, 7, 31, 32, 33, 128, 129, 130, 161, 257]) | st.integers(1, 400))
    columns: dict[str, Data] = {}
    expected: dict[str, list[Any]] = {}
    first = draw(INT32)
    columns["seq"], expected["seq"] = Counting(first), list(range(first, first + rows))
    for column in draw(st.lists(st.sampled_from(CODED), max_size=4, unique=True)):
        columns[column.name], expected[column.name] = draw(coded(column.type, rows))
    for name, kind in draw(
        st.lists(st.sampled_from([("cause", "int64"), ("time_float", "float64")]), unique=True)
    ):
        columns[name], expected[name] = draw(numbers(kind, rows))
    mono, values = draw(numbers("int64", rows))
    by = draw(INT32)
    if max((abs(one) for one in values if one is not None), default=0) < 2**62:
        columns["mono_ns"], expected["mono_ns"] = mono, values
        columns["epoch_ns"] = Shifted(mono, by)
        expected["epoch_ns"] = [None if one is None else one + by for one in values]
    if draw(st.booleans()):
        columns["packed"], expected["packed"] = draw(pieces(rows))
        columns["values"], expected["values"] = draw(piece_lists(rows))
    expected["seq"] = list(range(first, first + rows))
    columns["seq"] = Counting(first)
    return RowGroup(rows, columns), expected


def same(found: list[Any], expected: list[Any]) -> bool:
    return found == [list(one) if isinstance(one, tuple) else one for one in expected]


Made = tuple[RowGroup, dict[str, list[Any]]]


@given(st.lists(groups(), min_size=1, max_size=2))
@settings(max_examples=75, deadline=None)
def test_columns_are_read_as_they_were_written(made: list[Made]) -> None:
    """By Arrow: every column of the schema is there, with its type, and those without anything are null."""
    are_read_as_written(made)


@pytest.mark.soak
@given(st.lists(groups(), min_size=1, max_size=2))
@settings(max_examples=5000, deadline=None)
def test_columns_are_read_as_they_were_written_many_times(made: list[Made]) -> None:
    are_read_as_written(made)


def are_read_as_written(made: list[Made]) -> None:
    table = read(parquet_file([group for group, _ in made], ARROW_SCHEMA))
    assert table.schema == arrow_schema()
    for column in COLUMNS[1:]:
        expected = [v for group, told in made for v in told.get(column.name, [None] * group.rows)]
        assert same(table.column(column.name).to_pylist(), expected), column.name


@given(groups())
@settings(max_examples=40, deadline=None)
@example((RowGroup(1, {"seq": Counting(1)}), {"seq": [1]}))
def test_another_reader_finds_the_same(tmp_path_factory: pytest.TempPathFactory, made: Made) -> None:
    """DuckDB, which has a reader of its own."""
    another_finds_the_same(tmp_path_factory.mktemp("duck") / "rows.parquet", made)


@pytest.mark.soak
@given(groups())
@settings(max_examples=1000, deadline=None)
def test_another_reader_finds_the_same_many_times(
    tmp_path_factory: pytest.TempPathFactory, made: Made
) -> None:
    another_finds_the_same(tmp_path_factory.getbasetemp() / "rows.parquet", made)


def another_finds_the_same(path: Path, made: Made) -> None:
    group, expected = made
    path.write_bytes(b"".join(parquet_file([group], ARROW_SCHEMA)))
    with duckdb.connect() as connection:
        found = connection.execute(f"SELECT * FROM read_parquet('{path}')").fetchall()
    for place, column in enumerate(COLUMNS[1:]):
        values = [row[place] for row in found]
        assert same(values, expected.get(column.name, [None] * group.rows)), column.name


@given(groups())
@settings(max_examples=40, deadline=None)
def test_readers_may_pass_over_what_they_do_not_want(made: Made) -> None:
    """Least and most of a group, where they are said, are those of its rows."""
    may_pass_over(made)


@pytest.mark.soak
@given(groups())
@settings(max_examples=5000, deadline=None)
def test_readers_may_pass_over_what_they_do_not_want_many_times(made: Made) -> None:
    may_pass_over(made)


def may_pass_over(made: Made) -> None:
    group, expected = made
    told = pq.ParquetFile(pa.BufferReader(b"".join(parquet_file([group], ARROW_SCHEMA)))).metadata.row_group(
        0
    )
    for place in range(told.num_columns):
        statistics = told.column(place).statistics
        if statistics is not None and statistics.has_min_max:
            values = [one for one in expected[told.column(place).path_in_schema] if one is not None]
            if values:  # of a column that has none, whatever is said excludes nothing
                assert statistics.min <= min(values)
                assert statistics.max >= max(values)
    assert told.column(0).statistics.has_min_max  # seq


def test_files_of_a_run_are_one_table(tmp_path: Path) -> None:
    """A file of one row and one of many have the same columns, so no tool needs to be told that they differ."""
    small, large = Book(), Book()
    small.enter(small.learn("start", ((("kind", "start"), ("federate", 0)),)), 1.0, 0, -1, None, b"")
    ping = (("kind", "send"), ("federate", 1), ("items", ("P",)), ("destinations", (2, 3)))
    shape = large.learn("ping", (ping, (("kind", "deliver"), ("federate", 2))))
    for number in range(1, 1001):
        large.enter(shape, 2.0 + number, number, -1, {b"P": b"x" * number}, b"tag")
    for place, book in enumerate((small, large)):
        batch = book.take()
        assert batch is not None
        group = to_group(batch, 1 + place, 10**18)
        (tmp_path / f"{place}.parquet").write_bytes(b"".join(parquet_file([group], ARROW_SCHEMA)))
    with duckdb.connect() as connection:
        counted = connection.execute(
            f"SELECT kind, count(*), sum(message), sum(len(destinations)) FROM '{tmp_path}/*.parquet' GROUP BY kind ORDER BY kind"
        ).fetchall()
    assert counted == [
        ("deliver", 1000, 500500, None),
        ("send", 1000, 500500, 2000),
        ("start", 1, None, None),
    ]


# Checksums and statistics


def checked(data: bytes) -> Any:
    return pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True).read()


@given(st.lists(groups(), min_size=1, max_size=2))
@settings(max_examples=50, deadline=None)
def test_pages_have_checksums_that_are_right(made: list[Made]) -> None:
    """Arrow verifies them (parquet.thrift, PageHeader.crc)."""
    data = b"".join(parquet_file([group for group, _ in made], ARROW_SCHEMA))
    assert checked(data).equals(read([data]))


def small_file() -> list[bytes]:
    book = Book()
    shape = book.learn(
        "x", ((("kind", "send"), ("items", ("P",))), (("kind", "deliver"), ("destinations", (1, 2))))
    )
    for number in range(1, 40):
        book.enter(shape, 1.0, number * number, -1, {b"P": str(number).encode() * number}, b"")
    batch = book.take()
    assert batch is not None
    return parquet_file([to_group(batch, 1, 10**18)], ARROW_SCHEMA)


def test_a_changed_byte_of_a_page_is_refused() -> None:
    """Every byte of every compressed page, changed in one bit.

    Heads of pages and the footer have no checksum in Parquet: there the manifest's finds it.
    """
    pieces = small_file()
    data = b"".join(pieces)
    told = pq.ParquetFile(pa.BufferReader(data)).metadata
    names = columns_by_place(told)
    at = tried = 0
    for piece in pieces:
        for place in range(at, at + len(piece)) if piece.startswith(ZSTD) else ():
            changed = bytearray(data)
            changed[place] ^= 1 << place % 8
            file = pq.ParquetFile(pa.BufferReader(changed), metadata=told, page_checksum_verification=True)
            with pytest.raises(OSError, match="CRC"):
                file.read([names[place]])
            tried += 1
        at += len(piece)
    assert tried > 500


def columns_by_place(told: Any) -> dict[int, str]:
    """Of each byte of a page, whose it is."""
    found: dict[int, str] = {}
    for place in range(told.num_columns):
        column = told.row_group(0).column(place)
        begin = column.dictionary_page_offset or column.data_page_offset
        name = COLUMNS[1 + place].name
        found.update(dict.fromkeys(range(begin, begin + column.total_compressed_size), name))
    return found


@given(groups())
@settings(max_examples=50, deadline=None)
def test_statistics_are_those_that_arrow_finds(made: Made) -> None:
    """Null counts of all columns; least and most of those that readers choose rows by, where words are few."""
    group, _ = made
    data = b"".join(parquet_file([group], ARROW_SCHEMA))
    own = pq.ParquetFile(pa.BufferReader(data)).metadata.row_group(0)
    sink = pa.BufferOutputStream()
    pq.write_table(read([data]), sink, write_statistics=True)
    theirs = pq.ParquetFile(sink.getvalue()).metadata.row_group(0)
    for place in range(own.num_columns):
        mine, other = own.column(place).statistics, theirs.column(place).statistics
        name = own.column(place).path_in_schema
        assert mine.null_count == other.null_count, name
        if (
            name in FILTERED
            and other.has_min_max
            and isinstance(group.columns.get(name), (Counting, Numbers))
        ):
            assert (mine.min, mine.max) == (other.min, other.max), name


def test_recorded_rows_say_what_is_least_and_most() -> None:
    """Of kinds, services, federates and classes exactly what Arrow finds: whole files are passed over by them."""
    book = Book()
    for number, name in enumerate(("Fire", "Hit", "Ärger"), 1):
        send = (("kind", "send"), ("service", "send_interaction"), ("federate", number), ("class", name))
        shape = book.learn(name, (send, (("kind", "deliver"), ("federate", number + 3))))
        for message in range(1, 5):
            book.enter(shape, 1.0 + message, message * number, -1, {b"P": b"x"}, b"")
            book.add(0, 0, 2.5 * number, 0, {})
    batch = book.take()
    assert batch is not None
    data = b"".join(parquet_file([to_group(batch, 7, 10**18)], ARROW_SCHEMA))
    own = pq.ParquetFile(pa.BufferReader(data)).metadata.row_group(0)
    sink = pa.BufferOutputStream()
    pq.write_table(read([data]), sink, write_statistics=True)
    theirs = pq.ParquetFile(sink.getvalue()).metadata.row_group(0)
    told = {}
    for place in range(own.num_columns):
        mine, other = own.column(place).statistics, theirs.column(place).statistics
        if mine.has_min_max:
            told[own.column(place).path_in_schema] = (mine.min, mine.max)
            assert (mine.min, mine.max) == (other.min, other.max)
    assert told["kind"] == ("deliver", "send")
    assert told["class"] == ("Fire", "Ärger")
    assert told["federate"] == (1, 6)
    assert told["time_float"] == (2.5, 7.5)
    assert {"seq", "epoch_ns", "mono_ns", "message", "service"} <= set(told)


def test_tables_are_written_with_checksums_and_null_counts(tmp_path: Path) -> None:
    """`NodeFiles.write_rows` likewise: a changed byte in a page is found."""
    files = NodeFiles(tmp_path, "A", 1, {})
    table = pa.Table.from_pylist(
        [{"seq": n, "kind": "send", "tag": bytes([n]) * 9} for n in range(1, 99)], schema=files.schema
    )
    data = files.write_rows(table).read_bytes()
    told = pq.ParquetFile(pa.BufferReader(data)).metadata.row_group(0)
    for place in range(told.num_columns):
        statistics = told.column(place).statistics
        assert statistics is not None
        assert statistics.has_null_count
    at = told.column(0).data_page_offset + told.column(0).total_compressed_size - 2
    changed = data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :]
    with pytest.raises(OSError, match="CRC"):
        checked(changed)
