"""The standard's services as facts: `services.json`, which belongs to the project's workshop and not to the repository.

`WEFT_SPEC` names its folder where it is not beside the repository; without it the checks against it are skipped.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

SPEC = Path(os.environ.get("WEFT_SPEC") or Path(__file__).parents[3] / "shared" / "spec") / "services.json"
_ACRONYMS = {"MIM": "Mim", "GALT": "Galt", "LITS": "Lits", "HLAv": "HlaV", "DDM": "Ddm", "RTI": "Rti"}


def standard(part: str) -> list[dict[str, Any]]:
    if not SPEC.exists():
        pytest.skip(f"{SPEC} is not here: it belongs to the project's workshop, not to the repository")
    found: list[dict[str, Any]] = json.loads(SPEC.read_text())[part]
    return found


def snake(name: str) -> str:
    for acronym, plain in _ACRONYMS.items():
        name = name.replace(acronym, plain)
    return re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()
