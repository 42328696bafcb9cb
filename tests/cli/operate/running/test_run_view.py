"""How a run is shown: colours on a terminal, plain lines elsewhere, of nodes what people should read."""

from __future__ import annotations

import io
import sys

import pytest

from weft.cli.operate.running.view import RunView, entry_of

WARNING = '{"time": "x", "level": "warning", "node": "S1", "event": "link-down", "text": "a link is down"}'
REFUSED = '{"time": "x", "level": "warning", "node": "S1", "event": "refused", "text": "refused"}'
DETAIL = '{"time": "x", "level": "info", "node": "S1", "event": "federate-joined", "text": "joined"}'
NODE = "\x1b[36mnode S1 |\x1b[0m"


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _show(view: RunView) -> None:
    view.line("tug", "says")
    for line in (WARNING, REFUSED, DETAIL, "a traceback"):
        view.node_line("node S1", line, entry_of(line))


def test_on_a_terminal_names_have_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless they are not wanted; and they stand below one another."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    for variable, plain, expected in (
        ("", False, f"\x1b[33m    tug |\x1b[0m says\n{NODE} a link is down\n{NODE} a traceback\n"),
        ("", True, "tug: says\nnode S1: a link is down\nnode S1: a traceback\n"),
        ("1", False, "tug: says\nnode S1: a link is down\nnode S1: a traceback\n"),
    ):  # fmt: skip
        if variable:
            monkeypatch.setenv("NO_COLOR", variable)
        terminal = _Terminal()
        monkeypatch.setattr(sys, "stdout", terminal)
        _show(RunView(["node S1", "tug"], None, plain))
        assert terminal.getvalue() == expected


def test_a_form_shows_all(capsys: pytest.CaptureFixture[str]) -> None:
    """As text on standard output, or as it came on standard error, where each line is an object."""
    _show(RunView(["node S1", "tug"], "text"))
    assert "node S1: refused\nnode S1: joined\n" in capsys.readouterr().out
    _show(RunView(["node S1", "tug"], "json"))
    said = capsys.readouterr()
    assert not said.out
    lines = said.err.splitlines()
    assert lines[1:4] == [WARNING, REFUSED, DETAIL]
    assert all(entry_of(line) is not None for line in lines)
    assert entry_of("{ no json") is None
    assert entry_of("[1]") is None
