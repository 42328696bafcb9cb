"""Whom a message is for, as far as the sender can tell: the tables of subscriptions (S0-12), and how sure they are.

The tables are what members say they want (`Peer.wants`), by interaction class, and by attribute of object classes (S0-17), with
the classes above them.  Who has not said yet counts as wanting everything.  So the destinations are at least all of whom we know
that they may get it, and `weft.ordering.tables` makes good what we do not know.

Sure is an address if all who are named will get the message: they want the class without regions and rates, and it is
reliable.  Else its note follows at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from weft.federate.ambassador import RTIambassador
from weft.federate.causal.party import Party, Peer
from weft.model.errors import InvalidInteractionClassHandle, RTIexception
from weft.model.handles import (
    AttributeHandle,
    FederateHandle,
    InteractionClassHandle,
    ObjectClassHandle,
    ObjectInstanceHandle,
)
from weft.ordering.message import NOTHING
from weft.ordering.tables import process_of

IN_PART: Final = "~"


class Address:
    """`part`: the message may come in several callbacks.  `whole`: it comes in one, behind all that was sent before."""

    __slots__ = ("destinations", "part", "sure", "whole")

    def __init__(self, destinations: list[int], sure: bool, part: bool, whole: bool = False) -> None:
        self.destinations = destinations
        self.whole = whole
        self.sure = sure
        self.part = part


ANYWHERE: Final = Address(NOTHING, False, False)
ANYWHERE_IN_PARTS: Final = Address(NOTHING, False, True)


class Addresses:
    """`tables`: name destinations; without, every message is for all, and it is only asked how sure that is."""

    def __init__(self, rti: RTIambassador, federate: FederateHandle, tables: bool) -> None:
        self._rti = rti
        self._federate = federate
        self._tables = tables
        self._reliably = rti.get_transportation_type_handle("HLAreliable")
        self._version = -1
        self._interactions: dict[object, Address] = {}
        self._updates: dict[tuple[object, frozenset[object]], Address] = {}
        self._lineages: dict[object, list[str]] = {}
        self._object_lineages: dict[object, list[str]] = {}
        # Of interaction classes, and of attributes with their classes: is it reliable?
        self._reliable: dict[object, bool] = {}
        self._asked: Counter[object] = Counter()
        self._registered: dict[object, ObjectClassHandle] = {}  # our own instances
        self._special: set[object] = set()  # instances with regions or a transportation of their own

    # --- addresses --------------------------------------------------------------------------------------------

    def of(self, party: Party, service: str, arguments: tuple[object, ...]) -> Address:
        """What is wrong with the arguments the RTI says."""
        try:
            return self._of(party, service, arguments)
        except RTIexception:
            return Address(self._all(party) if self._tables else NOTHING, False, True)

    def _of(self, party: Party, service: str, arguments: tuple[object, ...]) -> Address:
        if self._version != party.version:
            self._version = party.version
            self._interactions.clear()
            self._updates.clear()
        if service == "send_interaction":
            found = self._interactions.get(arguments[0])
            return self._of_interaction(party, arguments[0]) if found is None else found
        if service == "update_attribute_values":
            return self._of_update(party, arguments[0], arguments[1])
        if not self._tables:
            return ANYWHERE
        if service == "send_interaction_with_regions":
            return Address(self._of_interaction(party, arguments[0]).destinations, False, False)
        return Address(self._all(party), False, False)

    def _of_interaction(self, party: Party, interaction_class: object) -> Address:
        lineage = self.lineage(interaction_class)
        reliable = self.is_reliable(interaction_class)
        found = self._find(party, lineage, reliable is True, False)
        if reliable is not None:
            self._interactions[interaction_class] = found
        return found

    def _of_update(self, party: Party, instance: object, values: object) -> Address:
        """Of an instance that another has registered we may know a class above its own only: all may get it."""
        object_class = self._registered.get(instance)
        if object_class is None or instance in self._special or not isinstance(values, Mapping):
            return Address(self._all(party), False, True) if self._tables else ANYWHERE_IN_PARTS
        key = (object_class, frozenset(values))
        found = self._updates.get(key)
        if found is not None:
            return found
        names: list[str] = []
        reliable: list[bool | None] = []
        for attribute in values:
            name = self._rti.get_attribute_name(object_class, attribute)
            names += [f"{one}/{name}" for one in self._object_lineage(object_class)]
            reliable.append(self._is_attribute_reliable(instance, object_class, attribute))
        known = None not in reliable
        part = len(values) > 1 and not (known and len(set(reliable)) == 1)
        found = self._find(party, names, known and all(reliable) and not part, part)
        if known:
            self._updates[key] = found
        return found

    def _find(self, party: Party, names: list[str], reliable: bool, part: bool) -> Address:
        if not self._tables:
            return Address(NOTHING, reliable and party.all_want(names), part, reliable and not part)
        sure = reliable
        found: list[int] = []
        for identity, peer in party.peers.items():
            if peer.present:
                wholly, at_all = _wants(peer, names)
                if at_all:
                    found.append(process_of(identity))
                    sure = sure and wholly
        return Address(sorted(found), sure, part, reliable and not part)

    def _all(self, party: Party) -> list[int]:
        return sorted([process_of(identity) for identity, peer in party.peers.items() if peer.present])

    # --- classes ----------------------------------------------------------------------------------------------

    def lineage(self, interaction_class: object) -> list[str]:
        """Names of the class and of those above it."""
        found = self._lineages.get(interaction_class)
        if found is None:
            if not isinstance(interaction_class, InteractionClassHandle):
                raise InvalidInteractionClassHandle(f"{interaction_class!r} is no interaction class")
            found = _with_those_above(self._rti.get_interaction_class_name(interaction_class))
            self._lineages[interaction_class] = found
        return found

    def _object_lineage(self, object_class: ObjectClassHandle) -> list[str]:
        found = self._object_lineages.get(object_class)
        if found is None:
            found = _with_those_above(self._rti.get_object_class_name(object_class))
            self._object_lineages[object_class] = found
        return found

    def attribute_names(
        self, object_class: ObjectClassHandle, attributes: Iterable[AttributeHandle], wholly: bool
    ) -> list[str]:
        """As they are told to others."""
        name = ("" if wholly else IN_PART) + self._object_lineage(object_class)[0]
        return [f"{name}/{self._rti.get_attribute_name(object_class, one)}" for one in attributes]

    # --- our instances ----------------------------------------------------------------------------------------

    def registered(self, instance: ObjectInstanceHandle, object_class: ObjectClassHandle) -> None:
        self._registered[instance] = object_class

    def special(self, instance: object) -> None:
        self._special.add(instance)

    def deleted(self, instance: object) -> None:
        self._registered.pop(instance, None)
        self._special.discard(instance)

    # --- transportation ---------------------------------------------------------------------------------------

    def is_reliable(self, interaction_class: object) -> bool | None:
        """None: the RTI has been asked."""
        reliable = self._reliable.get(interaction_class)
        if reliable is None and not self._asked[interaction_class]:
            assert isinstance(interaction_class, InteractionClassHandle)
            self._asked[interaction_class] += 1
            try:
                self._rti.query_interaction_transportation_type(self._federate, interaction_class)
            except RTIexception:
                self._asked[interaction_class] -= 1
        return reliable

    def _is_attribute_reliable(
        self, instance: object, object_class: ObjectClassHandle, attribute: AttributeHandle
    ) -> bool | None:
        """Every instance begins with the transportation of the object model."""
        reliable = self._reliable.get((object_class, attribute))
        if reliable is None and not self._asked[object_class, attribute]:
            assert isinstance(instance, ObjectInstanceHandle)
            self._asked[object_class, attribute] += 1
            self._asked[instance, attribute] += 1
            try:
                self._rti.query_attribute_transportation_type(instance, attribute)
            except RTIexception:
                self._asked[object_class, attribute] -= 1
                self._asked[instance, attribute] -= 1
        return reliable

    def transportation_changes(self, interaction_class: object) -> None:
        self._reliable[interaction_class] = False
        self._interactions.pop(interaction_class, None)

    def hear_transportation(self, arguments: tuple[object, ...]) -> bool:
        """Is it an answer to our own question?"""
        federate, interaction_class, transportation = arguments
        if federate != self._federate or not self._asked[interaction_class]:
            return False
        self._asked[interaction_class] -= 1
        self._reliable.setdefault(interaction_class, transportation == self._reliably)
        return True

    def hear_attribute_transportation(self, arguments: tuple[object, ...]) -> bool:
        instance, attribute, transportation = arguments
        if not self._asked[instance, attribute]:
            return False
        self._asked[instance, attribute] -= 1
        object_class = self._registered.get(instance)
        if object_class is not None:
            self._reliable.setdefault((object_class, attribute), transportation == self._reliably)
        return True


def _wants(peer: Peer, names: list[str]) -> tuple[bool, bool]:
    """Does it want one of these wholly, and does it want one at all?"""
    if not peer.is_declared():
        return False, True
    wants = peer.wants
    if any(name in wants for name in names):
        return True, True
    return False, any(IN_PART + name in wants for name in names)


def _with_those_above(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:length]) for length in range(len(parts), 0, -1)]
