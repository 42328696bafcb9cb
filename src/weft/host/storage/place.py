"""One file or folder, wherever it lies.

`place_of("runs/Range")` is a folder of this machine, `place_of("s3://lake/runs?region=eu-central-1")` one of a store.  A place is
a value: it is compared by its address and goes to other processes as such, so a task of Spark opens what the command named.

Two things differ from a path, because stores of objects have no more:

* a file is written whole, or not at all (`write`); nothing is ever renamed or changed in its middle;
* a folder is there as long as a file lies below it; nobody makes one.

On this machine nothing but the standard library is needed.  Elsewhere `pyarrow.fs` does the work (s3, gs, hdfs, abfs), and
for all other kinds fsspec, if it is installed, with the package for that kind.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, NamedTuple, cast
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from weft.host.files.private import make_private, write_by, write_whole
from weft.model.errors import WeftError

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.fs as fs

LOCAL = "file"
_PIECE = 4 << 20  # bytes that are copied at once


class StorageError(WeftError):
    """A place cannot be reached; the message names it and what to do."""


class StoredEntry(NamedTuple):
    """What lies in a folder."""

    place: Place
    is_folder: bool
    bytes: int
    mtime_ns: int


class Place:
    """See above; made by `place_of`."""

    __slots__ = ("_base", "_options", "path")

    def __init__(self, path: str, base: str = "", options: str = "") -> None:
        """`path`: below the base, or absolute here.  `base`: scheme and authority; `options`: behind the question mark."""
        self.path = PurePosixPath(path)
        self._base = base
        self._options = options

    # Names

    @property
    def address(self) -> str:
        """With which `place_of` makes the same place again, in whatever folder and on whatever machine."""
        return self._shown(self._base) + (f"?{self._options}" if self._options else "")

    def __str__(self) -> str:
        """For people: without options and passwords."""
        return self._shown(_hidden(self._base))

    def _shown(self, base: str) -> str:
        return f"{base}{quote(str(self.path), safe='/=+,~!$()*:@')}" if base else str(self.path)

    def __repr__(self) -> str:
        return f"place_of({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Place) and self.address == other.address

    def __lt__(self, other: Place) -> bool:
        return self.address < other.address

    def __hash__(self) -> int:
        return hash(self.address)

    def __reduce__(self) -> tuple[type[Place], tuple[str, str, str]]:
        return Place, (str(self.path), self._base, self._options)

    @property
    def local(self) -> Path | None:
        """As a path, if it lies on this machine."""
        return None if self._base else Path(self.path)

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def stem(self) -> str:
        return self.path.stem

    @property
    def suffix(self) -> str:
        return self.path.suffix

    @property
    def parent(self) -> Place:
        return self._at(self.path.parent)

    def __truediv__(self, name: str) -> Place:
        return self._at(self.path / name)

    def with_name(self, name: str) -> Place:
        return self._at(self.path.with_name(name))

    def below(self, folder: Place) -> str:
        """Its path as seen from that folder, which it lies in."""
        return str(self.path.relative_to(folder.path))

    def _at(self, path: PurePosixPath) -> Place:
        return Place(str(path), self._base, self._options)

    # What is there

    def is_file(self) -> bool:
        found = self._look()
        return found is not None and not found.is_folder

    def is_folder(self) -> bool:
        found = self._look()
        return found is not None and found.is_folder

    def entry(self) -> StoredEntry:
        """Size and time; raises FileNotFoundError."""
        found = self._look()
        if found is None:
            raise FileNotFoundError(2, "there is no such file", str(self))
        return found

    def _look(self) -> StoredEntry | None:
        local = self.local
        if local is None:
            return _entry(self, self._store().get_file_info(self._key))
        try:
            told = local.stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        return StoredEntry(self, local.is_dir(), told.st_size, told.st_mtime_ns)

    def entries(self) -> list[StoredEntry]:
        """What lies in this folder, by name; nothing if it is not there."""
        return sorted(self._listed(recursive=False), key=lambda entry: entry.place.name)

    def files(self) -> list[StoredEntry]:
        """All files below this folder, at whatever depth."""
        return sorted(one for one in self._listed(recursive=True) if not one.is_folder)

    def _listed(self, recursive: bool) -> Iterator[StoredEntry]:
        local = self.local
        if local is not None:
            yield from _listed_here(local, recursive)
            return
        import pyarrow.fs as fs

        chosen = fs.FileSelector(self._key, allow_not_found=True, recursive=recursive)
        for info in self._store().get_file_info(chosen):
            below = PurePosixPath(info.path).relative_to(self._key)
            found = _entry(self / str(below), info)
            if found is not None:
                yield found

    # Reading and writing

    def read(self) -> bytes:
        """The whole file; raises OSError."""
        local = self.local
        if local is not None:
            return local.read_bytes()
        with self._store().open_input_stream(self._key) as stream:
            return cast("bytes", stream.read())

    def open_file(self) -> IO[bytes] | pa.NativeFile:
        """For whoever reads parts of a file, as readers of Parquet do."""
        local = self.local
        return open(local, "rb") if local is not None else self._store().open_input_file(self._key)

    def write(self, data: bytes) -> None:
        """The whole file, in place of the one that was there; whoever reads meanwhile gets the one or the other."""
        local = self.local
        if local is not None:
            make_private(local.parent)
            write_whole(local, data)
            return
        with self._new_file() as stream:
            stream.write(data)

    def write_from(self, source: IO[bytes]) -> None:
        """The same, of what a file of this machine has: piece by piece, whatever its size."""
        local = self.local
        if local is not None:
            make_private(local.parent)
            write_by(local, lambda file: shutil.copyfileobj(source, file, _PIECE))
            return
        with self._new_file() as stream:
            shutil.copyfileobj(source, stream, _PIECE)

    def write_by(self, write: Callable[[IO[bytes]], object]) -> None:
        """The same, by whoever can write to a file; if that fails, nothing has changed."""
        local = self.local
        if local is not None:
            make_private(local.parent)
            write_by(local, write)
            return
        with tempfile.TemporaryFile() as file:  # a store would show what was cut off
            write(file)
            file.seek(0)
            self.write_from(file)

    def remove(self) -> None:
        """The file, or the folder with all that lies below it; nothing happens if it is not there."""
        local = self.local
        if local is not None:
            _remove_here(local)
            return
        found = self._look()
        if found is None:
            return
        if found.is_folder:
            for entry in self.files():
                self._store().delete_file(entry.place._key)
            with contextlib.suppress(OSError):  # for most stores it went with the last of its files
                self._store().delete_dir(self._key)
        else:
            self._store().delete_file(self._key)

    def copy_to(self, other: Place) -> None:
        """The file, to another place of the same store, which does it by itself."""
        local, there = self.local, other.local
        if local is not None and there is not None:
            make_private(there.parent)
            with local.open("rb") as source:
                other.write_from(source)
        else:
            self._store().copy_file(self._key, other._key)

    # The store

    def for_arrow(self) -> tuple[fs.FileSystem, str]:
        """Its store and what that calls it: for whoever hands many files to Arrow at once."""
        import pyarrow.fs as fs

        return (self._store(), self._key) if self._base else (fs.LocalFileSystem(), str(self.path))

    def _new_file(self) -> pa.NativeFile:
        """A store shows the object when it is closed, and not before."""
        store = self._store()
        if store.type_name in ("local", "hdfs"):
            store.create_dir(str(PurePosixPath(self._key).parent), recursive=True)
        return store.open_output_stream(self._key)

    @property
    def _key(self) -> str:
        """What the store calls it."""
        return _root(self._base, self._options)[1] + str(self.path).lstrip("/")

    def _store(self) -> fs.FileSystem:
        return _root(self._base, self._options)[0]


def place_of(given: str | os.PathLike[str] | Place) -> Place:
    """Of a path, absolute or not, or of an address with a scheme, like s3://bucket/runs; raises StorageError."""
    place = named_place(given)
    if place._base:
        _root(place._base, place._options)
    return place


