"""Source for object classes and interaction classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from weft.fom.codegen.names import FIELD_WORDS, Names
from weft.fom.codegen.plan import ModulePlan
from weft.fom.codegen.text import Bracketed, Expression, call, quoted, spread
from weft.fom.objectmodel import Attribute, InteractionClass, ObjectClass, Parameter


def class_lines(plan: ModulePlan) -> list[list[str]]:
    """One chunk of lines per class, parents before children."""
    chunks: list[list[str]] = []
    fields: dict[str, Names] = {}
    for object_class in plan.object_classes.values():
        members: Sequence[Attribute | Parameter] = object_class.attributes
        chunks.append(_lines(plan, object_class, members, plan.object_names, fields))
    for interaction_class in plan.interaction_classes.values():
        members = interaction_class.parameters
        chunks.append(_lines(plan, interaction_class, members, plan.interaction_names, fields))
    return chunks


def _lines(
    plan: ModulePlan,
    found: ObjectClass | InteractionClass,
    members: Sequence[Attribute | Parameter],
    class_names: Mapping[str, str],
    fields: dict[str, Names],
) -> list[str]:
    inherited = fields.get(found.parent or "")
    names = fields[found.name] = inherited.copy() if inherited else Names(FIELD_WORDS | plan.taken)
    base = class_names.get(found.parent or "", "ValueSet")
    slots: list[Expression] = [] if base == "ValueSet" else [f"*{base}.SLOTS"]
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
    if base == "ValueSet":
        head.append("    CODECS: ClassVar[Codecs] = _CODECS")
    if members:
        head += spread("SLOTS: ClassVar[tuple[Slot, ...]] = ", Bracketed("(", slots, ")"), indent=1)
        head.append("")
    return head + lines


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
