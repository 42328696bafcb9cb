"""Tables of a TOML file as they are read: values of the right kind come out, and all that is wrong is collected with its line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path as FilePath

from weft.cli.operate.running.kinds import Keys
from weft.model.errors import FederationFileError
from weft.model.toml_places import Path

NO_HOSTS = "host names a machine of [hosts], and there is no [hosts]"


def hint(name: str, known: Iterable[str]) -> str:
    """What was meant, or what there is."""
    there = list(known)
    close = get_close_matches(name, there, 1)
    if close:
        return f"; did you mean {close[0]}?"
    return f"; there {'is' if len(there) == 1 else 'are'} {', '.join(there)}" if there else ""


class FileTable:
    """The values of one table, all of them of their kinds."""

    def __init__(self, values: Mapping[str, object]) -> None:
        self.values = values

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def text(self, key: str, default: str = "") -> str:
        value = self.values.get(key)
        return value if isinstance(value, str) else default

    def texts(self, key: str) -> tuple[str, ...]:
        """One or several."""
        value = self.values.get(key)
        if isinstance(value, list):
            return tuple(map(str, value))
        return (value,) if isinstance(value, str) else ()

    def number(self, key: str, default: int) -> int:
        value = self.values.get(key)
        return value if isinstance(value, int) else default

    def seconds(self, key: str) -> float | None:
        value = self.values.get(key)
        return float(value) if isinstance(value, int | float) else None

    def flag(self, key: str) -> bool | None:
        value = self.values.get(key)
        return value if isinstance(value, bool) else None

    def table(self, key: str) -> dict[str, str]:
        """Of texts."""
        value = self.values.get(key)
        return {name: str(one) for name, one in value.items()} if isinstance(value, dict) else {}

    def lists(self, key: str) -> dict[str, tuple[str, ...]]:
        value = self.values.get(key)
        return {name: tuple(one) for name, one in value.items()} if isinstance(value, dict) else {}


class FileFindings:
    """What is wrong with a file."""

    def __init__(self, name: str, lines: Mapping[Path, int]) -> None:
        self.name = name
        self._lines = lines
        self.errors: list[FederationFileError] = []

    def place(self, path: Path) -> str:
        """The line of that key, or of the nearest around it."""
        while path and path not in self._lines:
            path = path[:-1]
        return f"{self.name}:{self._lines[path]}" if path else self.name

    def error(self, path: Path, message: str) -> None:
        self.errors.append(FederationFileError(message, self.place(path)))

    def in_order(self) -> list[FederationFileError]:
        def line(error: FederationFileError) -> int:
            number = error.place.rpartition(":")[2]
            return int(number) if number.isdigit() else 0

        return sorted(self.errors, key=line)

    def table(self, path: Path, value: object, keys: Keys, shown: str) -> FileTable:
        """Only what fits; `shown` is how a person writes the table."""
        if value is None:
            return FileTable({})
        if not isinstance(value, dict):
            self.error(path, f"{shown} must be a table")
            return FileTable({})
        kept: dict[str, object] = {}
        for key, one in value.items():
            kind = keys.get(key)
            if kind is None:
                self.error((*path, key), f"{shown} has no key {key!r}{hint(key, keys)}")
            elif not kind.fits(one):
                self.error((*path, key), f"{key} of {shown} must be {kind.words}, not {one!r}")
            else:
                kept[key] = one
        return FileTable(kept)

    def required(self, path: Path, table: FileTable, key: str, shown: str, why: str) -> str:
        told = (f"{key} of {shown} must", f"did you mean {key}?")
        said = [error.message for error in self.errors if shown in error.message]
        if key not in table and not any(each in one for one in said for each in told):
            self.error(path, f"{shown} needs {key} = …: {why}")
        return table.text(key)

    def file(self, path: Path, folder: FilePath, name: str, what: str = "file") -> str:
        """Its whole path, if it is there."""
        whole = folder / name
        if not whole.exists():
            self.error(path, f"there is no {what} {whole}")
        return str(whole)

    def host(self, path: Path, table: FileTable, hosts: Mapping[str, str], shown: str) -> None:
        """Where there are several machines, everything says on which it is."""
        host = table.text("host")
        if "host" not in table:
            self.error(path, f"{shown} needs host = …: on which of [hosts] it runs")
        elif host not in hosts:
            self.error((*path, "host"), f"there is no host {host} in [hosts]{hint(host, hosts)}")
