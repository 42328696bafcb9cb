"""Object models that came over the wire: as text, as a ZIP archive, or as an address.

A client may name a file by any path of its own machine; it is only a name here and nothing is opened by it.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from weft.model.errors import CouldNotOpenFOM, CouldNotOpenMIM, ErrorReadingFOM, ErrorReadingMIM
from weft.model.records import Source
from weft.wire.codec_values import CompressedModule, ModuleUrl


@dataclass(frozen=True)
class ModuleLimits:
    """What a federate may send as object model."""

    module_bytes: int = 16 << 20  # one module, unpacked
    modules: int = 256


def unpack_modules(modules: Iterable[Any], limits: ModuleLimits, mim: bool = False) -> tuple[Source, ...]:
    given = list(modules)
    unreadable = ErrorReadingMIM if mim else ErrorReadingFOM
    if len(given) > limits.modules:
        raise unreadable(f"{len(given)} modules; the setting limits.modules allows {limits.modules}")
    made = []
    for module in given:
        if isinstance(module, ModuleUrl):
            raise (CouldNotOpenMIM if mim else CouldNotOpenFOM)(
                f"{module.url}: the server reads no addresses; the file could not be read where the federate runs, "
                "so only its name was sent"
            )
        source = _unzip(module, limits, unreadable) if isinstance(module, CompressedModule) else module
        if len(source.data) > limits.module_bytes:
            raise unreadable(
                f"{source.name}: {len(source.data)} bytes; the setting limits.module_bytes allows {limits.module_bytes}"
            )
        made.append(source)
    return tuple(made)


def _unzip(module: CompressedModule, limits: ModuleLimits, unreadable: type[Exception]) -> Source:
    """Read no further than the limit, whatever the archive says of itself: it may be a bomb."""
    try:
        with zipfile.ZipFile(io.BytesIO(module.data)) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
            if len(entries) != 1:
                raise unreadable(f"a compressed module has {len(entries)} files instead of one")
            with archive.open(entries[0]) as text:
                data = text.read(limits.module_bytes + 1)
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
