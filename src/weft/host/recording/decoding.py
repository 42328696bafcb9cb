"""Recorded values, decoded by the object model of their run: a typed table for each object or interaction class.

The types of columns follow from the object model alone, so all parts of a table have the same: numbers, texts, lists and
structures as they are; enumerators by name; variant records, and whatever else Arrow has no type for, as JSON texts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from weft.fom import (
    ArrayType,
    Attribute,
    BasicType,
    EnumeratedType,
    FixedRecordType,
    ObjectModel,
    Parameter,
    ReferenceType,
    SimpleType,
)
from weft.host.files.modules import load_fom
from weft.host.files.private import make_private
from weft.host.recording.files import RecordingError
from weft.host.recording.run import Run, table_of
from weft.model.errors import EncodingError
from weft.model.records import Source
from weft.wire.codec.packed import fields_of

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

_READ = (
    "epoch_ns", "kind", "source", "message", "class", "object", "object_name", "items", "values", "packed", "tag",
    "order", "time_int", "time_float",
)  # fmt: skip
_PART = 20_000  # rows that are decoded and written at a time
_DEPTH = 32


Decoded = None | bool | int | float | str | bytes | list["Decoded"] | dict[str, "Decoded"]
"""A value as Arrow takes it."""


def model_of(run: Run) -> ObjectModel:
    """From the modules that were recorded with it."""
    sources = []
    for module in run.info.get("modules") or []:
        path = run.path / str(module["file"])
        try:
            sources.append(Source(str(module["name"]), path.read()))
        except OSError as error:
            raise RecordingError(
                f"{path}, an object model module of the run, cannot be read: {error.strerror or error}"
            ) from error
    if not sources:
        raise RecordingError(f"{run.path} has no object model with it; name it with --fom")
    return load_fom(*sources)


# --- types ----------------------------------------------------------------------------------------------------


def arrow_of(model: ObjectModel, name: str, depth: int = 0) -> pa.DataType:
    """The Arrow type of what values of a data type decode to."""
    import pyarrow as pa

    found = model.data_types.get(name)
    if name in ("HLAASCIIstring", "HLAunicodeString") or found is None or depth > _DEPTH:
        return pa.string() if found is not None else pa.binary()
    if name == "HLAboolean":
        return pa.bool_()
    if isinstance(found, (SimpleType, ReferenceType)):
        return arrow_of(model, found.representation, depth + 1)
    if isinstance(found, BasicType):
        return pa.float64() if "float" in name.lower() else pa.int64()
    if isinstance(found, EnumeratedType):
        return pa.string()
    if isinstance(found, ArrayType):
        if found.element in ("HLAbyte", "HLAoctet"):
            return pa.binary()
        return pa.list_(arrow_of(model, found.element, depth + 1))
    if isinstance(found, FixedRecordType) and not found.include:
        return pa.struct([(one.name, arrow_of(model, one.type, depth + 1)) for one in found.fields])
    return pa.string()


def fit(value: object, kind: pa.DataType) -> Decoded:
    """A decoded value as that type takes it; raises TypeError or ValueError where it does not."""
    import pyarrow as pa

    if value is None:
        return None
    if pa.types.is_struct(kind) and isinstance(value, Mapping):
        return {field.name: fit(value.get(field.name), field.type) for field in kind}
    if pa.types.is_list(kind) and isinstance(value, Iterable):
        return [fit(one, kind.value_type) for one in value]
    if pa.types.is_string(kind):
        return value if isinstance(value, str) else json.dumps(value, default=repr, ensure_ascii=False)
    if pa.types.is_binary(kind) and isinstance(value, Iterable):
        return bytes(value)
    if pa.types.is_boolean(kind):
        return bool(value)
    if pa.types.is_nested(kind) or not isinstance(value, (int, float, str, bytes)):
        raise TypeError(f"{value!r} is no {kind}")
    if pa.types.is_floating(kind):
        return float(value)
    number = int(value)
    return number if -(1 << 63) <= number < 1 << 63 else None


# --- tables ---------------------------------------------------------------------------------------------------


class ClassTable:
    """The table of one class: a row for each message of it, a column for each attribute or parameter."""

    def __init__(self, model: ObjectModel, name: str, folder: Path, is_object: bool) -> None:
        import pyarrow as pa

        parts: Iterable[Attribute | Parameter] = (
            model.all_attributes(name) if is_object else model.all_parameters(name)
        )
        self.path = folder / f"{name}.parquet"
        self.rows = 0
        self.failures = 0
        self._model = model
        self._types = {one.name: one.data_type for one in parts}
        lead = [
            ("node", pa.string()),
            ("epoch_ns", pa.int64()),
            ("source", pa.int64()),
            ("message", pa.int64()),
            ("order", pa.string()),
            ("time", pa.float64()),
            ("tag", pa.binary()),
        ]
        if is_object:
            lead += [("object", pa.int64()), ("object_name", pa.string())]
        self._lead = [one for one, _ in lead]
        values = [(one, arrow_of(model, kind)) for one, kind in self._types.items()]
        self.schema = pa.schema([*lead, *values])
        self._waiting: list[dict[str, Decoded]] = []
        self._writer: pq.ParquetWriter | None = None

    def add(self, sent: Sent) -> None:
        made: dict[str, Decoded] = {name: sent.row.get(name) for name in self._lead}
        for name, data in sent.values:
            if name in self._types:
                made[name] = self._decoded(name, data)
        self._waiting.append(made)
        if len(self._waiting) >= _PART:
            self.flush()

    def _decoded(self, name: str, data: bytes) -> Decoded:
        """None, and counted, where the value is not of its type."""
        kind = self._types[name]
        if not kind or kind not in self._model.data_types:
            return data
        try:
            return fit(self._model.decode(kind, data), self.schema.field(name).type)
        except (EncodingError, TypeError, ValueError, AttributeError):
            self.failures += 1
            return None

    def flush(self) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        if not self._waiting:
            return
        if self._writer is None:
            make_private(self.path.parent)
            self.path.touch(0o600)
            self._writer = pq.ParquetWriter(self.path, self.schema, compression="zstd")
        self._writer.write_table(pa.Table.from_pylist(self._waiting, schema=self.schema))
        self.rows += len(self._waiting)
        self._waiting = []

    def close(self) -> None:
        self.flush()
        if self._writer is not None:
            self._writer.close()


class Sent(NamedTuple):
    """A message: the row of its sending, and its values by name."""

    row: Mapping[str, Decoded]
    values: list[tuple[str, bytes]]


def sends(run: Run) -> Iterator[Sent]:
    """Sends with their values, and the names of instances, in the order of the files."""
    import pyarrow.compute as pc

    names: dict[int, str] = {}
    for file in run.files:
        table = table_of(file, _READ)
        kind = table.column("kind").cast("string")
        wanted = pc.or_(pc.equal(kind, "send"), pc.is_valid(table.column("object_name")))
        for row in table.filter(wanted).to_pylist():
            if row["object_name"] is not None and row["object"] is not None:
                names[row["object"]] = row["object_name"]
            if row["kind"] != "send" or (row["values"] is None and row["packed"] is None):
                continue
            values, tag = row["values"], row["tag"]
            if values is None:
                values, tag = fields_of(row["packed"])
            time = row["time_int"] if row["time_int"] is not None else row["time_float"]
            more = {
                "node": file.node,
                "tag": tag or None,
                "time": None if time is None else float(time),
                "object_name": names.get(row["object"]),
            }
            yield Sent(row | more, list(zip(row["items"] or (), values, strict=False)))


def export(
    run: Run, model: ObjectModel, folder: Path, progress: Callable[[int], None] = lambda rows: None
) -> list[ClassTable]:
    """One file for each class that was sent; raises RecordingError where they cannot be written."""
    tables: dict[str, ClassTable] = {}
    done = 0
    try:
        for sent in sends(run):
            name = str(sent.row["class"])
            table = tables.get(name)
            if table is None:
                is_object = name in model.object_classes
                if not is_object and name not in model.interaction_classes:
                    continue  # not of this object model
                table = tables[name] = ClassTable(model, name, folder, is_object)
            table.add(sent)
            done += 1
            if done % _PART == 0:
                progress(done)
        for table in tables.values():
            table.close()
    except OSError as error:
        raise RecordingError(f"{folder}: cannot be written: {error.strerror or error}") from error
    return list(tables.values())
