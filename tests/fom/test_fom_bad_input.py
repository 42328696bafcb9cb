"""Bad input: a clear error that names file and line, in bounded time and memory."""

from __future__ import annotations

import tracemalloc

import pytest

from weft.fom import MAX_SIZE, examine, merge, parse_module
from weft.fom.xmltree import MAX_DEPTH, MAX_ELEMENTS
from weft.model.errors import (
    ConflictingObjectModels,
    InvalidObjectModel,
    ObjectModelError,
    UnreadableObjectModel,
)
from weft.model.records import Source

NAMESPACE = "http://standards.ieee.org/IEEE1516-2025"


def module_text(body: str, before: str = "") -> bytes:
    return f'<?xml version="1.0"?>{before}\n<objectModel xmlns="{NAMESPACE}">{body}</objectModel>'.encode()


def objects(body: str) -> str:
    return f"<objects><objectClass><name>HLAobjectRoot</name>{body}</objectClass></objects>"


def refused(data: bytes, error: type[ObjectModelError], line: int, word: str) -> None:
    with pytest.raises(error, match=word) as caught:
        parse_module(Source("bad.xml", data))
    assert caught.value.place == f"bad.xml:{line}"


BOMB = """<!DOCTYPE objectModel [
<!ENTITY a "aaaaaaaaaa">
<!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">
<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">
]>"""


@pytest.mark.parametrize(
    ("data", "line", "word"),
    [
        (b"", 1, "empty"),
        (b" \n\t", 1, "empty"),
        (b"\x7fELF\0\0", 1, "neither"),
        (b"hello", 1, "neither"),
        (b"<objectModel>\n<objects>\n</objectModel>", 3, "mismatched"),
        (b"<objectModel>\n<objects>", 2, "no element found"),
        (b"<", 1, "not well-formed"),
        (b"<?xml version='1.0' encoding='no-such'?><objectModel/>", 1, "encoding"),
        (module_text("", BOMB), 2, "entity 'a'"),
        (
            module_text("&x;", '<!DOCTYPE objectModel [<!ENTITY x SYSTEM "file:///etc/passwd">]>'),
            1,
            "entity 'x'",
        ),
        (module_text("", '<!DOCTYPE objectModel [<!ENTITY % x SYSTEM "http://x/">%x;]>'), 1, "entity 'x'"),
        (b"\xff\xfe<\0", 1, "not well-formed"),
    ],
)
def test_unreadable(data: bytes, line: int, word: str) -> None:
    refused(data, UnreadableObjectModel, line, word)


@pytest.mark.parametrize(
    ("data", "line", "word"),
    [
        (b"\n<html/>", 2, "<html>"),
        (b'<objectModel DTDversion="1516.2"/>', 1, "2000"),
        (
            module_text("\n<objects>\n<objectClass><name>Tank</name></objectClass></objects>"),
            4,
            "no known parent",
        ),
        (
            module_text(
                "\n<interactions><interactionClass><name>HLAobjectRoot</name></interactionClass></interactions>"
            ),
            3,
            "HLAinteractionRoot",
        ),
        (module_text(objects("\n<objectClass/>")), 3, "no <name>"),
        (module_text(objects("\n<objectClass><name>A.B</name></objectClass>")), 3, "dot"),
        (module_text(objects("\n<attribute><dataType>X</dataType></attribute>")), 3, "no <name>"),
        (
            module_text("<dataTypes><simpleDataTypes>\n<simpleData/></simpleDataTypes></dataTypes>"),
            3,
            "no <name>",
        ),
        (module_text(objects(f"<objectClass><name>{'x' * 2000}</name></objectClass>")), 2, "characters"),
    ],
)
def test_meaningless(data: bytes, line: int, word: str) -> None:
    refused(data, InvalidObjectModel, line, word)


def test_a_bare_document_type_is_only_warned_about() -> None:
    module = parse_module(
        Source("a.xml", module_text("&nbsp;", '<!DOCTYPE objectModel SYSTEM "missing.dtd">'))
    )
    assert [problem.place for problem in module.warnings][:1] == ["a.xml:1"]


def nested(depth: int) -> bytes:
    return module_text(objects("<objectClass><name>a</name>" * depth + "</objectClass>" * depth))


def test_depth() -> None:
    parse_module(Source("deep.xml", nested(MAX_DEPTH - 10)))
    refused(nested(MAX_DEPTH), UnreadableObjectModel, 2, "deeper")


@pytest.mark.parametrize(
    "data",
    [
        b"<objectModel><objects>" + b"<objectClass>" * 8_000_000,
        b"<objectModel>" + b"<a>" * 20_000_000,
        b"<objectModel>" + b"<a/>" * 15_000_000,
        b"(" * 60_000_000,
        b"(FED" + b";\n" * 30_000_000,
    ],
    ids=["deep and too large", "deep", "wide", "deep FED", "only comments"],
)
def test_a_hundred_megabytes_cost_little(data: bytes) -> None:
    """The text is there already; what reading it adds stays small, since reading ends at the first limit."""
    tracemalloc.start()
    try:
        with pytest.raises(UnreadableObjectModel, match=r"^big:\d+: "):
            parse_module(Source("big", data))
        assert tracemalloc.get_traced_memory()[1] < 4 * MAX_SIZE
    finally:
        tracemalloc.stop()


