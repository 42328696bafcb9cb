"""Nested s-expressions with line numbers, the common grammar of FED and RID files (S2-18).

    form  = "(" form-or-atom* ")"
    atom  = a run of characters other than white space, "(", ")", ";" and '"', or a "quoted string"
    ;     starts a comment to the end of the line

Bounded like the XML reader: size, depth and number of forms.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from weft.fom.xmltree import MAX_DEPTH, MAX_ELEMENTS, MAX_TEXT, check_size
from weft.model.errors import InvalidObjectModel, UnreadableObjectModel
from weft.model.records import Source

_TOKEN = re.compile(
    r"""(?P<blank>(?:\s++|;[^\n]*+)++)|(?P<paren>[()])|"(?P<quoted>[^"\n]*)"|(?P<atom>[^\s();"]++)|(?P<bad>.)"""
)


@dataclass(frozen=True, slots=True)
class Atom:
    text: str
    line: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class Form:
    """A parenthesised list; its first atom, if any, is its head."""

    items: tuple[Atom | Form, ...]
    line: int = field(compare=False)

    @property
    def head(self) -> str:
        first = self.items[0] if self.items else None
        return first.text if isinstance(first, Atom) else ""

    @property
    def keyword(self) -> str:
        return self.head.lower()

    def atoms(self) -> tuple[str, ...]:
        """The atoms after the head."""
        return tuple(item.text for item in self.items[1:] if isinstance(item, Atom))

    def forms(self) -> tuple[Form, ...]:
        return tuple(item for item in self.items if isinstance(item, Form))


def read_forms(source: Source) -> tuple[Form, ...]:
    """All forms of the text; anything else at the top level, or a missing ")", is an error."""
    check_size(source)
    open_forms: list[tuple[int, list[Atom | Form]]] = [(1, [])]
    line, count = 1, 0
    for token in _TOKEN.finditer(decode(source)):
        kind = token.lastgroup
        if kind == "blank":
            line += token[0].count("\n")
            continue
        count += 1
        if count > MAX_ELEMENTS:
            raise UnreadableObjectModel(f"more than {MAX_ELEMENTS} words", f"{source.name}:{line}")
        if kind == "bad":
            raise UnreadableObjectModel(f"unexpected {token[0]!r}", f"{source.name}:{line}")
        if kind == "paren":
            _parenthesis(token[0], line, open_forms, source.name)
        else:
            _atom(token[kind or 0], line, open_forms, source.name)
    if len(open_forms) > 1:
        begun = open_forms[-1][0]
        message = f'the text ends inside the form begun in line {begun}: a ")" is missing'
        raise UnreadableObjectModel(message, f"{source.name}:{line}")
    return tuple(item for item in open_forms[0][1] if isinstance(item, Form))


def _parenthesis(token: str, line: int, open_forms: list[tuple[int, list[Atom | Form]]], file: str) -> None:
    if token == "(":
        if len(open_forms) > MAX_DEPTH:
            raise UnreadableObjectModel(f"forms are nested deeper than {MAX_DEPTH}", f"{file}:{line}")
        open_forms.append((line, []))
        return
    if len(open_forms) == 1:
        raise UnreadableObjectModel('a ")" without its "("', f"{file}:{line}")
    begun, items = open_forms.pop()
    open_forms[-1][1].append(Form(tuple(items), begun))


def _atom(text: str, line: int, open_forms: list[tuple[int, list[Atom | Form]]], file: str) -> None:
    if len(open_forms) == 1:
        raise UnreadableObjectModel(f"{text[:40]!r} stands outside of any form", f"{file}:{line}")
    if len(text) > MAX_TEXT:
        raise UnreadableObjectModel(f"a word of {len(text)} characters", f"{file}:{line}")
    open_forms[-1][1].append(Atom(text, line))


def decode(source: Source) -> str:
    """UTF-8, or Latin-1 as old files have it; never NUL, which no text has."""
    if b"\0" in source.data:
        raise UnreadableObjectModel("binary data, not a text", f"{source.name}:1")
    try:
        return source.data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return source.data.decode("latin-1")


def single_root(source: Source, keyword: str) -> Form:
    """The only form of the text, whose head is `keyword`."""
    forms = read_forms(source)
    if not forms:
        raise UnreadableObjectModel(f"no ({keyword} …) form", f"{source.name}:1")
    if forms[0].keyword != keyword.lower():
        raise InvalidObjectModel(
            f"begins with ({forms[0].head}; expected ({keyword}", f"{source.name}:{forms[0].line}"
        )
    if len(forms) > 1:
        raise InvalidObjectModel(f"a second form after ({keyword} …)", f"{source.name}:{forms[1].line}")
    return forms[0]
