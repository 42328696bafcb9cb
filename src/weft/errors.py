"""All errors of Weft, those of IEEE 1516.1-2025 under their standard names: `from weft.errors import NameNotFound`."""

from weft.model import errors as _errors
from weft.model.errors import *  # noqa: F403

__all__ = [
    name for name, kind in vars(_errors).items() if isinstance(kind, type) and issubclass(kind, Exception)
]