def test_wide_files_end_at_the_limit_of_elements() -> None:
    data = module_text(objects("<attribute><name>a</name></attribute>" * (MAX_ELEMENTS // 2)))
    refused(data, UnreadableObjectModel, 2, "elements")


def test_inheritance_may_not_multiply_without_bound() -> None:
    """Many attributes at the root and many classes below them: small as a file, huge as a table."""
    attributes = "".join(f"<attribute><name>a{n}</name></attribute>" for n in range(2000))
    classes = "".join(f"<objectClass><name>c{n}</name></objectClass>" for n in range(2000))
    module = parse_module(Source("wide.xml", module_text(objects(attributes + classes))))
    with pytest.raises(InvalidObjectModel, match="inherited"):
        merge([module])


# Contradictions

ATTRIBUTE = "<attribute><name>x</name><dataType>{0}</dataType><transportation>{1}</transportation><order>{2}</order></attribute>"


def tank(data_type: str = "HLAbyte", transportation: str = "HLAreliable", order: str = "Receive") -> str:
    attribute = ATTRIBUTE.format(data_type, transportation, order)
    return objects(f"<objectClass><name>Tank</name><sharing>Publish</sharing>\n{attribute}</objectClass>")


@pytest.mark.parametrize(
    "second", [tank("HLAoctet"), tank(transportation="HLAbestEffort"), tank(order="TimeStamp")]
)
def test_two_modules_that_define_a_class_differently(second: str) -> None:
    one, two = (
        parse_module(Source(name, module_text(text))) for name, text in (("1.xml", tank()), ("2.xml", second))
    )
    with pytest.raises(ConflictingObjectModels, match=r"^2\.xml:3: .*Tank\.x contradicts 1\.xml:3: "):
        merge([one, two])
    assert len(examine([one, two]).errors) == 1


def simple(representation: str) -> str:
    row = f"<simpleData><name>T</name><representation>{representation}</representation></simpleData>"
    return f"<dataTypes><simpleDataTypes>{row}</simpleDataTypes></dataTypes>"


def enumeration(*pairs: tuple[str, int]) -> str:
    rows = "".join(
        f"<enumerator><name>{name}</name><value>{value}</value></enumerator>" for name, value in pairs
    )
    row = f"<enumeratedData><name>E</name><representation>HLAoctet</representation>{rows}</enumeratedData>"
    return f"<dataTypes><enumeratedDataTypes>{row}</enumeratedDataTypes></dataTypes>"


def dimension(bound: int) -> str:
    return f"<dimensions><dimension><name>D</name><upperBound>{bound}</upperBound></dimension></dimensions>"


def rate(value: float) -> str:
    return f"<updateRates><updateRate><name>R</name><rate>{value}</rate></updateRate></updateRates>"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (simple("HLAoctet"), simple("HLAinteger32BE")),
        (simple("HLAoctet"), enumeration(("T", 1)).replace("<name>E<", "<name>T<")),
        (enumeration(("A", 1)), enumeration(("A", 2))),
        (enumeration(("A", 1)), enumeration(("B", 1))),
        (dimension(3), dimension(4)),
        (rate(3), rate(4)),
    ],
)
def test_other_contradictions(first: str, second: str) -> None:
    one, two = (
        parse_module(Source(name, module_text(text))) for name, text in (("1.xml", first), ("2.xml", second))
    )
    with pytest.raises(ConflictingObjectModels, match=r"^2\.xml:2: .*1\.xml:2"):
        merge([one, two])


def test_a_contradiction_within_one_file() -> None:
    twice = objects(ATTRIBUTE.format("HLAbyte", "", "") + "\n" + ATTRIBUTE.format("HLAoctet", "", ""))
    refused(module_text(twice), ConflictingObjectModels, 3, "data type")


def test_an_inherited_attribute_may_not_change() -> None:
    inner = objects(
        ATTRIBUTE.format("HLAbyte", "", "")
        + f"<objectClass><name>A</name>{ATTRIBUTE.format('HLAoctet', '', '')}</objectClass>"
    )
    with pytest.raises(ConflictingObjectModels, match="inherited"):
        merge([parse_module(Source("a.xml", module_text(inner)))])


def test_a_parent_that_no_module_defines() -> None:
    child = objects(
        "\n<objectClass><name>Ghost</name><objectClass><name>Child</name></objectClass></objectClass>"
    )
    module = parse_module(Source("a.xml", module_text(child)))
    with pytest.raises(InvalidObjectModel, match=r"^a\.xml:3: unknown parent: .*Ghost"):
        merge([module])
    findings = examine([module])
    assert findings.errors == ()
    assert [problem.place for problem in findings.model.warnings][-1] == "a.xml:3"


@pytest.mark.parametrize(
    "text",
    [
        "<dimensions><dimension>Nowhere</dimension></dimensions>",
        "<directedInteraction><name>Nowhere</name></directedInteraction>",
    ],
)
def test_names_that_nobody_defines(text: str) -> None:
    module = parse_module(
        Source("a.xml", module_text(objects(f"<objectClass><name>A</name>{text}</objectClass>")))
    )
    with pytest.raises(InvalidObjectModel, match="Nowhere"):
        merge([module])
    assert examine([module]).errors == ()


def test_unknown_elements_are_warnings_however_many() -> None:
    module = parse_module(Source("a.xml", module_text("\n<colour/>" * 5000)))
    assert str(module.warnings[0]).startswith(
        "a.xml:3: unknown element <colour> in <objectModel> is ignored; there may be modelIdentification, objects, "
    )
    assert len(module.warnings) == 1001
