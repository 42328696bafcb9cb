"""Federates for a person before the console: each drives about in a thread of its own, one logical second after the other."""

from __future__ import annotations

import threading
from typing import Any

from weft import (
    CallbackModel,
    FederateAmbassador,
    HLAinteger64Interval,
    HLAinteger64Time,
    ResignAction,
    RTIambassador,
    RtiConfiguration,
)
from weft.model.records import RangeBounds
from weft_benchmarks.papers.tanks import SIDE, SIGHT, around, model

NAME = "Range"
PATIENCE = 240.0
PACE = 0.1  # real seconds of a logical one, so that a browser beside it has the machine as well


class _Ears(FederateAmbassador):
    def __init__(self) -> None:
        self.granted: list[int] = []
        self.ready: set[str] = set()
        self.resigned = ""

    def time_regulation_enabled(self, time: Any) -> None:
        self.ready.add("regulates")

    def time_constrained_enabled(self, time: Any) -> None:
        self.ready.add("constrained")

    def time_advance_grant(self, time: Any, *_: Any) -> None:
        self.granted.append(time.value)

    def federate_resigned(self, reason_for_resign_description: str) -> None:
        self.resigned = reason_for_resign_description


def place_at(time: int) -> int:
    """Where all of them are then: to the right, and again from the left."""
    return time % SIDE


class Driver:
    """Publishes where it is and subscribes what it sees; asks for the next second as soon as it has this one and `may`."""

    def __init__(self, name: str, address: str, lane: int) -> None:
        self.name = name
        self.ears = _Ears()
        self.may = threading.Event()
        self.may.set()
        self.failure: BaseException | None = None
        self._over = threading.Event()
        self._lane = lane
        self._rti = RTIambassador()
        self._rti.connect(self.ears, CallbackModel.EVOKED, RtiConfiguration("", address))
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def create(self) -> None:
        self._rti.create_federation_execution(NAME, [model()], "HLAinteger64Time")

    def join(self) -> None:
        rti = self._rti
        rti.join_federation_execution(self.name, "driver", NAME)
        tank = rti.get_object_class_handle("Tank")
        position = rti.get_attribute_handle(tank, "Position")
        self._axes = [rti.get_dimension_handle(name) for name in "XY"]
        self._here, self._sight = (rti.create_region(set(self._axes)) for _ in range(2))
        self._move(0)
        rti.publish_object_class_attributes(tank, {position})
        rti.subscribe_object_class_attributes_with_regions(tank, [({position}, {self._sight})])
        rti.register_object_instance_with_regions(tank, [({position}, {self._here})])
        rti.enable_time_regulation(HLAinteger64Interval(1))
        rti.enable_time_constrained()
        while len(self.ears.ready) < 2:
            rti.evoke_callback(1.0)

    def start(self) -> None:
        self._thread.start()

    @property
    def last(self) -> int:
        return self.ears.granted[-1] if self.ears.granted else 0

    def end(self) -> None:
        """It leaves, unless it was made to."""
        self._over.set()
        self.may.set()
        if self._thread.ident is not None:
            self._thread.join(PATIENCE)
            assert not self._thread.is_alive(), f"{self.name} hangs at {self.last}"
        if self.failure is not None:
            raise self.failure

    def _run(self) -> None:
        try:
            self._drive()
            if not self.ears.resigned:
                self._rti.resign_federation_execution(ResignAction.CANCEL_THEN_DELETE_THEN_DIVEST)
            self._rti.disconnect()
        except BaseException as error:
            self.failure = error

    def _is_over(self) -> bool:
        return bool(self.ears.resigned) or self._over.is_set()

    def _drive(self) -> None:
        while not self._over.wait(PACE):
            while not self.may.wait(0.1) and not self._is_over():
                self._rti.evoke_callback(0.0)
            if self._is_over():
                return
            self._move(self.last)
            heard = len(self.ears.granted)
            self._rti.time_advance_request(HLAinteger64Time(self.last + 1))
            while len(self.ears.granted) == heard and not self._is_over():
                self._rti.evoke_callback(0.1)

    def _move(self, time: int) -> None:
        at = (place_at(time), self._lane)
        for region, reach in ((self._here, 4), (self._sight, SIGHT)):
            for axis, (low, high) in zip(self._axes, around(at, reach), strict=True):
                self._rti.set_range_bounds(region, axis, RangeBounds(low, high))
        self._rti.commit_region_modifications({self._here, self._sight})
