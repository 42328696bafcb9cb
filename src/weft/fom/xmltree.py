"""OMT XML as a small tree with line numbers, read defensively.

The text may come from anybody, so it is bounded before anything is built from it: size, depth, number of
elements, length of names.  Entities are refused where they are declared, which is before they can be
expanded; nothing external is ever fetched.  What the schema does not know is skipped with a warning, never
kept: the tree holds only elements that mean something to the reader (`omt.py`), which also bounds its
memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal
from xml.parsers import expat

from weft.fom.objectmodel import MAX_PROBLEMS, Problem
from weft.fom.schema import FOREIGN, IGNORED, INSTEAD, KEPT, NAMESPACE_2025, NAMESPACES, NEVER_EMPTY
from weft.model.errors import InvalidObjectModel, UnreadableObjectModel
from weft.model.records import Source

MAX_SIZE = 64 * 1024 * 1024
MAX_DEPTH = 256
MAX_ELEMENTS = 500_000
MAX_TEXT = 4096
"""Longest text kept of one element; only names and numbers are kept at all."""
RAW_TEXT = 16 * MAX_TEXT
"""So much of a text is looked at, white space included."""


class Warnings:
    """Collects the warnings about one file, up to a limit."""

    def __init__(self, file: str) -> None:
        self.file = file
        self._problems: list[Problem] = []
        self._left_out = 0

    def add(self, message: str, line: int, severity: Literal["note", "warning"] = "warning") -> None:
        if len(self._problems) < MAX_PROBLEMS:
            self._problems.append(Problem(severity, message, f"{self.file}:{line}"))
        else:
            self._left_out += 1

    def all(self) -> tuple[Problem, ...]:
        if not self._left_out:
            return tuple(self._problems)
        more = Problem("warning", f"{self._left_out} more warnings are not listed", self.file)
        return (*self._problems, more)


class Element:
    """One element: its text is stripped, runs of white space are one space."""

    __slots__ = ("attributes", "children", "described", "file", "line", "position", "tag", "text")

    def __init__(self, tag: str, file: str, line: int, attributes: dict[str, str]) -> None:
        self.tag = tag
        self.file = file
        self.line = line
        self.attributes = attributes
        self.children: list[Element] = []
        self.text = ""
        self.position = 0  # of its last child, in the order of the schema
        self.described = False  # it has children that are known and not kept, e.g. semantics

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}"

    def all(self, tag: str) -> Iterator[Element]:
        return (child for child in self.children if child.tag == tag)

    def raw(self, tag: str) -> str:
        """The text of the first child with this tag, or ""."""
        child = next(self.all(tag), None)
        return child.text if child else ""

    def value(self, tag: str) -> str:
        """The same, where "NA" means nothing."""
        text = self.raw(tag)
        return "" if text == "NA" else text

    def name(self, tag: str = "name") -> str:
        """The text of a child that must be there."""
        found = self.raw(tag)
        if not found:
            raise InvalidObjectModel(f"<{self.tag}> has no <{tag}>", self.place)
        return found


class _Builder:
    """The expat handlers.  `skipping` counts the open elements of a subtree that is not kept."""

    def __init__(self, source: Source, warnings: Warnings) -> None:
        self.file = source.name
        self.warnings = warnings
        self.root: Element | None = None
        self.namespace = self.standard = ""
        self.foreign: frozenset[tuple[str, str]] = frozenset()
        self.stack: list[Element] = []
        self.texts: list[str] = []
        self.text_length = 0
        self.skipping = 0
        self.depth = 0
        self.elements = 0
        self.parser = parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.characters
        parser.StartDoctypeDeclHandler = self.doctype
        parser.EntityDeclHandler = self.refuse_entity
        parser.ExternalEntityRefHandler = self.refuse_external
        parser.SkippedEntityHandler = self.skipped_entity

    @property
    def line(self) -> int:
        return self.parser.CurrentLineNumber

    def unreadable(self, message: str) -> UnreadableObjectModel:
        return UnreadableObjectModel(message, f"{self.file}:{self.line}")

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        self.elements += 1
        if self.depth > MAX_DEPTH:
            raise self.unreadable(f"elements are nested deeper than {MAX_DEPTH}")
        if self.elements > MAX_ELEMENTS:
            raise self.unreadable(f"more than {MAX_ELEMENTS} elements")
        if self.skipping:
            self.skipping += 1
            return
        uri, _, tag = name.rpartition(" ")
        if not self.stack:
            self.open_root(uri, tag, attributes)
        else:
            self.open(uri, tag, attributes)

    def open(self, uri: str, tag: str, attributes: dict[str, str]) -> None:
        parent = self.stack[-1]
        position = KEPT[parent.tag].get(tag) if parent.tag in KEPT else None
        if position is None or uri != self.namespace:
            self.skipping = 1
            if tag in IGNORED.get(parent.tag, ()):
                parent.described = True
            else:
                self.unknown(uri, tag, parent)
            return
        if position < parent.position:
            after = next(child.tag for child in parent.children if KEPT[parent.tag][child.tag] > position)
            self.warnings.add(
                f"<{tag}> comes too late in <{parent.tag}> by the schema; put it before <{after}>", self.line
            )
        else:
            parent.position = position
        if (parent.tag, tag) in self.foreign:
            instead = INSTEAD.get((parent.tag, tag), "leave it out")
            self.warnings.add(
                f"<{tag}> in <{parent.tag}> is not in the schema of {self.standard}; {instead}", self.line
            )
        element = Element(tag, self.file, self.line, attributes)
        parent.children.append(element)
        self.stack.append(element)
        self.clear_texts()

    def unknown(self, uri: str, tag: str, parent: Element) -> None:
        if uri != self.namespace:
            right = f"it is of the namespace {uri!r}, and the model of {self.namespace!r}"
        else:
            known = [one for one in KEPT.get(parent.tag, ()) if (parent.tag, one) not in self.foreign]
            right = f"there may be {', '.join(known)}" if known else "there may be none"
        self.warnings.add(f"unknown element <{tag}> in <{parent.tag}> is ignored; {right}", self.line)

    def open_root(self, uri: str, tag: str, attributes: dict[str, str]) -> None:
        place = f"{self.file}:{self.line}"
        if tag != "objectModel":
            raise InvalidObjectModel(f"the root element is <{tag}>; an object model has <objectModel>", place)
        if "DTDversion" in attributes:
            raise InvalidObjectModel("an IEEE 1516-2000 file; convert it to the form of 2010 or 2025", place)
        if uri not in NAMESPACES:
            self.warnings.add(
                f"unknown namespace {uri!r}; read as IEEE 1516-2025, whose namespace is {NAMESPACE_2025!r}",
                self.line,
            )
        self.namespace = uri
        self.standard = NAMESPACES.get(uri, "2025")
        self.foreign = FOREIGN.get(self.standard, frozenset())
        self.root = Element(tag, self.file, self.line, attributes)
        self.stack.append(self.root)

    def end(self, _name: str) -> None:
        self.depth -= 1
        if self.skipping:
            self.skipping -= 1
            return
        element = self.stack.pop()
        if self.texts:
            if not element.children:
                element.text = self.tidy("".join(self.texts), element)
            self.clear_texts()
        if not element.text and self.stack and element.tag in NEVER_EMPTY.get(self.stack[-1].tag, ()):
            if element.tag == "applicationDomain" and self.standard == "2010":
                return
            self.warnings.add(
                f"<{element.tag}> in <{self.stack[-1].tag}> is empty; the schema wants a text in it",
                element.line,
            )

    def clear_texts(self) -> None:
        self.texts.clear()
        self.text_length = 0

    def tidy(self, text: str, element: Element) -> str:
        text = " ".join(text.split())
        if len(text) > MAX_TEXT:
            self.warnings.add(f"the text of <{element.tag}> is cut at {MAX_TEXT} characters", element.line)
            return text[:MAX_TEXT]
        return text

    def characters(self, text: str) -> None:
        if self.skipping or self.text_length > RAW_TEXT:
            return
        self.texts.append(text)
        self.text_length += len(text)

    def doctype(self, name: str, _system: str | None, _public: str | None, _internal: bool) -> None:
        self.warnings.add(f"the document type {name!r} is ignored; leave <!DOCTYPE …> out", self.line)

    def refuse_entity(self, name: str, *_rest: object) -> None:
        raise self.unreadable(f"the entity {name!r} is declared; object models may not declare entities")

    def refuse_external(
        self, _context: str, _base: str | None, system: str | None, _public: str | None
    ) -> int:
        raise self.unreadable(f"an external entity ({system}) is referred to; nothing external is read")

    def skipped_entity(self, name: str, _is_parameter: bool) -> None:
        self.warnings.add(f"the undeclared entity &{name}; is ignored; write the character itself", self.line)


def read_tree(source: Source, warnings: Warnings) -> tuple[Element, str]:
    """The root element and its namespace ("" for none)."""
    check_size(source)
    builder = _Builder(source, warnings)
    parse: Callable[[bytes, bool], int] = builder.parser.Parse
    try:
        parse(source.data, True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise UnreadableObjectModel(
            f"not well-formed XML: {reason}", f"{source.name}:{error.lineno}"
        ) from None
    except (LookupError, ValueError) as error:
        # An encoding that Python does not know or that expat cannot use.
        raise UnreadableObjectModel(f"the encoding cannot be read: {error}", f"{source.name}:1") from None
    if builder.root is None:
        raise UnreadableObjectModel("no element at all", f"{source.name}:1")
    return builder.root, builder.namespace


def check_size(source: Source) -> None:
    if len(source.data) > MAX_SIZE:
        raise UnreadableObjectModel(
            f"{len(source.data)} bytes; an object model may have {MAX_SIZE}", f"{source.name}:1"
        )
