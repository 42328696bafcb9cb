"""Compiled or pure.

Where mypyc has built extensions of the hot modules, Python prefers them to the .py files beside them.  WEFT_PURE=1 in the
environment turns that around, to compare the two or to debug in the source.
"""

from __future__ import annotations

import importlib.machinery
import os
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from mypy_extensions import mypyc_attr as mypyc_attr
else:
    Decorated = TypeVar("Decorated")

    def mypyc_attr(**attributes: object) -> Callable[[Decorated], Decorated]:
        """What it says of a class is for the compiler, and it is there only when there is one."""
        return lambda kind: kind


WITNESS = "weft.kernel.message.pipeline"


class _SourceOnly:
    """Finds the modules of this package as source, never as an extension."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not name.startswith("weft.") or path is None:
            return None
        loader = (importlib.machinery.SourceFileLoader, importlib.machinery.SOURCE_SUFFIXES)
        for folder in path:
            spec = importlib.machinery.FileFinder(folder, loader).find_spec(name)
            if spec is not None:
                return spec
        return None


def prefer_source_if_asked() -> None:
    if os.environ.get("WEFT_PURE") and not any(isinstance(finder, _SourceOnly) for finder in sys.meta_path):
        sys.meta_path.insert(0, _SourceOnly())


def is_compiled() -> bool:
    """Are the hot modules running compiled?"""
    module = sys.modules.get(WITNESS)
    if module is None:
        import importlib

        module = importlib.import_module(WITNESS)
    return not str(module.__file__).endswith(".py")