def named_place(given: str | os.PathLike[str] | Place) -> Place:
    """The same, for who only wants its name: nothing is opened, and whether anybody can open it is not known."""
    if isinstance(given, Place):
        return given
    text = os.fspath(given)
    scheme, separator, _ = text.partition("://")
    if not separator or not scheme.isalnum():
        return Place(os.path.abspath(text))
    parts = urlsplit(text)
    path = unquote(parts.path)
    if scheme == LOCAL:
        return Place(os.path.abspath(path))
    return Place("/" + path.strip("/"), f"{scheme}://{parts.netloc}", parts.query)


@cache
def _root(base: str, options: str) -> tuple[fs.FileSystem, str]:
    """The store, opened once in a process, and what it calls the folder that all its paths begin with."""
    import pyarrow as pa
    import pyarrow.fs as fs

    if base.startswith("s3://") and "allow_delayed_open" not in options:
        options += "&allow_delayed_open=true"  # one request for a small file instead of three
    address = f"{base}/" + (f"?{options.lstrip('&')}" if options else "")
    try:
        store, path = fs.FileSystem.from_uri(address)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        store, path = _by_fsspec(base, options, _first_line(error))
    return store, path.rstrip("/") + "/"


def _by_fsspec(base: str, options: str, why: str) -> tuple[fs.FileSystem, str]:
    import pyarrow.fs as fs

    kind = base.partition("://")[0]
    try:
        import fsspec
    except ImportError:
        raise StorageError(
            f"{_hidden(base)}: Arrow cannot open it ({why}); for other kinds of storage: pip install fsspec, and its package "
            f"for {kind}"
        ) from None
    try:
        opened, path = fsspec.core.url_to_fs(f"{base}/", **dict(parse_qsl(options)))
    except (ValueError, ImportError, OSError) as error:
        raise StorageError(
            f"{_hidden(base)}: neither Arrow ({why}) nor fsspec ({_first_line(error)}) can open storage of the kind {kind!r}"
        ) from error
    return fs.PyFileSystem(fs.FSSpecHandler(opened)), path


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _hidden(base: str) -> str:
    """Without user and password."""
    scheme, separator, authority = base.partition("://")
    return scheme + separator + authority.rpartition("@")[2]


def _entry(place: Place, info: fs.FileInfo) -> StoredEntry | None:
    if not info.type:  # FileType.NotFound
        return None
    return StoredEntry(place, not info.is_file, info.size or 0, info.mtime_ns or 0)


def _listed_here(folder: Path, recursive: bool) -> Iterator[StoredEntry]:
    try:
        found = list(os.scandir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return
    for one in found:
        try:
            told = one.stat()
        except FileNotFoundError:  # it was a draft
            continue
        is_folder = one.is_dir()
        yield StoredEntry(Place(one.path), is_folder, told.st_size, told.st_mtime_ns)
        if recursive and is_folder:
            yield from _listed_here(Path(one.path), recursive)


def _remove_here(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
