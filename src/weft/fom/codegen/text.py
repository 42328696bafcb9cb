"""Neat source text: an expression on one line where it fits, else one part per line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

WIDTH = 110

_STRING = re.compile(r'"[^"]*"')
_BRACKETED = re.compile(r'((?:"[^"]*": )?(?:\w+=)?[\w.]*[(\[])(.*)([)\]])')


@dataclass(frozen=True, slots=True)
class Bracketed:
    """Something in brackets: a call, a tuple, a dict; perhaps after `key: ` in a dict, or `name=` in a call."""

    opening: str
    parts: Sequence[Expression]
    closing: str
    key: str = ""

    def flat(self) -> str:
        inner = ", ".join(_flat(part) for part in self.parts)
        if self.opening == "(" and len(self.parts) == 1:
            inner += ","
        return f"{self.key}{self.opening}{inner}{self.closing}"


Expression = str | Bracketed


def call(function: str, *arguments: Expression) -> Bracketed:
    return Bracketed(f"{function}(", arguments, ")")


def a_tuple(*items: Expression) -> Bracketed:
    return Bracketed("(", items, ")")


def quoted(text: str) -> str:
    """A string literal in double quotes."""
    inner = repr(text)
    if inner.startswith("'") and '"' not in inner:
        return '"' + inner[1:-1].replace("\\'", "'") + '"'
    return inner


def spread(prefix: str, expression: Expression, suffix: str = "", indent: int = 0) -> list[str]:
    """The lines of `prefix expression suffix`."""
    space = "    " * indent
    line = f"{space}{prefix}{_flat(expression)}{suffix}"
    if len(line) <= WIDTH:
        return [line]
    if isinstance(expression, str):
        return _broken(f"{space}{prefix}", expression, suffix, indent)
    lines = [f"{space}{prefix}{expression.key}{expression.opening}"]
    for part in expression.parts:
        lines += spread("", part, ",", indent + 1)
    return [*lines, f"{space}{expression.closing}{suffix}"]


def _broken(prefix: str, text: str, suffix: str, indent: int) -> list[str]:
    """A call or list too long for its line has its inside on the next; so has a lone string, in brackets."""
    inner, outer = "    " * (indent + 1), "    " * indent
    if _STRING.fullmatch(text):
        return [f"{prefix}(", f"{inner}{text}", f"{outer}){suffix}"]
    match = _BRACKETED.fullmatch(text)
    if not match:
        return [f"{prefix}{text}{suffix}"]
    head, inside, closing = match.groups()
    return [f"{prefix}{head}", f"{inner}{inside}", f"{outer}{closing}{suffix}"]


def keyed(key: str, value: Expression) -> Expression:
    return key + value if isinstance(value, str) else replace(value, key=key)


def _flat(expression: Expression) -> str:
    return expression if isinstance(expression, str) else expression.flat()
