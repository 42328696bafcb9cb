"""Neat source text: an expression on one line where it fits, else one part per line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH = 110

_STRING = re.compile(r'"[^"]*"')
_BRACKETED = re.compile(r'((?:"[^"]*": )?(?:\w+=)?[\w.]*[(\[])(.*)([)\]])')


@dataclass(frozen=True, slots=True)
class Bracketed:
    """Something in brackets: a call, a tuple, a dict."""

    opening: str
    parts: Sequence[Expression]
    closing: str

    def flat(self) -> str:
        inner = ", ".join(_flat(part) for part in self.parts)
        if self.opening == "(" and len(self.parts) == 1:
            inner += ","
        return f"{self.opening}{inner}{self.closing}"


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
    lines = [f"{space}{prefix}{expression.opening}"]
    for part in expression.parts:
        key, value = _keyed(part)
        lines += spread(key, value, ",", indent + 1)
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


@dataclass(frozen=True, slots=True)
class Keyed(Bracketed):
    """`key: value` of a dict, or `name=value` of a call."""

    key: str = ""

    def flat(self) -> str:
        return self.key + Bracketed(self.opening, self.parts, self.closing).flat()


def keyed(key: str, value: Expression) -> Expression:
    return key + value if isinstance(value, str) else Keyed(value.opening, value.parts, value.closing, key)


def _keyed(part: Expression) -> tuple[str, Expression]:
    if isinstance(part, Keyed):
        return part.key, Bracketed(part.opening, part.parts, part.closing)
    return "", part


def _flat(expression: Expression) -> str:
    return expression if isinstance(expression, str) else expression.flat()
