"""`weft prove` at a server that somebody runs."""

from __future__ import annotations

import socket

import pytest

from weft.cli import main


def test_nobody_there_is_told_once_and_is_no_difference(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2: it could not be tried (docs/how-to/proving.md); not a finding for each of twenty scripts."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        assert main(["prove", f"127.0.0.1:{taken.getsockname()[1]}"]) == 2
    told = capsys.readouterr()
    assert not told.out
    assert len(told.err.splitlines()) == 1
    assert "Is `weft serve` running" in told.err
