"""Names in an object model as names in Python: the same in, the same out, and never a clash."""

from __future__ import annotations

import keyword
import re

_BUILTINS = frozenset(["bool", "bytes", "classmethod", "dict", "float", "int", "list", "str", "tuple"])
IMPORTS = {
    "dataclasses": "dataclass",
    "enum": "IntEnum",
    "typing": "Any ClassVar Self",
    "weft.fom.classes": "HLAinteractionRoot HLAobjectRoot",
    "weft.fom.datatypes": (
        "Alternative ArrayType BasicType DataType EnumeratedType Enumerator Field FixedRecordType SimpleType"
        " VariantRecordType"
    ),
    "weft.fom.encoding": "Codecs",
    "weft.fom.encoding.typed": "Record Slot known",
}
"""What a generated module may import, by module."""

# What a generated module uses itself; a data type must not take these names away.
MODULE_WORDS = _BUILTINS.union(
    *(names.split() for names in IMPORTS.values()),
    ["ReferenceType", "TYPES", "annotations", "cls", "item", "plain", "self", "typed", "value"],
)
FIELD_WORDS = _BUILTINS.union(
    ["CODECS", "HLA_NAME", "SLOTS", "decode", "encode", "from_plain", "plain", "self", "to_plain", "unknown"]
)
MEMBER_WORDS = frozenset(dir(int)) | {"mro", "name", "value"}


class Names:
    """Hands out names; a name already taken, or meaning something to Python, is changed."""

    def __init__(self, taken: frozenset[str] | set[str]) -> None:
        self._taken = set(taken)

    def copy(self) -> Names:
        return Names(self._taken)

    def give(self, *candidates: str) -> str:
        """The first candidate that is free; else the last one with an underscore, or with a number."""
        safe = [identifier(candidate) for candidate in candidates]
        for name in (*safe, safe[-1] + "_"):
            if name not in self._taken:
                return self._take(name)
        number = 2
        while f"{safe[-1]}_{number}" in self._taken:
            number += 1
        return self._take(f"{safe[-1]}_{number}")

    def _take(self, name: str) -> str:
        self._taken.add(name)
        return name


def identifier(text: str) -> str:
    """The nearest Python identifier that is neither a keyword nor private."""
    name = re.sub(r"\W", "_", text).lstrip("_") or "unnamed"
    if name[0].isdigit():
        name = "n" + name
    if not name.isidentifier():
        name = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return name + "_" if keyword.iskeyword(name) or keyword.issoftkeyword(name) else name


def qualified(hla_name: str) -> list[str]:
    """Names for a class, the plain one first: A.B.C gives C, B_C, A_B_C."""
    parts = hla_name.split(".")
    return ["_".join(parts[start:]) for start in range(len(parts) - 1, -1, -1)]
