"""Calls of data distribution management."""

from __future__ import annotations

from collections.abc import Sequence

from weft.fom import PRIVILEGE_TO_DELETE
from weft.model.json_types import Json
from weft.prove.author import NOBODY, Author
from weft.prove.script import ScriptedCall


def create(a: Author, who: int) -> ScriptedCall:
    dimensions = list(a.words.dimensions)
    a.require(dimensions)
    name = a.known.new("g")
    chosen = sorted(a.some(dimensions)) if not a.wild else [a.any([*dimensions, NOBODY])]
    made = ScriptedCall(who, "create_region", (chosen,), name)
    bounds = [ScriptedCall(who, "set_range_bounds", (name, one, _bounds(a, one))) for one in chosen]
    return a.follow(made, *bounds, ScriptedCall(who, "commit_region_modifications", ([name],)))


def _bounds(a: Author, dimension: str) -> list[int]:
    upper = min(a.words.dimensions.get(dimension, 8), 16)
    if a.wild:
        return [a.random.randint(0, upper + 4), a.random.randint(0, upper + 4)]
    lower = a.random.randint(0, upper - 1)
    return [lower, a.random.randint(lower + 1, upper)]


def _region(a: Author, who: int) -> str:
    if a.wild:
        every = sorted(region for one in a.known.of for region in one.regions)
        return a.any([*every, NOBODY])
    mine = sorted(a.one(who).regions)
    a.require(mine)
    return a.any(mine)


def move(a: Author, who: int) -> ScriptedCall:
    region = _region(a, who)
    dimensions = a.one(who).regions.get(region) or list(a.words.dimensions)
    dimension = a.any(dimensions) if dimensions else NOBODY
    change = ScriptedCall(who, "set_range_bounds", (region, dimension, _bounds(a, dimension)))
    if a.chance(0.85):
        return a.follow(change, ScriptedCall(who, "commit_region_modifications", ([region],)))
    return change


def commit(a: Author, who: int) -> ScriptedCall:
    return ScriptedCall(who, "commit_region_modifications", ([_region(a, who)],))


def look(a: Author, who: int) -> ScriptedCall:
    region = _region(a, who)
    if a.chance(0.3) or not a.words.dimensions:
        return ScriptedCall(who, "get_dimension_handle_set", (region,))
    return ScriptedCall(who, "get_range_bounds", (region, a.any(list(a.words.dimensions))))


def delete(a: Author, who: int) -> ScriptedCall:
    return ScriptedCall(who, "delete_region", (_region(a, who),))


Pair = list[Sequence[str]]
"""Names of attributes, and regions."""


def _fits(a: Author, who: int, dimensions: tuple[str, ...]) -> list[str]:
    """Regions of its own that have no other dimensions."""
    mine = a.one(who).regions
    return sorted(name for name, its in mine.items() if set(its) <= set(dimensions))


def _pairs(a: Author, who: int, cls: str) -> list[Pair]:
    names = [name for name in a.names_of(cls) if name != PRIVILEGE_TO_DELETE]
    if a.wild:
        return [[names, [_region(a, who)]]]
    a.require(names)
    fit = _fits(a, who, a.words.model.attribute_dimensions(cls, names[0]))
    a.require(fit)
    pairs: list[Pair] = [[names, sorted(a.some(fit)[:2])]]
    if a.chance(0.2):
        pairs.append([names[:1], [a.any(fit)]])
    return pairs


def _pairs_of(a: Author, who: int, cls: str, mine: set[str]) -> list[Pair]:
    """With none but these attributes; wild: any."""
    pairs = _pairs(a, who, cls)
    return pairs if a.wild else [[[n for n in names if n in mine], regions] for names, regions in pairs]


def subscribe(a: Author, who: int) -> ScriptedCall:
    cls = a.cls()
    pairs = _pairs(a, who, cls)
    how = a.any(["", "", "_passively"])
    return ScriptedCall(who, f"subscribe_object_class_attributes{how}_with_regions", (cls, pairs))


def unsubscribe(a: Author, who: int) -> ScriptedCall:
    cls = a.cls()
    return ScriptedCall(who, "unsubscribe_object_class_attributes_with_regions", (cls, _pairs(a, who, cls)))


def register(a: Author, who: int) -> ScriptedCall:
    cls = a.published_class(who)
    pairs = _pairs_of(a, who, cls, a.one(who).published.get(cls, set()))
    return ScriptedCall(who, "register_object_instance_with_regions", (cls, pairs), a.known.new("o"))


def associate(a: Author, who: int) -> ScriptedCall:
    instance = a.instance(who, mine=True)
    pairs = _pairs_of(a, who, a.class_of(who, instance), a.one(who).owns.get(instance, set()))
    service = a.any(
        ["associate_regions_for_updates", "associate_regions_for_updates", "unassociate_regions_for_updates"]
    )
    return ScriptedCall(who, service, (instance, pairs))


def _interaction(a: Author, who: int) -> tuple[str, list[str]]:
    name = a.interaction()
    if a.wild:
        return name, [_region(a, who)]
    fit = _fits(a, who, a.words.model.interaction_dimensions(name))
    a.require(fit)
    return name, sorted(a.some(fit)[:2])


def hear(a: Author, who: int) -> ScriptedCall:
    found = _interaction(a, who)
    service = a.any(
        ["subscribe_interaction_class_with_regions", "subscribe_interaction_class_with_regions",
         "subscribe_interaction_class_passively_with_regions", "unsubscribe_interaction_class_with_regions"]
    )  # fmt: skip
    return ScriptedCall(who, service, found)


def send(a: Author, who: int) -> ScriptedCall:
    name, regions = _interaction(a, who)
    if not a.wild and name not in a.one(who).sends:
        return ScriptedCall(who, "publish_interaction_class", (name,))
    arguments: tuple[Json, ...] = (name, a.parameters(name), regions, a.tag())
    if a.one(who).regulating and a.chance(0.4):
        arguments = (*arguments, a.stamp(who))
    return ScriptedCall(who, "send_interaction_with_regions", arguments, a.known.new("r"))


def request(a: Author, who: int) -> ScriptedCall:
    cls = a.cls()
    arguments: tuple[Json, ...] = (cls, _pairs(a, who, cls), a.tag())
    return ScriptedCall(who, "request_attribute_value_update_with_regions", arguments)


CHOICES = (
    (2, create), (4, move), (0.5, commit), (0.5, look), (0.5, delete), (3, subscribe), (0.6, unsubscribe), (2.5, register),
    (2, associate), (2.5, hear), (2.5, send), (0.6, request),
)  # fmt: skip
