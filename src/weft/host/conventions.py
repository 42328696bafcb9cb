"""What Weft's client and server agree on beside the standard's wire: words in settings and credentials."""

from __future__ import annotations

OPERATOR = "WeftOperator"
"""The type of the credentials by which an operator connects: with the key of the server."""
GATHER_ANSWERS = "Weft.gatherAnswers=true"
"""By this setting a client tells Weft that it does not wait for the answers to its updates and interactions."""
SORTS_CALLBACKS = "Weft.sortsCallbacks=true"
"""By this one, that it sorts what waits for its federate by urgency, and answers callbacks with a deadline when they are over."""
