"""What JSON can say, as a type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

Json: TypeAlias = bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"] | None
"""To be read."""
JsonObject: TypeAlias = dict[str, Json]
