"""A brute-force model of save and restore: who is told what, what is refused, what waits and what comes back.

Federates are seats 0, 1, …; each hears every interaction of the others.  A label stands for the save that was written last
under it.  Each operation returns the callbacks it leads to, (seat, method, detail), or raises `Refused`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from support.oracle_state import Refused

Out = list[tuple[int, str, Any]]


@dataclass
class Who:
    handle: int
    name: str
    knows: str = ""  # "save" or "restore", once it has taken the callback
    held: list[bytes] | None = None


@dataclass
class Kept:
    joined: int
    members: list[tuple[int, str, list[bytes]]]


@dataclass
class Model:
    who: dict[int, Who] = field(default_factory=dict)  # in the order of the federation's members
    joined: int = 0
    era: int = 0  # how often it was restored
    saves: dict[str, Kept] = field(default_factory=dict)
    label: str = ""
    phase: str = ""  # "", "saving", "writing", "asked", "restoring"
    status: dict[int, str] = field(default_factory=dict)
    failure: str = ""
    asker: int = -1
    places: dict[int, tuple[int, str]] = field(default_factory=dict)
    draft: Kept | None = None

    # --- what everything else needs ---------------------------------------------------------------------------

    def me(self, seat: int) -> Who:
        if seat not in self.who:
            raise Refused("FederateNotExecutionMember")
        return self.who[seat]

    def gate(self, seat: int, *allowed: str) -> Who:
        """Refuse what is not for a federate that knows it is saving or restoring."""
        me = self.me(seat)
        if me.knows and me.knows not in allowed:
            raise Refused("SaveInProgress" if me.knows == "save" else "RestoreInProgress")
        return me

    def idle(self) -> None:
        if self.phase in ("saving", "writing"):
            raise Refused("SaveInProgress")
        if self.phase:
            raise Refused("RestoreInProgress")

    def over(self, method: str, detail: Any = None) -> Out:
        """It is over: all are told, and what was held follows."""
        out: Out = []
        for seat, who in self.who.items():
            out.append((seat, method, detail))
            out += [(seat, "receive_interaction", tag) for tag in who.held or ()]
            who.held, who.knows = None, ""
        self.phase, self.failure, self.status, self.places = "", "", {}, {}
        return out

    # --- membership and messages ------------------------------------------------------------------------------

    def join(self, seat: int) -> Out:
        if seat in self.who:
            raise Refused("FederateAlreadyExecutionMember")
        self.idle()
        self.joined += 1
        name = f"test-{self.joined}"
        while name in [who.name for who in self.who.values()]:
            name += "'"
        self.who[seat] = Who(self.joined, name)
        return []

    def leave(self, seat: int) -> Out:
        self.me(seat)
        del self.who[seat]
        self.status.pop(seat, None)
        self.places.pop(seat, None)
        if self.phase == "saving":
            self.failure = self.failure or "FEDERATE_RESIGNED_DURING_SAVE"
            return self.conclude_save()
        if self.phase == "restoring":
            self.failure = self.failure or "FEDERATE_RESIGNED_DURING_RESTORE"
            return self.conclude_restore()
        if self.phase == "asked" and self.asker == seat:
            self.phase = ""
        return []

    def send(self, seat: int, tag: bytes) -> Out:
        self.gate(seat)
        out: Out = []
        for other, who in self.who.items():
            if other != seat and who.held is not None:
                who.held.append(tag)
            elif other != seat:
                out.append((other, "receive_interaction", tag))
        return out

    def take(self, seat: int, method: str) -> Out:
        """The federate has taken the last of the callbacks that pause it."""
        who = self.who.get(seat)
        if who is not None and who.held is not None:
            who.knows = "save" if method == "initiate_federate_save" else "restore"
        return []

    # --- save -------------------------------------------------------------------------------------------------

    def request_save(self, seat: int, label: str) -> Out:
        self.gate(seat)
        self.idle()
        self.phase, self.label = "saving", label
        self.status = dict.fromkeys(self.who, "INSTRUCTED")
        for who in self.who.values():
            who.held = []
        return [(seat, "initiate_federate_save", label) for seat in self.who]

    def begun(self, seat: int) -> Out:
        me = self.gate(seat, "save")
        if self.status.get(seat) != "INSTRUCTED" or self.phase != "saving":
            raise Refused("SaveNotInitiated")
        self.status[seat] = "SAVING"
        me.knows = "save"
        return []

    def complete(self, seat: int, well: bool) -> Out:
        self.gate(seat, "save")
        if self.status.get(seat) != "SAVING" or self.phase != "saving":
            raise Refused("FederateHasNotBegunSave")
        self.status[seat] = "WAITING"
        if not well:
            self.failure = self.failure or "FEDERATE_REPORTED_FAILURE_DURING_SAVE"
        return self.conclude_save()

    def conclude_save(self) -> Out:
        if any(status != "WAITING" for status in self.status.values()):
            return []
        if self.failure:
            return self.over("federation_not_saved", self.failure)
        self.phase = "writing"
        members = [(who.handle, who.name, list(who.held or ())) for who in self.who.values()]
        self.draft = Kept(self.joined, members)
        return []

    def abort_save(self, seat: int) -> Out:
        self.me(seat)
        if self.phase != "saving":
            raise Refused("SaveNotInProgress")
        return self.over("federation_not_saved", "SAVE_ABORTED")

    def stored(self, well: bool) -> Out:
        if self.phase != "writing":
            return []
        if well and self.draft is not None:
            self.saves[self.label] = self.draft
            return self.over("federation_saved")
        return self.over("federation_not_saved", "RTI_UNABLE_TO_SAVE")

    def query_save(self, seat: int) -> Out:
        self.gate(seat, "save")
        saving = self.phase in ("saving", "writing")
        status = [(w.handle, self.status[s] if saving else "NO") for s, w in self.who.items()]
        return [(seat, "federation_save_status_response", status)]

    # --- restore ----------------------------------------------------------------------------------------------

    def request_restore(self, seat: int, label: str) -> Out:
        self.gate(seat)
        self.idle()
        self.phase, self.label, self.asker = "asked", label, seat
        return []

    def fetched(self, found: bool, label: str, era: int) -> Out:
        """What is found after its request has ended means nothing, unless the same was asked for again."""
        if self.phase != "asked" or label != self.label or era != self.era:
            return []
        kept = self.saves.get(self.label)
        if not found or kept is None or len(kept.members) != len(self.who):
            self.phase = ""
            return [(self.asker, "request_federation_restore_failed", self.label)]
        self.phase = "restoring"
        free = [(handle, name) for handle, name, _ in kept.members]
        for by_name in (True, False):
            for seat, who in self.who.items():
                fits = [one for one in free if not by_name or one[1] == who.name]
                if seat not in self.places and fits:
                    self.places[seat] = fits[0]
                    free.remove(fits[0])
        out: Out = [(self.asker, "request_federation_restore_succeeded", self.label)]
        for seat, who in self.who.items():
            who.held = []
            out.append((seat, "federation_restore_begun", None))
            out.append((seat, "initiate_federate_restore", self.places[seat]))
        self.status = dict.fromkeys(self.who, "RESTORING")
        return out

    def restored(self, seat: int, well: bool) -> Out:
        self.gate(seat, "restore")
        if self.phase != "restoring" or self.status.get(seat) != "RESTORING":
            raise Refused("RestoreNotRequested")
        self.status[seat] = "WAITING"
        self.who[seat].knows = "restore"
        if not well:
            self.failure = self.failure or "FEDERATE_REPORTED_FAILURE_DURING_RESTORE"
        return self.conclude_restore()

    def conclude_restore(self) -> Out:
        if any(status != "WAITING" for status in self.status.values()):
            return []
        if self.failure:
            return self.over("federation_not_restored", self.failure)
        kept = self.saves[self.label]
        seats = {place[0]: seat for seat, place in self.places.items()}
        self.who = {seats[handle]: Who(handle, name, held=held) for handle, name, held in kept.members}
        self.joined = kept.joined
        self.era += 1
        return self.over("federation_restored")

    def abort_restore(self, seat: int) -> Out:
        self.me(seat)
        if self.phase == "asked":
            self.phase = ""
            return [(self.asker, "request_federation_restore_failed", self.label)]
        if self.phase != "restoring":
            raise Refused("RestoreNotInProgress")
        return self.over("federation_not_restored", "RESTORE_ABORTED")

    def query_restore(self, seat: int) -> Out:
        self.gate(seat, "restore")
        found = []
        for other, who in self.who.items():
            if self.phase == "restoring":
                found.append((who.handle, self.places[other][0], self.status[other]))
            else:
                asked = self.phase == "asked" and self.asker == other
                found.append((who.handle, who.handle, "PENDING" if asked else "NO"))
        return [(seat, "federation_restore_status_response", found)]
