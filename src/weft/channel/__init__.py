"""How urgently: the real-time event channel.  Filter, correlate, dispatch by priority (docs/explanation/channel.md)."""

from weft.channel.channel import ConsumerAdmin, EventChannel, SupplierAdmin
from weft.channel.configuration import (
    BROADCAST,
    FULL,
    NO_CORRELATION,
    NO_DISPATCHING,
    Configuration,
    recorded,
)
from weft.channel.dispatchers import Cooperative, Immediate, SingleThreaded
from weft.channel.event import ANY, DEADLINE_TIMEOUT, FIRST_TYPE, INTERVAL_TIMEOUT, Event, Events, Timeout
from weft.channel.gateway import Border, Gateway, LocalLink, LocalLinks, News
from weft.channel.protocols import (
    ChannelObserver,
    Dispatcher,
    PushConsumer,
    PushSupplier,
    SubscriptionObserver,
)
from weft.channel.proxies import ProxyPushConsumer, ProxyPushSupplier
from weft.channel.pulling import ProxyPullConsumer, ProxyPullSupplier, PullSupplier
from weft.channel.qos import (
    ConsumerQos,
    Dependency,
    Publication,
    SupplierQos,
    all_of,
    any_of,
    deadline,
    depends,
    interval,
    on,
    publishes,
)
from weft.channel.record import DispatchRecord, Happening, Record
from weft.channel.scheduling.admission import AdmissionControl, AdmissionVerdict
from weft.channel.scheduling.rt_info import After, AfterAll, AfterAny, Every, RtInfo
from weft.channel.scheduling.schedule import (
    EARLIEST_DEADLINE_FIRST,
    MAXIMUM_URGENCY_FIRST,
    RATE_MONOTONIC,
    Policy,
    Schedule,
    Scheduled,
    SchedulePlan,
    plan,
)
from weft.channel.scheduling.schedule_file import parse_schedule, write_schedule
from weft.channel.scheduling.urgency import Urgency
from weft.channel.simulated import SimulatedProcessor
from weft.channel.timers import Timer, Timers
from weft.channel.work import DISCARD_NEWEST, DISCARD_OLDEST, MORE, WAIT, PushWork, WaterMarks, WorkQueue

__all__ = [
    "ANY",
    "BROADCAST",
    "DEADLINE_TIMEOUT",
    "DISCARD_NEWEST",
    "DISCARD_OLDEST",
    "EARLIEST_DEADLINE_FIRST",
    "FIRST_TYPE",
    "FULL",
    "INTERVAL_TIMEOUT",
    "MAXIMUM_URGENCY_FIRST",
    "MORE",
    "NO_CORRELATION",
    "NO_DISPATCHING",
    "RATE_MONOTONIC",
    "WAIT",
    "AdmissionControl",
    "AdmissionVerdict",
    "After",
    "AfterAll",
    "AfterAny",
    "Border",
    "ChannelObserver",
    "Configuration",
    "ConsumerAdmin",
    "ConsumerQos",
    "Cooperative",
    "Dependency",
    "DispatchRecord",
    "Dispatcher",
    "Event",
    "EventChannel",
    "Events",
    "Every",
    "Gateway",
    "Happening",
    "Immediate",
    "LocalLink",
    "LocalLinks",
    "News",
    "Policy",
    "ProxyPullConsumer",
    "ProxyPullSupplier",
    "ProxyPushConsumer",
    "ProxyPushSupplier",
    "Publication",
    "PullSupplier",
    "PushConsumer",
    "PushSupplier",
    "PushWork",
    "Record",
    "RtInfo",
    "Schedule",
    "SchedulePlan",
    "Scheduled",
    "SimulatedProcessor",
    "SingleThreaded",
    "SubscriptionObserver",
    "SupplierAdmin",
    "SupplierQos",
    "Timeout",
    "Timer",
    "Timers",
    "Urgency",
    "WaterMarks",
    "WorkQueue",
    "all_of",
    "any_of",
    "deadline",
    "depends",
    "interval",
    "on",
    "parse_schedule",
    "plan",
    "publishes",
    "recorded",
    "write_schedule",
]
