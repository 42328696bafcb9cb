"""Synchronization points (clauses 4.14 to 4.18).

A point registered without a set is for everyone, including federates that join while it is pending.  It is reached
when everyone it was announced to has achieved it or has resigned.
"""

from __future__ import annotations

from collections.abc import Iterable

from weft.kernel.state import preconditions
from weft.kernel.state.federation import Federation, Member, SynchronizationPoint
from weft.kernel.state.step import Step
from weft.model.enums import SynchronizationPointFailureReason
from weft.model.errors import InvalidFederateHandle, SynchronizationPointLabelNotAnnounced
from weft.model.handles import FederateHandle


def register_federation_synchronization_point(
    step: Step,
    label: str,
    tag: bytes,
    synchronization_set: Iterable[FederateHandle] | None = None,
) -> None:
    federation = step.federation
    preconditions.name("a synchronization point", label)
    preconditions.encoded("the user-supplied tag", tag)
    chosen = None if synchronization_set is None else sorted(synchronization_set)
    reason = _fault(federation, label, chosen)
    if reason is not None:
        step.callback(step.member, "synchronization_point_registration_failed", (label, reason))
        return
    # An empty set stands for everyone, as the standard has it.
    waiting = dict.fromkeys(chosen or federation.members)
    point = SynchronizationPoint(label, tag, waiting, everyone=not chosen)
    federation.points[label] = point
    step.callback(step.member, "synchronization_point_registration_succeeded", (label,))
    for handle in waiting:
        _announce(step, federation.members[handle], point)


def _fault(
    federation: Federation, label: str, chosen: list[FederateHandle] | None
) -> SynchronizationPointFailureReason | None:
    absent = [handle for handle in chosen or () if handle not in federation.members]
    for handle in absent:
        if not handle.is_between(1, federation.membership.joined):
            raise InvalidFederateHandle(f"{handle!r} was never given to a federate of {federation.name!r}")
    if absent:
        return SynchronizationPointFailureReason.SYNCHRONIZATION_SET_MEMBER_NOT_JOINED
    if label in federation.points:
        return SynchronizationPointFailureReason.SYNCHRONIZATION_POINT_LABEL_NOT_UNIQUE
    return None


def _announce(step: Step, member: Member, point: SynchronizationPoint) -> None:
    step.callback(member, "announce_synchronization_point", (point.label, point.tag))


def synchronization_point_achieved(step: Step, label: str, successfully: bool = True) -> None:
    member = step.member
    point = step.federation.points.get(label)
    if point is None or member.handle not in point.waiting:
        raise SynchronizationPointLabelNotAnnounced(
            f"no synchronization point {label!r} is announced to {member!r} and still to be achieved by it"
        )
    del point.waiting[member.handle]
    point.achieved[member.handle] = successfully
    _conclude(step, point)


def _conclude(step: Step, point: SynchronizationPoint) -> None:
    federation = step.federation
    if not point.waiting:
        del federation.points[point.label]
        failed = frozenset(handle for handle, successfully in point.achieved.items() if not successfully)
        for handle in point.achieved:
            if handle in federation.members:
                step.callback(federation.members[handle], "federation_synchronized", (point.label, failed))


def after_join(step: Step, member: Member) -> None:
    for point in step.federation.points.values():
        if point.everyone:
            point.waiting[member.handle] = None
            _announce(step, member, point)


def after_resign(step: Step) -> None:
    member = step.member
    for point in list(step.federation.points.values()):
        point.waiting.pop(member.handle, None)
        point.achieved.pop(member.handle, None)
        _conclude(step, point)
