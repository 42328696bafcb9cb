"""What the commands read: object models, and what leads to exceptions."""

from __future__ import annotations

from importlib.resources import files

from weft.model.records import Source


def object_model(name: str) -> Source:
    """An object model of this package, with its text."""
    return Source(name, files(__name__).joinpath(name).read_bytes())
