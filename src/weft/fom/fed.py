"""HLA 1.3 FED files to a `Module` (S2-18).

How 1.3 maps on the later standards:

- `ObjectRoot` and `InteractionRoot` become HLAobjectRoot and HLAinteractionRoot; `privilegeToDelete`
  becomes HLAprivilegeToDeleteObject.
- The MOM classes of 1.3 (`Manager`) and `RTIprivate` stay as they are written, as ordinary classes.  Their
  names differ from those of the MIM, so they never contradict it; nobody publishes them.
- `reliable`, `best_effort` become HLAreliable, HLAbestEffort; `timestamp`, `receive` become TimeStamp,
  Receive. FED files have no data types: they stay open ("").
- A dimension `d` of a routing space `S` is called "S.d", since two spaces may each have an `x`; it has the
  full range of RTI-NG, [0, 2^32).  An attribute or interaction bound to the space gets all of its
  dimensions.

Keywords are read in any case, names as written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from weft.fom.joins import Item
from weft.fom.objectmodel import (
    INTERACTION_ROOT,
    MAX_UPPER_BOUND,
    OBJECT_ROOT,
    PRIVILEGE_TO_DELETE,
    Attribute,
    Dimension,
    InteractionClass,
    Module,
    ObjectClass,
    Parameter,
    RoutingSpace,
    frozen,
)
from weft.fom.orders import spelled
from weft.fom.sexpr import Atom, Form, single_root
from weft.fom.xmltree import Warnings
from weft.model.errors import InvalidObjectModel
from weft.model.records import Source

MAX_NAME = 1024
TRANSPORTATIONS = {"reliable": "HLAreliable", "best_effort": "HLAbestEffort"}
IGNORED = frozenset(("fedversion", "federate"))


def read_fed(source: Source) -> Module:
    return _FedReader(source).module(single_root(source, "FED"))


class _FedReader:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.warnings = Warnings(source.name)
        self.name = ""
        self.spaces: dict[str, RoutingSpace] = {}
        self.objects: dict[str, ObjectClass] = {}
        self.interactions: dict[str, InteractionClass] = {}

    def module(self, root: Form) -> Module:
        sections = self.children(root, first=1)
        for form in sections:  # objects may refer to spaces that come after them
            if form.keyword == "spaces":
                self.read_spaces(form)
        for form in sections:
            self.section(form)
        names = [name for space in self.spaces.values() for name in space.dimensions]
        places = {name: space.place for space in self.spaces.values() for name in space.dimensions}
        return Module(
            source=self.source,
            name=self.name,
            standard="1.3",
            object_classes=frozen(self.objects),
            interaction_classes=frozen(self.interactions),
            dimensions=frozen({name: Dimension(name, MAX_UPPER_BOUND, place=places[name]) for name in names}),
            spaces=frozen(self.spaces),
            warnings=self.warnings.all(),
        )

    # Common

    def error(self, where: Form, message: str) -> InvalidObjectModel:
        return InvalidObjectModel(message, self.place(where))

    def place(self, where: Form) -> str:
        return f"{self.source.name}:{where.line}"

    def children(self, form: Form, first: int) -> tuple[Form, ...]:
        """The forms in `form` after its first atoms; atoms among them mean nothing."""
        for item in form.items[first:]:
            if isinstance(item, Atom):
                self.warnings.add(f"{item.text!r} in ({form.head} …) is ignored", item.line)
        return form.forms()

    def words(self, form: Form, least: int, most: int, shape: str) -> tuple[str, ...]:
        """The atoms that follow the head, before the first form in it."""
        found: list[str] = []
        for item in form.items[1:]:
            if isinstance(item, Form):
                break
            found.append(item.text)
        if len(found) < least:
            raise self.error(form, f"expected ({shape})")
        if len(found) > most:
            self.warnings.add(f"{' '.join(found[most:])!r} is ignored; expected ({shape})", form.line)
        return tuple(found[:most])

    # Sections

    def section(self, form: Form) -> None:
        match form.keyword:
            case "federation":
                self.name = self.words(form, 1, 1, "Federation name")[0]
            case "objects":
                for child in self.classes(form, "ObjectRoot"):
                    self.object_class(child, OBJECT_ROOT, None)
            case "interactions":
                for child in self.classes(form, "InteractionRoot"):
                    self.interaction_class(child, INTERACTION_ROOT, None)
            case "spaces":
                pass
            case keyword if keyword not in IGNORED:
                self.warnings.add(f"unknown section ({form.head} …) is ignored", form.line)

    def read_spaces(self, section: Form) -> None:
        for form in self.children(section, first=1):
            if form.keyword != "space":
                self.warnings.add(f"({form.head} …) among the spaces is ignored", form.line)
                continue
            name = self.words(form, 1, 1, "space name …")[0]
            if name in self.spaces:
                raise self.error(form, f"routing space {name!r} is defined twice")
            self.spaces[name] = RoutingSpace(name, self.dimensions(form, name), self.place(form))

    def dimensions(self, space: Form, name: str) -> tuple[str, ...]:
        found: dict[str, None] = {}
        for form in space.forms():
            if form.keyword != "dimension":
                self.warnings.add(f"({form.head} …) in a space is ignored", form.line)
                continue
            qualified = f"{name}.{self.words(form, 1, 1, 'dimension name')[0]}"
            if qualified in found:
                raise self.error(form, f"dimension {qualified!r} is defined twice")
            found[qualified] = None
        return tuple(found)

    def classes(self, section: Form, root: str) -> Iterator[Form]:
        for form in self.children(section, first=1):
            if form.keyword != "class":
                self.warnings.add(f"({form.head} …) among the {section.keyword} is ignored", form.line)
                continue
            name = self.words(form, 1, 4, "class name …")[0]
            if name.lower() != root.lower():
                raise self.error(
                    form, f"class {name!r} has no known parent: the outermost class must be {root!r}"
                )
            yield form

    def qualified(self, form: Form, name: str, parent: str) -> str:
        found = f"{parent}.{name}"
        if "." in name or len(found) > MAX_NAME:
            raise self.error(form, f"{name[:60]!r} cannot be the name of a class")
        return found

    def quality(self, form: Form, words: tuple[str, ...]) -> tuple[str, str, tuple[str, ...]]:
        """Transportation, order, dimensions from "transport order [space]"; each may be missing."""
        transportation = order = ""
        dimensions: tuple[str, ...] = ()
        for word in words:
            if word.lower() in TRANSPORTATIONS:
                transportation = TRANSPORTATIONS[word.lower()]
            elif spelled(word):
                order = spelled(word)
            elif word in self.spaces:
                dimensions = self.spaces[word].dimensions
            else:
                raise self.error(
                    form, f"{word!r} is no transportation, no order and no routing space of this file"
                )
        return transportation, order, dimensions

    def object_class(self, form: Form, name: str, parent: str | None) -> None:
        self.words(form, 1, 1, "class name …")
        if name in self.objects:
            raise self.error(form, f"class {name!r} is defined twice, also at {self.objects[name].place}")
        place = self.place(form)
        self.objects[name] = ObjectClass(name, parent, place=place)  # before its subclasses
        attributes = self.members(form, name, "attribute", self.attribute, self.object_class)
        self.objects[name] = ObjectClass(name, parent, attributes, place=place)

    def members(
        self,
        form: Form,
        name: str,
        kind: str,
        read: Callable[[Form], Item],
        subclass: Callable[[Form, str, str], None],
    ) -> tuple[Item, ...]:
        """The attributes or parameters of a class; its subclasses are read on the way."""
        found: dict[str, Item] = {}
        for child in form.forms():
            if child.keyword == "class":
                inner = self.words(child, 1, 4, "class name …")[0]
                subclass(child, self.qualified(child, inner, name), name)
            elif child.keyword == kind:
                item = read(child)
                if item.name in found:
                    raise self.error(child, f"{kind} {item.name!r} is defined twice in {name}")
                found[item.name] = item
            else:
                self.warnings.add(f"({child.head} …) in a class is ignored", child.line)
        return tuple(found.values())

    def attribute(self, form: Form) -> Attribute:
        name, *words = self.words(form, 1, 4, "attribute name transportation order [space]")
        if name.lower() == "privilegetodelete":
            name = PRIVILEGE_TO_DELETE
        transportation, order, dimensions = self.quality(form, tuple(words))
        return Attribute(name, "", transportation, order, dimensions, place=self.place(form))

    def interaction_class(self, form: Form, name: str, parent: str | None) -> None:
        words = self.words(form, 1, 4, "class name transportation order [space]")[1:]
        if name in self.interactions:
            raise self.error(
                form, f"class {name!r} is defined twice, also at {self.interactions[name].place}"
            )
        place = self.place(form)
        transportation, order, dimensions = self.quality(form, words)
        self.interactions[name] = InteractionClass(name, parent)  # before its subclasses
        parameters = self.members(form, name, "parameter", self.parameter, self.interaction_class)
        self.interactions[name] = InteractionClass(
            name, parent, parameters, transportation, order, dimensions, place=place
        )

    def parameter(self, form: Form) -> Parameter:
        return Parameter(self.words(form, 1, 1, "parameter name")[0], place=self.place(form))
