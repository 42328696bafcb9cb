"""What advice says, as data: for `--json` and for the report.  Where there is none of a kind, `none_because` says why."""

from __future__ import annotations

from typing import TypedDict


class NoAdvice(TypedDict, total=False):
    none_because: str


class SettingData(TypedDict):
    """What messages would cost under a strategy."""

    setting: str
    partitions: int
    sent: int
    copies: int
    casts: int
    received: int
    wanted: int
    unwanted: int


class GridData(NoAdvice, total=False):
    file: str
    old: SettingData
    new: SettingData
    saved: int
    tried: list[SettingData]
    federates: dict[str, dict[str, int]]
    not_by_channels: int
    changes_of_listening: int


class DomainsData(NoAdvice, total=False):
    file: str | None
    servers: int
    messages: int
    commands: int
    costs: dict[str, int]
    saved: int
    domains: dict[str, list[str]]
    routers: list[str]
    kept_because: str


class OperationData(TypedDict):
    name: str
    priority: int
    sub_priority: int
    period_s: float | None
    worst_s: float
    typical_s: float
    response_s: float | None
    meets_deadline: bool
    old_priority: int | None
    old_response_s: float | None
    misses_recorded: int


class ScheduleData(NoAdvice, total=False):
    file: str
    utilisation: float
    schedulable: bool
    misses_recorded: int
    dispatcher_interrupts: bool
    dispatcher: str
    schedulable_by_node: dict[str, bool]
    late_as_recorded: int
    late_as_planned: int
    operations: list[OperationData]


class PairData(TypedDict):
    """A way from the one class to the other; `times`: how often directly, 0 where only by others between."""

    cause: str
    effect: str
    times: int


OrderData = TypedDict(
    "OrderData",
    {
        "class": str,
        "order": str,
        "messages": int,
        "control_bytes_per_message": float,
        "payload_bytes_per_message": float,
        "held": int,
        "held_ms": float,
        "could_use_RO": bool,
        "saved_bytes": int,
        "pairs": list[PairData],
    },
)


class AdviceData(TypedDict, total=False):
    grid: GridData
    domains: DomainsData
    schedule: ScheduleData
    orders: list[OrderData] | NoAdvice
