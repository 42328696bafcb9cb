"""Object models that the operator of a server has put into a folder, for federates that send only an address.

A federate in Java names a module of its own jar by an address that means nothing elsewhere (`jar:file:/…!/Ships.xml`), and may
name one by `http:`.  Of such an address the last name counts, and only files right in the folder have one: no path is followed,
and nothing is fetched.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import unquote

from weft.model.records import Source

_SHOWN = 20  # names
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")  # of two letters at least: one is a drive


class NoModule(Exception):
    """There is none; the message says why, and what to do."""


def from_directory(directory: str, address: str, limit: int) -> Source:
    """The module that this address names, as far as its first `limit` bytes and one more."""
    scheme = _SCHEME.match(address)
    if not directory:
        if scheme is None or scheme[1].lower() == "file":
            raise NoModule(
                "the federate could not read this file where it runs, so only its name was sent; "
                "check its path and its working directory"
            )
        raise NoModule(
            "a server fetches nothing, and what is in a jar only its own federate can read; give the federate a file, "
            "or put the module into a folder of the server's (weft serve --modules DIR, the setting serve.module_directory)"
        )
    name = plain_name(address)
    folder = Path(directory).resolve()
    if not name or not _has(folder, name):
        known = sorted(one for one in os.listdir(folder) if plain_name(one) == one and _has(folder, one))
        shown = ", ".join(known[:_SHOWN]) + (", …" if len(known) > _SHOWN else "")
        raise NoModule(
            f"there is no module {name!r} in the folder of the server (serve.module_directory), which has {shown or 'none'}"
        )
    with (folder / name).open("rb") as file:
        return Source(name, file.read(limit + 1))


def _has(folder: Path, name: str) -> bool:
    """What a link out of the folder leads to is not in the folder."""
    path = folder / name
    return path.is_file() and folder in path.resolve().parents


def plain_name(address: str) -> str:
    """The last name in an address or a path; empty if there is none that could be a file's."""
    if _SCHEME.match(address):
        address = re.split("[?#]", address, maxsplit=1)[0]
    name = unquote(re.split(r"[/\\!:]", address)[-1])
    if name.startswith(".") or not name.isprintable() or "/" in name or "\\" in name:
        return ""
    return name
