"""Recorded runs (`support.recorded_runs`) in which federates declare and move regions as of a logical time.

With "regulating" they say no time: the federation has what they call count as of their time plus lookahead.
"""

from __future__ import annotations

from typing import Any

from support.random_declarations import BEACON, FLARE, LIGHT, SIGNAL, SOUND, plain_fom
from support.recorded_runs import Life
from weft import Source
from weft.model.errors import InteractionClassNotPublished


class TimedLife(Life):
    """Those that regulate say from when on."""

    plainly = False

    def model(self) -> Source:
        return plain_fom()

    def join(self, i: int) -> None:
        self.beacons: dict[int, Any] = getattr(self, "beacons", {})
        super().join(i)
        rti = self.rti[i]
        for name in (SIGNAL, FLARE):
            rti.publish_interaction_class(rti.get_interaction_class_handle(name))
        beacon = rti.get_object_class_handle(BEACON)
        rti.publish_object_class_attributes(beacon, set(self.lamps(i).values()))
        self.beacons[i] = rti.register_object_instance(beacon)
        self.rest(0.05)

    def lamps(self, i: int) -> dict[str, Any]:
        beacon = self.rti[i].get_object_class_handle(BEACON)
        return {name: self.rti[i].get_attribute_handle(beacon, name) for name in (LIGHT, SOUND)}

    def least(self, i: int) -> Any:
        """The earliest that it may name."""
        time = self.asked[i] if i in self.advancing else self.rti[i].query_logical_time().value
        return time + 2 * self.step_of

    def when(self, i: int) -> dict[str, Any]:
        if self.plainly or i not in self.regulating:
            return {}
        time = self.least(i) + self.random.randrange(4) * self.step_of
        return {"time": self.rti[i].get_time_factory().make_time(time)}

    def stamp(self, i: int) -> None:
        if i not in self.regulating or self.random.random() < 0.4:
            super().stamp(i)
            return
        rti = self.rti[i]
        at = rti.get_time_factory().make_time(self.least(i) + self.random.randrange(4) * self.step_of)
        if self.random.random() < 0.5:
            names = self.random.choice(((LIGHT,), (SOUND,), (LIGHT, SOUND)))
            values = {self.lamps(i)[name]: b"on" for name in names}
            rti.update_attribute_values(self.beacons[i], values, b"", at)
            return
        signal = rti.get_interaction_class_handle(self.random.choice((SIGNAL, FLARE)))
        try:
            rti.send_interaction(signal, {}, b"", at)
        except InteractionClassNotPublished:
            rti.publish_interaction_class(signal)

    def move(self, i: int) -> None:
        self.redeclare(i)
        if self.plainly or i not in self.regulating:
            super().move(i)
        else:
            self.rti[i].commit_region_modifications({self.regions[i]}, **self.when(i))

    def redeclare(self, i: int) -> None:
        if i not in self.regulating:
            return  # without a time, after some with one: nothing more could be held against anybody
        for _ in range(3):
            self.declare(i)

    def declare(self, i: int) -> None:
        rti, more = self.rti[i], self.when(i)
        what = self.random.randrange(6)
        signal = rti.get_interaction_class_handle(self.random.choice((SIGNAL, FLARE)))
        beacon, lamps = rti.get_object_class_handle(BEACON), set(self.lamps(i).values())
        if what == 0:
            rti.unsubscribe_interaction_class(signal, **more)
        elif what == 1:
            rti.unsubscribe_object_class(beacon, **more)
        elif what == 2:
            rti.subscribe_object_class_attributes(beacon, lamps, **more)
        elif what == 3 and more:
            rti.unpublish_interaction_class(signal, **more)
        else:
            rti.subscribe_interaction_class(signal, **more)


class PlainLife(TimedLife):
    plainly = True


LIVES = {"timed": TimedLife, "regulating": PlainLife}
