"""Calls of declaration, object and ownership management."""

from __future__ import annotations

from weft.fom import PRIVILEGE_TO_DELETE
from weft.model.json_types import Json
from weft.prove.author import NOBODY, Author, Make
from weft.prove.script import ScriptedCall

NAMES = ("Anna", "Berta", "Clara", "Dora")
_TRANSPORTATIONS = ("HLAreliable", "HLAbestEffort")

# --- declaration ----------------------------------------------------------------------------------------------


def publish(a: Author, who: int) -> ScriptedCall:
    cls = a.cls()
    return ScriptedCall(who, "publish_object_class_attributes", (cls, a.names_of(cls)))


def unpublish(a: Author, who: int) -> ScriptedCall:
    cls = a.published_class(who)
    if a.chance(0.3):
        return ScriptedCall(who, "unpublish_object_class", (cls,))
    return ScriptedCall(who, "unpublish_object_class_attributes", (cls, a.names_of(cls)))


def subscribe(a: Author, who: int) -> ScriptedCall:
    cls = a.cls()
    service = "subscribe_object_class_attributes" + a.any(["", "", "", "_passively"])
    rates = a.words.rates
    arguments: tuple[Json, ...] = (cls, a.names_of(cls))
    if a.wild and a.chance(0.2):
        return ScriptedCall(who, service, (*arguments, "NoSuchRate"))
    if rates and a.chance(0.2):
        arguments = (*arguments, a.any(rates))
    return ScriptedCall(who, service, arguments)


def unsubscribe(a: Author, who: int) -> ScriptedCall:
    mine = sorted(a.one(who).subscribed)
    cls = a.any(mine) if mine and not a.wild else a.cls()
    if a.chance(0.3):
        return ScriptedCall(who, "unsubscribe_object_class", (cls,))
    return ScriptedCall(who, "unsubscribe_object_class_attributes", (cls, a.names_of(cls)))


def of_interaction(service: str) -> Make:
    return lambda a, who: ScriptedCall(who, service, (a.interaction(),))


def subscribe_interaction(a: Author, who: int) -> ScriptedCall:
    service = "subscribe_interaction_class" + a.any(["", "", "", "_passively"])
    return ScriptedCall(who, service, (a.interaction(),))


def _directed(a: Author) -> tuple[str, list[str]]:
    cls = a.cls()
    if a.wild:
        return cls, [a.interaction()]
    there = [one for one in a.words.classes if a.words.directed(one)]
    a.require(there)
    cls = a.any(there)
    return cls, sorted(a.some(a.words.directed(cls)))


def publish_directed(a: Author, who: int) -> ScriptedCall:
    return ScriptedCall(who, "publish_object_class_directed_interactions", _directed(a))


def subscribe_directed(a: Author, who: int) -> ScriptedCall:
    found = _directed(a)
    service = "subscribe_object_class_directed_interactions" + a.any(["", "_universally"])
    return ScriptedCall(who, service, found)


def undo_directed(a: Author, who: int) -> ScriptedCall:
    found = _directed(a)
    service = a.any(["unpublish", "unsubscribe"]) + "_object_class_directed_interactions"
    return ScriptedCall(who, service, found if a.chance(0.6) else found[:1])


# --- objects --------------------------------------------------------------------------------------------------


def reserve(a: Author, who: int) -> ScriptedCall:
    if a.chance(0.3):
        names = a.some(NAMES) if not a.wild else [*a.some(NAMES), ""]
        return ScriptedCall(who, "reserve_multiple_object_instance_names", (sorted(names),))
    return ScriptedCall(who, "reserve_object_instance_name", ("HLAnope" if a.wild else a.any(NAMES),))


def release(a: Author, who: int) -> ScriptedCall:
    mine = sorted(a.one(who).reserved)
    a.require(mine or a.wild)
    if a.chance(0.3) and mine:
        return ScriptedCall(who, "release_multiple_object_instance_names", (sorted(a.some(mine)),))
    return ScriptedCall(who, "release_object_instance_name", (a.any(mine or NAMES),))


