"""`weft.join` at servers that ask for a password (docs/how-to/tls.md): it gets in wherever `connect` does, or says what to do."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from support.server_in_thread import Running, serving
from weft import Credentials
from weft.cli.data import object_model
from weft.host.server.guard import Guard, PasswordGuard, User, hash_password, read_password_file
from weft.model.errors import InvalidCredentials, Unauthorized

USERS = f"""
[users.alice]
password = "{hash_password("a long secret")}"
[users.bob]
password = "{hash_password("a guest's")}"
create = false
federations = ["Range"]
"""
BOB = Credentials.password("bob", "a guest's")


def guard(clear_text: bool = True) -> Guard:
    return read_password_file(USERS, "users.toml", clear_text)


pytestmark = pytest.mark.usefixtures("told_to")


@pytest.fixture
def told_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without TLS a client sends a password only if it is told to."""
    monkeypatch.setenv("FEDPRO_CLIENT_SETTINGS", "connect.clearTextPassword=true")


def join(running: Running, federation: str = "Range", **more: Any) -> weft.Federate:
    return weft.join(federation, fom=object_model("range.xml"), rti=running.address(), **more)


def members(federate: weft.Federate) -> int:
    return len(federate.rti.query_status()[0]["federates"])


def test_user_and_password_open_the_server() -> None:
    """Also as credentials; and who may not create joins what others have created, and leaves it in peace."""
    with serving(guard()) as running, join(running, user="alice", password="a long secret") as alice:
        with join(running, credentials=BOB):
            assert members(alice) == 2
        assert members(alice) == 1


def test_a_user_who_may_not_destroy_is_the_last_to_leave() -> None:
    """It stays, for somebody who may."""
    with serving(guard()) as running:
        alice = join(running, user="alice", password="a long secret")
        alice.join()
        with join(running, credentials=BOB):
            alice.resign()
        assert running.ask(lambda server: list(server.board.node.federations)) == ["Range"]
        with alice:
            pass
        assert running.ask(lambda server: list(server.board.node.federations)) == []


@pytest.mark.parametrize(
    ("clear_text", "more", "error", "says"),
    [
        (True, {}, InvalidCredentials, "join with user= and password="),
        (True, {"user": "alice", "password": "a guess"}, InvalidCredentials, "unknown name or wrong password"),
        (False, {"credentials": BOB}, InvalidCredentials, "use the TLS port"),
        (True, {"credentials": BOB}, Unauthorized, "bob may not create .* join after somebody who may"),
        (True, {"credentials": BOB, "federation": "Harbour"}, Unauthorized, "may not use federation"),
    ],
)  # fmt: skip
def test_a_refusal_says_what_to_do(
    clear_text: bool, more: dict[str, Any], error: type[Exception], says: str
) -> None:
    with serving(guard(clear_text)) as running:
        with pytest.raises(error, match=says):
            join(running, **more).join()
        assert running.ask(lambda server: not server.board.node.federations)


def test_a_server_without_a_password_file_refuses_a_password() -> None:
    """What nobody checks is not ignored."""
    with serving() as running, pytest.raises(InvalidCredentials, match="no password file"):
        join(running, user="alice", password="x").join()


@pytest.mark.parametrize(
    "more",
    [
        {"user": "alice"},
        {"password": "x"},
        {"user": "alice", "password": "x", "credentials": BOB},
        {"user": "a:b", "password": "x"},
        {"user": "alice", "password": "\ud800"},
    ],
)
def test_half_of_it_is_refused_before_anybody_is_asked(more: dict[str, Any]) -> None:
    with pytest.raises(InvalidCredentials):
        weft.join("Range", fom=object_model("range.xml"), rti="127.0.0.1:1", **more)


def test_a_password_is_not_shown() -> None:
    made = weft.join("Range", fom=object_model("range.xml"), user="alice", password="a long secret")
    assert "secret" not in f"{Credentials.password('alice', 'a long secret')!r}{vars(made)!r}"


@given(
    user=st.text(min_size=1).filter(lambda text: ":" not in text),
    password=st.text(),
)
def test_what_a_federate_shows_is_what_the_guard_reads(user: str, password: str) -> None:
    """Any text, whatever characters: the guard finds the very user, and the very password."""
    checks = PasswordGuard({user: User("kept")}, clear_text_allowed=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "weft.host.server.guard.verify_password", lambda given, kept: (given, kept) == (password, "kept")
        )
        assert checks.admit(Credentials.password(user, password), secure=False) == user
