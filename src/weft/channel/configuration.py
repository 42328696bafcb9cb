"""What a channel is made of (S3-12): a stream of modules between the proxies of suppliers and those of consumers.

    full             filtering → correlation → dispatching
    no dispatching   filtering → correlation                  pushes run in the supplier's call
    no correlation   filtering → dispatching                  every event of a registration is pushed alone, as it comes
    broadcast        nothing                                  every consumer gets every event (S3-19)

Timeouts stay in all of them.  A configuration changes what a registration means, and nothing else, so it is written as that:
the dependency that a registration amounts to.
"""

from __future__ import annotations

from dataclasses import dataclass

from weft.channel.event import ANY
from weft.channel.qos import AnyOf, Deadline, Dependency, Interval, On, leaves


@dataclass(frozen=True, slots=True)
class Configuration:
    filtering: bool = True
    correlation: bool = True
    dispatching: bool = True

    def modules(self) -> tuple[str, ...]:
        """In the order in which an event passes them."""
        present = {
            "filtering": self.filtering,
            "correlation": self.correlation,
            "dispatching": self.dispatching,
        }
        return ("supplier proxies", *(name for name, there in present.items() if there), "consumer proxies")

    def meaning(self, dependency: Dependency) -> Dependency:
        """What a registration amounts to.  Its timeouts stay, and in their order."""
        if self.filtering and self.correlation:
            return dependency
        parts: tuple[Dependency, ...] = tuple(leaves(dependency))
        if not self.filtering:
            timeouts = tuple(part for part in parts if isinstance(part, Interval | Deadline))
            events = next((part for part in parts if isinstance(part, On)), On())
            parts = (On(ANY, ANY, events.rt_info), *timeouts)
        return parts[0] if len(parts) == 1 else AnyOf(parts)


FULL = Configuration()
NO_DISPATCHING = Configuration(dispatching=False)
NO_CORRELATION = Configuration(correlation=False)
BROADCAST = Configuration(filtering=False, correlation=False, dispatching=False)
