"""The standard's MIM of 2025 and of 2010 as facts: the tables in `tests/data/mim`, and an object model file made of them.

`objects.txt` and `interactions.txt` have a class on each line, deeper ones indented, and below it, after a dot, its attributes or
parameters; `-` is what the standard leaves out.  The words of a line, in this order:

    class of objects       name, sharing, dimensions
    attribute              name, data type, update type, value required, ownership, sharing, transportation, order, dimensions
    class of interactions  name, sharing, transportation, order, dimensions
    parameter              name, data type

`types.txt` and `others.txt` have a thing on each line, which begins with its kind (see `_TYPES` and `_dimension`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from weft import Source

MIM = Path(__file__).parents[1] / "data" / "mim"
_ATTRIBUTE = [
    "name",
    "dataType",
    "updateType",
    "valueRequired",
    "ownership",
    "sharing",
    "transportation",
    "order",
]


def standard_mim_file(year: str) -> Source:
    """All that the standard's file of that year says but for its texts, as a file of that year."""
    parts = [
        f'<objectModel xmlns="http://standards.ieee.org/IEEE1516-{year}">',
        "<modelIdentification><name>The MIM as facts</name><type>FOM</type></modelIdentification>",
        f"<objects>{_tree(_rows(year, 'objects'), 'objectClass', ['name', 'sharing'], 'attribute', _ATTRIBUTE)}</objects>",
        "<interactions>",
        _tree(
            _rows(year, "interactions"),
            "interactionClass",
            ["name", "sharing", "transportation", "order"],
            "parameter",
            ["name", "dataType"],
        ),
        "</interactions>",
        "<dimensions>",
        *(_dimension(year, *words) for words in _of_kind(year, "others", "dimension")),
        "</dimensions><transportations>",
        *(
            _element("transportation", _element("name", name) + _element("reliable", reliable))
            for name, reliable in _of_kind(year, "others", "transportation")
        ),
        "</transportations><dataTypes>",
        *(_types(year, kind) for kind in _TYPES),
        "</dataTypes></objectModel>",
    ]
    return Source(f"MIM {year}", "\n".join(parts).encode())


def _rows(year: str, table: str) -> list[str]:
    return (MIM / year / f"{table}.txt").read_text().splitlines()


def _of_kind(year: str, table: str, kind: str) -> Iterator[list[str]]:
    for row in _rows(year, table):
        first, *words = row.split()
        if first == kind:
            yield words


def _element(tag: str, text: str) -> str:
    return "" if text == "-" else f"<{tag}>{text}</{tag}>"


def _elements(tags: list[str], words: list[str]) -> str:
    """The first words by their tags; the others are dimensions, which the schema wants before the transportation."""
    text = [_element(tag, word) for tag, word in zip(tags, words, strict=False)]
    dimensions = "".join(_element("dimension", word) for word in words[len(tags) :])
    if dimensions:
        at = tags.index("transportation") if "transportation" in tags else len(tags)
        text.insert(at, _element("dimensions", dimensions))
    return "".join(text)


def _tree(rows: list[str], tag: str, own: list[str], member: str, inner: list[str]) -> str:
    text, depth = [], -1
    for row in rows:
        here = (len(row) - len(row.lstrip())) // 2
        words = row.split()
        if words[0] == ".":
            text.append(_element(member, _elements(inner, words[1:])))
        else:
            text += [f"</{tag}>" * (depth - here + 1), f"<{tag}>", _elements(own, words)]
            depth = here
    return "".join([*text, f"</{tag}>" * (depth + 1)])


def _dimension(year: str, name: str, upper_bound: str, value: str, *types: str) -> str:
    kinds = "".join(_element("dataType", kind) for kind in types)
    kinds = _element("inputDataTypes", kinds) if year == "2025" else kinds
    return _element(
        "dimension",
        f"{_element('name', name)}{kinds}{_element('upperBound', upper_bound)}{_element('value', value)}",
    )


# What follows the kind on a line of `types.txt`, and the elements around all and around each.
_TYPES = {
    "basic": ("basicDataRepresentations", "basicData", ["name", "size", "endian"]),
    "simple": (
        "simpleDataTypes",
        "simpleData",
        ["name", "representation", "units", "resolution", "accuracy"],
    ),
    "reference": (
        "referenceDataTypes",
        "referenceDataType",
        ["name", "representation", "referenceClass", "referencedAttribute"],
    ),
    "enumerated": ("enumeratedDataTypes", "enumeratedData", ["name", "representation"]),  # name=value …
    "array": ("arrayDataTypes", "arrayData", ["name", "dataType", "cardinality", "encoding"]),
    "record": ("fixedRecordDataTypes", "fixedRecordData", ["name", "encoding"]),  # name:type …
}


def _types(year: str, kind: str) -> str:
    around, each, tags = _TYPES[kind]
    text = []
    for words in _of_kind(year, "types", kind):
        if kind == "basic":
            words[2] = words[2].capitalize()
        more = "".join(_part(kind, word) for word in words[len(tags) :])
        text.append(_element(each, _elements(tags, words[: len(tags)]) + more))
    return _element(around, "".join(text)) if text else ""


def _part(kind: str, word: str) -> str:
    if kind == "record":
        name, _, data_type = word.partition(":")
        return _element("field", _element("name", name) + _element("dataType", data_type))
    name, _, values = word.partition("=")
    return _element(
        "enumerator",
        _element("name", name) + "".join(_element("value", value) for value in values.split(",")),
    )
