"""Python source for codecs: text, the objects it refers to, and the functions it becomes.

Source rather than closures, because a record of three numbers should cost three look-ups and one `pack`, and
nothing per field beyond that.  Names from an object model enter the text only through `repr`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from weft.fom.encoding.codec import PADS, as_fields
from weft.fom.encoding.misfit import Mismatch
from weft.fom.encoding.shape import Leaf, ListShape, RecordShape, Shape


class CodecSource:
    """Collects lines and the objects they name."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.bound: dict[str, Any] = {"PADS": PADS, "Mismatch": Mismatch, "as_fields": as_fields}
        self._known: dict[int, str] = {}
        self._count = 0

    def line(self, text: str, depth: int = 2) -> None:
        self.lines.append("    " * depth + text)

    def fresh(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}{self._count}"

    def bind(self, prefix: str, thing: object) -> str:
        """A name for an object; the same name again for the same object."""
        name = self._known.get(id(thing))
        if name is None:
            name = self._known[id(thing)] = self.fresh(prefix)
            self.bound[name] = thing
        return name

    def run(self, title: str) -> None:
        """Compile the lines; the functions they define are then among the bound objects."""
        text = "\n".join(self.lines) + "\n"
        exec(compile(text, f"<codec of {title}>", "exec"), self.bound)


def record_prologue(
    source: CodecSource, variable: str, names: tuple[str, ...], ignored: tuple[str, ...] = ()
) -> None:
    """Lines that make `variable` a dict with exactly these fields, or raise Mismatch."""
    source.line(f"if type({variable}) is not dict:")
    source.line(f"    {variable} = as_fields({variable}, {source.bind('names', names)})")
    if ignored:
        allowed = source.bind("allowed", frozenset(names + ignored))
        source.line(f"if not {variable}.keys() <= {allowed}: raise Mismatch")
    else:
        source.line(f"if len({variable}) != {len(names)}: raise Mismatch")


def pack_arguments(source: CodecSource, shape: Shape, expression: str) -> list[str]:
    """The arguments of `pack` for a value; lines it needs first are added to the source."""
    if isinstance(shape, Leaf):
        return [f"{source.bind('pack', shape.pack)}({expression})" if shape.pack else expression]
    variable = source.fresh("v")
    source.line(f"{variable} = {expression}")
    if isinstance(shape, RecordShape):
        record_prologue(source, variable, tuple(name for name, _ in shape.fields))
        return [
            argument
            for name, part in shape.fields
            for argument in pack_arguments(source, part, f"{variable}[{name!r}]")
        ]
    return _list_arguments(source, shape, variable)


def _list_arguments(source: CodecSource, shape: ListShape, variable: str) -> list[str]:
    source.line(f"if len({variable}) != {shape.count}: raise Mismatch")
    element = shape.element
    if isinstance(element, Leaf):
        source.line(f"if type({variable}) is str or type({variable}) is dict: raise Mismatch")
        each = f"map({source.bind('pack', element.pack)}, {variable})" if element.pack else variable
        return [f"*{each}"]
    return [
        argument
        for index in range(shape.count)
        for argument in pack_arguments(source, element, f"{variable}[{index}]")
    ]


def unpacked_value(source: CodecSource, shape: Shape, names: Iterator[str]) -> str:
    """The expression that rebuilds a value from the unpacked leaves, whose names are taken in order."""
    if isinstance(shape, Leaf):
        name = next(names)
        return f"{source.bind('unpack', shape.unpack)}({name})" if shape.unpack else name
    if isinstance(shape, RecordShape):
        fields = (f"{name!r}: {unpacked_value(source, part, names)}" for name, part in shape.fields)
        return "{" + ", ".join(fields) + "}"
    items = (unpacked_value(source, shape.element, names) for _ in range(shape.count))
    return "[" + ", ".join(items) + "]"


def targets(count: int, prefix: str = "x") -> tuple[str, list[str]]:
    """The left side of an unpacking assignment, and its names."""
    names = [f"{prefix}{index}" for index in range(count)]
    return "(" + "".join(f"{name}, " for name in names) + ")", names
