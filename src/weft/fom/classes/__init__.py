"""Object models as Python classes: dataclasses below `HLAobjectRoot` and `HLAinteractionRoot` are classes of an object model.

`roots` has these two.  `weft fom gen` writes such classes for an object model; who writes them oneself gets an object model
from them (`fom_from`).  `annotations` says which data type an annotation is, `model` puts the object model together.
"""

from weft.fom.classes.annotations import hla
from weft.fom.classes.model import classes_in, fom_from
from weft.fom.classes.roots import HLAclass, HLAinteractionRoot, HLAobjectRoot, disagreement, required

__all__ = [
    "HLAclass",
    "HLAinteractionRoot",
    "HLAobjectRoot",
    "classes_in",
    "disagreement",
    "fom_from",
    "hla",
    "required",
]
