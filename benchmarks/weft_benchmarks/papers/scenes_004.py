"""The scenes that paper 004 draws, run again: figure 1 and figures 3 to 5 with federates at nodes of a simulated network, figures
7 and 9 with the cells and lists that the kernel uses (S4-3, S4-5, S4-11, S4-13)."""

from __future__ import annotations

from typing import Final

from weft import (
    CallbackModel,
    FederateAmbassador,
    HLAinteger64Interval,
    HLAinteger64Time,
    RTIambassador,
)
from weft.drawing import Box, Dot, Graphic, Stroke, Text
from weft.fabric import plan
from weft.host.simulated.fabric import FabricNetwork
from weft.interest import CellAxis, CellInterest, DistributionList, Grid, Logged
from weft.model.handles import RegionHandle
from weft.model.records import RangeBounds
from weft_benchmarks.papers.figures import Claim, Figure, Table
from weft_benchmarks.papers.tanks import LOGICAL, NAME, WALL, Place, around, model

Area = tuple[Place, Place]
_HERE: Final = (50, 50)
_CELLS: Final = 9  # of figure 7, in each dimension


class _Player(FederateAmbassador):
    """One federate with a tank, and what it has heard."""

    def __init__(self, network: FabricNetwork, name: str, node: str) -> None:
        self.network = network
        self.name = name
        self.heard: list[tuple[str, int]] = []
        self.time = -1
        self.past = 0
        self.rti = RTIambassador(network.at(node))
        self.rti.connect(self, CallbackModel.EVOKED)

    def reflect_attribute_values(self, *arguments: object, **_: object) -> None:
        values = arguments[1]
        assert isinstance(values, dict)
        stamp = arguments[6] if len(arguments) > 6 else None
        time = stamp.value if isinstance(stamp, HLAinteger64Time) else 0
        self.past += stamp is not None and time <= self.time
        self.heard.append((values[self.position].decode(), time))

    def time_advance_grant(self, time: object) -> None:
        assert isinstance(time, HLAinteger64Time)
        self.time = time.value

    def join(self) -> None:
        self.rti.join_federation_execution(self.name, "tank", NAME)
        self.tank = self.rti.get_object_class_handle("Tank")
        self.position = self.rti.get_attribute_handle(self.tank, "Position")
        self.axes = [self.rti.get_dimension_handle(axis) for axis in "XY"]
        self.rti.publish_object_class_attributes(self.tank, {self.position})

    def region(self, area: Area) -> RegionHandle:
        made = self.rti.create_region(set(self.axes))
        self.put(made, area)
        return made

    def put(self, region: RegionHandle, area: Area, time: int | None = None) -> None:
        for axis, (low, high) in zip(self.axes, area, strict=True):
            self.rti.set_range_bounds(region, axis, RangeBounds(low, high))
        if time is None:
            self.rti.commit_region_modifications({region})
        else:
            self.rti.commit_region_modifications({region}, time=HLAinteger64Time(time))

    def is_at(self, area: Area) -> None:
        self.body = self.region(area)
        self.instance = self.rti.register_object_instance_with_regions(
            self.tank, [({self.position}, {self.body})]
        )

    def sees(self, area: Area) -> None:
        self.sight = self.region(area)
        self.rti.subscribe_object_class_attributes_with_regions(self.tank, [({self.position}, {self.sight})])

    def send(self, time: int | None = None) -> None:
        values = {self.position: self.name.encode()}
        if time is None:
            self.rti.update_attribute_values(self.instance, values, b"")
        else:
            self.rti.update_attribute_values(self.instance, values, b"", HLAinteger64Time(time))

    def ask(self, time: int) -> None:
        """And see what comes of it, when all that is under way has arrived."""
        self.rti.time_advance_request(HLAinteger64Time(time))
        self.hear()

    def hear(self) -> None:
        self.network.settle()
        while self.rti.evoke_callback(0.0):
            pass


def _players(*names: str) -> list[_Player]:
    """Each at a node of its own."""
    network = FabricNetwork(plan(len(names), "flat"), 4)
    made = [_Player(network, name, node) for name, node in zip(names, network.topology.servers, strict=True)]
    made[0].rti.create_federation_execution(NAME, [model()], "HLAinteger64Time")
    for player in made:
        player.join()
    return made


# --- figure 1 -------------------------------------------------------------------------------------------------------

U1: Final[Area] = ((30, 60), (40, 80))
S2: Final[Area] = ((50, 90), (60, 90))
S3: Final[Area] = ((60, 90), (10, 40))


def figure_1() -> Figure:
    first, second, third = _players("F1", "F2", "F3")
    first.is_at(U1)
    second.sees(S2)
    third.sees(S3)
    first.network.settle()
    first.send()
    for player in (second, third):
        player.hear()
    got, not_got = len(second.heard), len(third.heard)
    claim = Claim(
        "U1 and S2 overlap, so the update of F1 goes to F2, and not to F3",
        (got, not_got) == (1, 0),
        f"F2 was given {got}, F3 {not_got}; each federate at a node of its own",
    )
    return Figure("1", "an update region and two subscription regions", [_regions()], [claim])


