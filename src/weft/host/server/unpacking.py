"""Object models that came over the wire: as text, as a ZIP archive, or as an address.

A client may name a file by any path of its own machine; it is only a name here and nothing is opened by it.  For an address
the operator may have put a file into a folder (`server.module_directory`).
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass

from weft.host.server.module_directory import NoModule, from_directory
from weft.model.errors import CouldNotOpenFOM, CouldNotOpenMIM, ErrorReadingFOM, ErrorReadingMIM
from weft.model.records import Source
from weft.wire.codec.values import CompressedModule, ModuleUrl

_END = 22  # the size of the record that ends a ZIP archive
_DIRECTORY = 128 << 10  # a directory with one file, of the longest name and comment there are


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
            raise unreadable(f"{source.name}: {_too_much(limits.module_bytes)}")
        made.append(source)
    return tuple(made)


def _too_much(limit: int) -> str:
    return f"with it the modules of this call are too large; the setting limits.module_bytes allows {limit} bytes in all"


def _unzip(module: CompressedModule, limit: int, unreadable: type[Exception]) -> Source:
    """Read no further than the limit, whatever the archive says of itself: it may be a bomb."""
    _check_directory(module.data, unreadable)
    try:
        with zipfile.ZipFile(io.BytesIO(module.data)) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
            if len(entries) != 1:
                raise unreadable(f"a compressed module has {len(entries)} files instead of one")
            if entries[0].compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise unreadable(
                    "a compressed module is neither stored nor deflated"
                )  # the others ask for memory
            with archive.open(entries[0]) as text:
                data = text.read(limit + 1)
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        NotImplementedError,
        RuntimeError,
        OSError,
        ValueError,
    ) as error:
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
