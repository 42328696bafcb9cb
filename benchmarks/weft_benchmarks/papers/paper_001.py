"""Paper 001, domains of causality: figures 2 and 8 to 12, and what clocks cost on the wire and on disk (S1-11 … S1-15, S1-19)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from weft.drawing import Chart, ChartPoint, Graphic, Series
from weft.fabric import Topology, cost, plan
from weft.fabric.picture import domain_picture
from weft_benchmarks import domains
from weft_benchmarks.domains import fit_power
from weft_benchmarks.papers.figures import Chapter, Claim, Effort, Figure, Table, mean_of
from weft_benchmarks.testbed.hosts import Host, NoHosts, several_hosts

HOSTS = 10
QUADRATIC = 1.5
"""The exponent from which on growth is nearer to the square than to the number itself."""

GROWN = 1.2
LEAST_SIZES = 4
LEAST_R2 = 0.9
MOST_POWER = 3.5
"""Times are fitted to so many sizes, and so well, or nothing is said of how they grow: the machine does other things, too."""

SHAPES = ("flat", "bus", "daisy", "tree")
ON_DISK = 60
"""Messages of which it is counted what journals write for them."""

LARGE = 64
"""Servers from which on one run has to do: they take minutes to start on few cores."""

FIGURE_2 = Topology(
    tuple(f"S{number}" for number in range(1, 9)),
    {
        "A": ("S1", "S2", "S3"),
        "B": ("S4", "S5"),
        "C": ("S6", "S7", "S8"),
        "D": ("S3", "S6"),
        "E": ("S1", "S4"),
    },
)

Row = dict[str, float]
Rows = dict[tuple[str, int], list[Row]]
"""What was measured, by topology and number of servers."""


class Sizes(NamedTuple):
    """How many servers there are in each experiment."""

    one_host: Sequence[int]
    hosts: Sequence[int]
    shapes: int
    flat_counts: Sequence[int]
    counts: Sequence[int]


QUICK = Sizes((4, 8, 12, 16), (10, 14, 18, 24), 16, (9, 16, 36, 64), (9, 16, 36, 64, 144))
FULL = Sizes(
    (9, 16, 36, 64, 100, 144),
    (10, 20, 50, 100, 150),
    64,
    (9, 16, 36, 64, 100, 144),
    (9, 16, 36, 64, 100, 144, 256, 400, 625, 1000),
)


class _Job(NamedTuple):
    """One measurement; a job weighs about as much as it takes."""

    what: str
    weight: float
    rows: Rows
    key: tuple[str, int]
    measure: Callable[[], Row]


def run(effort: Effort) -> Chapter:
    sizes = QUICK if effort.quick else FULL
    rounds, cries = (30, 8) if effort.quick else (100, 20)
    one_host: Rows = {}
    counts: Rows = {}
    many: Rows = {}
    repeats = effort.choose(1, 3)
    jobs = [
        *_trips("one host", one_host, ("flat", "bus"), sizes.one_host, repeats, rounds, cries),
        *_trips("one host", one_host, ("daisy", "tree"), [sizes.shapes], repeats, rounds, cries),
        *_counts(counts, sizes),
    ]
    on_hosts = ("flat",) if effort.quick else ("flat", "bus")
    try:
        with several_hosts(HOSTS) as hosts:
            jobs += _trips("ten hosts", many, on_hosts, sizes.hosts, repeats, rounds, cries, hosts)
            _do(effort, jobs)
        why_not = ""
    except NoHosts as error:
        why_not = str(error)
        _do(effort, jobs)
    chapter = _chapter(sizes, rounds, cries, repeats)
    chapter.figures += [
        _example(),
        _one_host(one_host, sizes.one_host),
        _ten_hosts(many, sizes.hosts, why_not),
        _shapes(one_host, sizes.shapes),
        _with_domains(one_host, many, sizes),
        _gain(one_host, sizes.one_host),
        _stamps(counts, sizes),
        _disk(counts, sizes.flat_counts),
    ]
    return chapter


def _chapter(sizes: Sizes, rounds: int, cries: int, repeats: int) -> Chapter:
    return Chapter(
        "001",
        "domains of causality",
        "Agents that send back what they get, one on each server; the first server sends and takes the time until the answer, or "
        "all answers, are there. Each server is a process with a journal on disk. Flat: one domain of all servers. Bus: domains "
        "of about √n servers, and a backbone of one server from each.",
        {
            "round trips of each kind": f"{rounds} to one server, {cries} to all; a quarter of them took at most the time shown",
            "runs of each": f"{repeats}; from {LARGE} servers on 1" if repeats > 1 else "1",
            "most processes": max(*sizes.one_host, *sizes.hosts),
            "most servers counted": max(sizes.counts),
            "the paper": "100 sends, mean; JVMs on Pentium II of 450 MHz; 50 servers on one host, 150 on ten, 100 Mbit/s",
        },
    )


# --- measuring --------------------------------------------------------------------------------------------------------


def _trips(
    where: str, rows: Rows, shapes: Sequence[str], sizes: Sequence[int], repeats: int, rounds: int, cries: int,
    hosts: Sequence[Host] = (),
) -> list[_Job]:  # fmt: skip
    """The shapes take turns, so that what else the machine does falls on all of them."""

    def job(size: int, shape: str) -> _Job:
        def measure() -> Row:
            return domains.measure_round_trips(size, shape, rounds, cries, hosts)

        return _Job(f"{where}, {size} servers, {shape}", 8 + size, rows, (shape, size), measure)

    return [
        job(size, shape) for size in sizes for _ in range(repeats if size < LARGE else 1) for shape in shapes
    ]


def _counts(counts: Rows, sizes: Sizes) -> list[_Job]:
    """Flat ends early, and journals on disk are for what is compared with it."""

    def counted(size: int, shape: str) -> _Job:
        on_disk = ON_DISK if size in sizes.flat_counts and shape in ("flat", "bus") else 0

        def measure() -> Row:
            return domains.simulate(size, shape, durable=True, on_disk=on_disk)

        weight = 1 + size / 10 + (size**2 / 100 if shape == "flat" else 0)
        return _Job(f"stamps and journals of {size} servers, {shape}", weight, counts, (shape, size), measure)

    return [
        counted(size, shape)
        for shape in SHAPES
        for size in (sizes.flat_counts if shape == "flat" else sizes.counts)
    ]


def _do(effort: Effort, jobs: Sequence[_Job]) -> None:
    whole = sum(job.weight for job in jobs)
    done = 0.0
    for job in jobs:
        effort.progress(job.what, done / whole)
        job.rows.setdefault(job.key, []).append(job.measure())
        done += job.weight


# --- lines and claims -------------------------------------------------------------------------------------------------


def _line(name: str, rows: Rows, shape: str, sizes: Sequence[int], field: str, unit: float = 1.0) -> Series:
    points = [
        mean_of(size, [row[field] / unit for row in rows[shape, size]])
        for size in sizes
        if (shape, size) in rows
    ]
    return Series(name, points)


def _points(line: Series) -> list[tuple[float, float]]:
    return [(point.x, point.y) for point in line.points]


def _fitted(line: Series) -> Series:
    """What was fitted to it, as a line that was not measured."""
    found = fit_power(_points(line))
    name = f"fit: n^{found['power']:.2f}"
    ys = [(x, found["a"] * x ** found["power"] + found["b"]) for x, _ in _points(line)]
    return Series(name, [ChartPoint(x, y, y, y) for x, y in ys], dashed=True)


def _told(line: Series, unit: str) -> str:
    found = fit_power(_points(line))
    first, last = line.points[0], line.points[-1]
    ends = " and ".join(f"{_short(point.y)} {unit} with {point.x:g} servers" for point in (first, last))
    if not _grows(line):
        return f"{ends}: it hardly grows"
    return f"{ends}; fitted a·n^{found['power']:.2f} + b, R² {found['r2']:.2f}"


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _grows(line: Series) -> bool:
    """If not, no exponent means anything."""
    return line.points[-1].y > GROWN * line.points[0].y


def _is_quadratic(line: Series, says: str, unit: str) -> Claim:
    power = fit_power(_points(line))["power"]
    return Claim(says, power >= QUADRATIC and _grows(line), _told(line, unit))


def _is_linear(line: Series, says: str, unit: str) -> Claim:
    """Or less than that."""
    power = fit_power(_points(line))["power"]
    return Claim(says, power <= QUADRATIC or not _grows(line), _told(line, unit))


def _of_times(judged: Claim, line: Series) -> Claim:
    """Times that lie on no curve say nothing of one."""
    fitted = fit_power(_points(line))
    if len(line.points) < LEAST_SIZES:
        return replace(judged, holds=None, because=f"too few sizes to tell; {judged.because}")
    if not _grows(line):
        return judged
    if fitted["r2"] < LEAST_R2 or fitted["power"] > MOST_POWER:
        why = "no curve fits: the machine was too busy, or there were too few round trips"
        return replace(judged, holds=None, because=f"{why}; {judged.because}")
    return judged


_WHY_NOT_SQUARE = (
    "What grows with the square is what a full clock takes. The paper's system keeps an image of the whole matrix on disk. Weft "
    "writes the entries that changed, and looks at those only; between two servers that talk to one another these are two or "
    "three, however large the matrix is. A message to all changes an entry for each server, and tells each of all: n² entries."
)
_CORES = (
    "All processes share this machine's cores, so the work of all servers adds up in the time of a message to all; in the paper "
    "at most fifteen servers share a host."
)
_NAMESPACES = (
    "The ten hosts are network namespaces of this machine, each with an address and a network device of its own (veth), joined "
    "by a bridge. Packets go through the kernel's whole stack, but over no wire, and all hosts share the cores."
)
_COUNTED = (
    "The real channels of all servers in one process; every server sends to servers drawn at random until the clocks are full of "
    "news, then a message's entries are counted over all its hops. Flat ends where its n³ entries leave the memory."
)
_PAGES = (
    "Pages of 4 KiB in the log of SQLite, by the table that they belong to; traffic among all servers drawn at random, a journal "
    "for each server, a commit for each step of a message. Three pages are the least a commit writes for a clock, and a bus has "
    "more hops, each with two commits: so few servers pay for domains, many gain by them."
)


# --- figures ----------------------------------------------------------------------------------------------------------


def _example() -> Figure:
    route = FIGURE_2.route("S1", "S8")
    way = "S1" + "".join(f" -({hop.domain})-> {hop.receiver}" for hop in route)
    claim = Claim(
        "from server 1 to server 8 a message goes by S3 (domain A) and S6 (domain D)",
        [(hop.domain, hop.receiver) for hop in route] == [("A", "S3"), ("D", "S6"), ("C", "S8")],
        f"{way}; routers {', '.join(FIGURE_2.routers())}",
    )
    note = "The paper prints domain C without S6, and S8 could not be reached then."
    picture = domain_picture(FIGURE_2, "eight servers in five domains; routers stand out")
    return Figure("2", "the example", [picture], [claim], notes=[note])


def _unicast(rows: Rows, shape: str, sizes: Sequence[int], title: str) -> Chart:
    lines = [_line(name, rows, shape, sizes, f"{name}_quarter_us") for name in ("local", "remote")]
    return Chart(f"round trip to one server, {title}", "servers", "µs", lines)


def _broadcast(rows: Rows, shape: str, sizes: Sequence[int], title: str) -> Chart:
    line = _line("broadcast", rows, shape, sizes, "broadcast_quarter_us", 1000)
    return Chart(f"round trip to all servers, {title}", "servers", "ms", [line, _fitted(line)])


def _flat_claims(rows: Rows, sizes: Sequence[int]) -> list[Claim]:
    remote = _line("remote", rows, "flat", sizes, "remote_quarter_us")
    broadcast = _line("broadcast", rows, "flat", sizes, "broadcast_quarter_us", 1000)
    says = "without domains the cost of a message grows with the square of the number of servers"
    return [
        _of_times(_is_quadratic(remote, f"{says} (to one server)", "µs"), remote),
        _of_times(_is_quadratic(broadcast, f"{says} (to all)", "ms"), broadcast),
    ]


def _one_host(rows: Rows, sizes: Sequence[int]) -> Figure:
    return Figure(
        "8",
        "without domains, one host",
        [
            _unicast(rows, "flat", sizes, "flat, one host"),
            _broadcast(rows, "flat", sizes, "flat, one host"),
        ],
        _flat_claims(rows, sizes),
        notes=[_WHY_NOT_SQUARE, _CORES],
    )


def _ten_hosts(rows: Rows, sizes: Sequence[int], why_not: str) -> Figure:
    title = f"without domains, {HOSTS} hosts"
    if why_not:
        claim = Claim("the same on ten hosts", None, f"left out: {why_not}")
        return Figure("9", title, [], [claim])
    return Figure(
        "9",
        title,
        [
            _unicast(rows, "flat", sizes, "flat, ten hosts"),
            _broadcast(rows, "flat", sizes, "flat, ten hosts"),
        ],
        _flat_claims(rows, sizes),
        notes=[
            _NAMESPACES,
            _WHY_NOT_SQUARE,
        ],
    )


def _shapes(rows: Rows, size: int) -> Figure:
    heads = (
        "",
        "domains",
        "hops, mean",
        "most by the model",
        "local µs",
        "remote µs",
        "to all ms",
        "entries in a stamp",
    )
    table = []
    for shape in SHAPES:
        found, made = rows[shape, size], cost(plan(size, shape))
        each = [
            _mean(found, "local_quarter_us"),
            _mean(found, "remote_quarter_us"),
            _mean(found, "broadcast_quarter_us") / 1000,
            _mean(found, "stamp_entries_per_packet"),
        ]
        numbers = (f"{made.domains}", f"{made.mean_hops:.2f}", f"{made.worst_cost:,}")
        table.append((shape, *numbers, *(f"{one:,.1f}" for one in each)))
    bus, tree = _mean(rows["bus", size], "remote_quarter_us"), _mean(rows["tree", size], "remote_quarter_us")
    claim = Claim(
        "a tree may be less efficient than a bus, since routing costs too",
        tree > bus,
        f"to the farthest of {size} servers and back: tree {tree:,.0f} µs, bus {bus:,.0f} µs",
    )
    pictures: list[Chart | Graphic | Table] = [
        domain_picture(plan(16, shape), f"{shape} of 16 servers") for shape in SHAPES[1:]
    ]
    title = f"bus, daisy and tree, and {size} servers in each of them"
    return Figure("10", title, [*pictures, Table(heads, table)], [claim])


def _mean(rows: Sequence[Row], field: str) -> float:
    return mean_of(0, [float(row[field]) for row in rows]).y


def _with_domains(rows: Rows, many: Rows, sizes: Sizes) -> Figure:
    shown: list[Chart | Graphic | Table] = [
        _unicast(rows, "bus", sizes.one_host, "bus, one host"),
        _broadcast(rows, "bus", sizes.one_host, "bus, one host"),
    ]
    remote = _line("remote", rows, "bus", sizes.one_host, "remote_quarter_us")
    to_all = [("to all", _line("broadcast", rows, "bus", sizes.one_host, "broadcast_quarter_us", 1000))]
    if ("bus", sizes.hosts[0]) in many:
        shown.append(_broadcast(many, "bus", sizes.hosts, "bus, ten hosts"))
        to_all.append(
            ("to all, ten hosts", _line("", many, "bus", sizes.hosts, "broadcast_quarter_us", 1000))
        )
    says = "with domains on a bus the time grows linearly"
    claims = [_of_times(_is_linear(remote, f"{says} (to one server)", "µs"), remote)]
    claims += [_of_times(_is_linear(line, f"{says} ({kind})", "ms"), line) for kind, line in to_all]
    return Figure("11", "with domains, on a bus", shown, claims, notes=[_CORES])


def _gain(rows: Rows, sizes: Sequence[int]) -> Figure:
    one = _compared(rows, sizes, "remote", "to one server", "µs", 1.0)
    all_servers = _compared(rows, sizes, "broadcast", "to all servers", "ms", 1000.0)
    note = (
        "To one server the bus has three hops where flat has one, and each is saved and acknowledged. With clocks of which only "
        "what changed is sent and saved, that costs more than the larger clock. What domains save is in stamps, on disk and in "
        "memory, below, and in messages to all."
    )
    charts, claims = [one[0], all_servers[0]], [one[1], all_servers[1]]
    return Figure("12", "with and without domains", charts, claims, notes=[note])


def _compared(
    rows: Rows, sizes: Sequence[int], name: str, kind: str, unit: str, scale: float
) -> tuple[Chart, Claim]:
    lines = [_line(shape, rows, shape, sizes, f"{name}_quarter_us", scale) for shape in ("flat", "bus")]
    flat, bus = (line.points[-1].y for line in lines)
    because = f"with {sizes[-1]} servers: flat {_short(flat)} {unit}, bus {_short(bus)} {unit}"
    claim = Claim(f"domains bring a clear gain ({kind})", bus < flat, because)
    return Chart(f"round trip {kind}", "servers", unit, lines), claim


def _stamps(rows: Rows, sizes: Sizes) -> Figure:
    def line(shape: str, field: str) -> Series:
        return _line(shape, rows, shape, sizes.counts if shape != "flat" else sizes.flat_counts, field)

    entries = [line(shape, "stamp_entries_per_message") for shape in SHAPES]
    memory = [line(shape, "clock_bytes_per_node") for shape in SHAPES]
    size = max({*sizes.flat_counts} & {*sizes.counts})
    flat, bus = (rows[shape, size][0]["stamp_bytes_per_message"] for shape in ("flat", "bus"))
    most = max(sizes.counts)
    bytes_then = [rows[shape, most][0]["stamp_bytes_per_message"] for shape in SHAPES[1:]]
    told = ", ".join(f"{shape} {count:,.0f}" for shape, count in zip(SHAPES[1:], bytes_then, strict=True))
    return Figure(
        "",
        "entries and bytes of stamps, and of clocks",
        [
            Chart("entries of the stamps of a message, all hops", "servers", "entries", entries, True, True),
            Chart("clocks of a server, as saved in full", "servers", "bytes", memory, True, True),
        ],
        [
            _is_quadratic(entries[0], "without domains the stamps of a message are O(n²)", "entries"),
            _is_linear(entries[1], "on a bus they are linear in n", "entries"),
            Claim(
                "domains reduce what is sent for clocks",
                bus < flat,
                f"with {size} servers {flat:,.0f} bytes a message flat, {bus:,.0f} on a bus; with {most} servers: {told}",
            ),
        ],
        notes=[
            _COUNTED,
        ],
    )


def _disk(rows: Rows, sizes: Sequence[int]) -> Figure:
    clock = [
        _line(shape, rows, shape, sizes, "clock_disk_bytes_per_message", 1024) for shape in ("flat", "bus")
    ]
    queues = [
        _line(shape, rows, shape, sizes, "other_disk_bytes_per_message", 1024) for shape in ("flat", "bus")
    ]
    flat, bus = (line.points[-1].y for line in clock)
    return Figure(
        "",
        "what is written to disk for the clock",
        [
            Chart("written for clocks, a message over all its hops", "servers", "KiB", clock),
            Chart("written for queues, a message over all its hops", "servers", "KiB", queues),
        ],
        [
            Claim(
                "domains reduce the disk activity that clocks need",
                bus < flat,
                f"with {sizes[-1]} servers: flat {flat:,.0f} KiB a message, bus {bus:,.0f} KiB",
            ),
            _is_linear(clock[1], "with domains it is linear in n", "KiB"),
        ],
        notes=[
            _PAGES,
        ],
    )
