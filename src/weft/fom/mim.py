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
OLDER_CLASS = "HLAinteractionRoot.HLAmanager.HLAfederate.HLAadjust.HLAsetServiceReporting"
"""A class of the module `older_mom`."""


@cache
def standard_mim() -> Module:
    data = resources.files("weft.fom").joinpath("data/HLAstandardMIM.xml").read_bytes()
    return parse_module(Source(STANDARD_MIM, data))


@cache
def older_mom() -> Source:
    """A FOM module with the MOM classes of 2010 that 2025 has no more, for federates of that edition."""
    data = resources.files("weft.fom").joinpath("data/MOM-2010.xml").read_bytes()
    return Source("MOM-2010.xml", data)