def register(a: Author, who: int) -> ScriptedCall:
    cls = a.published_class(who)
    name = a.known.new("o")
    reserved = sorted(a.one(who).reserved)
    if a.wild and a.chance(0.3):
        return ScriptedCall(who, "register_object_instance", (cls, a.any(NAMES)), name)
    if reserved and a.chance(0.5):
        return ScriptedCall(who, "register_object_instance", (cls, a.any(reserved)), name)
    return ScriptedCall(who, "register_object_instance", (cls,), name)


def _stamped(a: Author, who: int, arguments: tuple[Json, ...]) -> tuple[Json, ...]:
    """Sometimes with a time, sometimes with an order of Weft's own."""
    if a.one(who).regulating and a.chance(0.65):
        return (*arguments, a.stamp(who))
    if a.wild and a.chance(0.3):
        return (*arguments, a.number(0, 20))
    if a.chance(0.06) and not a.hurries:  # between messages of different orders nothing is promised
        return (*arguments, None, a.any(["RECEIVE", "CAUSAL", "TOTAL", "PRIORITY"]))
    return arguments


def update(a: Author, who: int) -> ScriptedCall:
    instance = a.instance(who, mine=not a.chance(0.05))
    owned = sorted(a.one(who).owns.get(instance, set()) - {PRIVILEGE_TO_DELETE})
    names = a.some(owned) if owned and not a.wild else a.names_of(a.class_of(who, instance))
    arguments = _stamped(a, who, (instance, a.values(instance, names), a.tag()))
    return _message(a, who, "update_attribute_values", arguments)


def _message(a: Author, who: int, service: str, arguments: tuple[Json, ...]) -> ScriptedCall:
    """In a hurry, sometimes."""
    return ScriptedCall(who, service, arguments, a.known.new("r"), a.chance(0.25) and len(arguments) < 5)


def send(a: Author, who: int) -> ScriptedCall:
    mine = sorted(a.one(who).sends & set(a.words.interactions))
    a.require(mine or a.wild)
    name = a.interaction() if a.wild else a.any(mine)
    arguments = _stamped(a, who, (name, a.parameters(name), a.tag()))
    return _message(a, who, "send_interaction", arguments)


def send_directed(a: Author, who: int) -> ScriptedCall:
    instance = a.instance(who)
    mine = sorted(a.one(who).directs)
    a.require(mine or a.wild)
    name = a.interaction() if a.wild else a.any(mine)
    arguments = _stamped(a, who, (name, instance, a.parameters(name), a.tag()))
    return ScriptedCall(who, "send_directed_interaction", arguments, a.known.new("r"))


def delete(a: Author, who: int) -> ScriptedCall:
    arguments = _stamped(a, who, (a.instance(who, mine=True), a.tag()))
    return ScriptedCall(who, "delete_object_instance", arguments, a.known.new("r"))


def local_delete(a: Author, who: int) -> ScriptedCall:
    return ScriptedCall(who, "local_delete_object_instance", (a.instance(who),))


def request_update(a: Author, who: int) -> ScriptedCall:
    if a.chance(0.5):
        target = cls = a.cls()
    else:
        target = a.instance(who)
        cls = a.class_of(who, target)
    return ScriptedCall(who, "request_attribute_value_update", (target, a.names_of(cls), a.tag()))


