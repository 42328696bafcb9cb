"""One file to one `Module`, whatever its format."""

from __future__ import annotations

from weft.fom.fed import read_fed
from weft.fom.objectmodel import Module
from weft.fom.omt import read_omt
from weft.model.errors import UnreadableObjectModel
from weft.model.records import Source

_UTF8_BOM = b"\xef\xbb\xbf"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")


def parse_module(source: Source) -> Module:
    """OMT XML or an HLA 1.3 FED file, told apart by how the text begins."""
    if source.data[:2] in _UTF16_BOMS:
        return read_omt(source)
    begin = source.data[:65536].removeprefix(_UTF8_BOM).lstrip()
    if begin.startswith(b"<"):
        return read_omt(source)
    if begin.startswith((b"(", b";")):
        return read_fed(source)
    place = f"{source.name}:1"
    if not begin:
        raise UnreadableObjectModel("the file is empty", place)
    raise UnreadableObjectModel("neither OMT XML (begins with '<') nor a FED file (begins with '(')", place)