def _regions() -> Graphic:
    picture = Graphic(340, 330, "update region U1 and subscription regions S2 and S3 in a routing space")
    picture.add(Box(20, 10, 300, 300))
    for name, area, tone in (("U1", U1, "s0"), ("S2", S2, "s2"), ("S3", S3, "s1")):
        (left, right), (low, high) = area
        picture.add(
            Box(20 + 3 * left, 10 + 3 * (100 - high), 3 * (right - left), 3 * (high - low), tone, 0.18),
            Text(26 + 3 * left, 26 + 3 * (100 - high), name, tone, bold=True),
        )
    return picture


# --- figures 3 to 5 -------------------------------------------------------------------------------------------------


def _red_first(mode: str) -> tuple[_Player, _Player]:
    """Figures 3 and 4: red is ahead and sends at 10; blue, at 8, is to see it from 10 on."""
    blue, red = _players("blue", "red")
    blue.sees(around((10, 10), 5))
    red.is_at(around(_HERE, 0))
    for player in (blue, red):
        player.rti.enable_time_regulation(HLAinteger64Interval(1))
    blue.rti.enable_time_constrained()
    blue.hear()
    red.hear()
    red.ask(9)
    red.send(10)
    red.ask(30)
    blue.ask(8)
    if mode == LOGICAL:
        blue.put(blue.sight, around(_HERE, 5), 10)
        blue.ask(10)
    else:
        blue.ask(9)  # the last time before 10: by wall clock it can only be said when it holds
        blue.put(blue.sight, around(_HERE, 5))
    blue.ask(12)
    return blue, red


def _blue_first() -> tuple[_Player, bool]:
    """Figure 5: blue looks there early, and red, which is behind, comes into sight at 10."""
    blue, red = _players("blue", "red")
    blue.sees(around(_HERE, 5))
    red.is_at(around((10, 10), 0))
    for player in (blue, red):
        player.rti.enable_time_regulation(HLAinteger64Interval(1))
    blue.rti.enable_time_constrained()
    blue.hear()
    red.hear()
    blue.ask(20)
    early = blue.time >= 10
    red.ask(9)
    red.put(red.body, around(_HERE, 0), 10)
    red.send(10)
    red.ask(30)
    blue.hear()
    return blue, early


def figures_3_to_5() -> Figure:
    by_clock, by_time = _red_first(WALL)[0], _red_first(LOGICAL)[0]
    fifth, early = _blue_first()
    picture = Graphic(
        640, 240, "red sends at 10, ahead of blue in wall-clock time; blue looks there from 10 on"
    )
    _panel(picture, 20, "by wall clock (figure 3)", bool(by_clock.heard))
    _panel(picture, 130, "as of a logical time (figure 4)", bool(by_time.heard))
    rows = [
        ["3", "red ahead", "plain region change", _told(by_clock)],
        ["4", "red ahead", "as of 10", _told(by_time)],
        ["5", "blue ahead", "red's region as of 10", _told(fifth)],
    ]
    table = Table(["figure", "who is ahead", "how", "blue has heard"], rows)
    claims = _duel_claims(by_clock, by_time, fifth, early)
    return Figure("3 to 5", "two tanks that approach each other", [picture, table], claims)


def _duel_claims(by_clock: _Player, by_time: _Player, fifth: _Player, early: bool) -> list[Claim]:
    before = f"{'' if early else 'not '}granted 10 before red was there"
    return [
        Claim(
            "by wall clock blue does not get what red sent before blue said where it looks (figure 3)",
            not by_clock.heard,
            f"blue has heard {len(by_clock.heard)} messages",
        ),
        Claim(
            "with a log it does, when it says so as of 10 (figure 4)",
            by_time.heard == [("red", 10)] and not by_time.past,
            f"blue has heard {_told(by_time)}, {by_time.past} of them in its past",
        ),
        Claim(
            "if time waits for every federate that may send, nothing comes into anybody's past (figure 5)",
            not early and fifth.heard == [("red", 10)] and not fifth.past,
            f"blue, which had asked for 20, was {before}, and heard {_told(fifth)}",
        ),
    ]


def _told(player: _Player) -> str:
    return ", ".join(f"{name} at {time}" for name, time in player.heard) or "nothing"


def _panel(picture: Graphic, top: float, title: str, heard: bool) -> None:
    def x(time: float) -> float:
        return 150 + 34 * time

    picture.add(Text(10, top + 4, title, "muted"))
    for name, tone, row in (("blue", "s0", 30.0), ("red", "s4", 75.0)):
        picture.add(
            Text(100, top + row + 4, name, tone, bold=True),
            Stroke(((x(0), top + row), (x(13), top + row)), arrow=True),
        )
    picture.add(
        Stroke(((x(10), top + 18), (x(10), top + 84)), "grid"),
        Text(x(10) + 5, top + 92, "10", "muted"),
        Dot(x(10), top + 75, "s4", tip="the update of red"),
        Dot(x(8), top + 30, "s0", hollow=True, tip="blue says what it will see"),
        Text(x(8), top + 22, "looks there", "s0", "end"),
    )
    if heard:
        picture.add(
            Stroke(((x(10), top + 70), (x(10), top + 36)), "good", 2.0, arrow=True),
            Text(x(10) + 8, top + 56, "sent late, from the log", "good"),
        )
    else:
        picture.add(
            Stroke(((x(10), top + 70), (x(10), top + 52)), "bad", 2.0, dashed=True),
            Text(x(10) + 8, top + 56, "lost", "bad", bold=True),
        )


