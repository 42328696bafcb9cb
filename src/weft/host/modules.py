"""Reading object model files from disk: from what a user names to a `Source` with its text."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote, urlparse

from weft.fom import MAX_SIZE, Module, ObjectModel, merge, parse_module
from weft.model.errors import CouldNotOpenFOM
from weft.model.records import Source

Designator = str | os.PathLike[str] | Source


def read_source(designator: Designator) -> Source:
    """The text behind a path or a file: address; a `Source` is taken as it is."""
    if isinstance(designator, Source):
        return designator
    name = os.fspath(designator)
    address = urlparse(name)
    if address.scheme in ("http", "https", "ftp"):
        raise CouldNotOpenFOM(f"{name}: object models are read from files, not from the network; give a path")
    path = Path(unquote(address.path)) if address.scheme == "file" else Path(name)
    try:
        if path.stat().st_size > MAX_SIZE:
            raise CouldNotOpenFOM(f"{name}: larger than {MAX_SIZE >> 20} MiB; no object model is")
        return Source(name, path.read_bytes())
    except OSError as error:
        raise CouldNotOpenFOM(f"{name}: {error.strerror or error}") from error


def read_sources(designators: Designator | Iterable[Designator]) -> tuple[Source, ...]:
    """One designator or several."""
    if isinstance(designators, (str, os.PathLike, Source)):
        return (read_source(designators),)
    return tuple(read_source(one) for one in designators)


def load_modules(designators: Iterable[Designator]) -> list[Module]:
    return [parse_module(source) for source in read_sources(designators)]


def load_fom(*designators: Designator) -> ObjectModel:
    """The object model of these files merged with the standard MIM, ready to encode and decode."""
    return merge(load_modules(designators))
