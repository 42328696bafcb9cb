"""Logical time: the two representations that IEEE 1516.1-2025 requires of every RTI.

A time or an interval wraps one number.  Times and intervals of one representation can be compared with one another
of their own kind, added and subtracted as the standard allows; mixing representations is refused, since a
federation has exactly one.
"""

from __future__ import annotations

import math
import struct
from typing import ClassVar, Generic, Self, TypeAlias, TypeVar

from weft.model.errors import (
    CouldNotDecode,
    IllegalTimeArithmetic,
    InvalidLogicalTime,
    InvalidLogicalTimeInterval,
)

_INT64_MAX = (1 << 63) - 1
_FLOAT64_MAX = math.nextafter(math.inf, 0.0)

Number = TypeVar("Number", int, float)

TimeValue: TypeAlias = int | float
"""The number in a logical time or in an interval, which is what is compared and added inside the RTI."""


class _Quantity(Generic[Number]):
    """What times and intervals share: one number, an order, eight bytes."""

    __slots__ = ("value",)
    _layout: ClassVar[struct.Struct]

    def __init__(self, value: Number) -> None:
        self.value: Number = value

    def encode(self) -> bytes:
        return self._layout.pack(self.value)

    @classmethod
    def decode(cls, data: bytes) -> Self:
        if len(data) < 8:
            raise CouldNotDecode(f"{cls.__name__} needs 8 bytes, got {len(data)}")
        return cls(cls._layout.unpack_from(data)[0])

    def _check(self, other: object) -> None:
        if type(other) is not type(self):
            raise IllegalTimeArithmetic(
                f"{type(self).__name__} and {type(other).__name__} cannot be combined: "
                "a federation has one time representation"
            )

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.value == self.value

    def __hash__(self) -> int:
        return hash(self.value)

    def __lt__(self, other: Self) -> bool:
        self._check(other)
        return self.value < other.value

    def __le__(self, other: Self) -> bool:
        self._check(other)
        return self.value <= other.value

    def __gt__(self, other: Self) -> bool:
        self._check(other)
        return self.value > other.value

    def __ge__(self, other: Self) -> bool:
        self._check(other)
        return self.value >= other.value

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.value})"


class _Interval(_Quantity[Number]):
    __slots__ = ()
    _epsilon: ClassVar[TimeValue]

    @property
    def is_zero(self) -> bool:
        return self.value == 0

    @property
    def is_epsilon(self) -> bool:
        return self.value == self._epsilon

    def __add__(self, other: Self) -> Self:
        self._check(other)
        return type(self)(self.value + other.value)

    def __sub__(self, other: Self) -> Self:
        self._check(other)
        return type(self)(self.value - other.value)


class _Time(_Quantity[Number]):
    __slots__ = ()
    _final: ClassVar[TimeValue]

    def __float__(self) -> float:
        return float(self.value)

    @property
    def is_initial(self) -> bool:
        return self.value == 0

    @property
    def is_final(self) -> bool:
        return self.value == self._final


class HLAinteger64Interval(_Interval[int]):
    """A distance in HLAinteger64Time; never negative; the smallest step (epsilon) is 1."""

    __slots__ = ()
    _epsilon = 1
    _layout = struct.Struct(">q")

    def __init__(self, value: int) -> None:
        if not 0 <= value <= _INT64_MAX:
            raise InvalidLogicalTimeInterval(f"an interval lies between 0 and 2^63-1, not {value}")
        super().__init__(value)


class HLAinteger64Time(_Time[int]):
    """A point in logical time, a whole number from 0 (initial) to 2^63-1 (final)."""

    __slots__ = ()
    _final = _INT64_MAX
    _layout = struct.Struct(">q")

    def __init__(self, value: int = 0) -> None:
        if not 0 <= value <= _INT64_MAX:
            raise InvalidLogicalTime(f"an HLAinteger64Time lies between 0 and 2^63-1, not {value}")
        self.value = value

    def distance(self, other: HLAinteger64Time) -> HLAinteger64Interval:
        self._check(other)
        return HLAinteger64Interval(abs(self.value - other.value))

    def __add__(self, interval: HLAinteger64Interval | int) -> HLAinteger64Time:
        return HLAinteger64Time(self.value + self._distance("add", interval))

    def __sub__(self, interval: HLAinteger64Interval | int) -> HLAinteger64Time:
        return HLAinteger64Time(self.value - self._distance("subtract", interval))

    def _distance(self, verb: str, interval: HLAinteger64Interval | int) -> int:
        """A plain number is a distance, too."""
        if isinstance(interval, HLAinteger64Interval):
            return interval.value
        if not isinstance(interval, bool) and isinstance(interval, int):
            return interval
        raise IllegalTimeArithmetic(
            f"{verb} an HLAinteger64Interval or an int, not {type(interval).__name__}"
        )


