"""Which message a federate behind a server is handling when it calls: what the recorder says of the cause of what it sends.

A server sees callbacks leave and calls come, and not what happens between.  What it knows depends on the client:

* Weft's own client answers a callback when it has read it, long before its federate takes it.  If the server records, it says so
  when the client connects; from then on the client answers a callback *once more* before each call that its federate makes while
  it handles that callback.  So the call is known to be caused by it, and one without that to be caused by none.
* Any other client answers a callback when its federate has dealt with it.  So the first one that it has received (its frames say
  up to where) and not answered is the one that its federate handles, if it handles one at all.  A federate that calls between
  callbacks, while some wait in its client to be evoked, is thus taken to handle the first of these.
"""

from __future__ import annotations

from array import array
from collections import deque
from typing import Final, TypeAlias

from weft.wire.session.frames import HALF, LAST_NUMBER, NONE

RECORDED: Final = "Weft, recording"
"""What `connect` answers a client that is to name causes."""
_FEW: Final = 16
_SLOTS: Final = 4096  # callbacks of which is known what they were, if there are so many
_NOBODY: Final = (0, 0)


class NamedCauses:
    """The client names them.

    Of one session: what its callbacks were, by the numbers of their frames; `source` and `message` 0: no message.
    """

    def __init__(self) -> None:
        # By the number of a frame, modulo how many there are; they are as many as a session needs, since there may be a thousand.
        self._slots = _FEW
        self._frames = array("i", [NONE]) * _FEW
        self._sources = array("q", [0]) * _FEW
        self._messages = array("q", [0]) * _FEW
        self._answered = NONE
        self._named = NONE

    def put(self, frame: int, source: int, message: int) -> None:
        """A callback goes out."""
        slot = frame % self._slots
        if self._slots < _SLOTS and self._frames[slot] != NONE:
            self._grow()
            self.put(frame, source, message)
            return
        self._frames[slot] = frame
        self._sources[slot] = source
        self._messages[slot] = message

    def _grow(self) -> None:
        """Twice as many: what was in one slot is in this one or its double, so nobody loses his."""
        frames, sources, messages = self._frames, self._sources, self._messages
        self._slots *= 2
        self._frames = array("i", [NONE]) * self._slots
        self._sources = array("q", [0]) * self._slots
        self._messages = array("q", [0]) * self._slots
        for old, frame in enumerate(frames):
            if frame != NONE:
                slot = frame % self._slots
                self._frames[slot] = frame
                self._sources[slot] = sources[old]
                self._messages[slot] = messages[old]

    def answered(self, frame: int, ended: bool) -> None:
        """The client has answered; `ended`: a callback of which it was to say when that is over."""
        if ended:
            return
        if self._answered == NONE or 0 < (frame - self._answered) & LAST_NUMBER < HALF:
            self._answered = frame
        else:
            self._named = frame

    def cause(self, received: int) -> tuple[int, int]:
        """Of the call that has come just now: source and number; `received`: up to where the client had read then."""
        named = self._named
        if named == NONE:
            return _NOBODY
        self._named = NONE
        slot = named % self._slots
        if self._frames[slot] != named:
            return _NOBODY  # too long ago
        return self._sources[slot], self._messages[slot]


class AnsweredCauses:
    """The client answers when its federate has dealt with a callback."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[int, int, int]] = deque()

    def put(self, frame: int, source: int, message: int) -> None:
        self._waiting.append((frame, source, message))

    def answered(self, frame: int, ended: bool) -> None:
        waiting = self._waiting
        while waiting and (frame - waiting[0][0]) & LAST_NUMBER < HALF:
            waiting.popleft()

    def cause(self, received: int) -> tuple[int, int]:
        if not self._waiting or received == NONE:
            return _NOBODY
        frame, source, message = self._waiting[0]
        return (source, message) if (received - frame) & LAST_NUMBER < HALF else _NOBODY


Causes: TypeAlias = NamedCauses | AnsweredCauses
