"""What JSON can say, as a type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias, Union

Json: TypeAlias = Union[None, bool, int, float, str, Sequence["Json"], Mapping[str, "Json"]]
"""To be read."""
JsonObject: TypeAlias = dict[str, Json]
