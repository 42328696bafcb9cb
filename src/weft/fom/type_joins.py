"""How two definitions of one data type join; the rules are in `joins.py`."""

from __future__ import annotations

from weft.fom.datatypes import (
    Alternative,
    ArrayType,
    BasicType,
    DataType,
    EnumeratedType,
    Enumerator,
    Field,
    FixedRecordType,
    ReferenceType,
    SimpleType,
    VariantRecordType,
)
from weft.fom.joins import Judge

EXTENDABLE_RECORD = "HLAextendableFixedRecord"


def join_data_type(old: DataType, new: DataType, old_place: str, new_place: str, judge: Judge) -> DataType:
    if old == new:
        return old
    join = _Join(f"data type {new.name!r}", (old_place, new_place), judge)
    match old, new:
        case BasicType(), BasicType():
            return join.basic(old, new)
        case SimpleType(), SimpleType():
            return join.simple(old, new)
        case ReferenceType(), ReferenceType():
            return join.reference(old, new)
        case EnumeratedType(), EnumeratedType():
            return join.enumerated(old, new)
        case ArrayType(), ArrayType():
            return join.array(old, new)
        case FixedRecordType(), FixedRecordType():
            return join.record(old, new)
        case VariantRecordType(), VariantRecordType():
            return join.variant(old, new)
        case _:
            detail = f"a {kind(new)} here and a {kind(old)} there"
            judge.contradiction(join.what, detail, new_place, old_place)
            return old


def kind(data_type: DataType) -> str:
    return type(data_type).__name__.removesuffix("Type").lower() + " type"


class _Join:
    def __init__(self, what: str, places: tuple[str, str], judge: Judge) -> None:
        self.what = what
        self.places = places
        self.judge = judge

    def agree(self, column: str, old: str, new: str, serious: bool = True) -> str:
        return self.judge.agree(self.what, column, old, new, self.places, serious)

    def contradiction(self, detail: str) -> None:
        self.judge.contradiction(self.what, detail, self.places[1], self.places[0])

    def basic(self, old: BasicType, new: BasicType) -> BasicType:
        size = self.judge.agree(self.what, "size", old.size, new.size, self.places)
        return BasicType(
            old.name, size, self.agree("endian", old.endian, new.endian), old.encoding or new.encoding
        )

    def simple(self, old: SimpleType, new: SimpleType) -> SimpleType:
        return SimpleType(
            old.name,
            self.agree("representation", old.representation, new.representation),
            self.agree("units", old.units, new.units),
            self.agree("resolution", old.resolution, new.resolution, serious=False),
            self.agree("accuracy", old.accuracy, new.accuracy, serious=False),
        )

    def reference(self, old: ReferenceType, new: ReferenceType) -> ReferenceType:
        return ReferenceType(
            old.name,
            self.agree("representation", old.representation, new.representation),
            self.agree("referenced class", old.referenced_class, new.referenced_class),
            self.agree("referenced attribute", old.referenced_attribute, new.referenced_attribute),
        )

    def enumerated(self, old: EnumeratedType, new: EnumeratedType) -> EnumeratedType:
        found = {item.name: item for item in old.enumerators}
        taken = {value: item.name for item in old.enumerators for value in item.values}
        added: list[str] = []
        for item in new.enumerators:
            known = found.get(item.name)
            if known is not None:
                self.same_enumerator(known, item)
                continue
            clash = next((taken[value] for value in item.values if value in taken), None)
            if clash is not None:
                self.contradiction(f"enumerator {item.name!r} here has the value of {clash!r} there")
                continue
            found[item.name] = item
            added.append(item.name)
        if old.enumerators:
            self.judge.added(self.what, added, self.places[1])
        representation = self.agree("representation", old.representation, new.representation)
        return EnumeratedType(old.name, representation, tuple(found.values()))

    def same_enumerator(self, old: Enumerator, new: Enumerator) -> None:
        if new.values and old.values != new.values:
            here, there = list(new.values), list(old.values)
            self.contradiction(f"enumerator {new.name!r} is {here} here and {there} there")

    def array(self, old: ArrayType, new: ArrayType) -> ArrayType:
        return ArrayType(
            old.name,
            self.agree("element type", old.element, new.element),
            self.agree("cardinality", old.cardinality, new.cardinality),
            self.agree("encoding", old.encoding, new.encoding),
        )

    def record(self, old: FixedRecordType, new: FixedRecordType) -> FixedRecordType:
        encoding = self.agree("encoding", old.encoding, new.encoding)
        include = self.agree("included record", old.include, new.include)
        return FixedRecordType(old.name, encoding, self.fields(old, new, encoding), include)

    def fields(self, old: FixedRecordType, new: FixedRecordType, encoding: str) -> tuple[Field, ...]:
        if not old.fields or not new.fields:
            return old.fields or new.fields
        known = {item.name: item for item in old.fields}
        for item in new.fields:
            if item.name in known:
                self.agree(f"field {item.name!r}", known[item.name].type, item.type)
        added = tuple(item for item in new.fields if item.name not in known)
        if encoding == EXTENDABLE_RECORD:
            return old.fields + added
        if [item.name for item in new.fields] != list(known):
            self.contradiction("the fields differ")
        return old.fields

    def variant(self, old: VariantRecordType, new: VariantRecordType) -> VariantRecordType:
        return VariantRecordType(
            old.name,
            self.agree("discriminant", old.discriminant, new.discriminant),
            self.agree("type of the discriminant", old.discriminant_type, new.discriminant_type),
            self.alternatives(old, new),
            self.agree("encoding", old.encoding, new.encoding),
        )

    def alternatives(self, old: VariantRecordType, new: VariantRecordType) -> tuple[Alternative, ...]:
        found = {item.enumerators: item for item in old.alternatives}
        added: list[str] = []
        for item in new.alternatives:
            known = found.get(item.enumerators)
            if known is None:
                found[item.enumerators] = item
                added.append(item.enumerators)
            elif known != item:
                self.contradiction(f"the alternative for {item.enumerators!r} differs")
        if old.alternatives:
            self.judge.added(self.what, added, self.places[1])
        return tuple(found.values()) if added else old.alternatives
