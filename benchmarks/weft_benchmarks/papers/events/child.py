"""Measurements in a process of their own, which tells what it has found bit by bit.

A measurement takes one core, or another place in the machine's scheduler: that must not stay with the one that asks for it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from weft.model.json_types import Json
from weft_benchmarks.runner import environment

# Seconds for a process to end that has said all.
_PATIENCE = 120.0

T = TypeVar("T")


def found_by(make: Callable[..., T], function: str, *arguments: Json) -> Iterator[T]:
    """What is made of the arguments that a function "module:name" yields in a process of its own, one by one."""
    module, name = function.split(":")
    code = f"from {module} import {name}; from {__name__} import tell; tell({name})"
    with tempfile.TemporaryFile("w+") as complaint:
        child = subprocess.Popen(
            [sys.executable, "-c", code, json.dumps(arguments)],
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=complaint,
            text=True,
        )
        try:
            assert child.stdout is not None
            for line in child.stdout:
                yield make(*json.loads(line))
            if child.wait(_PATIENCE):
                complaint.seek(0)
                raise RuntimeError(f"the measurement {function} failed:\n{complaint.read()}")
        finally:
            child.kill()
            child.communicate()


def tell(function: Callable[..., Iterable[Json]]) -> None:
    """In the process of the measurement."""
    for found in function(*json.loads(sys.argv[1])):
        print(json.dumps(found), flush=True)
