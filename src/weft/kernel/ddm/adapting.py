"""Going over to other partitions while a federation runs: AdaptivePartitioned over nodes (S2-19, S2-23).

Every node notes what its members send, by the cells of the spaces that it concerns, and tells the home again and again
(`ReportInterval`).  When enough was sent, the home looks for a better plan (`interest.adaptive.propose`) and counts what the same
messages would have cost with it: the *predicted* gain.  If that is worth it, the federation goes over, by three commands:

    channels_announced   the next plan.  All send by the present one, and listen to the channels of both
    channels_switched    all listen to both.  From here on a node sends by the next plan, and still listens to both
    channels_settled     nobody sends by the plan before any more: its channels are left

The home gives the second and the third when every node has told it, with its report, that it has carried out the one before, and
an interval has passed.  So whoever sends by a plan is heard by all who listen by it, whichever of two commands each of
them has come to, and what is under way in a multicast group still finds those it is for.  On links there is nothing to wait for:
the sender names the nodes, from declarations, regions and a plan that changes at one place in the order of commands, and a
message waits at its receiver for the commands before it.  Either way nothing is lost; and nothing is doubled, since a node takes
a message once however many channels bring it.

What the commands say is part of the federation: a node that comes later is told with its welcome, it is saved and restored, and a
home that is started again knows it.  What was noted is not: after that it is noted anew.  While the federation is saved or
restored the home leaves the plan as it is.

After a switch the home counts what really arrives for each message: the *obtained* gain.
"""

from __future__ import annotations

from heapq import nlargest
from typing import Any, Final

from weft.interest.adaptive import (
    NO_PLAN,
    AdaptiveOptions,
    AdaptivePartitioned,
    Part,
    Plan,
    SentTraffic,
    TrafficKind,
    arrivals,
    cells,
    propose,
)
from weft.interest.ddm_settings import DdmSettings
from weft.interest.regions import WHOLE
from weft.kernel.ddm.listening import ChannelListening
from weft.kernel.state.effects import Alarm, Notice, Transmit
from weft.kernel.state.federation import Federation
from weft.kernel.state.parcels import Inform
from weft.kernel.state.step import Step
from weft.kernel.state.traffic import TrafficBook
from weft.model.json_types import JsonObject
from weft.model.log_text import LogText

ANNOUNCED: Final = "channels_announced"
SWITCHED: Final = "channels_switched"
SETTLED: Final = "channels_settled"
COMMANDS: tuple[str, ...] = (ANNOUNCED, SWITCHED, SETTLED)

TRAFFIC_TOLD: Final = "traffic_told"
"""What a node tells the home: its name, the stage it has come to, what it noted."""

MOST_KINDS: Final = 1000
"""That the home looks at, those with most messages: it has other things to do."""

MOST_PATIENCE: Final = 8
"""Times as many messages at most before it looks again, after it found nothing."""

Told = tuple[tuple[TrafficKind, int], ...]


