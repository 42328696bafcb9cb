"""Files of boxes, for who matches them: Parquet, a folder of Parquet files, or CSV; here or in a store.

For each dimension D there are the columns D_lower and D_upper, of whole numbers.  A column `id` may name the boxes; otherwise
they are numbered by row from 0, through all files of a folder in the order of their names.  Other columns are left alone.

What is there is known without reading it (`open_boxes`), and read part by part (`BoxSource.batches`): a part is some row groups
of a file, and goes to another process as such.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from weft.host.storage import Place, place_of
from weft.model.errors import SettingsError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from weft.interest.matching.sweep import Boxes

PARQUET = (".parquet", ".pq")
LOWER, UPPER, ID = "_lower", "_upper", "id"
ROWS_AT_ONCE = 1 << 18


class BoxPart(NamedTuple):
    """What is read by one task."""

    place: Place
    first: int
    """The number of its first box."""
    rows: int
    """0: nobody knows before it is read."""
    groups: tuple[int, ...] = ()
    """Row groups; none: the whole file."""


class BoxBatch(NamedTuple):
    """Some boxes, with their names or numbers."""

    ids: pa.Array
    boxes: Boxes


@dataclass(frozen=True)
class BoxSource:
    """The boxes of one side."""

    name: str
    dimensions: tuple[str, ...]
    """In alphabetical order, so that files need not agree on the order of their columns."""
    id_type: pa.DataType | None
    """None: boxes are numbered."""
    parts: tuple[BoxPart, ...]

    @property
    def columns(self) -> list[str]:
        bounds = [f"{one}{end}" for one in self.dimensions for end in (LOWER, UPPER)]
        return bounds if self.id_type is None else [ID, *bounds]

    def batches(self, part: BoxPart) -> Iterator[BoxBatch]:
        """Raises SettingsError for what is no whole number, with its row."""
        first = part.first
        for table in _tables(part, self.columns):
            yield self._batch(table, part, first)
            first += len(table)

    def _batch(self, table: pa.Table, part: BoxPart, first: int) -> BoxBatch:
        import numpy as np
        import pyarrow as pa

        from weft.interest.matching.sweep import Boxes

        name = self.name if len(self.parts) == 1 else str(part.place)
        row = first - part.first
        lowers, uppers = (
            np.stack([_numbers(table, one + end, name, row) for one in self.dimensions])
            for end in (LOWER, UPPER)
        )
        if self.id_type is None:
            return BoxBatch(pa.array(np.arange(first, first + len(table))), Boxes(lowers, uppers))
        return BoxBatch(table[ID].cast(self.id_type).combine_chunks(), Boxes(lowers, uppers))

    def read(self) -> BoxBatch:
        """All of them."""
        import numpy as np
        import pyarrow as pa

        from weft.interest.matching.sweep import Boxes

        batches = [batch for part in self.parts for batch in self.batches(part)]
        if len(batches) == 1:
            return batches[0]
        bounds = ([getattr(batch.boxes, side) for batch in batches] for side in ("lowers", "uppers"))
        ids = pa.concat_arrays([_plain(batch.ids) for batch in batches])
        return BoxBatch(ids, Boxes(*(np.concatenate(side, axis=1) for side in bounds)))


def _plain(ids: pa.Array | pa.ChunkedArray) -> pa.Array:
    return ids.combine_chunks() if hasattr(ids, "combine_chunks") else ids


# What there is


def open_boxes(name: str) -> BoxSource:
    """Raises SettingsError where there are none."""
    place = place_of(name)
    files = _files(place, name)
    opened = [_looked_at(file, name if len(files) == 1 else str(file)) for file in files]
    dimensions, id_type = opened[0].dimensions, opened[0].id_type
    parts: list[BoxPart] = []
    first = 0
    for one in opened:
        if (one.dimensions, one.id_type) != (dimensions, id_type):
            raise SettingsError(
                f"{one.name}: its columns are {_told(one)}, but those of {opened[0].name} are {_told(opened[0])}"
            )
        parts += [part._replace(first=first + part.first) for part in one.parts]
        first += sum(part.rows for part in one.parts)
    return BoxSource(name, dimensions, id_type, tuple(parts))


def _told(source: BoxSource) -> str:
    return ", ".join(source.columns) + ("" if source.id_type is None else f" (id: {source.id_type})")


def _files(place: Place, name: str) -> list[Place]:
    if not place.is_folder():
        return [place]
    found = [
        entry.place
        for entry in place.files()
        if entry.place.suffix.lower() in PARQUET
        and not any(part[0] in "._" for part in entry.place.below(place).split("/"))
    ]
    if not found:
        raise SettingsError(f"{name}: there is no Parquet file in this folder")
    return sorted(found)


def _looked_at(place: Place, name: str) -> BoxSource:
    import pyarrow as pa
    from pyarrow import csv, parquet

    try:
        with place.open_file() as stream:
            if place.suffix.lower() not in PARQUET:
                with csv.open_csv(stream) as reader:
                    schema, parts = reader.schema, [BoxPart(place, 0, 0)]
            else:
                with parquet.ParquetFile(stream) as opened:
                    schema, parts = opened.schema_arrow, _parts(place, opened.metadata)
    except OSError as error:
        raise SettingsError(f"{name}: cannot be read: {error.strerror or error}") from None
    except pa.ArrowException as error:
        raise SettingsError(f"{name}: cannot be read: {' '.join(str(error).split())}") from None
    dimensions = _dimensions(schema.names, name)
    id_type = schema.field(ID).type if ID in schema.names else None
    if id_type is not None and pa.types.is_dictionary(id_type):
        id_type = id_type.value_type
    return BoxSource(name, dimensions, id_type, tuple(parts))


def _parts(place: Place, metadata: object) -> list[BoxPart]:
    """Row groups together, about as many rows as a task should have."""
    from pyarrow import parquet

    assert isinstance(metadata, parquet.FileMetaData)
    parts: list[BoxPart] = []
    begin = rows = 0
    groups: list[int] = []
    for number in range(metadata.num_row_groups):
        groups.append(number)
        rows += metadata.row_group(number).num_rows
        if rows >= 2 * ROWS_AT_ONCE:
            parts.append(BoxPart(place, begin, rows, tuple(groups)))
            begin, rows, groups = begin + rows, 0, []
    return [*parts, BoxPart(place, begin, rows, tuple(groups))] if groups or not parts else parts


def _dimensions(columns: list[str], name: str) -> tuple[str, ...]:
    dimensions, uppers = (
        tuple(sorted(column.removesuffix(end) for column in columns if column.endswith(end)))
        for end in (LOWER, UPPER)
    )
    if not dimensions or dimensions != uppers:
        raise SettingsError(
            f"{name}: expected columns D_lower and D_upper for each dimension D, found {', '.join(columns) or 'none'}"
        )
    return dimensions


# Reading


def _tables(part: BoxPart, columns: list[str]) -> Iterator[pa.Table]:
    """At least one."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    try:
        with part.place.open_file() as stream:
            if part.place.suffix.lower() not in PARQUET:
                yield csv.read_csv(stream).select(columns)
                return
            with parquet.ParquetFile(stream) as opened:
                groups = list(part.groups)
                if sum(opened.metadata.row_group(one).num_rows for one in groups) != part.rows:
                    raise SettingsError(f"{part.place}: it was changed while it was read")
                yield opened.schema_arrow.empty_table().select(columns)
                for batch in opened.iter_batches(ROWS_AT_ONCE, groups, columns):
                    yield pa.Table.from_batches([batch]).select(columns)
    except OSError as error:
        raise SettingsError(f"{part.place}: cannot be read: {error.strerror or error}") from None
    except pa.ArrowException as error:
        raise SettingsError(f"{part.place}: cannot be read: {' '.join(str(error).split())}") from None


def _numbers(table: pa.Table, column: str, name: str, row: int) -> npt.NDArray[np.int64]:
    """`row`: the number of the table's first in its file."""
    import pyarrow as pa

    values = table[column]
    if len(values) == 0:
        values = values.cast(pa.int64())
    if not pa.types.is_integer(values.type):
        raise SettingsError(f"{name}: column {column} must hold whole numbers of 64 bits, not {values.type}")
    if values.null_count:
        missing = next(place for place, value in enumerate(values) if not value.is_valid)
        raise SettingsError(f"{name}: column {column} has no number in row {row + missing}")
    try:
        found: npt.NDArray[np.int64] = values.cast(pa.int64()).to_numpy()
        return found
    except pa.ArrowInvalid:
        raise SettingsError(f"{name}: column {column} must hold whole numbers of 64 bits") from None
