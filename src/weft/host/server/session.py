"""A session of the Federate Protocol as its server sees it (`server.serving`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.host.causes import Causes
from weft.host.connection import Line
from weft.host.server.backlog import Backlog
from weft.kernel import Lane
from weft.wire.codec.codec import ServiceCodec
from weft.wire.codec.hot_fields import has_handles
from weft.wire.session.frames import NONE
from weft.wire.session.server import ServerSession

if TYPE_CHECKING:
    from mypy_extensions import i64


class SplicedLane:
    """A lane, and what is spliced to the messages that go along it."""

    def __init__(
        self,
        target: int,
        is_update: bool,
        handles: list[int],
        way: Lane | None,
        generation: int,
        receivers: list[Served],
        tail: bytes,
    ) -> None:
        self.target = target  # the class or instance
        self.is_update = is_update
        self.handles = handles  # the parameters or attributes
        self.way = way  # None: there is no lane, and none is looked for until the generation changes
        self.generation = generation
        self.receivers = receivers
        self.tail = tail
        self.length = -1  # of the last message
        self.head = b""  # of a callback of this length

    def suits(self, target: int, is_update: bool, data: bytes, content: i64, end: i64) -> bool:
        """Is this the lane of the call whose fields are there?"""
        if self.target != target or self.is_update != is_update:
            return False
        return has_handles(data, content, end, self.handles)


class Served:
    """One session of the Federate Protocol, and the federate behind it."""

    def __init__(self, wire: ServerSession, line: Line, number: int, now: float = 0.0) -> None:
        self.wire = wire
        self.line: Line | None = line
        self.secure = line.secure
        self.address = line.address  # where it began: of whom it takes a place
        self.connecting = False  # it is being found out who it is
        self.silent = False  # nothing has been heard for a while
        self.began = now
        self.admitted = False  # it has connected, in the standard's sense, once at least
        self.number = number  # how the log calls it; the session id is a secret
        self.codec = ServiceCodec()
        self.kernel_session = 0  # 0: not connected, in the standard's sense
        self.calls: dict[int, int] = {}  # unanswered: the frame's number -> the number of the call
        self.dirty = False
        self.held = False  # its client takes nothing: what is for it gathers, until there is room again
        self.heard = False
        self.look_at = 0  # when so many bytes have gathered, it is looked whether it is too slow
        self.slow = False
        self.joining = NONE  # the number of a call to join that is under way
        self.pauses: dict[int, str] = {}  # callbacks that pause the federate, and that it has not answered
        self.federate = ""  # who it is, as the guard says
        self.operator = False  # it has shown the operator key
        self.federation = ""
        self.patient = False  # it does not wait for the answers to its updates and interactions
        self.answers_wait = False
        self.lane: SplicedLane | None = None  # the one used last
        self.lanes: dict[int, list[SplicedLane]] = {}  # by class or instance
        self.backlog: Backlog | None = None  # since there was something urgent for it
        self.sorts = False  # its client sorts what waits for the federate
        self.resigning = NONE  # the number of a call to resign that is under way
        self.causes: Causes | None = None  # if what happens here is recorded
        self.caused = False  # does its member have a cause just now?
        # For surveys (`observing.survey`).
        self.calls_made = 0
        self.bytes_in = 0
        self.bytes_out = 0
        self.last_callback = b""  # how it begins
        self.callback_at = 0.0  # when it went out

    @property
    def unread(self) -> int:
        """Bytes that wait to be taken by the client."""
        waiting = 0 if self.line is None else self.line.queued()
        if self.held:
            waiting += self.wire.untaken_bytes
        return waiting if self.backlog is None else waiting + self.backlog.bytes
