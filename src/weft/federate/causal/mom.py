"""What the MOM says of the members that were there before us: which classes they subscribe to (S0-13).

Asked once for each, when its instance is discovered; later they tell us themselves, and that counts.  What is here only makes
the first messages after a join name fewer destinations: who has said nothing yet is named in all of them.  The MOM does not
tell of regions, so all is wanted in part.
"""

from __future__ import annotations

from weft.federate.ambassador import RTIambassador
from weft.federate.causal.addresses import IN_PART
from weft.federate.causal.party import Party
from weft.model.errors import RTIexception
from weft.model.handles import AttributeHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle

_FEDERATE = "HLAinteractionRoot.HLAmanager.HLAfederate"
_REQUEST = f"{_FEDERATE}.HLArequest.HLArequestSubscriptions"
_INTERACTIONS = f"{_FEDERATE}.HLAreport.HLAreportInteractionSubscription"
_OBJECTS = f"{_FEDERATE}.HLAreport.HLAreportObjectClassSubscription"
_DIRECTED = f"{_FEDERATE}.HLAreport.HLAreportDirectedInteractionSubscription"


class _Answers:
    """Of one federate."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.interactions = False
        self.classes = 0
        self.classes_expected = -1

    def is_whole(self) -> bool:
        return self.interactions and self.classes >= self.classes_expected >= 0


class MomTables:
    """Between joining and the answers of all who were there."""

    def __init__(self, rti: RTIambassador) -> None:
        self._rti = rti
        self._asked: dict[bytes, _Answers] = {}
        self._shown: set[object] = set()  # what the federate subscribes to itself
        self._published = False  # by the federate
        self.open = False
        self.classes: frozenset[object] = frozenset()  # those of the answers
        try:
            self._request = rti.get_interaction_class_handle(_REQUEST)
            self._of = rti.get_parameter_handle(self._request, "HLAfederate")
            self._interactions = rti.get_interaction_class_handle(_INTERACTIONS)
            self._list = rti.get_parameter_handle(self._interactions, "HLAinteractionClassList")
            self._objects = rti.get_interaction_class_handle(_OBJECTS)
            self._count = rti.get_parameter_handle(self._objects, "HLAnumberOfClasses")
            self._class = rti.get_parameter_handle(self._objects, "HLAobjectClass")
            self._attributes = rti.get_parameter_handle(self._objects, "HLAattributeList")
            rti.subscribe_interaction_class_passively(self._interactions)
            rti.subscribe_interaction_class_passively(self._objects)
            rti.publish_interaction_class(self._request)
            self._directed = rti.get_interaction_class_handle(_DIRECTED)  # comes with the others
            rti.subscribe_interaction_class_passively(self._directed)
            self.classes = frozenset((self._interactions, self._objects, self._directed))
            self.open = True
        except RTIexception:
            pass  # a MOM without them: members tell us all the same

    def ask(self, federate: FederateHandle) -> None:
        if self.open:
            try:
                self._rti.send_interaction(self._request, {self._of: _as_handle(federate.encode())}, b"")
                self._asked[federate.encode()] = _Answers()
            except RTIexception:
                pass

    def close(self) -> None:
        """All have spoken themselves.

        The answers stay subscribed: others who join ask, too, and a federate that subscribes to a class above would see them.
        """
        if self.open:
            self.open = False
            if not self._published:
                self._rti.unpublish_interaction_class(self._request)

    # --- what the federate does with the same classes ---------------------------------------------------------

    def shows(self, interaction_class: object, shown: bool) -> bool:
        """Do we have to hear it all the same?"""
        if interaction_class not in self.classes:
            return False
        (self._shown.add if shown else self._shown.discard)(interaction_class)
        return True

    def published(self, interaction_class: object, published: bool) -> None:
        if self.open and interaction_class == self._request:
            self._published = published

    # --- answers ----------------------------------------------------------------------------------------------

    def hear(self, party: Party, interaction_class: object, values: dict[object, bytes]) -> bool:
        """Does the federate not get to see it?  Answers may come when all is known already."""
        federate = values.get(self._of, b"")[4:]
        answers = self._asked.get(federate)
        if answers is not None:
            try:
                self._take(answers, interaction_class, values)
            except (RTIexception, IndexError):
                del self._asked[federate]  # a MOM of another make
            else:
                if answers.is_whole():
                    del self._asked[federate]
                    party.reported(FederateHandle(federate), answers.names)
        return interaction_class not in self._shown

    def _take(self, answers: _Answers, interaction_class: object, values: dict[object, bytes]) -> None:
        if interaction_class == self._interactions:
            answers.interactions = True
            for handle in _handles(values[self._list], 4):
                name = self._rti.get_interaction_class_name(InteractionClassHandle(handle))
                answers.names.add(IN_PART + name)
            return
        if interaction_class == self._directed:
            return
        answers.classes_expected = int.from_bytes(values[self._count], "big")
        if answers.classes_expected:
            answers.classes += 1
            object_class = ObjectClassHandle(values[self._class][4:])
            name = self._rti.get_object_class_name(object_class)
            for handle in _handles(values[self._attributes], 0):
                attribute = self._rti.get_attribute_name(object_class, AttributeHandle(handle))
                answers.names.add(f"{IN_PART}{name}/{attribute}")


def _as_handle(data: bytes) -> bytes:
    """HLAhandle."""
    return len(data).to_bytes(4, "big") + data


def _handles(data: bytes, behind: int) -> list[bytes]:
    """Of an array whose elements are handles with so many bytes behind each, all aligned to four."""
    found: list[bytes] = []
    at = 4
    for _ in range(int.from_bytes(data[:4], "big")):
        if at + 4 > len(data):
            raise IndexError("an array that ends too early")
        size = int.from_bytes(data[at : at + 4], "big")
        found.append(data[at + 4 : at + 4 + size])
        at += (4 + size + 3) // 4 * 4 + behind
    return found
