"""The object model that is used where none is given."""

from __future__ import annotations

from importlib.resources import files

from weft.model.records import Source


def proving_model() -> Source:
    return Source("proving.xml", files(__name__).joinpath("proving.xml").read_bytes())
