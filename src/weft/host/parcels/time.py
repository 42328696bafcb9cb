"""What nodes say of logical time as bytes: a report and a bound for each federate and step, so in a form of their own.

byte       REPORT                                          BOUND
varint     the boot of the sender's node
varint, …  the federation and its execution, as in `parcels.data`
varint     after which commit
varint     the last version it was told                    the version
…          varint: how many reports                        flags (byte): answer, least, second, if these exclude their time, past
           the reports (`weft.kernel.time.report_codec`)        varint: who alone is behind
           what was sent to other nodes: of each           least, second and past, if there are
           varint: size of the name, name, time stamp      the reports of those behind, to the end
"""

from __future__ import annotations

from typing import Final

from weft.host.parcels.data import head_of, names_at, read_varint, varint
from weft.host.parcels.plain import ParcelError
from weft.kernel.state.parcels import TimeBound, TimeReport
from weft.kernel.state.time_state import Report, View
from weft.kernel.time.report_codec import are_reports, pack_number, pack_report, unpack_number, unpack_report
from weft.ordering.galt import Bound

REPORT: Final = 20
BOUND: Final = 21
_ANSWER: Final = 1
_LEAST: Final = 2
_LEAST_OVER: Final = 4
_SECOND: Final = 8
_SECOND_OVER: Final = 16
_PAST: Final = 32


def encode_report(parcel: TimeReport, boot: int) -> bytes:
    parts = [
        b"\x14",
        varint(boot),
        head_of(parcel.federation, parcel.execution),
        varint(parcel.after),
        varint(parcel.seen),
        varint(len(parcel.reports)),
    ]
    parts += [pack_report(report) for report in parcel.reports]
    for node, stamp in parcel.announced:
        name = node.encode("utf-8", "surrogatepass")
        parts.append(varint(len(name)))
        parts.append(name)
        parts.append(pack_number(stamp))
    return b"".join(parts)


def decode_report(data: bytes, at: int) -> TimeReport:
    """`at`: behind the boot."""
    names, at = names_at(data, at)
    after, at = read_varint(data, at)
    seen, at = read_varint(data, at)
    count, at = read_varint(data, at)
    reports: list[Report] = []
    for _ in range(count):
        report, at = unpack_report(data, at)
        reports.append(report)
    announced = []
    while at < len(data):
        size, at = read_varint(data, at)
        name = data[at : at + size]
        if len(name) != size:
            raise ParcelError("the name of a node ends too soon")
        stamp, at = unpack_number(data, at + size)
        announced.append((name.decode("utf-8", "surrogatepass"), stamp))
    return TimeReport(names[0], names[1], after, seen, tuple(reports), tuple(announced))


def encode_bound(parcel: TimeBound, boot: int) -> bytes:
    least, second = parcel.view.least, parcel.view.second
    flags = _ANSWER if parcel.answer else 0
    if least is not None:
        flags |= _LEAST | (_LEAST_OVER if least[1] else 0)
    if second is not None:
        flags |= _SECOND | (_SECOND_OVER if second[1] else 0)
    if parcel.past is not None:
        flags |= _PAST
    return b"".join(
        [
            b"\x15",
            varint(boot),
            head_of(parcel.federation, parcel.execution),
            varint(parcel.after),
            varint(parcel.version),
            bytes([flags]),
            varint(parcel.view.alone),
            b"" if least is None else pack_number(least[0]),
            b"" if second is None else pack_number(second[0]),
            b"" if parcel.past is None else pack_number(parcel.past),
            parcel.behind,
        ]
    )


def decode_bound(data: bytes, at: int) -> TimeBound:
    """`at`: behind the boot."""
    names, at = names_at(data, at)
    after, at = read_varint(data, at)
    version, at = read_varint(data, at)
    flags = data[at]
    alone, at = read_varint(data, at + 1)
    least: Bound | None = None
    second: Bound | None = None
    if flags & _LEAST:
        time, at = unpack_number(data, at)
        least = (time, 1 if flags & _LEAST_OVER else 0)
    if flags & _SECOND:
        time, at = unpack_number(data, at)
        second = (time, 1 if flags & _SECOND_OVER else 0)
    past = None
    if flags & _PAST:
        past, at = unpack_number(data, at)
    behind = data[at:]
    if flags > 63 or not are_reports(behind):
        raise ParcelError("a bound of logical time that is none")
    view = View(least, alone, second)
    return TimeBound(names[0], names[1], after, version, view, behind, flags & _ANSWER != 0, past)
