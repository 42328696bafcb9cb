"""Recorded values, decoded by the object model of their run: for each object or interaction class rows with typed columns.

The types of columns follow from the object model alone, so all parts of a table have the same: numbers, texts, lists and
structures as they are; enumerators by name; variant records, and whatever else Arrow has no type for, as JSON texts.
`recording.tables` writes them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
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
from weft.host.recording.files import RecordingError
from weft.host.recording.row_files import RowFile, row_tables
from weft.host.recording.run import Run
from weft.model.errors import EncodingError
from weft.model.records import Source
from weft.wire.codec.packed import fields_of

if TYPE_CHECKING:
    import pyarrow as pa

READ = (
    "node", "epoch_ns", "kind", "source", "message", "class", "object", "object_name", "items", "values", "packed", "tag",
    "order", "time_int", "time_float",
)  # fmt: skip
ROWS_AT_ONCE = 1 << 16  # of a file
PART = 20_000  # rows of a table that are made at a time
_DEPTH = 32


Decoded = None | bool | int | float | str | bytes | list["Decoded"] | dict[str, "Decoded"]
"""A value as Arrow takes it."""


Modules = tuple[Source, ...]


def model_of(run: Run) -> ObjectModel:
    """From the modules that were recorded with it."""
    return model_from(modules_of(run))


@lru_cache(maxsize=8)
def model_from(modules: Modules) -> ObjectModel:
    return load_fom(*modules)


def modules_of(run: Run) -> Modules:
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
    return tuple(sources)


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


# --- what a table has -----------------------------------------------------------------------------------------


RUN = "run"


@dataclass(frozen=True)
class ClassColumns:
    """Of one class: a column for each attribute or parameter, with the name of its data type."""

    name: str
    is_object: bool
    types: Mapping[str, str]
    schema: pa.Schema

    @classmethod
    def of(cls, models: Sequence[ObjectModel], name: str, with_run: bool = False) -> ClassColumns | None:
        """All columns that any of the models gives it; None if none knows it.  Raises RecordingError where they disagree."""
        import pyarrow as pa

        found: ClassColumns | None = None
        for model in models:
            one = cls._of(model, name, with_run)
            if one is None or found is None:
                found = found or one
                continue
            try:
                schema = pa.unify_schemas([found.schema, one.schema])
            except pa.ArrowException as error:
                raise RecordingError(
                    f"{name} has columns of other types in other runs ({str(error).splitlines()[0]}): export them by "
                    "themselves, or with one object model by --fom"
                ) from error
            found = cls(name, one.is_object, {**one.types, **found.types}, schema)
        return found

    @classmethod
    def _of(cls, model: ObjectModel, name: str, with_run: bool) -> ClassColumns | None:
        import pyarrow as pa

        is_object = name in model.object_classes
        if not is_object and name not in model.interaction_classes:
            return None
        parts: Iterable[Attribute | Parameter] = (
            model.all_attributes(name) if is_object else model.all_parameters(name)
        )
        types = {one.name: one.data_type for one in parts}
        lead = [(RUN, pa.string())] if with_run else []
        lead += [
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
        values = [(one, arrow_of(model, kind)) for one, kind in types.items()]
        return cls(name, is_object, types, pa.schema([*lead, *values]))


@dataclass
class UndecodedValues:
    """Values of an attribute or parameter that are not of its type."""

    count: int = 0
    first: str = ""

    def add(self, other: UndecodedValues) -> None:
        self.count += other.count
        self.first = self.first or other.first


class ClassRows:
    """Gathers messages of one class, as rows."""

    def __init__(self, columns: ClassColumns) -> None:
        self.columns = columns
        self.rows = 0
        self.failures: dict[str, UndecodedValues] = {}
        self.waiting: list[dict[str, Decoded]] = []
        self._lead = [one for one in columns.schema.names if one not in columns.types]

    def add(self, model: ObjectModel, sent: Sent) -> None:
        made: dict[str, Decoded] = {name: sent.row.get(name) for name in self._lead}
        for name, data in sent.values:
            if name in self.columns.types:
                made[name] = self._decoded(model, sent, name, data)
        self.waiting.append(made)
        self.rows += 1

    def _decoded(self, model: ObjectModel, sent: Sent, name: str, data: bytes) -> Decoded:
        """None, and counted, where the value is not of its type."""
        kind = self.columns.types[name]
        if not kind or kind not in model.data_types:
            return data
        try:
            return fit(model.decode(kind, data), self.columns.schema.field(name).type)
        except (EncodingError, TypeError, ValueError, AttributeError):
            row = sent.row
            where = f"message {row.get('message')!r} of federate {row.get('source')!r} at node {row.get('node')!r}"
            self.failures.setdefault(name, UndecodedValues()).add(UndecodedValues(1, where))
            return None

    def take(self) -> pa.Table:
        """The rows that have come since."""
        import pyarrow as pa

        made = pa.Table.from_pylist(self.waiting, schema=self.columns.schema)
        self.waiting = []
        return made


# --- messages -------------------------------------------------------------------------------------------------


class Sent(NamedTuple):
    """A message: the row of its sending, and its values by name."""

    row: Mapping[str, Decoded]
    values: list[tuple[str, bytes]]


@dataclass(frozen=True)
class NamedInstances:
    """Names of object instances; the first row that names one counts."""

    found: dict[int, tuple[int, str]] = field(default_factory=dict)

    def add(self, instance: int, epoch_ns: int, name: str) -> None:
        self.found[instance] = min(self.found.get(instance, (epoch_ns, name)), (epoch_ns, name))

    def name(self, instance: object) -> str | None:
        told = self.found.get(instance) if isinstance(instance, int) else None
        return None if told is None else told[1]


def instance_names(files: Iterable[RowFile]) -> NamedInstances:
    """Of all that is named there."""
    import pyarrow.compute as pc

    names = NamedInstances()
    for table in _tables(files, ("object", "object_name", "epoch_ns")):
        named = table.filter(pc.and_(pc.is_valid(table["object_name"]), pc.is_valid(table["object"])))
        columns = (named[name].to_pylist() for name in ("object", "epoch_ns", "object_name"))
        for instance, epoch_ns, name in zip(*columns, strict=True):
            names.add(instance, epoch_ns, name)
    return names


def sends(files: Iterable[RowFile], names: NamedInstances, run: str = "") -> Iterator[Sent]:
    """Sends with their values, in the order of the files."""
    import pyarrow.compute as pc

    for table in _tables(files, READ):
        has_values = pc.or_(pc.is_valid(table["values"]), pc.is_valid(table["packed"]))
        wanted = pc.and_(pc.equal(table["kind"].cast("string"), "send"), has_values)
        for row in table.filter(wanted).to_pylist():
            values, tag = row["values"], row["tag"]
            if values is None:
                values, tag = fields_of(row["packed"])
            time = row["time_int"] if row["time_int"] is not None else row["time_float"]
            more = {
                RUN: run,
                "tag": tag or None,
                "time": None if time is None else float(time),
                "object_name": names.name(row["object"]),
            }
            yield Sent(row | more, list(zip(row["items"] or (), values, strict=False)))


def _tables(files: Iterable[RowFile], columns: Sequence[str]) -> Iterator[pa.Table]:
    import pyarrow as pa

    for file in files:
        try:
            yield from row_tables(file, columns, ROWS_AT_ONCE)
        except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
            raise RecordingError(
                f"{file.path} cannot be read: {error}; `weft review` reviews what is left, and names all such files"
            ) from error
