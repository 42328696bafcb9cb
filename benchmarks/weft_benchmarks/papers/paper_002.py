"""Paper 002, the strategies of RTI-NG: figures 1 to 4, and what its text says of cost (S2-12 … S2-17, S2-22)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from weft.cli.design.ddm_channel_map import ChannelMap
from weft.cli.design.ddm_nodes import Nodes
from weft.cli.design.ddm_overview import overview
from weft.cli.design.ddm_paper import EXAMPLES
from weft.cli.design.ddm_picture import drawn_regions, space_picture
from weft.cli.design.ddm_regions import RegionsFile, read_lines
from weft.cli.design.ddm_runs import RunCost, Setting, play_simulated, setting
from weft.cli.design.ddm_workload import Workload, plane_workload, workload_of
from weft.drawing import Graphic
from weft.fom import merge, parse_module, parse_rid
from weft.interest import Spaces, Strategy, make_strategy, read_ddm_settings
from weft_benchmarks.papers import paper_002_costs, paper_002_regions
from weft_benchmarks.papers.figures import Chapter, Claim, Effort, Figure, Table
from weft_benchmarks.papers.paper_002_room import SIMPLE, Room, federates, plane_of, repeats, short

PRINTED_CHANNELS = {
    "R1D-1": (1,), "R1D-2": (2,), "R1D-3": (1, 2), "R2D-1": (3,), "R2D-2": (5, 6), "R2D-3": (3, 6),
    "R2D-4": (3, 4, 5, 6), "R2D-5": (5,),
}  # fmt: skip
PRINTED_HEARD = {
    # What Fed3 updates, and with which region: does network traffic come, and a callback, at Fed1 and at Fed2?
    ("A.x", "R1D-1"): ("YES YES", "YES YES"),
    ("A.x", "R1D-2"): ("NO NO", "YES YES"),
    ("B.x", "R2D-3"): ("YES YES", "YES YES"),
    ("B.x", "R2D-5"): ("YES NO", "YES NO"),
    ("B.y", "R2D-1"): ("YES NO", "NO NO"),
    ("B.y", "R2D-5"): ("YES NO", "YES NO"),
}

MEASURED: Sequence[tuple[float, Callable[[Room], Figure]]] = (
    (4.0, paper_002_costs.comparing),
    (1.5, paper_002_costs.without_regions),
    (1.5, paper_002_costs.finer),
    (1.5, paper_002_regions.extents),
    (2.0, paper_002_regions.moving_and_fixed),
    (0.3, paper_002_regions.boundaries),
    (2.0, paper_002_costs.channel_types),
)
"""With how long they take, against one another."""


def run(effort: Effort) -> Chapter:
    chapter = Chapter(
        "002",
        "data distribution: strategies and channels",
        "Which strategy sends what to whom, and what it costs. Counts are exact, from real kernels over a network without "
        "delay; CPU, latency and bytes of links are from nodes that are processes of their own on this machine.",
        {
            "nodes as processes": federates(effort),
            "runs of each": repeats(effort),
            "the paper": "RTI 1.3NG, CORBA event channels and multicast; no measurements are printed, its claims are in its text",
        },
    )
    effort.progress("figures 1 to 4", 0.0)
    chapter.figures += [_figure_1(), _figure_2(), _figure_3(), _figure_4()]
    chapter.figures += _measured(effort)
    return chapter


def _measured(effort: Effort) -> list[Figure]:
    found = []
    with Nodes(federates(effort)) as nodes:
        effort.progress("the nodes warm up", 0.05)
        nodes.play(plane_workload(plane_of(effort)), setting(SIMPLE, 1))
        begun, done, whole = 0.1, 0.0, sum(weight for weight, _ in MEASURED)
        for weight, part in MEASURED:
            begin = begun + (1 - begun) * done / whole
            found.append(part(Room(effort, nodes, begin, (1 - begun) * weight / whole)))
            done += weight
    return found


class Drawn:
    """An example of the paper: its files read, and its pictures."""

    def __init__(self, number: int) -> None:
        self.example = EXAMPLES[number]
        self.spaces = Spaces(merge([parse_module(self.example.fed)]))
        self.strategy: Strategy = make_strategy(
            self.spaces, read_ddm_settings(parse_rid(self.example.rid), self.spaces)
        )
        self.regions = self.read(self.example.regions)

    def read(self, lines: str) -> RegionsFile:
        found = RegionsFile({}, [])
        read_lines(lines, "paper.regions", self.spaces, None, found)
        return found

    def workload(self, lines: str = "") -> Workload:
        return workload_of(self.spaces, self.read(f"{self.example.regions}\n{lines}"), [self.example.fed])

    def play(self, lines: str = "") -> RunCost:
        """As the example's RID file has it."""
        return play_simulated(self.workload(lines), Setting(self.strategy.name, self.example.rid))

    def overview(self) -> Graphic:
        return overview(self.spaces, self.strategy, self.regions)

    def space(self, name: str) -> Graphic:
        here = [
            one
            for one in drawn_regions(self.strategy, self.regions)
            if self.regions.regions[one.name].space.name == name
        ]
        return space_picture(self.strategy, self.spaces.by_name[name], here)


