"""Object models: HLA 1.3 FED files, OMT XML of 2010 and 2025, RID files; merge, check, the MIM, encoders.

Pure: takes `Source` values (a name and bytes), never reads a file; only the MIM, which is program data, comes
from the package itself.
"""

from weft.fom.datatypes import (
    Alternative,
    ArrayType,
    BasicType,
    DataType,
    EnumeratedType,
    Enumerator,
    Field,
    FixedRecordType,
    ReferenceType,
    SimpleType,
    VariantRecordType,
)
from weft.fom.merge import Findings, examine, extend, merge
from weft.fom.mim import standard_mim
from weft.fom.objectmodel import (
    INTERACTION_ROOT,
    OBJECT_ROOT,
    PRIVILEGE_TO_DELETE,
    Attribute,
    Dimension,
    InteractionClass,
    Module,
    ObjectClass,
    ObjectModel,
    Parameter,
    Problem,
    RoutingSpace,
    SynchronizationLabel,
    TimeTypes,
    Transportation,
    UpdateRate,
)
from weft.fom.parse import parse_module
from weft.fom.rid import Rid, parse_rid
from weft.fom.writer import write_omt
from weft.fom.xmltree import MAX_SIZE

__all__ = [
    "INTERACTION_ROOT",
    "MAX_SIZE",
    "OBJECT_ROOT",
    "PRIVILEGE_TO_DELETE",
    "Alternative",
    "ArrayType",
    "Attribute",
    "BasicType",
    "DataType",
    "Dimension",
    "EnumeratedType",
    "Enumerator",
    "Field",
    "Findings",
    "FixedRecordType",
    "InteractionClass",
    "Module",
    "ObjectClass",
    "ObjectModel",
    "Parameter",
    "Problem",
    "ReferenceType",
    "Rid",
    "RoutingSpace",
    "SimpleType",
    "SynchronizationLabel",
    "TimeTypes",
    "Transportation",
    "UpdateRate",
    "VariantRecordType",
    "examine",
    "extend",
    "merge",
    "parse_module",
    "parse_rid",
    "standard_mim",
    "write_omt",
]
