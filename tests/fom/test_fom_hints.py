"""What `weft fom check` says of a file: each warning also says what is right (issue 18, 1)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support import documents
from weft.cli import main
from weft.fom import examine, parse_module, standard_mim
from weft.model.records import Source

ROOT = documents.ROOT
MODEL = """<objectModel xmlns="http://standards.ieee.org/IEEE1516-{edition}">
<modelIdentification><name>Odd</name><type>FOM</type></modelIdentification>
{rest}
</objectModel>"""
CLASS = (
    "<objects><objectClass><name>HLAobjectRoot</name><objectClass><name>Ship</name>"
    "{inside}</objectClass></objectClass></objects>"
)


def said(text: str, name: str = "odd.xml") -> list[tuple[str, str]]:
    found = examine([standard_mim(), parse_module(Source(name, text.encode()))]).model.warnings
    return [(one.severity, one.message) for one in found]


@pytest.mark.parametrize(
    "edition, rest, right",
    [
        (
            2025,
            CLASS.format(inside="<sharing>All</sharing>"),
            "Neither, Publish, PublishSubscribe, Subscribe",
        ),
        (
            2025,
            CLASS.format(inside="<colour/>"),
            "may be name, sharing, directedInteraction, dimensions, attribute, objectClass",
        ),
        (2010, CLASS.format(inside="<colour/>"), "there may be name, sharing, attribute, objectClass"),
        (
            2025,
            CLASS.format(inside="<attribute><name>A</name></attribute><sharing>Publish</sharing>"),
            "put it before <attribute>",
        ),
        (
            2025,
            CLASS.format(inside="<attribute><name>A</name><dataType>HLAfloat46BE</dataType></attribute>"),
            "did you mean 'HLAfloat64BE'?",
        ),
        (
            2025,
            CLASS.format(inside="<attribute><name>A</name><dataType>Quaternion</dataType></attribute>"),
            "define it, or add the module that does",
        ),
        (
            2025,
            CLASS.format(inside="<attribute><name>A</name><order>receive</order></attribute>"),
            "order 'receive' is read as 'Receive', which is how to write it",
        ),
        (
            2025,
            "<dimensions><dimension><name>X</name><dataType>HLAinteger32BE</dataType><upperBound>9</upperBound></dimension></dimensions>",
            "write <inputDataTypes><dataType>…</dataType></inputDataTypes>, or leave it out",
        ),
        (
            2025,
            "<dimensions><dimension><name>X</name><upperBound>few</upperBound></dimension></dimensions>",
            "it must be a whole number of at least 1",
        ),
        (
            2025,
            "<time><timeStamp><dataType>HLAfloat64Time</dataType></timeStamp></time>",
            "call it <logicalTime>",
        ),
        (
            2010,
            "<time><logicalTime><dataType>HLAfloat64Time</dataType></logicalTime></time>",
            "call it <timeStamp>",
        ),
        (2010, "<switches><nonRegulatedGrant isEnabled='true'/></switches>", "leave it out"),
        (
            2025,
            "<updateRates><updateRate><name>Low</name><rate>-1</rate></updateRate></updateRates>",
            "more than 0",
        ),
    ],
)
def test_a_warning_says_what_is_right(edition: int, rest: str, right: str) -> None:
    found = said(MODEL.format(edition=edition, rest=rest))
    assert [severity for severity, message in found if right in message] == ["warning"], found


def test_an_order_of_our_own_is_no_fault() -> None:
    """Other RTIs do not know it, which is worth a note; the file is as it should be."""
    inside = "<attribute><name>A</name><order>Causal</order></attribute>"
    (found,) = said(MODEL.format(edition=2025, rest=CLASS.format(inside=inside)))
    assert found == ("note", "order 'Causal' is Weft's own: other RTIs know Receive and TimeStamp")


def _models() -> list[tuple[str, str]]:
    shown = [
        (block.document, block.text) for page in documents.documents() for block in documents.blocks(page)
    ]
    found = [(page, text) for page, text in shown if text.lstrip().startswith("<objectModel")]
    data = ROOT / "src" / "weft" / "cli" / "data"
    return [*found, *((one.name, one.read_text()) for one in sorted(data.glob("*.xml")))]


@pytest.mark.parametrize("page, text", _models(), ids=lambda one: one if len(one) < 60 else "model")
def test_our_own_models_pass_clean(
    page: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those of the tutorial, of the other pages, and those that come along."""
    (tmp_path / "model.xml").write_text(text)
    assert main(["fom", "check", str(tmp_path / "model.xml")]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^warnings +0$", out, re.M), f"{page}: {out}"


def test_there_are_models_to_check() -> None:
    assert {
        "docs/tutorials/federate.md",
        "docs/tutorials/causal-order.md",
        "docs/tutorials/regions.md",
        "range.xml",
    } <= {page for page, _ in _models()}
