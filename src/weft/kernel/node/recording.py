"""What happens at a node is recorded, if its host says so."""

from __future__ import annotations

from weft.kernel.node import recording_start
from weft.kernel.recording import callback_rows
from weft.kernel.recording.message_rows import Recordings
from weft.kernel.state.effects import Callback, Effect
from weft.kernel.state.federation import Federation
from weft.kernel.state.sessions import NodeState
from weft.kernel.state.step import Step
from weft.kernel.state.turn import Turn


class NodeRecording:
    def __init__(self, here: NodeState) -> None:
        self._here = here
        self._recorded: dict[str, Federation] = {}

    def stop(self) -> None:
        for federation in self._recorded.values():
            if federation.recorder is not None:
                federation.first_shape = federation.recorder.next_shape()
            federation.recorder = None
        self._recorded.clear()

    def attend(self, recordings: Recordings, turn: Turn, effects: list[Effect]) -> None:
        """Federations that have come are recorded from now on, those that have gone no more."""
        for name, federation in list(self._recorded.items()):
            if self._here.federations.get(name) is not federation:
                del self._recorded[name]
                recordings.end(federation)
        for name, federation in self._here.federations.items():
            if name not in self._recorded:
                self._recorded[name] = federation
                recorder = federation.recorder = recordings.begin(federation, self._here.name)
                if recorder is not None:
                    recorder.first = federation.first_shape
                    recorder.carried_out(federation.sequence)
                    recording_start.stands(Step(turn, federation, federation.rti), recorder, effects)

    def note(self, turn: Turn, effects: list[Effect]) -> None:
        """The callbacks that this turn has led to, but for those that were recorded with what caused them."""
        step: Step | None = None
        for effect in effects:
            if isinstance(effect, Callback) and effect.number >= 0:
                session = self._here.sessions.get(effect.session)
                if session is None or session.federation is None or session.member is None:
                    continue
                federation = session.federation
                if federation.recorder is not None:
                    if step is None or step.federation is not federation:
                        step = Step(turn, federation, federation.rti)
                    callback_rows.given(step, federation.recorder, session.member, effect)
