"""Source for what a generated module declares: enumerations, records, the table the codecs are made from, classes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from weft.fom.codegen.names import FIELD_WORDS, MEMBER_WORDS, Names
from weft.fom.codegen.plan import ModulePlan
from weft.fom.codegen.text import Bracketed, Expression, a_tuple, call, keyed, quoted, spread
from weft.fom.datatypes import (
    ArrayType,
    BasicType,
    EnumeratedType,
    FixedRecordType,
    ReferenceType,
    SimpleType,
    VariantRecordType,
)
from weft.fom.encoding.notation import OTHER, enumerator_values, selected
from weft.fom.encoding.variants import UNKNOWN
from weft.fom.objectmodel import Attribute, InteractionClass, ObjectClass, Parameter


def enumeration_lines(plan: ModulePlan, name: str) -> list[str]:
    enumerated = plan.types[name]
    assert isinstance(enumerated, EnumeratedType)
    names = Names(MEMBER_WORDS)
    members = [
        f"    {names.give(enumerator.name) if index == 0 else names.give(f'{enumerator.name}_{value}')} = {value}"
        for enumerator in enumerated.enumerators
        for index, value in enumerate(enumerator.values)
    ]
    return [f"class {plan.type_names[name]}(IntEnum):", *(members or ["    pass"])]


# --- records ------------------------------------------------------------------------------------------------


def record_lines(plan: ModulePlan, name: str) -> list[str]:
    record = plan.types[name]
    if isinstance(record, VariantRecordType):
        return _variant_lines(plan, record)
    assert isinstance(record, FixedRecordType)
    names = Names(FIELD_WORDS | plan.taken)
    fields = [(key, names.give(key), kind) for key, kind in plan.record_fields(record)]
    plain = [keyed(f"{quoted(key)}: ", plan.to_plain(kind, f"self.{field}")) for key, field, kind in fields]
    typed = [f"{field}={plan.from_plain(kind, f'plain[{quoted(key)}]')}" for key, field, kind in fields]
    return [
        *_head(plan, name),
        *(f"    {field}: {plan.annotation(kind)}" for _, field, kind in fields),
        *([""] if fields else []),
        "    def to_plain(self) -> dict[str, object]:",
        *spread("return ", Bracketed("{", plain, "}"), indent=2),
        "",
        *_FROM_PLAIN_HEAD,
        *spread("return ", call("cls", *typed), indent=2),
    ]


def _variant_lines(plan: ModulePlan, variant: VariantRecordType) -> list[str]:
    names = Names(FIELD_WORDS | plan.taken)
    by = names.give(variant.discriminant)
    arms = [(key, names.give(key), kind) for key, kind in _arms(variant)]
    lines = _head(plan, variant.name)
    lines.append(f"    {by}: {plan.annotation(variant.discriminant_type)}")
    lines += [f"    {field}: {plan.annotation(kind)} | None = None" for _, field, kind in arms]
    extendable = variant.encoding != "HLAvariantRecord"
    if extendable:
        lines.append("    unknown: bytes | None = None")
    first = keyed(f"{quoted(variant.discriminant)}: ", plan.to_plain(variant.discriminant_type, f"self.{by}"))
    lines += ["", "    def to_plain(self) -> dict[str, object]:"]
    lines += spread("plain: dict[str, object] = ", Bracketed("{", [first], "}"), indent=2)
    for key, field, kind in arms:
        lines.append(f"        if self.{field} is not None:")
        lines += spread(f"plain[{quoted(key)}] = ", plan.to_plain(kind, f"self.{field}"), indent=3)
    if extendable:
        lines += [
            "        if self.unknown is not None:",
            f"            plain[{quoted(UNKNOWN)}] = self.unknown",
        ]
    return [
        *lines,
        "        return plain",
        "",
        *_FROM_PLAIN_HEAD,
        *_variant_from_plain(plan, variant, by, arms),
    ]


def _variant_from_plain(
    plan: ModulePlan, variant: VariantRecordType, by: str, arms: list[tuple[str, str, str]]
) -> list[str]:
    chosen = plan.from_plain(variant.discriminant_type, f"plain[{quoted(variant.discriminant)}]")
    lines = spread("typed = ", call("cls", f"{by}={chosen}"), indent=2)
    for key, field, kind in arms:
        lines.append(f"        if {quoted(key)} in plain:")
        lines += spread(f"typed.{field} = ", plan.from_plain(kind, f"plain[{quoted(key)}]"), indent=3)
    if variant.encoding != "HLAvariantRecord":
        lines.append(f"        typed.unknown = plain.get({quoted(UNKNOWN)})")
    return [*lines, "        return typed"]


def _arms(variant: VariantRecordType) -> Iterator[tuple[str, str]]:
    """Name and type of each alternative that has data, once each."""
    seen: set[str] = set()
    for alternative in variant.alternatives:
        if alternative.type not in ("", "NA") and alternative.name not in seen:
            seen.add(alternative.name)
            yield alternative.name, alternative.type


def _head(plan: ModulePlan, name: str) -> list[str]:
    return [
        "@dataclass",
        f"class {plan.type_names[name]}(Record):",
        f"    HLA_NAME: ClassVar[str] = {quoted(name)}",
        "    CODECS: ClassVar[Codecs] = _CODECS",
        "",
    ]


_FROM_PLAIN_HEAD = ["    @classmethod", "    def from_plain(cls, plain: Any) -> Self:"]


# --- the table ----------------------------------------------------------------------------------------------


def table_lines(plan: ModulePlan) -> list[str]:
    """The data types as data.  Enumerations are plain integers here; their classes know the names."""
    entries = [keyed(f"{quoted(name)}: ", _definition(plan, name)) for name in plan.needed]
    return spread("TYPES: dict[str, DataType] = ", Bracketed("{", entries, "}"))


def _definition(plan: ModulePlan, name: str) -> Expression:
    kind = plan.types[name]
    match kind:
        case BasicType():
            size, endian, encoding = str(kind.size), quoted(kind.endian), quoted(kind.encoding)
            return call("BasicType", quoted(name), size, endian, encoding)
        case SimpleType() | ReferenceType():
            return call("SimpleType", quoted(name), quoted(kind.representation))
        case EnumeratedType() if plan.is_enumeration(name):
            return call("SimpleType", quoted(name), quoted(kind.representation))
        case EnumeratedType():
            members = [
                call("Enumerator", quoted(member.name), a_tuple(*map(str, member.values)))
                for member in kind.enumerators
            ]
            return call("EnumeratedType", quoted(name), quoted(kind.representation), a_tuple(*members))
        case ArrayType():
            return call("ArrayType", *map(quoted, (name, kind.element, kind.cardinality, kind.encoding)))
        case FixedRecordType():
            fields = [call("Field", quoted(field.name), quoted(field.type)) for field in kind.fields]
            include = [quoted(kind.include)] if kind.include else []
            return call("FixedRecordType", quoted(name), quoted(kind.encoding), a_tuple(*fields), *include)
        case VariantRecordType():
            return _variant_definition(plan, kind)


def _variant_definition(plan: ModulePlan, variant: VariantRecordType) -> Expression:
    enumerated = plan.types.get(variant.discriminant_type)
    values = enumerator_values(enumerated) if isinstance(enumerated, EnumeratedType) else {}
    arms = []
    for arm in variant.alternatives:
        chosen = arm.enumerators.strip()
        if chosen != OTHER and plan.is_enumeration(variant.discriminant_type):
            chosen = ", ".join(str(number) for number in selected(variant.name, chosen, values))
        arms.append(call("Alternative", quoted(chosen), quoted(arm.name), quoted(arm.type)))
    head = (variant.name, variant.discriminant, variant.discriminant_type)
    return call("VariantRecordType", *map(quoted, head), a_tuple(*arms), quoted(variant.encoding))


# --- object classes and interaction classes -----------------------------------------------------------------


def class_lines(plan: ModulePlan) -> list[list[str]]:
    """One chunk of lines per class, parents before children."""
    chunks: list[list[str]] = []
    fields: dict[str, Names] = {}
    for object_class in plan.object_classes.values():
        members: Sequence[Attribute | Parameter] = object_class.attributes
        names = plan.object_names
        chunks.append(_class_lines(plan, object_class, members, names, fields, "HLAobjectRoot"))
    for interaction_class in plan.interaction_classes.values():
        members = interaction_class.parameters
        names = plan.interaction_names
        chunks.append(_class_lines(plan, interaction_class, members, names, fields, "HLAinteractionRoot"))
    return chunks


def _class_lines(
    plan: ModulePlan,
    found: ObjectClass | InteractionClass,
    members: Sequence[Attribute | Parameter],
    class_names: Mapping[str, str],
    fields: dict[str, Names],
    root: str,
) -> list[str]:
    inherited = fields.get(found.parent or "")
    names = fields[found.name] = inherited.copy() if inherited else Names(FIELD_WORDS | plan.taken)
    base = class_names.get(found.parent or "", root)
    slots: list[Expression] = [] if base == root else [f"*{base}.SLOTS"]
    lines: list[str] = []
    for member in members:
        field = names.give(member.name)
        known = bool(member.data_type) and plan.encodable(member.data_type)
        annotation = plan.annotation(member.data_type) if known else "bytes"
        lines.append(f"    {field}: {annotation} | None = None")
        slots.append(_slot(plan, field, member.name, member.data_type if known else ""))
    head = [
        "@dataclass(kw_only=True)",
        f"class {class_names[found.name]}({base}):",
        *spread("HLA_NAME: ClassVar[str] = ", quoted(found.name), indent=1),
    ]
    if base == root:
        head.append("    CODECS: ClassVar[Codecs] = _CODECS")
    if members or base == root:
        head += spread("SLOTS: ClassVar[tuple[Slot, ...]] = ", Bracketed("(", slots, ")"), indent=1)
    return [*head, "", *lines] if lines else head


def _slot(plan: ModulePlan, field: str, name: str, data_type: str) -> Expression:
    arguments: list[Expression] = [quoted(field), quoted(name)]
    if data_type:
        arguments.append(quoted(data_type))
        for way, text in (
            ("to_plain", plan.to_plain(data_type, "value")),
            ("from_plain", plan.from_plain(data_type, "value")),
        ):
            if text != "value":
                arguments.append(f"{way}={_function(text)}")
    return call("Slot", *arguments)


def _function(text: str) -> str:
    """The lambda of an expression in `value`, or the function itself where it is a mere call."""
    function = text.removesuffix("(value)")
    return (
        function
        if text.endswith("(value)") and function.replace(".", "").isidentifier()
        else f"lambda value: {text}"
    )
