"""Reading object model files from disk: from what a user names to a `Source` with its text."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote, urlparse

from weft.fom import MAX_SIZE, ObjectModel, merge, parse_module
from weft.model.errors import CouldNotOpenFOM
from weft.model.records import Source

Designator = str | os.PathLike[str] | Source


def read_source(designator: Designator) -> Source:
    """The text behind a path or a file: address; a `Source` is taken as it is."""
    if isinstance(designator, Source):
        return designator
    if not isinstance(designator, (str, os.PathLike)):
        raise CouldNotOpenFOM(
            f"an object model is named by a path or given as a Source, not by {designator!r}"
        )
    name = os.fspath(designator)
    scheme, _, rest = name.partition(":")
    if scheme.lower() in ("http", "https", "ftp") and rest.startswith("//"):
        raise CouldNotOpenFOM(f"{name}: object models are read from files, not from the network; give a path")
    try:
        path = Path(unquote(urlparse(name).path)) if scheme.lower() == "file" else Path(name)
        with path.open("rb") as file:
            data = file.read(MAX_SIZE + 1)  # not its size: a device or a pipe does not know it
    except OSError as error:
        raise CouldNotOpenFOM(f"{name}: {error.strerror or error}") from error
    except ValueError as error:
        raise CouldNotOpenFOM(f"{name!r} is no path: {error}") from error
    if len(data) > MAX_SIZE:
        raise CouldNotOpenFOM(f"{name}: larger than {MAX_SIZE >> 20} MiB; no object model is")
    return Source(name, data)


def read_sources(designators: Designator | Iterable[Designator]) -> tuple[Source, ...]:
    """One designator or several."""
    if isinstance(designators, (str, os.PathLike, Source)):
        return (read_source(designators),)
    if not isinstance(designators, Iterable):
        raise CouldNotOpenFOM(f"object models are named by paths or given as Sources, not by {designators!r}")
    return tuple(read_source(one) for one in designators)


def load_fom(*designators: Designator) -> ObjectModel:
    """The object model of these files merged with the standard MIM, ready to encode and decode."""
    return merge([parse_module(source) for source in read_sources(designators)])