class Adapting:
    """Of one federation, at one node."""

    def __init__(self, settings: DdmSettings, options: AdaptiveOptions) -> None:
        self._settings = settings
        self._options = options
        # What the commands say; the same at all nodes.
        self.plan: Plan = NO_PLAN
        self.coming: Plan | None = None
        self.past: Plan | None = None
        self.stage = 0  # commands so far
        self.changes = 0
        self.predicted = (0, 0, 0)  # of the last change: messages, how often they arrived, and would have
        # Of this node.
        self.book = TrafficBook()
        self.due: float | None = None
        # At the home.
        self._reached: dict[str, int] = {}
        self._sent: dict[tuple[str, TrafficKind], int] = {}
        self._patience = 1  # grows while nothing better is found
        self._since = 0.0  # when the stage began
        self._measured = (0, 0)  # messages and arrivals by this plan
        self._before = (0, 0)  # … and by the one before

    def other_plans(self) -> list[Plan]:
        return [plan for plan in (self.coming, self.past) if plan is not None]

    @property
    def steady(self) -> bool:
        return self.coming is None and self.past is None

    # --- each node ----------------------------------------------------------------------------------------------

    def wake(self, step: Step) -> None:
        """After a command: there may be other nodes now."""
        if self.due is None and len(step.federation.taking_part()) > 1:
            self._set_due(step)

    def _set_due(self, step: Step) -> None:
        self.due = step.now + self._options.interval
        step.effects.append(Alarm(0, self.due, recurring=True))

    def tick(self, step: Step) -> None:
        if self.due is None or step.now < self.due:
            return
        federation = step.federation
        self.due = None
        if len(federation.taking_part()) == 1:
            return
        self._set_due(step)
        federation.count_up()
        book = self.book
        told: Told = tuple(book.kinds.items())
        if federation.home == step.node:
            self._take(step.node, self.stage, book.messages, book.arrivals, told)
            self._decide(step)
        elif book.messages or not self.steady:
            self._tell(step, (step.node, self.stage, book.messages, book.arrivals, told))
        self.book.messages = self.book.arrivals = 0
        self.book.kinds.clear()

    def _tell(self, step: Step, arguments: tuple[object, ...]) -> None:
        federation = step.federation
        name, execution, after = federation.name, federation.execution, federation.sequence
        report = Inform(name, execution, after, federation.rti.handle, TRAFFIC_TOLD, arguments)
        step.effects.append(Transmit(federation.home, report))

    # --- the home -----------------------------------------------------------------------------------------------

    def _take(self, node: str, stage: int, messages: int, arrived: int, told: Told) -> None:
        self._reached[node] = stage
        if stage == self.stage or self.coming is not None:  # else it was sent by the plan before
            self._measured = (self._measured[0] + messages, self._measured[1] + arrived)
        for kind, count in told:
            self._sent[node, kind] = self._sent.get((node, kind), 0) + count

    def _decide(self, step: Step) -> None:
        federation = step.federation
        if federation.saves.saving is not None or federation.saves.restoring is not None:
            return
        if not self.steady:
            nodes = federation.taking_part()
            if step.now >= self._since + self._options.interval and all(
                self._reached.get(node) == self.stage for node in nodes
            ):
                step.order(federation.rti, SWITCHED if self.coming is not None else SETTLED, ())
            return
        if sum(self._sent.values()) < self._options.messages * self._patience:
            return
        found = self._better(federation)
        self._patience = min(2 * self._patience, MOST_PATIENCE)
        if found is not None:
            self._patience = 1
            step.order(federation.rti, ANNOUNCED, found)
        self._sent = {kind: count // 2 for kind, count in self._sent.items() if count > 1}

    def _better(self, federation: Federation) -> tuple[Plan, int, int, int] | None:
        """A plan that is worth it, and what is predicted of it."""
        present = federation.channels.listeners(federation)
        assert isinstance(present.strategy, AdaptivePartitioned)
        spaces = present.spaces
        most = nlargest(MOST_KINDS, self._sent.items(), key=_times)
        traffic = [SentTraffic(node, *kind, count) for (node, kind), count in most]
        wishes: dict[str, dict[Part, None]] = {}
        for node, space, extents in present.wishes(federation):
            part = (space.name, cells(space, (WHOLE,) if extents is None else extents))
            wishes.setdefault(node, {})[part] = None
        plan = propose(spaces, self._settings, traffic, wishes)
        if plan == self.plan:
            return None
        there = ChannelListening(spaces, AdaptivePartitioned(spaces, self._settings, plan))
        there.refresh(federation)
        assert isinstance(there.strategy, AdaptivePartitioned)
        before = arrivals(present.strategy, spaces, traffic, present.nodes)
        after = arrivals(there.strategy, spaces, traffic, there.nodes)
        if before - after < max(1.0, self._options.gain * before):
            return None
        return plan, sum(one.times for one in traffic), before, after

    def told(self, arguments: tuple[Any, ...]) -> None:
        """At the home: the report of another node."""
        node, stage, messages, arrived, told = arguments
        self._take(node, stage, messages, arrived, tuple((_kind(kind), count) for kind, count in told))

    # --- what the commands do -----------------------------------------------------------------------------------

    def announce(self, step: Step, plan: Plan, predicted: tuple[int, int, int]) -> None:
        self.coming = plan
        self.predicted = predicted
        self._begin_stage(step)

    def switch(self, step: Step) -> None:
        if self.coming is None:
            return
        step.federation.changed()  # what is counted until here was sent by the plan before
        self.past, self.plan = self.plan, self.coming
        self.coming = None
        self.changes += 1
        self._before = self._measured
        self._measured = (0, 0)
        self.book.messages = self.book.arrivals = 0
        self._begin_stage(step)

    def settle(self, step: Step) -> None:
        self.past = None
        self._begin_stage(step)

    def _begin_stage(self, step: Step) -> None:
        self.stage += 1
        self._since = step.now

    # --- as plain data ------------------------------------------------------------------------------------------

    def plain(self) -> list[object]:
        plans = [_plan_data(plan) for plan in (self.plan, self.coming, self.past)]
        return [*plans, self.stage, self.changes, list(self.predicted)]

    def restore(self, data: object) -> None:
        """None: of a federation that was saved with another strategy."""
        if not isinstance(data, (list, tuple)):
            return
        plan, coming, past, self.stage, self.changes, predicted = data
        self.plan = plan_from(plan)
        self.coming = None if coming is None else plan_from(coming)
        self.past = None if past is None else plan_from(past)
        self.predicted = (predicted[0], predicted[1], predicted[2])

    def facts(self) -> JsonObject:
        """For who looks: how often it changed, what the last change promised, and at the home what came of it."""
        messages, before, after = self.predicted
        found: JsonObject = {
            "changes": self.changes,
            "state": "steady" if self.steady else "announced" if self.past is None else "switched",
        }
        if messages:
            found["predicted"] = _gain(messages, before, messages, after)
        if self.changes and self._measured[0] and self._before[0]:
            found["obtained"] = _gain(*self._before, *self._measured)
        return found


def _gain(messages: int, before: int, later: int, after: int) -> JsonObject:
    """How often a message arrived at other nodes before and after, and how much less that is."""
    was, now = before / messages, after / later
    gain = 1.0 - now / was if was else 0.0
    return {"messages": later, "before": round(was, 4), "after": round(now, 4), "gain": round(gain, 4)}


def _plan_data(plan: Plan | None) -> list[object] | None:
    return None if plan is None else [[name, list(cuts)] for name, cuts in plan]


def _times(sent: tuple[object, int]) -> int:
    return sent[1]


def plan_from(data: object) -> Plan:
    """From plain data, which may have lists for tuples."""
    assert isinstance(data, (list, tuple))
    return tuple((name, tuple(cuts)) for name, cuts in data)


def _kind(data: object) -> TrafficKind:
    assert isinstance(data, (list, tuple))
    cast, parts = data
    return cast, tuple(
        (name, tuple(tuple((first, last) for first, last in box) for box in boxes)) for name, boxes in parts
    )


# --- commands, which the home gives ------------------------------------------------------------------------------


def channels_announced(step: Step, plan: object, messages: int, before: int, after: int) -> None:
    adapting = step.federation.channels.adapting
    if adapting is not None:
        adapting.announce(step, plan_from(plan), (messages, before, after))


def channels_switched(step: Step) -> None:
    adapting = step.federation.channels.adapting
    if adapting is not None:
        adapting.switch(step)
        if step.federation.home == step.node:
            _tell_operator(step, adapting)


def channels_settled(step: Step) -> None:
    adapting = step.federation.channels.adapting
    if adapting is not None:
        adapting.settle(step)


def _tell_operator(step: Step, adapting: Adapting) -> None:
    messages, before, after = adapting.predicted
    name = step.federation.name
    text = (
        f"federation {name!r}: partitions changed for the {adapting.changes}. time; of {messages} messages like the last "
        f"{after} copies would have arrived at other nodes instead of {before}"
    )
    step.effects.append(Notice(LogText(text, "channels-switched", federation=name), warning=False))


def due(federation: Federation) -> float | None:
    adapting = federation.channels.adapting
    return None if adapting is None else adapting.due
