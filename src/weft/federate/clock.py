"""Logical time for a `Federate`: how it is counted, how it goes on, and who holds it up.

    with weft.join("Harbour", "tug", fom="harbour.xml", time=0.1) as tug:
        for t in tug.steps(0.1, until=10):
            tug.send("Moved", X=3.0 * t, time=t + 0.1)

Times are plain numbers here.  Sums of decimal fractions are not what one would write: 0.1 + 0.2 is 0.30000000000000004, and a
message of that time would come a step late to who waits for 0.3.  So a time is rounded to the fifteen digits that a double
always keeps, when it is given to the RTI.  It may then lie below the sum by its last bits; so the lookahead that the RTI is told
is less by a millionth, and nothing is refused for a rounding.
"""

from __future__ import annotations

import contextlib
import logging
import math
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from weft.federate.awaited import CONSTRAINED, REGULATION
from weft.model.enums import OrderType
from weft.model.errors import RTIexception, SettingsError
from weft.model.handles import AttributeHandle, Handle, InteractionClassHandle, ObjectInstanceHandle
from weft.model.records import Blocking
from weft.model.time import AnyTime, HLAfloat64TimeFactory, HLAinteger64TimeFactory, LogicalTime

if TYPE_CHECKING:
    from weft.federate.federate import Federate

Number: TypeAlias = int | float
_NAMES = {
    "": "",
    "float64": HLAfloat64TimeFactory.name,
    HLAfloat64TimeFactory.name: HLAfloat64TimeFactory.name,
    "integer64": HLAinteger64TimeFactory.name,
    HLAinteger64TimeFactory.name: HLAinteger64TimeFactory.name,
}
_ROUNDING = 1e-6  # of the lookahead
_PATIENCE = 5.0  # seconds after which it is said who holds a federate up
_LOOK = 1.0  # seconds from one look at whether a request still stands to the next


class TimeChoice(NamedTuple):
    """What `join` was told of logical time."""

    implementation: str = ""  # the standard's name; empty: as the federation has it
    lookahead: Number | None = None  # None: it does not regulate
    constrained: bool = False


def time_choice(
    time: str | Number, lookahead: Number | None, regulating: bool | None, constrained: bool | None
) -> TimeChoice:
    """`time` is the name of a representation, or a number: that of the lookahead, and its kind."""
    if isinstance(time, str):
        if time not in _NAMES:
            raise SettingsError(
                f'time={time!r}: say "float64" or "integer64", or a number: the federate\'s lookahead'
            )
        name = _NAMES[time]
    else:
        if lookahead is not None:
            raise SettingsError(
                f"time={time!r} is the lookahead already, so lookahead={lookahead!r} is too much"
            )
        name = HLAinteger64TimeFactory.name if isinstance(time, int) else HLAfloat64TimeFactory.name
        lookahead = time
    if regulating is None:
        regulating = lookahead is not None
    elif regulating and lookahead is None:
        raise SettingsError(
            "regulating=True needs lookahead=: how far ahead of its time this federate's messages are at least (0 is allowed)"
        )
    if constrained is None:
        constrained = lookahead is not None
    return TimeChoice(name, lookahead if regulating else None, constrained)


