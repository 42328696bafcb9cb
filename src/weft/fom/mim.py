"""The standard MOM and initialization module (MIM) of IEEE 1516-2025.

`data/HLAstandardMIM.xml` holds its facts (names, types, structure), in our own file.
"""

from __future__ import annotations

from functools import cache
from importlib import resources

from weft.fom.objectmodel import Module
from weft.fom.parse import parse_module
from weft.model.records import Source

STANDARD_MIM = "HLAstandardMIM"


@cache
def standard_mim() -> Module:
    data = resources.files("weft.fom").joinpath("data/HLAstandardMIM.xml").read_bytes()
    return parse_module(Source(STANDARD_MIM, data))
