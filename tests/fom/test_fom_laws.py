"""Laws of reading, writing and merging, over random object models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from xml.sax.saxutils import escape

from hypothesis import given
from hypothesis import strategies as st

from weft.fom import (
    Alternative,
    ArrayType,
    Attribute,
    BasicType,
    DataType,
    Dimension,
    EnumeratedType,
    Enumerator,
    Field,
    FixedRecordType,
    InteractionClass,
    Module,
    ObjectClass,
    ObjectModel,
    Parameter,
    ReferenceType,
    SimpleType,
    SynchronizationLabel,
    TimeTypes,
    Transportation,
    UpdateRate,
    VariantRecordType,
    extend,
    merge,
    parse_module,
    write_omt,
)
from weft.fom.objectmodel import frozen
from weft.model.records import Source

# A plain picture of a module and a writer of its own, so that the reader is tested against something else than
# our own writer.

SHARINGS = ["Publish", "Subscribe", "PublishSubscribe", "Neither"]
names = st.text("abcXYZ", min_size=1, max_size=3)
sharings = st.sampled_from(SHARINGS)
orders = st.sampled_from(["Receive", "TimeStamp"])
transports = st.sampled_from(["HLAreliable", "HLAbestEffort"])
types = st.sampled_from(["HLAoctet", "HLAunicodeString", "HLAboolean"])


@dataclass(frozen=True)
class Node:
    """A class: (name, sharing, members, order, transportation) and its subclasses."""

    name: str
    sharing: str
    members: dict[str, tuple[str, str, str]]
    children: dict[str, Node]


def nodes(prefix: str, depth: int = 2) -> st.SearchStrategy[Node]:
    """Member names carry the depth, so that nothing is inherited and declared at once."""
    members = st.dictionaries(
        names.map(lambda name: f"m{depth}{name}"), st.tuples(types, orders, transports), max_size=3
    )
    inner = (
        st.dictionaries(names.map(lambda name: prefix + name), nodes(prefix, depth - 1), max_size=2)
        if depth
        else st.just({})
    )
    return st.builds(Node, names, sharings, members, inner)


def tag(name: str, *inside: str) -> str:
    return f"<{name}>{''.join(inside)}</{name}>"


def leaf(name: str, text: str) -> str:
    return tag(name, escape(text))


def object_xml(name: str, node: Node) -> str:
    attributes = (
        tag(
            "attribute",
            leaf("name", own),
            leaf("dataType", kind),
            leaf("transportation", transport),
            leaf("order", order),
        )
        for own, (kind, order, transport) in node.members.items()
    )
    children = (object_xml(child, inner) for child, inner in node.children.items())
    return tag("objectClass", leaf("name", name), leaf("sharing", node.sharing), *attributes, *children)


def interaction_xml(name: str, node: Node) -> str:
    parameters = (
        tag("parameter", leaf("name", own), leaf("dataType", kind))
        for own, (kind, _, _) in node.members.items()
    )
    children = (interaction_xml(child, inner) for child, inner in node.children.items())
    return tag("interactionClass", leaf("name", name), leaf("sharing", node.sharing), *parameters, *children)


def document(objects: Node, interactions: Node, name: str = "random") -> Source:
    text = tag(
        "objectModel",
        tag("modelIdentification", leaf("name", name)),
        tag("objects", object_xml("HLAobjectRoot", objects)),
        tag("interactions", interaction_xml("HLAinteractionRoot", interactions)),
    )
    return Source(f"{name}.xml", text.encode())


def object_classes(name: str, parent: str | None, node: Node) -> dict[str, ObjectClass]:
    attributes = tuple(
        Attribute(own, kind, transport, order) for own, (kind, order, transport) in node.members.items()
    )
    found = {name: ObjectClass(name, parent, attributes, node.sharing)}
    for child, inner in node.children.items():
        found |= object_classes(f"{name}.{child}", name, inner)
    return found


def interaction_classes(name: str, parent: str | None, node: Node) -> dict[str, InteractionClass]:
    parameters = tuple(Parameter(own, kind) for own, (kind, _, _) in node.members.items())
    found = {name: InteractionClass(name, parent, parameters, sharing=node.sharing)}
    for child, inner in node.children.items():
        found |= interaction_classes(f"{name}.{child}", name, inner)
    return found


@given(nodes("a"), nodes("a"))
def test_what_is_written_is_read(objects: Node, interactions: Node) -> None:
    model = merge([parse_module(document(objects, interactions))], complete=False)
    assert list(model.object_classes.items()) == list(object_classes("HLAobjectRoot", None, objects).items())
    assert list(model.interaction_classes.items()) == list(
        interaction_classes("HLAinteractionRoot", None, interactions).items()
    )


# Merging


def parsed(prefix: str) -> st.SearchStrategy[Module]:
    """A module whose classes (below the roots) begin with `prefix`, and whose roots are plain."""
    root = st.builds(lambda node: Node("", "Neither", {}, node.children), nodes(prefix))
    return st.builds(lambda one, two: parse_module(document(one, two, prefix)), root, root)


@given(parsed("a"))
def test_merging_is_idempotent(module: Module) -> None:
    once = merge([module])
    assert merge([module, module]) == once
    assert len(merge([module, module]).modules) == len(once.modules)


@given(parsed("a"), parsed("b"), parsed("c"))
def test_the_order_of_independent_modules_only_changes_the_order(
    one: Module, two: Module, three: Module
) -> None:
    expected = merge([one, two, three])
    assert merge([three, one, two]) == expected
    assert merge([two, one, three]) == expected


def starts_with(longer: Mapping[str, object], shorter: Mapping[str, object]) -> bool:
    return list(islice(longer, len(shorter))) == list(shorter)


@given(parsed("a"), parsed("b"), st.booleans())
def test_extend_keeps_every_position(one: Module, two: Module, complete: bool) -> None:
    """Handles are given by position, so a federate that joins with more modules must not move anything."""
    before = merge([one], complete=complete)
    after = extend(before, [two])
    assert after == merge([one, two], complete=complete)
    assert starts_with(after.object_classes, before.object_classes)
    assert starts_with(after.interaction_classes, before.interaction_classes)
    assert starts_with(after.data_types, before.data_types)
    assert extend(after, [two, one]) is after


EXTENSION = """<objectModel xmlns="http://standards.ieee.org/IEEE1516-2025">
<objects><objectClass><name>HLAobjectRoot</name><objectClass><name>A</name>{0}</objectClass></objectClass></objects>
<interactions><interactionClass><name>HLAinteractionRoot</name><interactionClass><name>I</name>{1}</interactionClass>
</interactionClass></interactions>
<dimensions><dimension><name>{2}</name><upperBound>9</upperBound></dimension></dimensions>
<dataTypes><enumeratedDataTypes><enumeratedData><name>E</name>{3}</enumeratedData></enumeratedDataTypes></dataTypes>
</objectModel>"""


def extension(number: int) -> Module:
    """The same class, interaction and enumeration; each module adds its own member, dimension and enumerator."""
    dimensions = tag("dimensions", leaf("dimension", f"D{number}"))
    text = EXTENSION.format(
        leaf("sharing", "Publish") + dimensions + tag("attribute", leaf("name", f"x{number}")),
        dimensions + tag("parameter", leaf("name", f"p{number}")),
        f"D{number}",
        tag("enumerator", leaf("name", f"E{number}"), leaf("value", str(number))),
    )
    return parse_module(Source(f"{number}.xml", text.encode()))


@given(st.permutations(range(4)))
def test_later_modules_may_add(numbers: list[int]) -> None:
    model = merge([extension(numbers[0])])
    for number in numbers[1:]:
        model = extend(model, [extension(number)])
    assert [item.name for item in model.object_classes["HLAobjectRoot.A"].attributes] == [
        f"x{n}" for n in numbers
    ]
    assert model.attribute_dimensions("HLAobjectRoot.A", "x0") == tuple(f"D{n}" for n in numbers)
    interaction = model.interaction_classes["HLAinteractionRoot.I"]
    assert [item.name for item in interaction.parameters] == [f"p{n}" for n in numbers]
    assert model.interaction_dimensions(interaction.name) == tuple(f"D{n}" for n in numbers)
    enumeration = model.data_types["E"]
    assert isinstance(enumeration, EnumeratedType)
    assert [item.name for item in enumeration.enumerators] == [f"E{n}" for n in numbers]


# Our own writer

texts = st.text("ab <&>\"'é", max_size=6).map(lambda text: " ".join(text.split()))


def data_types(name: str) -> st.SearchStrategy[DataType]:
    fields = st.lists(st.builds(Field, names, types), max_size=3).map(tuple)
    enumerators = st.lists(names, unique=True, max_size=4).map(
        lambda found: tuple(Enumerator(item, (number,)) for number, item in enumerate(found))
    )
    alternatives = st.lists(names, unique=True, max_size=3).map(
        lambda found: tuple(Alternative(item, f"n{item}", "HLAoctet") for item in found)
    )
    known = st.just(name)
    return st.one_of(
        st.builds(BasicType, known, st.integers(1, 128), st.sampled_from(["big", "little"]), texts),
        st.builds(SimpleType, known, types, texts, texts, texts),
        st.builds(EnumeratedType, known, types, enumerators),
        st.builds(ReferenceType, known, types, names, names),
        st.builds(ArrayType, known, types, st.sampled_from(["Dynamic", "3", "2..5", "3, Dynamic"]), names),
        st.builds(FixedRecordType, known, names, fields, names),
        st.builds(VariantRecordType, known, names, types, alternatives, names),
    )


@st.composite
def models(draw: st.DrawFn) -> ObjectModel:
    objects, interactions = draw(nodes("a")), draw(nodes("a"))
    own_types = {name: draw(data_types(name)) for name in draw(st.sets(names, max_size=4))}
    bounds = draw(st.dictionaries(names, st.integers(1, (1 << 32) - 1), max_size=2))
    reliable = draw(st.dictionaries(names, st.booleans(), max_size=2))
    rates = draw(st.dictionaries(names, st.floats(0.001, 1e9), max_size=2))
    labels = draw(st.dictionaries(names, types, max_size=2))
    module = Module(
        source=Source("made", b""),
        standard="2025",
        object_classes=frozen(object_classes("HLAobjectRoot", None, objects)),
        interaction_classes=frozen(interaction_classes("HLAinteractionRoot", None, interactions)),
        dimensions=frozen(
            {
                name: Dimension(name, bound, ("HLAoctet",), "linear", "[0..1)")
                for name, bound in bounds.items()
            }
        ),
        data_types=frozen(own_types),
        transportations=frozen({name: Transportation(name, value) for name, value in reliable.items()}),
        update_rates=frozen({name: UpdateRate(name, value) for name, value in rates.items()}),
        switches=frozen({"autoProvide": draw(st.booleans()), "automaticResignAction": "NoAction"}),
        synchronizations=frozen(
            {name: SynchronizationLabel(name, kind, "Achieve") for name, kind in labels.items()}
        ),
        tags=frozen({"sendReceiveTag": draw(types)}),
        time=TimeTypes(draw(types), draw(types)),
    )
    return merge([module], complete=False)


@given(models())
def test_a_written_model_reads_back_equal(model: ObjectModel) -> None:
    again = merge([parse_module(Source("again", write_omt(model)))], complete=False)
    assert again == model
    assert list(again.object_classes) == list(model.object_classes)
