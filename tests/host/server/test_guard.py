"""A guard of one's own, named in the settings."""

from __future__ import annotations

import pytest

from weft.host.server.guard import Guard, own_guard
from weft.host.server.server import Server
from weft.host.settings import load_settings
from weft.model.errors import SettingsError, Unauthorized


class Examiners(Guard):
    def may_join(self, who: str, federation: str, name: str, kind: str) -> None:
        if kind != "examiner":
            raise Unauthorized(f"{name} is no examiner")


class Broken(Guard):
    def __init__(self) -> None:
        raise OSError("no directory server")


def test_the_settings_name_a_guard() -> None:
    """Issue 3, security: an authorizer plug-in."""
    text = f'[security]\nguard = "{__name__}:Examiners"'
    server = Server(load_settings({}, {}, text, "weft.toml"), print)
    with pytest.raises(Unauthorized, match="Ada is no examiner"):
        server.board._guard.may_join("", "Exam", "Ada", "student")
    server.board._guard.may_join("", "Exam", "Ada", "examiner")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_such_module:Guard", "cannot be imported"),
        (f"{__name__}:Nobody", "cannot be imported"),
        ("", "cannot be imported"),
        (f"{__name__}:Broken", "could not be made: OSError.'no directory server'"),
        ("builtins:dict", "is no weft.host.server.guard.Guard"),
    ],
)
def test_what_is_no_guard_is_refused_at_the_start(name: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        own_guard(name)


def test_there_is_one_guard() -> None:
    text = f'[security]\nguard = "{__name__}:Examiners"\npassword_file = "users.toml"'
    with pytest.raises(SettingsError, match="set either"):
        Server(load_settings({}, {}, text, "weft.toml"), print)
