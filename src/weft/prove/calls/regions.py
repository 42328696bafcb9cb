"""Calls of data distribution management."""

from __future__ import annotations

from collections.abc import Sequence

from weft.fom import PRIVILEGE_TO_DELETE
from weft.model.json_types import Json
from weft.prove.author import NOBODY, Author, Choice
from weft.prove.script import ScriptedCall


def create(a: Author, who: int) -> ScriptedCall | None:
    dimensions = list(a.words.dimensions)
    if not dimensions:
        return None
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


def _region(a: Author, who: int) -> str | None:
    mine = sorted(a.one(who).regions)
    if a.wild:
        every = sorted(region for one in a.known.of for region in one.regions)
        return a.any([*every, NOBODY])
    return a.any(mine) if mine else None


def move(a: Author, who: int) -> ScriptedCall | None:
    region = _region(a, who)
    if region is None:
        return None
    dimensions = a.one(who).regions.get(region) or list(a.words.dimensions)
    dimension = a.any(dimensions) if dimensions else NOBODY
    change = ScriptedCall(who, "set_range_bounds", (region, dimension, _bounds(a, dimension)))
    return (
        a.follow(change, ScriptedCall(who, "commit_region_modifications", ([region],)))
        if a.chance(0.85)
        else change
    )


def commit(a: Author, who: int) -> ScriptedCall | None:
    region = _region(a, who)
    return None if region is None else ScriptedCall(who, "commit_region_modifications", ([region],))


def look(a: Author, who: int) -> ScriptedCall | None:
    region = _region(a, who)
    if region is None:
        return None
    if a.chance(0.3) or not a.words.dimensions:
        return ScriptedCall(who, "get_dimension_handle_set", (region,))
    return ScriptedCall(who, "get_range_bounds", (region, a.any(list(a.words.dimensions))))


def delete(a: Author, who: int) -> ScriptedCall | None:
    region = _region(a, who)
    return None if region is None else ScriptedCall(who, "delete_region", (region,))


Pair = list[Sequence[str | None]]
"""Names of attributes, and regions."""


def _fits(a: Author, who: int, dimensions: tuple[str, ...]) -> list[str]:
    """Regions of its own that have no other dimensions."""
    mine = a.one(who).regions
    return sorted(name for name, its in mine.items() if set(its) <= set(dimensions))


def _pairs(a: Author, who: int, cls: str) -> list[Pair] | None:
    names = [name for name in a.names_of(cls) if name != PRIVILEGE_TO_DELETE]
    if a.wild:
        region = _region(a, who)
        return [[names, [region]]]
    if not names:
        return None
    fit = _fits(a, who, a.words.model.attribute_dimensions(cls, names[0]))
    if not fit:
        return None
    pairs: list[Pair] = [[names, sorted(a.some(fit)[:2])]]
    if a.chance(0.2):
        pairs.append([names[:1], [a.any(fit)]])
    return pairs


def subscribe(a: Author, who: int) -> ScriptedCall | None:
    cls = a.cls()
    pairs = _pairs(a, who, cls)
    if pairs is None:
        return None
    how = a.any(["", "", "_passively"])
    return ScriptedCall(who, f"subscribe_object_class_attributes{how}_with_regions", (cls, pairs))


def unsubscribe(a: Author, who: int) -> ScriptedCall | None:
    cls = a.cls()
    pairs = _pairs(a, who, cls)
    return (
        None
        if pairs is None
        else ScriptedCall(who, "unsubscribe_object_class_attributes_with_regions", (cls, pairs))
    )


def register(a: Author, who: int) -> ScriptedCall | None:
    cls = a.published_class(who)
    if cls is None:
        return None
    pairs = _pairs(a, who, cls)
    if pairs is None:
        return None
    if not a.wild:
        mine = a.one(who).published.get(cls, set())
        pairs = [[[n for n in names if n in mine], regions] for names, regions in pairs]
    return ScriptedCall(who, "register_object_instance_with_regions", (cls, pairs), a.known.new("o"))


def associate(a: Author, who: int) -> ScriptedCall | None:
    instance = a.instance(who, mine=True)
    if instance is None:
        return None
    pairs = _pairs(a, who, a.class_of(who, instance))
    if pairs is None:
        return None
    if not a.wild:
        mine = a.one(who).owns.get(instance, set())
        pairs = [[[n for n in names if n in mine], regions] for names, regions in pairs]
    service = a.any(
        ["associate_regions_for_updates", "associate_regions_for_updates", "unassociate_regions_for_updates"]
    )
    return ScriptedCall(who, service, (instance, pairs))


def _interaction(a: Author, who: int) -> tuple[str, list[str]] | None:
    name = a.interaction()
    if a.wild:
        return name, [_region(a, who) or NOBODY]
    fit = _fits(a, who, a.words.model.interaction_dimensions(name))
    return (name, sorted(a.some(fit)[:2])) if fit else None


def hear(a: Author, who: int) -> ScriptedCall | None:
    found = _interaction(a, who)
    if found is None:
        return None
    service = a.any(
        ["subscribe_interaction_class_with_regions", "subscribe_interaction_class_with_regions",
         "subscribe_interaction_class_passively_with_regions", "unsubscribe_interaction_class_with_regions"]
    )  # fmt: skip
    return ScriptedCall(who, service, found)


def send(a: Author, who: int) -> ScriptedCall | None:
    found = _interaction(a, who)
    if found is None:
        return None
    name, regions = found
    if not a.wild and name not in a.one(who).sends:
        return ScriptedCall(who, "publish_interaction_class", (name,))
    arguments: tuple[Json, ...] = (name, a.parameters(name), regions, a.tag())
    if a.one(who).regulating and a.chance(0.4):
        arguments = (*arguments, a.stamp(who))
    return ScriptedCall(who, "send_interaction_with_regions", arguments, a.known.new("r"))


def request(a: Author, who: int) -> ScriptedCall | None:
    cls = a.cls()
    pairs = _pairs(a, who, cls)
    return (
        None
        if pairs is None
        else ScriptedCall(who, "request_attribute_value_update_with_regions", (cls, pairs, a.tag()))
    )


CHOICES = [
    Choice(weight, "region", make)
    for weight, make in (
        (2, create), (4, move), (0.5, commit), (0.5, look), (0.5, delete), (3, subscribe), (0.6, unsubscribe), (2.5, register),
        (2, associate), (2.5, hear), (2.5, send), (0.6, request),
    )
]  # fmt: skip