# --- figures 7 and 9 ------------------------------------------------------------------------------------------------


def figure_7() -> Figure:
    interest = CellInterest[str, object](Grid([CellAxis(axis, 0, _CELLS, _CELLS) for axis in "xy"]))
    interest.modify_subscription(("F", 1), (((2, 5), (2, 5)),), 0)
    steps = interest.modify_subscription(("F", 1), (((3, 6), (3, 6)),), 10).steps
    change = {step.cell: step.change for step in steps}
    on = {cell for cell in range(_CELLS * _CELLS) if interest.lists.read(cell, 10)}
    added, deleted = (sum(step.change == sign for step in steps) for sign in (1, -1))
    picture = _moved(on, change)
    words = (
        (f"{added} Adds", "good"),
        (f"{deleted} Deletes", "bad"),
        (f"{len(on) - added} as they were", "frame"),
    )
    for at, (text, tone) in enumerate(words):
        picture.add(Box(320, 40 + 30 * at, 18, 18, tone, 0.45), Text(348, 54 + 30 * at, text))
    claim = Claim(
        "five Adds, five Deletes, and nothing to do for the four cells in common",
        (added, deleted, len(on)) == (5, 5, 9),
        f"{added} Adds, {deleted} Deletes, {len(on) - added} cells as they were",
    )
    return Figure("7", "what a move does to the cells", [picture], [claim])


def _moved(on: set[int], change: dict[int, int]) -> Graphic:
    picture = Graphic(
        640, 300, "a subscription region of three by three cells that moves by one in each dimension"
    )
    for cell in range(_CELLS * _CELLS):
        column, row = cell % _CELLS, cell // _CELLS
        tone, fill = ("frame", 0.3) if cell in on else ("grid", 0.0)
        if cell in change:
            tone, fill = ("good", 0.45) if change[cell] > 0 else ("bad", 0.45)
        picture.add(Box(20 + 30 * column, 10 + 30 * (_CELLS - 1 - row), 30, 30, tone, fill))
    return picture


def figure_9() -> Figure:
    member = ("F", 1)
    made = DistributionList[str, int]()
    for time in range(1, 40):
        made.update(Logged(time, time))
    for time, change in ((5, 1), (10, -1), (15, 1), (25, 1), (30, 1), (30, -1), (35, -1)):
        (made.add if change > 0 else made.delete)(member, time)
    before = [time for time in range(40) if made.has("F", time)]
    retracted = [update.value for update in made.delete(member, 20).retractions]
    after = [time for time in range(40) if made.has("F", time)]
    claims = [
        Claim(
            "the federate is on the list in [5, 10) and [15, 35)",
            before == [*range(5, 10), *range(15, 35)],
            _ranges(before),
        ),
        Claim(
            "the Delete of 20 has effect up to the next Add, at 25: what was sent in between is retracted",
            retracted == [*range(20, 25)] and after == [*range(5, 10), *range(15, 20), *range(25, 35)],
            f"then {_ranges(after)}; retracted were those of {_ranges(retracted)}",
        ),
    ]
    title = "Adds and Deletes of one federate, in any order"
    return Figure("9", title, [_on_the_list(before, after)], claims)


def _on_the_list(before: list[int], after: list[int]) -> Graphic:
    picture = Graphic(
        640, 150, "when the federate is on the list, before and after a Delete of 20 that comes late"
    )
    for row, (name, times) in enumerate((("before", before), ("after", after))):
        top = 45 + 45 * row
        picture.add(Text(10, top + 5, name, "muted"), Stroke(((70, top + 14), (630, top + 14))))
        picture.add(*[Box(70 + 14 * time, top - 8, 14, 22, "s0", 0.4) for time in times])
    picture.add(*[Text(70 + 14 * time, 125, str(time), "muted", "middle") for time in range(0, 41, 5)])
    for time, name in ((5, "A"), (10, "D"), (15, "A"), (25, "A"), (30, "A D"), (35, "D")):
        picture.add(Text(70 + 14 * time, 28, name, "text", "middle", bold=True))
    picture.add(Text(70 + 14 * 20, 80, "D", "bad", "middle", bold=True))
    return picture


def _ranges(times: list[int]) -> str:
    starts = [time for time in times if time - 1 not in times]
    ends = [time + 1 for time in times if time + 1 not in times]
    return ", ".join(f"[{start}, {end})" for start, end in zip(starts, ends, strict=True)) or "none"
