"""What still waits for federates when a restore ends a run, as rows: it is given up, and of kind `drop`.

A federation that is restored is another execution, and so another run (`recording_start`): what was sent in this one, and has
not been delivered, never is.  Of what has come to this node the record says so, lest it seem lost:

    held        in receive or causal order for a time-constrained member, until it advances
    paused      as callbacks, from the moment the member was told of the restore
    unordered   in causal or total order, until what came before it is there
    paced       for an update rate

Of what waits for logical time a row `hold` says enough.  What is under way between nodes nobody has: the `stop` row says that the
run was ended by a restore (`weft.recorder.BY_RESTORE`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from weft.kernel.message import update_rates
from weft.kernel.recording.message_rows import note
from weft.kernel.recording.row_shapes import names_of, plain
from weft.kernel.state.federation import Member
from weft.kernel.state.messages import Message, Nothing
from weft.kernel.state.parcels import Ordered
from weft.kernel.state.sessions import Session
from weft.kernel.state.step import Step
from weft.model.deliveries import Delivery, Removal, message_number
from weft.model.recording import Recorder
from weft.ordering import TaggedMessage

RESTORED: Final = "the federation is restored"
"""The `detail` of such rows."""


def given_up(step: Step, recorder: Recorder, sessions: Mapping[int, Session]) -> None:
    """Whatever waits for members here."""
    for member in step.federation.members.values():
        if member.node == step.node:
            with recorder:
                _of_member(step, recorder, member, sessions.get(member.session))
                update_rates.give_up(step, member, RESTORED)


def _of_member(step: Step, recorder: Recorder, member: Member, session: Session | None) -> None:
    for held in member.timing.held:
        _delivery(step, recorder, member, held.delivery, held.number)
    for callback in (session.held if session is not None else None) or ():
        if callback.delivery is not None:
            _delivery(step, recorder, member, callback.delivery, callback.number)
    process = step.federation.orders.processes.get(member.handle.number)
    if process is not None:
        waiting = [held.message for held in process.current.held.values()]
        for stamped in (*waiting, *process.later):
            _stamped(step, recorder, member, stamped)


def _delivery(step: Step, recorder: Recorder, member: Member, delivery: Delivery, number: int) -> None:
    """Those with a number below zero were recorded as delivered when they came; a removal without one is no message."""
    stamp = None if isinstance(delivery, Removal) else delivery.stamp
    if number == 0 and stamp is not None and stamp.retraction is not None:
        number = message_number(stamp.retraction)
    if number > 0:
        time = None if stamp is None else stamp.time.value
        source = delivery.producer.number
        _drop(step, recorder, member, delivery.method, source, delivery, number, time)


def _stamped(step: Step, recorder: Recorder, member: Member, stamped: TaggedMessage) -> None:
    parcel = stamped.payload
    if isinstance(parcel, Ordered) and not isinstance(parcel.message, Nothing):
        message = parcel.message
        _drop(step, recorder, member, message.service, message.sender.number, message, message.number, None)


def _drop(
    step: Step,
    recorder: Recorder,
    member: Member,
    service: str,
    source: int,
    content: Message | Delivery,
    number: int,
    time: int | float | None,
) -> None:
    name, items, thing = names_of(step.federation, content)
    row = plain("drop", service, member, ("source", source), ("class", name), ("items", items))
    note(step.turn, recorder, row, number, time, thing, {"detail": RESTORED})