def _figure_1() -> Figure:
    drawn = Drawn(1)
    workload = drawn.workload()
    rows = [play_simulated(workload, setting(name, 1)) for name in ("Simple", "StaticSpacePartitioned")]
    return Figure(
        "1",
        drawn.example.title,
        [drawn.overview(), _table(rows)],
        [_only_in_their_space(workload, *rows), _one_for_each_space(drawn)],
        notes=["The example is the paper's own (tanks and planes); nobody calls a service of DDM."],
    )


def _only_in_their_space(workload: Workload, simple: RunCost, spaces: RunCost) -> Claim:
    return Claim(
        "updates in a space are only sent to federates that subscribe in it, by the FED file alone",
        spaces.filtered_receiver == 0 < simple.filtered_receiver and spaces.wanted == simple.wanted,
        f"of {workload.updates} updates {spaces.messages} messages, {spaces.filtered_receiver} of them dropped; under Simple "
        f"{simple.messages}, of which {simple.filtered_receiver} were dropped",
    )


def _one_for_each_space(drawn: Drawn) -> Claim:
    return Claim(
        "one channel, reliable and best effort, for each routing space",
        drawn.strategy.channels == len(drawn.spaces.all),
        f"{drawn.strategy.channels} channels, {len(drawn.spaces.all)} spaces",
    )


def _figure_2() -> Figure:
    drawn = Drawn(2)
    found = {one.name: one.channels for one in drawn_regions(drawn.strategy, drawn.regions)}
    heard = {key: _heard(drawn, *key) for key in PRINTED_HEARD}
    default = drawn.play("Fed3 updates B.x").sent
    return Figure(
        "2",
        drawn.example.title,
        [drawn.overview(), drawn.space("1D"), drawn.space("2D"), drawn.space("3D"), _heard_table(heard)],
        [
            _same_channels(found),
            *_same_tables(heard),
            Claim(
                "an update in the default region of space 2D is sent four times",
                default == 4,
                f"it was put on {default} channels; over links a node that listens to several still gets it once",
            ),
        ],
        printed=Table(
            ["Fed3 updates", "with", "Fed1: net, callback", "Fed2: net, callback"],
            [[what, region, *said] for (what, region), said in PRINTED_HEARD.items()],
        ),
        notes=[
            "Three callbacks are printed wrongly, by the paper's own rules: Fed2 does not subscribe to B.x.",
            "Fed1 subscribes to B.y in the whole space (R2D-4), so it gets B.y with any region.",
            "Bounds that are printed with seven hexadecimal digits have eight here; as printed, the channels would differ, too.",
        ],
    )


