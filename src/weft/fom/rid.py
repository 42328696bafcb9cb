"""RID files: nested s-expressions, read as a frozen tree (S2-9, S2-18).

    (RTI
      (DataDistribution
        (StrategyToUse StaticGridPartitioned)
        (NumPartitionsPerDimension 2)))

A form holds either values or further forms.  Names are looked up by dotted path, in any case, below the
outermost form or from it: "DataDistribution.StrategyToUse".  What a setting means is for its reader; this
file only knows the tree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from weft.fom.sexpr import Atom, Form, read_forms
from weft.model.errors import SettingsError, UnreadableObjectModel
from weft.model.records import Source


@dataclass(frozen=True, slots=True)
class Rid:
    """One form: its name, its plain values and the forms inside it."""

    name: str
    values: tuple[str, ...] = ()
    children: tuple[Rid, ...] = ()
    place: str = field(default="", compare=False)

    def find(self, path: str) -> Rid | None:
        """The first form at a dotted path; the name of the outermost form may be left out."""
        for root in (self, *self.children):
            node: Rid | None = root
            for part in path.split("."):
                node = node.child(part) if node else None
            if node is not None:
                return node
        return None

    def child(self, name: str) -> Rid | None:
        return next(self.all(name), None)

    def all(self, name: str) -> Iterator[Rid]:
        low = name.lower()
        return (child for child in self.children if child.name.lower() == low)

    def get(self, path: str, default: str | None = None) -> str | None:
        """The value at a dotted path; several values are joined by a space."""
        node = self.find(path)
        if node is None:
            return default
        if not node.values:
            raise SettingsError(f"{node.place}: {path} has no value")
        return " ".join(node.values)


def parse_rid(source: Source) -> Rid:
    """The whole file as one tree without a name, whose children are the outermost forms."""
    forms = read_forms(source)
    if not forms:
        raise UnreadableObjectModel("no form at all; a RID file holds (RTI …)", f"{source.name}:1")
    return Rid("", (), tuple(_node(form, source.name) for form in forms), f"{source.name}:1")


def _node(form: Form, file: str) -> Rid:
    place = f"{file}:{form.line}"
    if not form.items or not isinstance(form.items[0], Atom):
        raise UnreadableObjectModel("a form without a name", place)
    children = tuple(_node(child, file) for child in form.forms())
    return Rid(form.head, form.atoms(), children, place)
