"""Object models that came over the wire: as text, as a ZIP archive, or as an address.

A client may name a file by any path of its own machine; it is only a name here and nothing is opened by it.

For federates that send only an address the operator of a server may have put object models into a folder.  A federate in Java
names a module of its own jar by an address that means nothing elsewhere (`jar:file:/…!/Ships.xml`), and may name one by `http:`.
Of such an address the last name counts, and only files right in the folder have one: no path is followed, and nothing is fetched.
"""

from __future__ import annotations

import io
import os
import re
import zipfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from weft.model.errors import CouldNotOpenFOM, CouldNotOpenMIM, ErrorReadingFOM, ErrorReadingMIM
from weft.model.records import Source
from weft.wire.codec.values import CompressedModule, ModuleUrl

_END = 22  # the size of the record that ends a ZIP archive
_DIRECTORY = 128 << 10  # a directory with one file, of the longest name and comment there are
_SHOWN = 20  # names
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")  # of two letters at least: one is a drive


@dataclass(frozen=True)
class ModuleLimits:
    """What a federate may send as object model, and where those are that it only names."""

    module_bytes: int = 16 << 20  # all modules of one call together, unpacked
    modules: int = 256
    federations: int = 256
    directory: str = ""  # where modules are that a federate only names; none: nowhere


def unpack_modules(
    modules: Iterable[Source | CompressedModule | ModuleUrl], limits: ModuleLimits, mim: bool = False
) -> tuple[Source, ...]:
    given = list(modules)
    unreadable = ErrorReadingMIM if mim else ErrorReadingFOM
    if len(given) > limits.modules:
        raise unreadable(f"{len(given)} modules; the setting limits.modules allows {limits.modules}")
    made = []
    left = limits.module_bytes
    for module in given:
        if isinstance(module, ModuleUrl):
            try:
                source = from_directory(limits.directory, module.url, left)
            except (NoModule, OSError) as error:
                raise (CouldNotOpenMIM if mim else CouldNotOpenFOM)(f"{module.url}: {error}") from error
        else:
            source = _unzip(module, left, unreadable) if isinstance(module, CompressedModule) else module
        left -= len(source.data)
        if left < 0:
            raise unreadable(
                f"{source.name}: with it the modules of this call are too large; the setting limits.module_bytes allows "
                f"{limits.module_bytes} bytes in all"
            )
        made.append(source)
    return tuple(made)


def _unzip(module: CompressedModule, limit: int, unreadable: type[Exception]) -> Source:
    """Read no further than the limit, whatever the archive says of itself: it may be a bomb."""
    _check_directory(module.data, unreadable)
    try:
        with zipfile.ZipFile(io.BytesIO(module.data)) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
            if len(entries) != 1:
                raise unreadable(f"a compressed module has {len(entries)} files instead of one")
            if entries[0].compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                # The others ask for memory.
                raise unreadable("a compressed module is neither stored nor deflated")
            with archive.open(entries[0]) as text:
                data = text.read(limit + 1)
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, OSError, ValueError) as error:
        raise unreadable(f"a compressed module cannot be unpacked: {error}") from error
    return Source(entries[0].filename, data)


def _check_directory(data: bytes, unreadable: type[Exception]) -> None:
    """A directory of a million entries would be taken in before anybody could count them."""
    end = data.rfind(b"PK\x05\x06", max(0, len(data) - _END - 0xFFFF))
    if end < 0 or len(data) - end < _END:
        raise unreadable("a compressed module cannot be unpacked: it is not a ZIP archive")
    size = int.from_bytes(data[end + 12 : end + 16], "little")
    if size > _DIRECTORY or data[max(0, end - 20) : end].startswith(b"PK\x06\x07"):
        raise unreadable("a compressed module has a directory for many files instead of one")


# --- the folder of the operator --------------------------------------------------------------------------------


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
