"""Saves and restores of random timed federates (`support.random_timed_federates`), and what must hold of them.

What a federate saves is all that it knows of itself, at the moment at which it is told to; when the federation is restored it
goes back to that.  Then the checks of `support.random_timed_federates` hold of the whole: what was to come after the save
comes once more,
and once.  Of a save at a logical time they hold when a federate is told to save:

    all      it has heard every message in time stamp order up to that time that was sent to it
    no more  and none that is later, unless it has flushed its queue
"""

from __future__ import annotations

from copy import copy
from random import Random
from typing import TYPE_CHECKING, Any

from weft.model.errors import (
    FederateHasNotBegunSave,
    FederateUnableToUseTime,
    LogicalTimeAlreadyPassed,
    RestoreInProgress,
    SaveInProgress,
    SaveNotInitiated,
)

if TYPE_CHECKING:
    from support.random_timed_federates import Run, Timed

KEPT = (
    "regulating",
    "constrained",
    "waits",
    "asked",
    "time",
    "lookahead",
    "sent",
    "history",
    "retractable",
    "eras",
    "thing",
    "owns",
    "sought",
)
LABEL = "storm"


class Pause:
    """Of one federate: what it does while the federation is saved or restored."""

    def __init__(self, one: Timed) -> None:
        self.one = one
        self.state = ""  # "told", "begun", "saved"; "restoring"
        self.kept: dict[str, Any] = {}
        self.good: dict[str, Any] = {}  # of the last save that ended well
        self.saves: list[Any] = []  # the times of the saves that ended well; None of one without
        self.time: Any = None

    def hear(self, method: str, arguments: tuple[Any, ...]) -> None:
        if method == "initiate_federate_save":
            self.time = arguments[1].value if len(arguments) > 1 else None
            self.check()
            self.state = "told"
            self.kept = {name: copy(getattr(self.one, name)) for name in KEPT}
            mine = {key for key in self.one.run.retracted if key[0] == self.one.name}
            self.kept["retracted"] = mine
        elif method == "federation_saved":
            self.state, self.good = "", self.kept
            self.saves.append(self.time)
        elif method in ("federation_not_saved", "federation_not_restored"):
            self.state = ""
        elif method == "initiate_federate_restore":
            self.state = "restoring"
        elif method == "federation_restored":
            self.state = ""
            self.go_back()

    def check(self) -> None:
        one, run = self.one, self.one.run
        if self.time is None or not one.constrained:
            return
        where = f"seed {run.seed}, {one.name}, save at {self.time}"
        heard = {(entry[2], entry[3]): entry for entry in one.history if entry[0] == "heard"}
        if not any(entry[0] == "flushed" for entry in one.history):
            late = [entry for entry in heard.values() if entry[4] and entry[1] > self.time]
            assert not late, f"{where}: has heard {late}"
        assert one.time <= self.time, f"{where}: is at {one.time}"
        if not run.lossy:
            for key, message in run.messages.items():
                if message.stamped and message.time <= self.time and one.name in message.receivers:
                    assert key in heard or key in run.retracted, f"{where}: has not heard {message}"

    def go_back(self) -> None:
        one, run = self.one, self.one.run
        for name in KEPT:
            setattr(one, name, copy(self.good[name]))
        others = {key for key in run.retracted if key[0] != one.name}
        run.retracted = others | self.good["retracted"]
        for key in [k for k, sent in run.messages.items() if sent.sender == one.name and k[1] > one.sent]:
            del run.messages[key]

    def request(self, random: Random) -> None:
        one = self.one
        try:
            if random.random() < 0.3:
                one.rti.request_federation_save(LABEL)
            else:
                time = one.factory.make_time(max(0, one.time + random.choice((0, 1, 2, 4, 8))))
                one.rti.request_federation_save(LABEL, time)
        except (FederateUnableToUseTime, LogicalTimeAlreadyPassed, SaveInProgress, RestoreInProgress):
            pass

    def go_on(self, random: Random) -> None:
        """The next thing that the save or restore asks of it."""
        rti = self.one.rti
        try:
            if self.state == "told":
                rti.federate_save_begun()
                self.state = "begun"
            elif self.state == "begun":
                if random.random() < 0.1:
                    rti.federate_save_not_complete()
                else:
                    rti.federate_save_complete()
                self.state = "saved"
            elif self.state == "restoring":
                rti.federate_restore_complete()
                self.state = "restored"
        except (SaveNotInitiated, FederateHasNotBegunSave):
            self.one.evoke()  # it is over, which it has not heard yet
        self.one.evoke()


def restore(run: Run) -> bool:
    """Back to the last save that ended well; False if there is none, or one is under way."""
    for _ in range(50):
        run.settle()
        for one in run.federates:
            one.evoke()
            if one.pause.state:
                one.pause.go_on(run.random)
    if any(one.pause.state or not one.pause.good for one in run.federates):
        return False
    run.era += 1
    run.federates[0].rti.request_federation_restore(LABEL)
    for _ in range(10):
        run.settle()
        for one in run.federates:
            one.evoke()
            if one.pause.state == "restoring":
                one.pause.go_on(run.random)
    assert not any(one.pause.state for one in run.federates), f"seed {run.seed}: not restored"
    return True
