"""What not every system has, and whether it is used here; WEFT_PORTABLE=1 does without all of it, as where there is none.

For each there is a portable form, which does the same, and a test that forces it:

    constant         who has it       what for                                       the portable form
    EPOLL            Linux            a node's loop asks it itself (`host.loop`)     asyncio's selector, by `select`
    SOCKET_NAPS      Linux, 64 bits   a socket that wakes its reader (`streams`)     a look before each read
    SHARED_MEMORY    Linux            rows for the process that writes (`writers`)   a pipe
    HANDED_SOCKETS   POSIX            the console's, opened by its parent            the child opens it, a moment later
    FILE_LOCKS       POSIX            who writes to a spool (`files.locks`)          SQLite's locks
    FORKED_WORKERS   Linux            consumers in processes (`Preemptive`)          none: it says which dispatcher to take
    REALTIME         Linux            SCHED_FIFO (`dispatch.standing`)               niceness, or nothing
    SILENCE          Linux            whom a machine answers (`pulse`)               keepalive alone, which takes as long
    ALLOCATOR        glibc            memory given back (`memory`)                   nothing
"""

from __future__ import annotations

import os
import select
import socket
import struct
import sys
from typing import Final

PORTABLE: Final = bool(os.environ.get("WEFT_PORTABLE"))
_LINUX: Final = sys.platform.startswith("linux") and not PORTABLE
_POSIX: Final = os.name == "posix" and not PORTABLE

EPOLL: Final = _LINUX and hasattr(select, "epoll")
SOCKET_NAPS: Final = _LINUX and struct.calcsize("l") == 8
SHARED_MEMORY: Final = _LINUX and hasattr(os, "memfd_create")
HANDED_SOCKETS: Final = _POSIX
FILE_LOCKS: Final = _POSIX
FORKED_WORKERS: Final = _LINUX and hasattr(os, "pidfd_open") and hasattr(socket, "SOCK_SEQPACKET")
REALTIME: Final = _LINUX and hasattr(os, "sched_setscheduler")
SILENCE: Final = _LINUX and hasattr(socket, "TCP_INFO")
ALLOCATOR: Final = _LINUX
