"""One reader of operator keys (docs/how-to/steering.md): whichever command reads one says the same of a file that is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from weft.cli import main
from weft.host.conventions import OPERATOR
from weft.host.operator_keys import key_of_run, newest_key, operator_credentials
from weft.host.server.guard import OperatorKey
from weft.model.errors import SettingsError

COMMANDS = (
    ["steer", "pause", "Range"], ["console", "127.0.0.1:1"], ["status", "127.0.0.1:1"], ["top", "127.0.0.1:1"],
)  # fmt: skip
FAULTS = {
    "nowhere": "No such file or directory",
    "empty": "there is no key in it",
    "words": "this is no operator key, which is one word",
    "binary": "this is no operator key, which is one word",
    "folder": "Is a directory",
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize(
    ("option", "command"), [(option, one) for option in ("--operator-key", "--key") for one in COMMANDS]
)
def test_every_command_says_the_same(
    option: str,
    command: list[str],
    fault: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The flag has one name everywhere; the old one is understood."""
    monkeypatch.chdir(tmp_path)
    Path("empty").write_text(" \n")
    Path("words").write_text("two words\n")
    Path("binary").write_bytes(b"\xff\xfe")
    Path("folder").mkdir()
    assert main([*command, option, fault]) == 2
    where = "operator.key in the run directory that the server names when it starts"
    assert capsys.readouterr().err == f"weft: --operator-key {fault}: {FAULTS[fault]}; it is {where}\n"


def test_what_a_server_keeps_is_what_an_operator_reads(tmp_path: Path) -> None:
    """And without a server, or before and after it, there is none."""
    assert key_of_run(tmp_path) == ""
    kept = OperatorKey(str(tmp_path / "run"))
    kept.keep()
    shown = operator_credentials(newest_key(tmp_path))
    assert shown.type == OPERATOR
    assert shown.data.decode() == key_of_run(tmp_path / "run")
    kept.admit(shown, secure=True)
    (tmp_path / "run" / "operator.key").write_text("")
    assert key_of_run(tmp_path / "run") == ""
    kept.remove()
    with pytest.raises(SettingsError, match=r"no operator\.key below"):
        newest_key(tmp_path)
