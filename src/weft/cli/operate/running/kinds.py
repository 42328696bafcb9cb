"""What a key of a federation file may be, and how that is said; which keys each table has."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from weft.cli.operate.running.plan import ENDS


class KeyKind(NamedTuple):
    words: str
    fits: Callable[[object], bool]


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(_is_text(one) for one in value)


def _is_whole(least: int, most: int = 1 << 31) -> Callable[[object], bool]:
    return lambda value: type(value) is int and least <= value <= most


def _are_seconds(value: object) -> bool:
    return type(value) in (int, float) and isinstance(value, int | float) and 0 <= value < math.inf


def _is_command(value: object) -> bool:
    if isinstance(value, str):
        try:
            return bool(shlex.split(value))
        except ValueError:
            return False
    return _are_texts(value)


def _is_environment(value: object) -> bool:
    return isinstance(value, dict) and all(
        re.fullmatch(r"[A-Za-z_]\w*", name) and isinstance(one, str) for name, one in value.items()
    )


def _are_patterns(value: object) -> bool:
    return isinstance(value, dict) and bool(value) and all(_is_pattern(one) for one in value.values())


def _is_pattern(value: object) -> bool:
    try:
        return isinstance(value, str) and bool(re.compile(value).pattern)
    except re.error:
        return False


TEXT: Final = KeyKind('a text, like "…"', _is_text)
TEXTS: Final = KeyKind(
    'a text or a list of texts, like ["a", "b"]', lambda value: _is_text(value) or _are_texts(value)
)
SECONDS: Final = KeyKind("a number of seconds, not negative", _are_seconds)
COUNT: Final = KeyKind("a whole number from 1 to 10000", _is_whole(1, 10_000))
NUMBER: Final = KeyKind("a whole number, not negative", _is_whole(0))
CODE: Final = KeyKind("an exit code, from 0 to 255", _is_whole(0, 255))
PORT_NUMBER: Final = KeyKind("a port, from 1 to 65535, or 0 for any that is free", _is_whole(0, 65535))
FLAG: Final = KeyKind("true or false", lambda value: isinstance(value, bool))
RECORD: Final = KeyKind(
    "true, false, or a folder or address", lambda value: isinstance(value, bool) or _is_text(value)
)
COMMAND: Final = KeyKind('a command, like "python tug.py" or ["python", "tug.py"]', _is_command)
ENVIRONMENT: Final = KeyKind('a table of texts, like { SPEED = "3" }', _is_environment)
PATTERNS: Final = KeyKind(
    'a table from federates to what a line has in it, like { tower = "ready" } (a regular expression)',
    _are_patterns,
)
TEXT_TABLE: Final = KeyKind(
    'a table of texts, like { tower = "127.0.0.1:9411" }',
    lambda value: isinstance(value, dict) and all(_is_text(one) for one in value.values()),
)
LIST_TABLE: Final = KeyKind(
    'a table of lists, like { harbour = ["tower", "quay"] }',
    lambda value: isinstance(value, dict) and all(_are_texts(one) for one in value.values()),
)
AFTER: Final = KeyKind(
    'a federate, a list of them, or a table, like { joined = "tower", seconds = 2 }',
    lambda value: _is_text(value) or _are_texts(value) or isinstance(value, dict),
)
TIME: Final = KeyKind('"float64" or "integer64"', lambda value: value in ("float64", "integer64"))
END: Final = KeyKind(" or ".join(f'"{one}"' for one in ENDS), lambda value: value in ENDS)

Keys = Mapping[str, KeyKind]
_NODES: Final[Keys] = {
    "settings": TEXT, "rid": TEXT, "schedule": TEXT, "modules": TEXT, "record": RECORD, "console": FLAG,
}  # fmt: skip
FEDERATION: Final[Keys] = {"name": TEXT, "fom": TEXTS, "time": TIME, "timeout": SECONDS}
SERVER: Final[Keys] = {"port": PORT_NUMBER, "host": TEXT, "listen": TEXT, **_NODES}
MESH: Final[Keys] = {
    "domains_file": TEXT, "nodes": TEXTS, "servers": TEXT_TABLE, "domains": LIST_TABLE, "hosts": TEXT_TABLE,
    "first_port": PORT_NUMBER, "journal": TEXT, "restart": FLAG, **_NODES,
}  # fmt: skip
FEDERATE: Final[Keys] = {
    "name": TEXT, "command": COMMAND, "count": COUNT, "at": TEXT, "host": TEXT, "joins": TEXTS,
    "directory": TEXT, "environment": ENVIRONMENT, "after": AFTER, "timeout": SECONDS, "ends": END,
    "restart": NUMBER, "expect": CODE,
}  # fmt: skip
AFTER_KEYS: Final[Keys] = {
    "joined": TEXTS, "synchronized": TEXTS, "ended": TEXTS, "log": PATTERNS, "file": TEXTS, "port": TEXTS,
    "seconds": SECONDS, "within": SECONDS,
}  # fmt: skip
TABLES: Final = ("federation", "server", "mesh", "hosts", "federate")
