"""Where saves are kept: a file for each federation and label.

    <directory>/<federation>-<hash>/<label>-<hash>.weftsave

Federation names and labels come from the network, so a file name takes only their letters, digits, - and _, and a hash of the
whole name that keeps different ones apart.  The names themselves are in the file.

    8 bytes    WEFTSAVE
    4 bytes    version of this form, big-endian
    8 bytes    length of what follows the checksum, big-endian
    32 bytes   SHA-256 of what follows
    ...        CBOR: federation, label, data (the snapshot, `weft.kernel.federation.snapshot`)

A file is written beside its place, brought to the disk, and then renamed into it: after a crash there is the old save or
the new one, never a part.  Whatever is not whole, or not a save of that federation and label, is refused, naming the file.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from weft.host.files import cbor
from weft.host.files.private import make_private, write_whole
from weft.kernel import Effect, Fetch, Node, Store
from weft.model.errors import WeftError
from weft.model.log_text import ERROR, LogText

DEFAULT_DIRECTORY = "runs/saves"
MAGIC = b"WEFTSAVE"
VERSION = 1
_HEAD = struct.Struct(">8sIQ32s")
_SHOWN = 40


class SaveError(WeftError):
    """A save cannot be written or read; the message names the file."""


class Saves(Protocol):
    """Something that keeps saves."""

    def write(self, federation: str, label: str, data: object) -> None:
        """Keep it, in place of an earlier one of that label; raises SaveError."""

    def read(self, federation: str, label: str) -> object:
        """What was kept; raises SaveError if there is nothing, or nothing sound."""


def pack(federation: str, label: str, data: object) -> bytes:
    payload = cbor.encode({"federation": federation, "label": label, "data": data})
    head = _HEAD.pack(MAGIC, VERSION, len(payload), hashlib.sha256(payload).digest())
    return head + payload


def unpack(federation: str, label: str, whole: bytes, where: str) -> object:
    if whole[: len(MAGIC)] != MAGIC:
        raise SaveError(f"{where} is no save of Weft; move it away")
    if len(whole) < _HEAD.size:
        raise SaveError(f"{where} is torn: it has only {len(whole)} bytes")
    _, version, length, checksum = _HEAD.unpack_from(whole)
    payload = whole[_HEAD.size :]
    if version != VERSION:
        raise SaveError(f"{where} has version {version}; this Weft reads version {VERSION}")
    if len(payload) != length or hashlib.sha256(payload).digest() != checksum:
        raise SaveError(f"{where} is torn or was changed: its checksum does not fit")
    try:
        found = cbor.decode(payload)
        named = (found["federation"], found["label"])
        data = found["data"]
    except (cbor.CborError, KeyError, TypeError) as error:
        raise SaveError(f"{where} is no save of Weft: {error}") from error
    if named != (federation, label):
        raise SaveError(f"{where} is the save {named[1]!r} of federation {named[0]!r}")
    return data


def safe_name(name: str) -> str:
    """A file name for any text: readable, and different for different texts."""
    shown = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:_SHOWN]
    return f"{shown}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


class SaveDirectory:
    """`most`: so many saves of one federation, since a federate may ask for any number of them; 0 for no limit."""

    def __init__(self, directory: str | Path = DEFAULT_DIRECTORY, most: int = 0) -> None:
        self.directory = Path(directory)
        self.most = most

    def path(self, federation: str, label: str) -> Path:
        return self.directory / safe_name(federation) / f"{safe_name(label)}.weftsave"

    def write(self, federation: str, label: str, data: object) -> None:
        path = self.path(federation, label)
        try:
            make_private(path.parent)
            if self.most and not path.exists() and len(list(path.parent.glob("*.weftsave"))) >= self.most:
                raise SaveError(f"{path.parent} has {self.most} saves (limits.saves); remove some")
            write_whole(path, pack(federation, label, data))
            _sync_directory(path.parent)
        except OSError as error:
            raise SaveError(f"{path}: {error.strerror or error}; the save is not kept") from error

    def read(self, federation: str, label: str) -> object:
        path = self.path(federation, label)
        try:
            whole = path.read_bytes()
        except FileNotFoundError as error:
            raise SaveError(f"{path}: there is no save {label!r} of federation {federation!r}") from error
        except OSError as error:
            raise SaveError(f"{path}: {error.strerror or error}") from error
        return unpack(federation, label, whole, str(path))


def _sync_directory(directory: Path) -> None:
    """The rename itself is to survive a crash; where directories cannot be opened (Windows), it does so by itself."""
    with contextlib.suppress(PermissionError):
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


class MemorySaves:
    """Saves that last as long as this object: for the simulated network."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], bytes] = {}

    def write(self, federation: str, label: str, data: object) -> None:
        self.kept[federation, label] = pack(federation, label, data)

    def read(self, federation: str, label: str) -> object:
        found = self.kept.get((federation, label))
        if found is None:
            raise SaveError(f"there is no save {label!r} of federation {federation!r}")
        return unpack(federation, label, found, f"the save {label!r} of federation {federation!r}")


# --- for hosts ------------------------------------------------------------------------------------------------


Outcome = Callable[[Node, float], list[Effect]]
"""Tells a node, at that time, what became of a save."""


def carry_out(saves: Saves, effect: Store | Fetch, report: Callable[[str], None]) -> Outcome:
    """Write or read a save, which may take a while; returns how to tell the node of it."""
    federation, label = effect.federation, effect.label
    where = (federation, effect.execution, label)
    try:
        if isinstance(effect, Store):
            saves.write(federation, label, effect.data)
            return lambda node, now: node.stored(*where, True, now)
        data = saves.read(federation, label)
        return lambda node, now: node.fetched(*where, data, now)
    except SaveError as error:
        stores = isinstance(effect, Store)
        what = f"was not saved as {label!r}" if stores else f"cannot be restored from {label!r}"
        event = "save-failed" if stores else "restore-failed"
        text = f"federation {federation!r} {what}: {error}"
        report(LogText(text, event, ERROR, federation=federation, label=label))
        return failed(effect)


def failed(effect: Store | Fetch) -> Outcome:
    """Tells a node that there is no such save."""
    where = (effect.federation, effect.execution, effect.label)
    if isinstance(effect, Store):
        return lambda node, now: node.stored(*where, False, now)
    return lambda node, now: node.fetched(*where, None, now)
