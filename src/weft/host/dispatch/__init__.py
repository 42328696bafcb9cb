"""The event channel in real time: clocks, threads and processes for `weft.channel` (docs/explanation/realtime.md)."""

from weft.host.dispatch.desks import ConsumerDied, HostDispatcher
from weft.host.dispatch.hosted import RealTimeConsumer, RealTimeSupplier
from weft.host.dispatch.processes import Preemptive
from weft.host.dispatch.realtime import RealTimeChannel
from weft.host.dispatch.standing import Standing, realtime_standing, standing_for
from weft.host.dispatch.threads import OneThread, ThreadPerConsumer, ThreadPools

__all__ = [
    "ConsumerDied",
    "HostDispatcher",
    "OneThread",
    "Preemptive",
    "RealTimeChannel",
    "RealTimeConsumer",
    "RealTimeSupplier",
    "Standing",
    "ThreadPerConsumer",
    "ThreadPools",
    "realtime_standing",
    "standing_for",
]
