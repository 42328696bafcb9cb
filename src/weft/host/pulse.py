"""Does the machine at the other end of a connection still answer?

A process that ends closes its connections, however it ends: its peer hears of it at once.  A machine without power, or behind a
pulled cable, says nothing; nor does a process that computes, waits in a debugger or was stopped.  The difference is that the
system of such a process still answers for it.  So the system asks while nothing is under way (keepalive probes), and while
something is, TCP sends it again and again.  Whether that was answered the system knows (TCP_INFO of Linux):

    retransmissions, and nothing received since the last of them    the machine does not answer
    retransmissions or probes that were answered                    it does, but the process reads nothing

TCP_USER_TIMEOUT would not tell the two apart: it also ends connections to processes that do not read.
"""

from __future__ import annotations

import contextlib
import socket
import struct
from typing import Final, Protocol

from weft.host import system

GONE: Final = 8.0
"""Seconds without an answer after which a machine counts as gone."""
QUIET: Final = 2.0
"""Seconds without a word, after which it is looked whether the other machine is there."""
_IDLE: Final = 3  # seconds without traffic before the system asks
_PROBES: Final = 5  # one a second: GONE in all
# So often at least it was looked: a program that was itself stopped knows nothing of the time between.
_LOOKS: Final = 4
_INFO: Final = struct.Struct("=8B13I")
_SINCE_SENT: Final = 8 + 9
_SINCE_RECEIVED: Final = 8 + 12


class Probed(Protocol):
    """A socket, or what stands for one."""

    def setsockopt(self, level: int, option: int, value: int, /) -> None: ...

    def getsockopt(self, level: int, option: int, size: int, /) -> bytes: ...


def keep_alive(found: Probed) -> None:
    """Let the system ask whether the other machine is there, and end the connection if not."""
    with contextlib.suppress(OSError):  # no TCP, or it is gone already
        found.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        found.setsockopt(socket.IPPROTO_TCP, getattr(socket, "TCP_KEEPIDLE", 0x10), _IDLE)
        found.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 1)
        found.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, _PROBES)


def is_unanswered(info: bytes) -> bool:
    """Has something been sent, and sent again, without an answer?"""
    if len(info) < _INFO.size:
        return False
    told = _INFO.unpack_from(info)
    retransmits, probes = int(told[2]), int(told[3])
    return probes > 0 or (retransmits > 0 and int(told[_SINCE_RECEIVED]) > int(told[_SINCE_SENT]))


class Pulse:
    """To be looked at about once a second."""

    def __init__(self, patience: float = GONE) -> None:
        self._patience = patience
        self._since = 0.0
        self._looks = 0

    def gone(self, found: Probed, now: float) -> float:
        """For how long the other machine has answered nothing, if it counts as gone; 0: it does not."""
        if not system.SILENCE:
            return 0.0
        try:
            info = found.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO.size)
        except OSError:
            return 0.0  # whoever reads or writes next finds out
        return self.look(info, now)

    def look(self, info: bytes, now: float) -> float:
        if not is_unanswered(info):
            self._looks = 0
            return 0.0
        self._looks += 1
        if self._looks == 1:
            self._since = now
        away = now - self._since
        return away if away >= self._patience and self._looks >= _LOOKS else 0.0


def gone_by(error: BaseException | None) -> float:
    """For how long the other machine had answered nothing when the system gave the connection up for this reason."""
    return GONE if isinstance(error, TimeoutError) else 0.0