class LogicalClock:
    """Of one `Federate`."""

    def __init__(self, federate: Federate, chosen: TimeChoice) -> None:
        self._federate = federate
        self.chosen = chosen
        self.watchers: list[Callable[[Blocking], object]] = []
        self.behind = 0.0
        self._told = 0.0  # seconds of the wait when it was logged last
        # Of one stay in the federation.
        self.now: Number = 0
        self._requested: Number | None = None
        self._enabled: set[str] = set()
        self._over: RTIexception | None = None  # it is no member any more
        self._ordered: set[Handle | tuple[Handle, Handle]] = set()  # goes in time stamp order

    # --- joining ----------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """After joining: regulate and be constrained as was asked for, and be told so."""
        federate, chosen = self._federate, self.chosen
        factory = federate.rti.get_time_factory()
        if chosen.implementation not in ("", factory.name):
            raise SettingsError(
                f"federation {federate.federation!r} counts in {factory.name}, "
                f"and {federate.name!r} joins with {chosen.implementation}"
            )
        self.now, self._requested, self._over = factory.make_initial().value, None, None
        self._enabled.clear()
        self._ordered.clear()
        if not chosen.constrained and chosen.lookahead is None:
            return
        with contextlib.suppress(RTIexception):  # another vendor's RTI does not say who blocks
            federate.rti.set_time_advance_patience(_PATIENCE)
        if chosen.constrained:
            federate.rti.enable_time_constrained()
            self._wait_until(lambda: CONSTRAINED in self._enabled)
        if chosen.lookahead is not None:
            whole = factory.name == HLAinteger64TimeFactory.name
            told = chosen.lookahead if whole else chosen.lookahead * (1 - _ROUNDING)
            federate.rti.enable_time_regulation(told)
            self._wait_until(lambda: REGULATION in self._enabled)

    # --- going on ---------------------------------------------------------------------------------------------

    def advance(self, ask: Callable[[AnyTime], None], to: AnyTime) -> Number:
        """Ask for the time, and handle callbacks until it is granted."""
        self.request(ask, to)
        return self.wait()

    def request(self, ask: Callable[[AnyTime], None], to: AnyTime) -> None:
        federate = self._federate
        federate._below._refuse_within_callback("waiting for a time")
        time = self.stamp(to)
        before, self._requested, self._told = self._requested, _value(time), 0.0
        try:
            ask(time)
        except BaseException:
            self._requested = before
            raise

    def wait(self) -> Number:
        """Handle callbacks until what was asked for is granted."""
        self._wait_until(lambda: self._requested is None)
        return self.now

    def stamp(self, time: AnyTime) -> AnyTime:
        """As it is given to the RTI; infinity is the end of time."""
        if isinstance(time, float):
            return self._federate.rti.get_time_factory().make_final() if time == math.inf else rounded(time)
        return time

    def order(self, interaction_class: InteractionClassHandle) -> None:
        """What this federate sends of it with a time goes in time stamp order, whatever the object model prefers."""
        if self._regulates and interaction_class not in self._ordered:
            self._federate.rti.change_interaction_order_type(interaction_class, OrderType.TIMESTAMP)
            self._ordered.add(interaction_class)

    def order_of(self, instance: ObjectInstanceHandle, attributes: Iterable[AttributeHandle]) -> None:
        """Likewise, for attributes of one of its own objects; that for the privilege to delete is that of the deletion."""
        if self._regulates:
            new = {each for each in attributes if (instance, each) not in self._ordered}
            if new:
                self._federate.rti.change_attribute_order_type(instance, new, OrderType.TIMESTAMP)
                self._ordered.update((instance, each) for each in new)

    @property
    def _regulates(self) -> bool:
        return REGULATION in self._enabled

    @property
    def earliest(self) -> Number:
        """That a message may have which is sent now."""
        base = self.now if self._requested is None else self._requested
        return rounded(base + (self.chosen.lookahead or 0))

    def _wait_until(self, condition: Callable[[], bool]) -> None:
        """However long it takes: who holds it up is said meanwhile."""
        federate = self._federate
        while not federate.run_until(lambda: self._over is not None or condition(), _LOOK):
            self.look()
        if self._over is not None:
            raise self._over

    def look(self) -> None:
        """Raises what the request was refused with, if nobody has waited for it."""
        try:
            self._federate._below._pending()
        except RTIexception:
            self._requested = None
            raise

    # --- hearing ----------------------------------------------------------------------------------------------

    def enabled(self, what: str, time: LogicalTime) -> None:
        self._enabled.add(what)
        self.now = time.value

    def granted(self, time: LogicalTime) -> None:
        self.now, self._requested = time.value, None

    def restored(self) -> None:
        """As at the save; what this federate had asked for since is not under way any more."""
        self.now = self._federate.rti.query_logical_time().value
        self._ordered.clear()
        if not self._federate._below._awaited.time_states:
            self._requested = None

    def ended(self, why: RTIexception) -> None:
        """It waits in vain."""
        self._over = why

    def blocked(self, blocking: Blocking) -> None:
        """It is told every few seconds, and logged ever more rarely."""
        for watcher in self.watchers:
            watcher(blocking)
        if not self.watchers and blocking.seconds >= 2 * self._told:
            self._told = blocking.seconds
            logging.getLogger("weft").warning("%s", blocking)


def rounded(time: Number) -> Number:
    return float(f"{time:.15g}") if isinstance(time, float) else time


def _value(time: AnyTime) -> Number:
    return time if isinstance(time, int | float) else time.value


# --- steps ----------------------------------------------------------------------------------------------------


def steps(
    federates: Iterable[Federate], step: Number, until: Number = math.inf, pace: float | None = None
) -> Iterator[Number]:
    """Take several federates of one program through time together; see `Federate.steps`."""
    together = list(federates)
    begun = together[0].rti.connection.now()
    for time, after in due_steps(max(federate.now for federate in together), step, until, pace):
        if after is not None:
            _keep_pace(together, begun + after)
        for federate in together:
            federate.request(time)
        for federate in together:
            federate.wait()
        yield time


def due_steps(
    start: Number, step: Number, until: Number, pace: float | None
) -> Iterator[tuple[Number, float | None]]:
    """Logical times, and with a pace after how many seconds each is due."""
    if not step > 0:
        raise SettingsError(f"a step takes more than no time, not {step!r}")
    if pace is not None and not pace > 0:
        raise SettingsError(f"pace is how many seconds of logical time pass in one second, not {pace!r}")
    count = 0
    while (time := rounded(start + (count := count + 1) * step)) <= until:
        yield time, None if pace is None else (time - start) / pace


def _keep_pace(together: list[Federate], due: float) -> None:
    """Handle callbacks until the moment when the next step is due."""
    clock = together[0].rti.connection
    for federate in together:
        federate._clock.behind = max(0.0, clock.now() - due)
    while (left := due - clock.now()) > 0:
        for federate in together:
            federate.run(left if len(together) == 1 else min(left, _LOOK / 100))
