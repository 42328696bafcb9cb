"""What is wrong with a peer.  Not compiled: mypyc drops the texts of classes, and `weft errors` shows them."""

from __future__ import annotations

from weft.model.errors import WeftError


class ProtocolError(WeftError):
    """The peer broke the Federate Protocol; the message says what came and what was expected."""