class HLAfloat64Interval(_Interval[float]):
    """A distance in HLAfloat64Time; never negative."""

    __slots__ = ()
    _epsilon = math.ulp(0.0)
    _layout = struct.Struct(">d")

    def __init__(self, value: float) -> None:
        if not 0.0 <= value <= _FLOAT64_MAX:
            raise InvalidLogicalTimeInterval(f"an interval is a finite number from 0, not {value}")
        super().__init__(float(value))


class HLAfloat64Time(_Time[float]):
    """A point in logical time, a double from 0.0 (initial) to the largest finite one (final)."""

    __slots__ = ()
    _final = _FLOAT64_MAX
    _layout = struct.Struct(">d")

    def __init__(self, value: float = 0.0) -> None:
        if not 0.0 <= value <= _FLOAT64_MAX:
            raise InvalidLogicalTime(f"an HLAfloat64Time is a finite number from 0, not {value}")
        self.value = float(value)  # not by the base class: one is made for each message and step

    def distance(self, other: HLAfloat64Time) -> HLAfloat64Interval:
        self._check(other)
        return HLAfloat64Interval(abs(self.value - other.value))

    def __add__(self, interval: HLAfloat64Interval | float) -> HLAfloat64Time:
        return HLAfloat64Time(self.value + self._distance("add", interval))

    def __sub__(self, interval: HLAfloat64Interval | float) -> HLAfloat64Time:
        return HLAfloat64Time(self.value - self._distance("subtract", interval))

    def _distance(self, verb: str, interval: HLAfloat64Interval | float) -> float:
        """A plain number is a distance, too."""
        if isinstance(interval, HLAfloat64Interval):
            return interval.value
        if not isinstance(interval, bool) and isinstance(interval, (int, float)):
            return interval
        raise IllegalTimeArithmetic(f"{verb} an HLAfloat64Interval or a float, not {type(interval).__name__}")


LogicalTime = HLAinteger64Time | HLAfloat64Time
LogicalTimeInterval = HLAinteger64Interval | HLAfloat64Interval

AnyTime: TypeAlias = LogicalTime | float
"""A logical time, or a plain number where the federation's representation is known."""

AnyInterval: TypeAlias = LogicalTimeInterval | float


class HLAinteger64TimeFactory:
    """Makes the times of a federation that counts in whole numbers."""

    name = "HLAinteger64Time"
    final = _INT64_MAX

    def make_initial(self) -> HLAinteger64Time:
        return HLAinteger64Time(0)

    def make_final(self) -> HLAinteger64Time:
        return HLAinteger64Time(_INT64_MAX)

    def make_time(self, value: int) -> HLAinteger64Time:
        return HLAinteger64Time(value)

    def make_zero(self) -> HLAinteger64Interval:
        return HLAinteger64Interval(0)

    def make_epsilon(self) -> HLAinteger64Interval:
        return HLAinteger64Interval(1)

    def make_interval(self, value: int) -> HLAinteger64Interval:
        return HLAinteger64Interval(value)

    def decode_time(self, data: bytes) -> HLAinteger64Time:
        return HLAinteger64Time.decode(data)

    def decode_interval(self, data: bytes) -> HLAinteger64Interval:
        return HLAinteger64Interval.decode(data)


class HLAfloat64TimeFactory:
    """Makes the times of a federation that counts in doubles (the default)."""

    name = "HLAfloat64Time"
    final = _FLOAT64_MAX

    def make_initial(self) -> HLAfloat64Time:
        return HLAfloat64Time(0.0)

    def make_final(self) -> HLAfloat64Time:
        return HLAfloat64Time(_FLOAT64_MAX)

    def make_time(self, value: float) -> HLAfloat64Time:
        return HLAfloat64Time(value)

    def make_zero(self) -> HLAfloat64Interval:
        return HLAfloat64Interval(0.0)

    def make_epsilon(self) -> HLAfloat64Interval:
        return HLAfloat64Interval(math.ulp(0.0))

    def make_interval(self, value: float) -> HLAfloat64Interval:
        return HLAfloat64Interval(value)

    def decode_time(self, data: bytes) -> HLAfloat64Time:
        return HLAfloat64Time.decode(data)

    def decode_interval(self, data: bytes) -> HLAfloat64Interval:
        return HLAfloat64Interval.decode(data)


LogicalTimeFactory = HLAinteger64TimeFactory | HLAfloat64TimeFactory


def time_factory(name: str) -> LogicalTimeFactory | None:
    """The factory of a logical time implementation; the empty name means the standard's default."""
    if name in ("", HLAfloat64TimeFactory.name):
        return HLAfloat64TimeFactory()
    if name == HLAinteger64TimeFactory.name:
        return HLAinteger64TimeFactory()
    return None
