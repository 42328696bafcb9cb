"""What holds already when the recording of a federation begins, as rows.

A recording begins with a federation, and then there is nothing.  But a federation that is restored is another execution, and so
another run, in which federates are joined, have declared, and wait for time; and a node may be told to record while it
runs.  Then the rows that would have said so come first: join, region, declare, call (instances registered, or deleted locally),
grant, request, with what is in force now.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from weft.interest import AttributeWish, SpaceTime
from weft.kernel.ddm import matching_at_time
from weft.kernel.message import discovery
from weft.kernel.recording.callback_rows import lookahead
from weft.kernel.recording.message_rows import note
from weft.kernel.recording.row_shapes import bounds_of, plain
from weft.kernel.state.effects import Callback, Effect
from weft.kernel.state.federation import Instance, Member
from weft.kernel.state.region_state import OwnedRegion
from weft.kernel.state.step import Step
from weft.kernel.state.time_state import FLUSH, GRANTED, NMR, NMRA, TAR, TARA
from weft.kernel.time.tso_queue import wrapped
from weft.model.handles import AttributeHandle, RegionHandle
from weft.model.recording import Recorder
from weft.model.time import HLAfloat64Time, HLAinteger64Time

IN_FORCE: Final = "in force"
"""The `detail` of such rows."""
_REQUESTS: Final = {
    TAR: "time_advance_request",
    TARA: "time_advance_request_available",
    NMR: "next_message_request",
    NMRA: "next_message_request_available",
    FLUSH: "flush_queue_request",
}
_GRANTED: Final = {
    "time_advance_grant": "time_advance_request",
    "flush_queue_grant": "flush_queue_request",
}
_ATTRIBUTES, _INTERACTION = "subscribe_object_class_attributes", "subscribe_interaction_class"


def stands(step: Step, recorder: Recorder, effects: list[Effect]) -> None:
    """All members; of those elsewhere only that their nodes take part.  `effects`: what is recorded next."""
    federation = step.federation
    for member in federation.members.values():
        try:
            recorder.took_part(member.node)
            if member.node == step.node:
                _Standing(step, recorder, member).enter(effects)
        except Exception as error:
            recorder.fail(error)


class _Standing:
    """Of one member at this node."""

    def __init__(self, step: Step, recorder: Recorder, member: Member) -> None:
        self.turn = step.turn
        self.federation = step.federation
        self.recorder = recorder
        self.member = member

    def enter(self, effects: list[Effect]) -> None:
        member = self.member
        row = plain("join", "join_federation_execution", member, ("source", member.handle.number))
        # Deliveries of what it has sent up to then have no sends in this run.
        note(self.turn, self.recorder, row, member.timing.sent, more={"detail": member.kind})
        for region in self.federation.ddm.regions.values():
            if region.owner == member.handle:
                self._region(region)
        self._declared()
        self._declared_otherwise()
        self._forgotten()
        self._times(effects)

    def _row(
        self,
        kind: str,
        service: str,
        *pairs: tuple[str, Any],
        time: Any = None,
        more: dict[str, Any] | None = None,
    ) -> None:
        row = plain(kind, service, self.member, *pairs)
        note(self.turn, self.recorder, row, time=time, more={"detail": IN_FORCE, **(more or {})})

    # --- regions ------------------------------------------------------------------------------------------------

    def _region(self, region: OwnedRegion) -> None:
        names = [self.federation.catalog.dimensions[one].name for one in region.dimensions]
        self._row("region", "create_region", more={"region": region.handle.number, "dimensions": names})
        line = region.timeline
        for time, extent in _history(line, region.extent):
            if extent is not None:
                bounds = bounds_of(self.federation, [extent], list(region.dimensions))
                more = {"region": region.handle.number, **bounds}
                self._row("region", "commit_region_modifications", time=time, more=more)

    # --- declarations -------------------------------------------------------------------------------------------

    def _declared(self) -> None:
        declared, catalog = self.member.declared, self.federation.catalog
        for object_class, attributes in declared.published.items():
            entry = catalog.object_classes[object_class]
            items = _names(entry, attributes)
            self._row("declare", "publish_object_class_attributes", ("class", entry.name), ("items", items))
        for interaction in declared.sends:
            name = catalog.interaction_classes[interaction].name
            self._row("declare", "publish_interaction_class", ("class", name), ("items", ()))
        for object_class in declared.directs:
            name = catalog.object_classes[object_class].name
            self._row("declare", "publish_object_class_directed_interactions", ("class", name), ("items", ()))
        for object_class, wishes in declared.subscribed.items():
            entry = catalog.object_classes[object_class]
            timed = declared.timed.of_class(object_class)  # these come below
            lasting = {one: how for one, how in wishes.items() if one not in timed}
            for wish in dict.fromkeys(lasting.values()):
                items = _names(entry, [one for one, how in lasting.items() if how == wish])
                self._row("declare", _ATTRIBUTES, ("class", entry.name), ("items", items), more=_rate(wish))
        for interaction in declared.receives:
            if declared.timed_receives.of_class(interaction):
                continue
            name = catalog.interaction_classes[interaction].name
            self._row("declare", _INTERACTION, ("class", name), ("items", ()))
        for object_class in declared.directed:
            name = catalog.object_classes[object_class].name
            self._row(
                "declare", "subscribe_object_class_directed_interactions", ("class", name), ("items", ())
            )

    def _declared_otherwise(self) -> None:
        """With regions, or as of a time."""
        declared, catalog = self.member.declared, self.federation.catalog
        held: dict[tuple[Any, Any, RegionHandle | None], Any] = {}
        timed: dict[tuple[Any, Any, RegionHandle | None], SpaceTime[Any]] = {}
        for object_class, of_class in declared.subscribed_at.items():
            for attribute, regions in of_class.items():
                held |= {(object_class, attribute, region): wish for region, wish in regions.items()}
        for interaction, at in declared.receives_at.items():
            held |= {(interaction, None, region): active for region, active in at.items()}
        for object_class, lines in declared.timed.of.items():
            timed |= {(object_class, attribute, region): line for (attribute, region), line in lines.items()}
        for interaction, lines_of in declared.timed_receives.of.items():
            timed |= {(interaction, None, region): line for (_, region), line in lines_of.items()}
        for kind, attribute, region in timed:
            if region is None:
                now = declared.receives if attribute is None else declared.subscribed.get(kind, {})
                held[kind, attribute, None] = now.get(kind if attribute is None else attribute)
        for key in dict.fromkeys((*held, *timed)):
            kind, attribute, region = key
            entry: Any
            if attribute is None:
                service, entry = _INTERACTION, catalog.interaction_classes[kind]
                items: tuple[str, ...] = ()
            else:
                service, entry = _ATTRIBUTES, catalog.object_classes[kind]
                items = _names(entry, [attribute])
            said = False
            for time, how in _history(timed.get(key), held.get(key)):
                said = said or how is not None
                if not said:
                    continue  # not yet
                way = service if how is not None else f"un{service}"
                more: dict[str, Any] = _rate(how) if isinstance(how, AttributeWish) else {}
                if region is not None:
                    way, more = f"{way}_with_regions", {"region": region.number, **more}
                self._row(
                    "declare",
                    way,
                    ("class", entry.name),
                    ("items", items),
                    time=time,
                    more=more,
                )

    def _forgotten(self) -> None:
        """Instances that it would know, had it not deleted them locally; or by another class, had it discovered them now."""
        federation, member = self.federation, self.member
        for instance in federation.instances.values():
            if self._knows_as_registered(instance):
                row = plain("call", "register_object_instance", member, ("class", instance.entry.name))
                note(self.turn, self.recorder, row, thing=instance.handle.number, more={"detail": IN_FORCE})
            where = matching_at_time.ever_at(federation, instance)
            nearest = discovery.would_discover(federation, member, instance.entry, instance.owners, where)
            if nearest is not None and federation.known_class(member, instance) != nearest:
                row = plain("call", "local_delete_object_instance", member, ("class", instance.entry.name))
                more: dict[str, object] = {"detail": IN_FORCE}
                note(self.turn, self.recorder, row, thing=instance.handle.number, more=more)

    def _knows_as_registered(self, instance: Instance) -> bool:
        """By its very class, whatever it subscribes to: it registered it, or subscribed to that class once (6.1.1)."""
        member = self.member
        if self.federation.known_class(member, instance) != instance.entry.handle:
            return False
        return (
            instance.producer == member.handle
            or member.declared.candidate_class(instance.entry) != instance.entry.handle
        )

    # --- logical time -------------------------------------------------------------------------------------------

    def _times(self, effects: list[Effect]) -> None:
        timing = self.member.timing
        time = wrapped(self.federation, timing.time).value
        more = lookahead(timing.lookahead_from(time)) if timing.regulating else {}
        if timing.regulation_pending:
            self._row("request", "enable_time_regulation", more=lookahead(timing.asked_lookahead))
        if timing.constrained_pending:
            self._row("request", "enable_time_constrained")
        if timing.regulating:
            self._row("grant", "time_regulation_enabled", time=time, more=more)
        if timing.constrained:
            self._row("grant", "time_constrained_enabled", time=time, more=more)
        if timing.mode != GRANTED:
            up_to = timing.flush_time()
            self._row("request", _REQUESTS[timing.mode], time=up_to, more=more)
            return
        # A grant that was held while the federation was saved: what it had asked for is over.
        for effect in effects:
            if isinstance(effect, Callback) and effect.session == self.member.session:
                service = _GRANTED.get(effect.method)
                if service is not None:
                    granted = effect.arguments[0]
                    assert isinstance(granted, (HLAinteger64Time, HLAfloat64Time))
                    self._row("request", service, time=granted.value, more=more)


def _history(line: SpaceTime[Any] | None, last: Any) -> list[tuple[Any, Any]]:
    """What holds as of which time (None: at all), and at last what was said last, if that is another."""
    if line is None:
        return [(None, last)]
    found = [(None, line.first), *zip(line.times, line.values, strict=True)]
    return found if found[-1][1] == last else [*found, (None, last)]


def _names(entry: Any, attributes: Iterable[AttributeHandle]) -> tuple[str, ...]:
    return tuple([entry.attributes[one].name for one in sorted(attributes)])


def _rate(wish: AttributeWish) -> dict[str, object]:
    return {"detail": f"{IN_FORCE}, update rate {wish.rate}"} if wish.rate else {}
