"""`weft doctor`: what it finds, as text and as JSON, and when it fails."""

from __future__ import annotations

import importlib.util
import json
import platform
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest

import weft
from weft.cli import main
from weft.cli.reference import doctor

SUBJECTS = [
    "python",
    "weft",
    "hot modules",
    "event loop",
    "federation",
    "preemption",
    "port 15164",
    "port 15165",
    "java",
    "spark",
]


def test_a_healthy_machine(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 0; one line for each subject, and a conclusion."""
    assert main(["doctor"]) == 0
    *lines, blank, end = capsys.readouterr().out.splitlines()
    assert (blank, end) == ("", "Weft can run federations here.")
    assert len(lines) == len(SUBJECTS)
    for line, subject in zip(lines, SUBJECTS, strict=True):
        assert line[:4] in ("ok  ", "note")
        assert line[6:].startswith(subject)


def test_the_same_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    """For programs: the same findings."""
    assert main(["doctor", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["healthy"] is True
    assert [finding["subject"] for finding in said["findings"]] == SUBJECTS
    assert all(set(finding) == {"subject", "state", "text"} for finding in said["findings"])
    found = {finding["subject"]: finding for finding in said["findings"]}
    assert found["federation"]["state"] == "ok"
    assert weft.__version__ in found["weft"]["text"]


def test_a_federation_that_fails(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 1 when the main job cannot be done, with the reason."""

    def refuse(*arguments: Any, **named: Any) -> None:
        raise RuntimeError("no room")

    monkeypatch.setattr(weft, "join", refuse)
    assert main(["doctor"]) == 1
    said = capsys.readouterr().out
    assert "FAIL  federation" in said
    assert "a trial federation failed: RuntimeError: no room" in said
    assert said.endswith("Weft cannot run federations here.\n")
    assert main(["doctor", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["healthy"] is False


def test_a_federation_that_delivers_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A trial federation must deliver, not only run."""
    monkeypatch.setattr(weft.Federate, "send", lambda *arguments, **named: None)
    finding = doctor._federation()
    assert finding.state == "missing"
    assert "instead of one interaction" in finding.text


def test_an_old_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Too old is a failure."""
    monkeypatch.setattr(platform, "python_version_tuple", lambda: ("3", "10", "9"))
    assert doctor._python().state == "missing"


def test_compiled_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pure Python is a note, with the way to the compiled modules."""
    monkeypatch.setattr(doctor, "is_compiled", lambda: True)
    assert doctor._compiled().text == "compiled"
    monkeypatch.setattr(doctor, "is_compiled", lambda: False)
    monkeypatch.setenv("WEFT_PURE", "1")
    assert "WEFT_PURE" in doctor._compiled().text
    monkeypatch.delenv("WEFT_PURE")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert "no C compiler" in doctor._compiled().text
    monkeypatch.setattr(shutil, "which", lambda name: "/usr/bin/cc")
    assert "make build" in doctor._compiled().text


def test_a_port_that_is_taken() -> None:
    """A taken port is a note: a server would need another."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert doctor._port(port).state == "note"
    assert doctor._port(port).state == "ok"


@pytest.mark.parametrize(
    ("script", "state", "said"),
    [
        ("echo 'openjdk version \"21.0.2\"' >&2", "ok", "21"),
        ("echo 'openjdk version \"1.8.0\"' >&2", "note", "too old"),
        ("echo nonsense >&2", "note", "too old"),
        (None, "note", "not found"),
        ("", "note", "does not run"),
    ],
)
def test_java(
    script: str | None, state: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Java is only needed for reviews: absent, broken or old is a note."""
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    if script is not None:
        java.write_text(f"#!/bin/sh\n{script}\n")
        java.chmod(0o755 if script else 0o644)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    finding = doctor._java()
    assert finding.state == state
    assert said in finding.text


def test_what_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """uvloop and pyspark are notes."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert doctor._event_loop().state == "note"
    assert doctor._spark().state == "note"
