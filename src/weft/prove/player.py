"""Carries out the steps of a script in one world, and writes down what each federate sees.

After each step everybody rests: the world lets all arrive, all evoke, again and again until a round in which nobody heard
anything.  So what is heard is heard between the same two steps in every world.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from weft.federate import FederateAmbassador, RTIambassador
from weft.model.enums import CallbackModel, ResignAction
from weft.model.errors import NotConnected, RTIexception, RTIinternalError
from weft.model.json_types import Json
from weft.model.records import LateRetractionReturn
from weft.prove.book import HandleBook
from weft.prove.script import HeardCallback, Script, ScriptedCall
from weft.prove.signatures import UNAWAITED
from weft.prove.words import ModelWords
from weft.prove.world import World

A = TypeVar("A")
PATIENCE = 60.0  # seconds for what must come and depends on a disk; far beyond what anything takes
_ROUNDS = 10_000
_EARLIER = "from an earlier call"
END = "end"  # in place of a call, after the last one
_TELL = (
    "federate_resigned", "connection_lost", "federation_saved", "federation_not_saved", "federation_restored",
    "federation_not_restored", "request_federation_restore_succeeded", "request_federation_restore_failed",
)  # fmt: skip
"""By these a federate knows what became of a save, a restore or a request for one."""


@dataclass
class CallRecord:
    """What became of one step."""

    step: ScriptedCall
    result: Json = None
    error: str = ""
    text: str = ""  # of the error; for people, not compared
    heard: dict[int, list[HeardCallback]] = field(default_factory=dict)  # by federate, in order
    unsure: bool = False  # one of several calls nobody waited for was refused, and nobody knows which …
    told: list[str] = field(default_factory=list)  # … but with what, at the last of them

    def plain(self) -> Json:
        return [self.error, self.result, {str(who): what for who, what in sorted(self.heard.items())}]


class Ear(FederateAmbassador):
    """Hears everything; the methods are made below."""

    def __init__(self, hear: Callable[[str, tuple[object, ...]], None]) -> None:
        self.hear = hear


def _listening(name: str) -> Callable[..., None]:
    def method(self: Ear, *arguments: object) -> None:
        self.hear(name, arguments)

    return method


CALLBACKS = tuple(name for name in vars(FederateAmbassador) if not name.startswith("_"))
for _name in CALLBACKS:
    setattr(Ear, _name, _listening(_name))


class Player:
    def __init__(self, world: World, words: ModelWords, script: Script, federation: str) -> None:
        self.world = world
        self.book = HandleBook(words, script, federation)
        self.calls = 0
        self.callbacks = 0
        self.troubles: list[str] = []  # what must never be, whatever was called
        self.at = ""  # what is being done, for whoever finds that it takes too long
        self._heard: dict[int, list[HeardCallback]] = {}
        self._joined: set[int] = set()
        self._phase: dict[int, str] = {}  # how far a federate is with a save or restore
        self._federations: set[str] = set()
        self._seen: list[CallRecord] = []
        self._hurried: list[CallRecord] = []
        self.rtis = [self.world.ambassador(number) for number in range(script.federates)]
        for number, rti in enumerate(self.rtis):
            self._connect(rti, number)

    def _connect(self, rti: RTIambassador, number: int) -> None:
        def hear(method: str, arguments: tuple[object, ...]) -> None:
            self.callbacks += 1
            self._heard.setdefault(number, []).append(self.book.say_callback(method, arguments))
            self._note(number, method)

        rti.connect(Ear(hear), CallbackModel.EVOKED, self.world.configuration(number))

    # --- a step -----------------------------------------------------------------------------------------------

    def play(self, step: ScriptedCall) -> CallRecord:
        self.at = step.text()
        seen = CallRecord(step)
        self._seen.append(seen)
        self._hurried.append(seen)
        self.calls += 1
        try:
            seen.result = self._call(step)
        except RTIexception as error:
            self._refused(seen, error)
        if not step.hurry:
            self._rest(seen)
            self._hurried.clear()
        return seen

    def _call(self, step: ScriptedCall) -> Json:
        rti = self.rtis[step.federate]
        if step.call == "connect":
            self._connect(rti, step.federate)
            return None
        if step.call == "disconnect":
            rti.disconnect()
            return None
        arguments, keywords = self.book.arguments(step)
        method = getattr(rti, step.call)
        try:
            result = method(*arguments, **keywords)
        except RTIexception as error:
            if not any(_EARLIER in note for note in getattr(error, "__notes__", ())):
                raise
            self._complain(error, self._hurried[:-1])
            result = method(*arguments, **keywords)
        if isinstance(result, LateRetractionReturn):
            result = tuple(result)
        said = self.book.note_result(step, result)
        self._done(step, rti)
        return said

    def _complain(self, error: RTIexception, made: list[CallRecord]) -> None:
        """A call that nobody waited for was refused; which of those it was is not said."""
        unawaited = [seen for seen in made if seen.step.call in UNAWAITED]
        if len(unawaited) == 1:
            self._refused(unawaited[0], error)
        elif unawaited:
            for seen in unawaited:
                seen.unsure = True
            unawaited[-1].told.append(type(error).__name__)
            self._check(unawaited[-1], error)
        else:
            self.troubles.append(f"a refusal of nothing: {type(error).__name__}: {error}")

    def _refused(self, seen: CallRecord, error: RTIexception) -> None:
        seen.error = type(error).__name__
        seen.text = str(error)
        seen.result = None
        self._check(seen, error)

    def _check(self, seen: CallRecord, error: RTIexception) -> None:
        if isinstance(error, RTIinternalError):
            self.troubles.append(f"RTIinternalError of {seen.step.call}: {error}")

    def _done(self, step: ScriptedCall, rti: RTIambassador) -> None:
        who = step.federate
        if step.call == "create_federation_execution":
            self._federations.add(str(step.arguments[0]))
        elif step.call == "join_federation_execution":
            self._joined.add(who)
            self.book.fill(rti)
        elif step.call == "resign_federation_execution":
            self._joined.discard(who)
            self._phase.pop(who, None)
        elif step.call in ("federate_save_complete", "federate_save_not_complete"):
            self._phase[who] = "saved"
        elif step.call in ("federate_restore_complete", "federate_restore_not_complete"):
            self._phase[who] = "restored"
        elif step.call == "request_federation_restore":
            self._phase[who] = "asked"

    def _note(self, who: int, method: str) -> None:
        if method in _TELL:
            self._phase.pop(who, None)
        if method in ("federate_resigned", "connection_lost"):
            self._joined.discard(who)
        if method == "connection_lost":
            self.troubles.append("connection_lost")

    # --- rest -------------------------------------------------------------------------------------------------

    def _rest(self, seen: CallRecord) -> None:
        deadline = time.monotonic() + PATIENCE
        for _ in range(_ROUNDS):
            before = self.callbacks
            connected = [rti for rti in self.rtis if rti._connection is not None]
            for error in self.world.rest(connected):
                self._complain(error, self._hurried)
            for rti in connected:
                with contextlib.suppress(NotConnected):
                    while rti.evoke_multiple_callbacks(0.0, 0.0):
                        pass
            if self.callbacks == before:
                if not self._is_awaiting():
                    break
                if time.monotonic() > deadline:
                    self.troubles.append(f"nothing came of {self._phase} within {PATIENCE:g} s")
                    self._phase.clear()
                    break
                self._nap(connected)
        else:
            self.troubles.append("callbacks without end")
        seen.heard, self._heard = self._heard, {}

    def _is_awaiting(self) -> bool:
        """Is something to come that a disk is busy with?"""
        phases = [self._phase.get(who, "") for who in self._joined]
        if "asked" in phases:
            return True
        return bool(phases) and (set(phases) in ({"saved"}, {"restored"}))

    def _nap(self, connected: list[RTIambassador]) -> None:
        for rti in connected:
            with contextlib.suppress(NotConnected):
                if rti.connection.wait(0.005):
                    return

    def settle(self) -> None:
        """After the last step, if that was in a hurry."""
        if self._hurried:
            self._rest(self._hurried[-1])
            self._hurried.clear()

    # --- the end ----------------------------------------------------------------------------------------------

    def finish(self) -> CallRecord:
        """Everybody hears what still waits for it, which is returned, and leaves; then the federations are gone."""
        self.at = "the end"
        end = CallRecord(ScriptedCall(0, END))
        for rti in self.rtis:
            with contextlib.suppress(RTIexception):
                rti.abort_federation_save()
            with contextlib.suppress(RTIexception):
                rti.abort_federation_restore()
        self._rest(end)
        for rti in self.rtis:
            with contextlib.suppress(RTIexception):
                rti.enable_asynchronous_delivery()
        heard = end.heard
        self._rest(end)
        end.heard = {who: heard.get(who, []) + end.heard.get(who, []) for who in {*heard, *end.heard}}
        for rti in self.rtis:
            self._quietly(rti.resign_federation_execution, ResignAction.CANCEL_THEN_DELETE_THEN_DIVEST)
        self._rest(CallRecord(ScriptedCall(0, END)))
        for name in sorted(self._federations):
            for rti in self.rtis:
                self._quietly(rti.destroy_federation_execution, f"{self.book.federation}-{name}")
        for rti in self.rtis:
            if rti._connection is not None:
                rti.leave()
        return end

    def _quietly(self, work: Callable[[A], None], argument: A) -> None:
        try:
            work(argument)
        except RTIinternalError as error:
            self.troubles.append(f"RTIinternalError at the end: {error}")
        except RTIexception:
            pass
