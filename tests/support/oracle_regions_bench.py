"""Random calls of data distribution at a real federation and at the oracle, and what every federate hears of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

from support.federation import Federation
from support.oracle_regions import (
    DIMENSIONS,
    INTERACTIONS,
    OBJECTS,
    PRIVILEGE,
    Area,
    Heard,
    Oracle,
    Refused,
    Thing,
    attributes_of,
    available_to,
    model,
)
from weft.model.errors import RTIexception
from weft.model.handles import RegionHandle
from weft.model.records import RangeBounds

SEATS = 3
NOTHING = RegionHandle.of(7777)
ADVISORIES = ("attributeRelevanceAdvisory", "attributeScopeAdvisory")
COMPARED = {
    "discover_object_instance",
    "reflect_attribute_values",
    "receive_interaction",
    "attributes_in_scope",
    "attributes_out_of_scope",
    "turn_updates_on_for_object_instance",
    "turn_updates_off_for_object_instance",
    "provide_attribute_value_update",
    "remove_object_instance",
}


class Bench:
    def __init__(self, seed: int, **where: Any) -> None:
        self.random = Random(seed)
        switches = [s for s in ("allowRelaxedDDM", "advisoriesUseKnownClass") if self.random.random() < 0.3]
        self.real = Federation(SEATS, model=model(*ADVISORIES, *switches), **where)
        self.oracle = Oracle(SEATS, "allowRelaxedDDM" in switches, "advisoriesUseKnownClass" in switches)
        rti = self.real.rti[0]
        self.classes = {name: self.real.object_class(name) for name in OBJECTS}
        self.interactions = {name: self.real.interaction(name) for name in INTERACTIONS}
        self.dimensions = {name: rti.get_dimension_handle(name) for name in DIMENSIONS}
        names = [*attributes_of("Base.Sub"), PRIVILEGE]
        self.attributes = {a: self.real.attribute("Base.Sub", a) for a in names}
        self.names = {handle: name for name, handle in self.attributes.items()}
        self.texts = {handle: name for name, handle in {**self.classes, **self.interactions}.items()}
        self.log: list[Any] = []
        for seat in range(SEATS):
            self._publish(seat)
        self.real.quiet()
        for seat in range(SEATS):
            self._equip(seat)

    def _publish(self, seat: int) -> None:
        rti = self.real.rti[seat]
        for name, handle in self.classes.items():
            rti.publish_object_class_attributes(handle, {self.attributes[a] for a in attributes_of(name)})
        for interaction in self.interactions.values():
            rti.publish_interaction_class(interaction)

    def _equip(self, seat: int) -> None:
        """With some regions to begin with."""
        for dimensions in (["X"], ["Y"], ["X", "Y"]):
            self.create(seat, frozenset(dimensions))
            self.move(seat, list(self.oracle.areas)[-1])

    # --- one call ---------------------------------------------------------------------------------------------

    def step(self) -> None:
        operations: list[Any] = [
            *[self.create, self.bounds, self.move, self.move, self.move, self.commit, self.delete_region],
            *[self.register, self.register_at, self.register_at, self.associate, self.associate],
            *[self.unassociate, self.unassociate, self.unsubscribe_at, self.unsubscribe_at],
            *[self.subscribe, self.unsubscribe, self.subscribe_at, self.subscribe_at, self.subscribe_at],
            *[self.receive, self.receive_at, self.receive_at, self.stop_receiving, self.stop_receiving],
            *[
                self.update,
                self.update,
                self.watch,
                self.watch,
                self.send,
                self.send_at,
                self.send_at,
                self.request,
            ],
            *[self.divest, self.acquire, self.acquire, self.delete, self.convey, self.rejoin],
        ]
        self.random.choice(operations)(self.random.randrange(SEATS))

    def do(
        self,
        seat: int,
        what: str,
        real: Callable[[], Any],
        rules: Callable[[], list[Heard] | None],
        *said: Any,
    ) -> Any:
        """The call at both; a refusal must be the same, and so must be what everybody hears."""
        self.log.append((what, seat, *said))
        before = self.oracle.view()
        expected: list[Heard] = []
        error: str | None = None
        result: Any = None
        try:
            result = real()
        except RTIexception as caught:
            error = type(caught).__name__
        wrong: str | None = None
        try:
            expected += rules() or []
        except Refused as refused:
            wrong = str(refused)
        assert error == wrong, self.tell(f"refused with {error}, expected {wrong}")
        if wrong is None:
            expected += self.oracle.differences(before)
            self.check(expected)
        return result

    def made(
        self, seat: int, what: str, real: Callable[[], Any], rules: Callable[[Any], None], *said: Any
    ) -> None:
        """The same for what gives a handle, which the oracle must know."""
        found: list[Any] = []

        def call() -> None:
            found.append(real())

        self.do(seat, what, call, lambda: rules(found[0] if found else None), *said)

    def check(self, expected: list[Heard]) -> None:
        heard = []
        for seat in range(SEATS):
            for method, arguments in self.real.take(seat):
                if method in COMPARED:
                    heard.append(self.heard(seat, method, arguments))
        assert Counter(heard) == Counter(expected), self.tell(
            f"missing {Counter(expected) - Counter(heard)}, too many {Counter(heard) - Counter(expected)}"
        )

    def heard(self, seat: int, method: str, arguments: tuple[Any, ...]) -> Heard:
        about: Any = arguments[0]
        rest: Any = arguments[1] if len(arguments) > 1 else None
        if method == "discover_object_instance":
            return seat, method, about, self.texts[rest], None
        if method == "remove_object_instance":
            return seat, method, about, None, None
        if method == "receive_interaction":
            return seat, method, arguments[2].decode(), self.texts[about], self.regions(seat, arguments[5])
        attributes = frozenset(self.names[a] for a in rest or ())
        regions = self.regions(seat, arguments[5]) if method == "reflect_attribute_values" else None
        return seat, method, about, attributes, regions

    def regions(self, seat: int, conveyed: Any) -> Any:
        """As one sees them who asks the RTI for their dimensions and bounds."""
        rti = self.real.rti[seat]
        return (
            None
            if conveyed is None
            else frozenset(
                frozenset(
                    (rti.get_dimension_name(d), *rti.get_range_bounds(region, d))
                    for d in rti.get_dimension_handle_set(region)
                )
                for region in conveyed
            )
        )

    def tell(self, why: str) -> str:
        return why + "\n" + "\n".join(map(repr, self.log))

    # --- choices ----------------------------------------------------------------------------------------------

    def some(self, pool: Any) -> set[Any]:
        ordered = sorted(pool)
        return set(self.random.sample(ordered, self.random.randint(min(1, len(ordered)), len(ordered))))

    def a_region(self, seat: int, dimensions: Any = None) -> Any:
        """Mostly one that will do."""
        areas = self.oracle.areas
        good = [
            r
            for r, area in areas.items()
            if area.owner == seat
            and (dimensions is None or (area.now and area.dimensions <= set(dimensions)))
        ]
        if good and self.random.random() < 0.95:
            return self.random.choice(good)
        return self.random.choice([*areas, NOTHING])

    def some_regions(self, seat: int, dimensions: Any) -> set[Any]:
        return {self.a_region(seat, dimensions) for _ in range(self.random.choice([1, 1, 2]))}

    def pairs(self, seat: int, cls: str) -> list[tuple[set[str], set[Any]]]:
        made = []
        for _ in range(self.random.choice([1, 1, 2])):
            chosen = self.some([a for a, d in attributes_of(cls).items() if d])
            common = set.intersection(*[set(attributes_of(cls)[a]) for a in chosen])
            made.append((chosen, self.some_regions(seat, common)))
        return made

    def handles(self, pairs: list[tuple[set[str], set[Any]]]) -> Any:
        return [({self.attributes[a] for a in attributes}, regions) for attributes, regions in pairs]

    def thing(self, seat: int, owned: bool) -> Any:
        good = [
            h
            for h, t in self.oracle.things.items()
            if (seat in t.owners.values() if owned else seat in t.known)
        ]
        return self.random.choice(good) if good else None

    def cls(self) -> str:
        return self.random.choice(list(OBJECTS))

    # --- regions ----------------------------------------------------------------------------------------------

    def create(self, seat: int, dimensions: frozenset[str] | None = None) -> None:
        chosen = frozenset(self.some(DIMENSIONS)) if self.random.random() < 0.9 else frozenset()
        if dimensions is not None:
            chosen = dimensions

        def rules(handle: Any) -> None:
            self.oracle.areas[handle] = Area(seat, chosen)

        rti = self.real.rti[seat]
        self.made(
            seat, "create", lambda: rti.create_region({self.dimensions[d] for d in chosen}), rules, chosen
        )

    def bounds(self, seat: int, given: tuple[Any, str, int, int] | None = None) -> None:
        region, dimension, lower, upper = given or (
            self.a_region(seat),
            self.random.choice(list(DIMENSIONS)),
            self.random.randint(0, 8),
            self.random.randint(0, 9),
        )

        def rules() -> None:
            area = self.oracle.own(seat, region)
            if dimension not in area.dimensions:
                raise Refused("RegionDoesNotContainSpecifiedDimension")
            if not lower < upper <= DIMENSIONS[dimension][0]:
                raise Refused("InvalidRangeBound")
            area.set[dimension] = (lower, upper)

        rti = self.real.rti[seat]
        handle = self.dimensions[dimension]
        call = lambda: rti.set_range_bounds(region, handle, RangeBounds(lower, upper))
        self.do(seat, "bounds", call, rules, region, dimension, lower, upper)
        area = self.oracle.areas.get(region)
        if area is not None and area.owner == seat and dimension in area.dimensions:
            assert rti.get_range_bounds(region, handle) == area.set[dimension]

    def move(self, seat: int, region: Any = None) -> None:
        """To other bounds, and commit them."""
        region = self.a_region(seat) if region is None else region
        area = self.oracle.areas.get(region)
        if area is None or area.owner != seat:
            return
        for dimension in sorted(area.dimensions):
            lower = self.random.randint(0, 6)
            self.bounds(seat, (region, dimension, lower, self.random.randint(lower + 1, min(8, lower + 4))))
        self.commit(seat, {region})

    def commit(self, seat: int, given: set[Any] | None = None) -> None:
        regions = given or {self.a_region(seat) for _ in range(self.random.choice([1, 1, 3]))}

        def rules() -> None:
            areas = [self.oracle.own(seat, region) for region in sorted(regions)]
            for area in areas:
                area.now = dict(area.set)

        self.do(
            seat, "commit", lambda: self.real.rti[seat].commit_region_modifications(regions), rules, regions
        )

    def delete_region(self, seat: int) -> None:
        region = self.a_region(seat)

        def rules() -> None:
            self.oracle.own(seat, region)
            if self.oracle.in_use(region):
                raise Refused("RegionInUseForUpdateOrSubscription")
            del self.oracle.areas[region]

        self.do(seat, "delete region", lambda: self.real.rti[seat].delete_region(region), rules, region)

    # --- instances --------------------------------------------------------------------------------------------

    def register(self, seat: int) -> None:
        cls = self.cls()

        def rules(handle: Any) -> None:
            self.oracle.things[handle] = Thing(cls, seat)

        call = lambda: self.real.rti[seat].register_object_instance(self.classes[cls])
        self.made(seat, "register", call, rules, cls)

    def placed(self, seat: int, cls: str, pairs: list[tuple[set[str], set[Any]]]) -> None:
        for _, regions in pairs:
            for region in sorted(regions):
                self.oracle.own(seat, region)
        for attributes, regions in pairs:
            for attribute in sorted(attributes, key=self.attributes.__getitem__):
                self.oracle.usable(seat, regions, attributes_of(cls)[attribute])

    def register_at(self, seat: int) -> None:
        cls = self.cls()
        pairs = self.pairs(seat, cls)

        def rules(handle: Any) -> None:
            self.placed(seat, cls, pairs)
            thing = self.oracle.things[handle] = Thing(cls, seat)
            for attributes, regions in pairs:
                for attribute in attributes:
                    thing.at.setdefault((attribute, seat), set()).update(regions)

        rti = self.real.rti[seat]
        call = lambda: rti.register_object_instance_with_regions(self.classes[cls], self.handles(pairs))
        self.made(seat, "register at", call, rules, cls, pairs)

    def associate(self, seat: int) -> None:
        handle = self.thing(seat, self.random.random() < 0.8)
        if handle is None:
            return
        thing = self.oracle.things[handle]
        if seat not in thing.known:
            return
        pairs = self.pairs(seat, thing.known[seat])

        def rules() -> None:
            self.placed(seat, thing.known[seat], pairs)
            for attributes, regions in pairs:
                for attribute in attributes:
                    thing.at.setdefault((attribute, seat), set()).update(regions)

        rti = self.real.rti[seat]
        call = lambda: rti.associate_regions_for_updates(handle, self.handles(pairs))
        self.do(seat, "associate", call, rules, handle, pairs)

    def unassociate(self, seat: int) -> None:
        good = [
            (h, t, a, s)
            for h, t in self.oracle.things.items()
            for (a, s), regions in t.at.items()
            if s == seat and regions and s in t.known
        ]
        if not good:
            return
        handle, thing, attribute, _ = self.random.choice(sorted(good, key=lambda one: (one[0], one[2])))
        regions = self.some(thing.at[attribute, seat])
        pairs = [({attribute}, regions)]

        def rules() -> None:
            thing.at[attribute, seat] -= regions

        rti = self.real.rti[seat]
        call = lambda: rti.unassociate_regions_for_updates(handle, self.handles(pairs))
        self.do(seat, "unassociate", call, rules, handle, pairs)

    def divest(self, seat: int) -> None:
        handle = self.thing(seat, True)
        if handle is None:
            return
        thing = self.oracle.things[handle]
        gone = self.some([a for a, owner in thing.owners.items() if owner == seat])

        def rules() -> None:
            for attribute in gone:
                thing.owners[attribute] = None
                thing.at.pop((attribute, seat), None)

        rti = self.real.rti[seat]
        chosen = {self.attributes[a] for a in gone}
        call = lambda: rti.unconditional_attribute_ownership_divestiture(handle, chosen, b"")
        self.do(seat, "divest", call, rules, handle, gone)

    def acquire(self, seat: int) -> None:
        handle = self.thing(seat, False)
        if handle is None:
            return
        thing = self.oracle.things[handle]
        pool = [*attributes_of(thing.known[seat]), PRIVILEGE]
        free = [a for a in pool if thing.owners.get(a, seat) is None]
        if not free:
            return
        wanted = self.some(free)

        def rules() -> None:
            thing.owners.update(dict.fromkeys(wanted, seat))

        rti = self.real.rti[seat]
        chosen = {self.attributes[a] for a in wanted}
        call = lambda: rti.attribute_ownership_acquisition_if_available(handle, chosen, b"")
        self.do(seat, "acquire", call, rules, handle, wanted)

    def delete(self, seat: int) -> None:
        handle = self.thing(seat, True)
        if (
            handle is None
            or self.oracle.things[handle].owners[PRIVILEGE] != seat
            or self.random.random() < 0.5
        ):
            return

        def rules() -> list[Heard]:
            thing = self.oracle.things.pop(handle)
            return [(w, "remove_object_instance", handle, None, None) for w in thing.known if w != seat]

        self.do(
            seat, "delete", lambda: self.real.rti[seat].delete_object_instance(handle, b""), rules, handle
        )

    # --- subscriptions ----------------------------------------------------------------------------------------

    def subscribe(self, seat: int) -> None:
        if self.random.random() < 0.5:
            return
        cls, active = self.cls(), self.random.random() < 0.7
        chosen = self.some(attributes_of(cls))

        def rules() -> None:
            self.oracle.subscribed.update({(seat, cls, a, None): active for a in chosen})

        rti = self.real.rti[seat]
        service = rti.subscribe_object_class_attributes
        if not active:
            service = rti.subscribe_object_class_attributes_passively
        call = lambda: service(self.classes[cls], {self.attributes[a] for a in chosen})
        self.do(seat, "subscribe", call, rules, cls, chosen, active)

    def unsubscribe(self, seat: int) -> None:
        cls = self.cls()

        def rules() -> None:
            for key in [k for k in self.oracle.subscribed if k[:2] == (seat, cls) and k[3] is None]:
                del self.oracle.subscribed[key]

        call = lambda: self.real.rti[seat].unsubscribe_object_class(self.classes[cls])
        self.do(seat, "unsubscribe", call, rules, cls)

    def subscribe_at(self, seat: int) -> None:
        cls, active = self.cls(), self.random.random() < 0.7
        pairs = self.pairs(seat, cls)

        def rules() -> None:
            self.placed(seat, cls, pairs)
            for attributes, regions in pairs:
                self.oracle.subscribed.update(
                    {(seat, cls, a, r): active for a in attributes for r in regions}
                )

        rti = self.real.rti[seat]
        service = rti.subscribe_object_class_attributes_with_regions
        if not active:
            service = rti.subscribe_object_class_attributes_passively_with_regions
        call = lambda: service(self.classes[cls], self.handles(pairs))
        self.do(seat, "subscribe at", call, rules, cls, pairs, active)

    def unsubscribe_at(self, seat: int) -> None:
        good = sorted((k for k in self.oracle.subscribed if k[0] == seat and k[3] is not None), key=repr)
        if not good:
            return
        _, cls, attribute, region = self.random.choice(good)

        def rules() -> None:
            del self.oracle.subscribed[seat, cls, attribute, region]

        rti = self.real.rti[seat]
        pairs = [({attribute}, {region})]
        call = lambda: rti.unsubscribe_object_class_attributes_with_regions(
            self.classes[cls], self.handles(pairs)
        )
        self.do(seat, "unsubscribe at", call, rules, cls, attribute, region)

    def receive(self, seat: int) -> None:
        cls = self.random.choice(list(INTERACTIONS))

        def rules() -> None:
            self.oracle.receives[seat, cls, None] = True

        call = lambda: self.real.rti[seat].subscribe_interaction_class(self.interactions[cls])
        self.do(seat, "receive", call, rules, cls)

    def receive_at(self, seat: int) -> None:
        cls = self.random.choice(list(INTERACTIONS))
        regions = self.some_regions(seat, available_to(cls))

        def rules() -> None:
            self.oracle.usable(seat, regions, available_to(cls))
            self.oracle.receives.update({(seat, cls, r): True for r in regions})

        rti = self.real.rti[seat]
        call = lambda: rti.subscribe_interaction_class_with_regions(self.interactions[cls], regions)
        self.do(seat, "receive at", call, rules, cls, regions)

    def stop_receiving(self, seat: int) -> None:
        good = sorted((k for k in self.oracle.receives if k[0] == seat), key=repr)
        if not good:
            return
        _, cls, region = self.random.choice(good)

        def rules() -> None:
            del self.oracle.receives[seat, cls, region]

        rti = self.real.rti[seat]
        if region is None:
            call = lambda: rti.unsubscribe_interaction_class(self.interactions[cls])
        else:
            call = lambda: rti.unsubscribe_interaction_class_with_regions(self.interactions[cls], {region})
        self.do(seat, "stop receiving", call, rules, cls, region)

    # --- messages ---------------------------------------------------------------------------------------------

    def watch(self, seat: int) -> None:
        """The same update before and after somebody moves."""
        handle = self.thing(seat, True)
        for _ in range(3 if handle is not None else 0):
            self.update(seat, handle)
            self.move(self.random.randrange(SEATS))

    def update(self, seat: int, given: Any = None) -> None:
        handle = given or self.thing(seat, True)
        if handle is None:
            return
        owners = self.oracle.things[handle].owners
        mine = [a for a, owner in owners.items() if owner == seat and a != PRIVILEGE]
        chosen = set(mine) if given else self.some(mine)
        values = {self.attributes[a]: b"" for a in sorted(chosen)}
        call = lambda: self.real.rti[seat].update_attribute_values(handle, values, b"")
        self.do(seat, "update", call, lambda: self.oracle.update(seat, handle, chosen), handle, chosen)

    def send(self, seat: int) -> None:
        cls = self.random.choice(list(INTERACTIONS))
        call = lambda: self.real.rti[seat].send_interaction(self.interactions[cls], {}, cls.encode())
        self.do(seat, "send", call, lambda: self.oracle.send(seat, cls, None), cls)

    def send_at(self, seat: int) -> None:
        cls = self.random.choice(list(INTERACTIONS))
        regions = self.some_regions(seat, available_to(cls))

        def rules() -> list[Heard]:
            self.oracle.usable(seat, regions, available_to(cls))
            return self.oracle.send(seat, cls, regions)

        rti = self.real.rti[seat]
        send = rti.send_interaction_with_regions
        call = lambda: send(self.interactions[cls], {}, regions, cls.encode())
        self.do(seat, "send at", call, rules, cls, regions)

    def request(self, seat: int) -> None:
        cls = self.cls()
        pairs = self.pairs(seat, cls)

        def rules() -> list[Heard]:
            self.placed(seat, cls, pairs)
            return self.oracle.request(seat, cls, pairs)

        rti = self.real.rti[seat]
        ask = rti.request_attribute_value_update_with_regions
        call = lambda: ask(self.classes[cls], self.handles(pairs), b"")
        self.do(seat, "request", call, rules, cls, pairs)

    # --- federates --------------------------------------------------------------------------------------------

    def convey(self, seat: int) -> None:
        on = seat not in self.oracle.convey

        def rules() -> None:
            (self.oracle.convey.add if on else self.oracle.convey.discard)(seat)

        call = lambda: self.real.rti[seat].set_convey_region_designator_sets_switch(on)
        self.do(seat, "convey", call, rules, on)

    def rejoin(self, seat: int) -> None:
        """It leaves with all it has, and comes back with nothing."""
        if self.random.random() < 0.9:
            return

        def rules() -> list[Heard]:
            oracle = self.oracle
            heard: list[Heard] = []
            for handle, thing in list(oracle.things.items()):
                if thing.owners[PRIVILEGE] == seat:
                    del oracle.things[handle]
                    heard += [
                        (w, "remove_object_instance", handle, None, None) for w in thing.known if w != seat
                    ]
                    continue
                thing.known.pop(seat, None)
                thing.owners = {a: None if o == seat else o for a, o in thing.owners.items()}
                thing.at = {key: regions for key, regions in thing.at.items() if key[1] != seat}
            oracle.areas = {r: a for r, a in oracle.areas.items() if a.owner != seat}
            oracle.subscribed = {k: v for k, v in oracle.subscribed.items() if k[0] != seat}
            oracle.receives = {k: v for k, v in oracle.receives.items() if k[0] != seat}
            oracle.convey.discard(seat)
            oracle.present.discard(seat)
            return heard

        self.do(seat, "resign", lambda: self.real.resign(seat), rules)
        self.real.join(seat)
        self.oracle.present.add(seat)
        self._publish(seat)
        self.real.log[seat].take()
        self._equip(seat)