def transportation(a: Author, who: int) -> ScriptedCall:
    way = NOBODY if a.wild else a.any(_TRANSPORTATIONS)
    kind = a.random.randrange(5)
    if kind == 0:
        cls = a.cls()
        return ScriptedCall(who, "change_default_attribute_transportation_type", (cls, a.names_of(cls), way))
    if kind == 1:
        return ScriptedCall(who, "request_interaction_transportation_type_change", (a.interaction(), way))
    if kind == 2:
        joined = a.known.joined()  # of nobody else: the standard has only RTIinternalError for that
        a.require(joined)
        federate = a.one(a.any(joined)).name
        return ScriptedCall(who, "query_interaction_transportation_type", (federate, a.interaction()))
    instance = a.instance(who, mine=True)
    names = a.names_of(a.class_of(who, instance)) or ["Name"]
    if kind == 3:
        return ScriptedCall(who, "query_attribute_transportation_type", (instance, a.any(names)))
    owned = sorted(a.one(who).owns.get(instance, set()))
    chosen = a.some(owned) if owned and not a.wild else names
    return ScriptedCall(who, "request_attribute_transportation_type_change", (instance, sorted(chosen), way))


# --- ownership ------------------------------------------------------------------------------------------------


def divest(a: Author, who: int) -> ScriptedCall:
    found = a.owned(who)
    service = a.any(
        ["unconditional_attribute_ownership_divestiture", "negotiated_attribute_ownership_divestiture",
         "negotiated_attribute_ownership_divestiture", "attribute_ownership_divestiture_if_wanted"]
    )  # fmt: skip
    return ScriptedCall(who, service, (*found, a.tag()))


def acquire(a: Author, who: int) -> ScriptedCall:
    instance = a.instance(who)
    cls = a.class_of(who, instance)
    mine = a.one(who).owns.get(instance, set())
    wanted = sorted((a.one(who).published.get(cls, set()) | {PRIVILEGE_TO_DELETE}) - mine)
    names = a.names_of(cls) if a.wild or not wanted else sorted(a.some(wanted))
    service = "attribute_ownership_acquisition" + a.any(["", "_if_available"])
    return ScriptedCall(who, service, (instance, names, a.tag()))


def answer(a: Author, who: int) -> ScriptedCall:
    """To a request for release, or for confirmation."""
    asked = a.one(who).asked
    instances = sorted(i for i, names in asked.items() if names)
    a.require(instances or a.wild)
    instance = a.any(instances) if instances else a.any([*a.known.classes, NOBODY])
    names = sorted(a.some(sorted(asked.get(instance, set())))) or a.names_of(a.cls())
    service = a.any(
        ["confirm_divestiture", "confirm_divestiture", "attribute_ownership_release_denied",
         "attribute_ownership_divestiture_if_wanted"]
    )  # fmt: skip
    return ScriptedCall(who, service, (instance, names, a.tag()))


def cancel(a: Author, who: int) -> ScriptedCall:
    acquiring = {i: names for i, names in a.one(who).acquiring.items() if names}
    if acquiring and a.chance(0.7):
        instance = a.any(sorted(acquiring))
        names = sorted(a.some(sorted(acquiring[instance])))
        return ScriptedCall(who, "cancel_attribute_ownership_acquisition", (instance, names))
    return ScriptedCall(who, "cancel_negotiated_attribute_ownership_divestiture", a.owned(who))


def query_owner(a: Author, who: int) -> ScriptedCall:
    instance = a.instance(who)
    names = a.names_of(a.class_of(who, instance))
    if a.chance(0.5) and names:
        return ScriptedCall(who, "is_attribute_owned_by_federate", (instance, a.any(names)))
    return ScriptedCall(who, "query_attribute_ownership", (instance, names))


CHOICES = (
    (3, publish), (0.8, unpublish), (3, subscribe), (1.3, unsubscribe), (2, of_interaction("publish_interaction_class")),
    (0.7, of_interaction("unpublish_interaction_class")), (2, subscribe_interaction),
    (0.8, of_interaction("unsubscribe_interaction_class")), (1, publish_directed), (1.2, subscribe_directed),
    (0.3, undo_directed),
    (1.2, reserve), (0.5, release), (6, register), (14, update), (8, send), (3, send_directed), (1.5, delete),
    (0.6, local_delete), (1.5, request_update), (1.3, transportation),
    (2.5, divest), (3, acquire), (3, answer), (1, cancel), (1.5, query_owner),
)  # fmt: skip