def _same_channels(found: dict[str, tuple[int, ...]]) -> Claim:
    differing = [name for name, channels in PRINTED_CHANNELS.items() if found[name] != channels]
    told = ", ".join(f"{name} {{{', '.join(map(str, found[name]))}}}" for name in PRINTED_CHANNELS)
    return Claim("regions have the channels of its table", not differing, told)


def _heard(drawn: Drawn, what: str, region: str) -> tuple[str, str]:
    played = drawn.play(f"Fed3 updates {what} {region}")
    words = {True: "YES", False: "NO"}
    first, second = (
        f"{words[played.heard[name][0] > 0]} {words[played.heard[name][1] > 0]}" for name in ("Fed1", "Fed2")
    )
    return first, second


def _heard_table(heard: dict[tuple[str, str], tuple[str, str]]) -> Table:
    return Table(
        ["Fed3 updates", "with", "Fed1: net, callback", "Fed2: net, callback"],
        [[what, region, *said] for (what, region), said in heard.items()],
    )


def _same_tables(heard: dict[tuple[str, str], tuple[str, str]]) -> list[Claim]:
    """Both columns of the tables, each by itself."""
    claims = []
    for column, says in enumerate(
        ("network traffic comes to whom its tables say", "callbacks come to whom its tables say")
    ):
        differing = [
            f"{what} with {region} at Fed{at + 1}"
            for (what, region), said in PRINTED_HEARD.items()
            for at in range(2)
            if said[at].split()[column] != heard[what, region][at].split()[column]
        ]
        because = f"otherwise: {', '.join(differing)}" if differing else "all 12 are as printed"
        claims.append(Claim(says, not differing, because))
    return claims


def _figure_3() -> Figure:
    drawn = Drawn(3)
    pieces = {space.name: ChannelMap(drawn.strategy, space).pieces for space in drawn.spaces.all}
    told = "; ".join(f"{name}: {' × '.join(map(str, count))}" for name, count in pieces.items())
    return Figure(
        "3",
        drawn.example.title,
        [drawn.space("2D")],
        [
            Claim(
                "SpaceOptions cut space 2D into ten pieces along x and three along y; other dimensions keep their number",
                pieces == {"1D": (2,), "2D": (10, 3), "3D": (2, 2, 2)} and drawn.strategy.partitions == 40,
                f"{told}; {drawn.strategy.partitions} partitions",
            )
        ],
    )


def _figure_4() -> Figure:
    drawn = Drawn(4)
    lines = [f"listener{n} subscribes Unit.state R{n}" for n in range(1, 17)]
    lines += [f"sender updates Unit.state R{n} 2 times" for n in range(1, 17)]
    workload = drawn.workload("\n".join(lines))
    grid = play_simulated(workload, Setting("StaticGridPartitioned 16", drawn.example.rid))
    space = play_simulated(workload, setting("StaticSpacePartitioned", 1))
    own = [one.channels for one in drawn_regions(drawn.strategy, drawn.regions)]
    return Figure(
        "4",
        drawn.example.title,
        [drawn.space("channels"), _table([space, grid])],
        [
            Claim(
                "each point region has a channel of its own",
                own == [(number,) for number in range(1, 17)],
                f"{len(set(own))} regions on {drawn.strategy.channels} channels",
            ),
            Claim(
                "updates with Rn are only sent to federates subscribed with Rn: perfect segmentation",
                grid.filtered_receiver == 0 and grid.messages == grid.wanted == workload.updates,
                f"{grid.messages} messages for {grid.wanted} callbacks, nothing dropped; by spaces alone "
                f"{space.messages} messages, {space.filtered_receiver} dropped",
            ),
        ],
        notes=["One sender and sixteen listeners, each at a node of its own."],
    )


def _table(rows: list[RunCost]) -> Table:
    return Table(
        ["strategy", "messages", "bytes", "kept at sender", "dropped at receiver", "callbacks"],
        [
            [short(row.label), f"{row.messages:,}", f"{row.bytes:,}", f"{row.filtered_sender:,}",
             f"{row.filtered_receiver:,}", f"{row.wanted:,}"]
            for row in rows
        ],
    )  # fmt: skip
