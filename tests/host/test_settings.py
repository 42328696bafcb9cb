"""Settings of servers and clients: which source wins, and what is said of a bad one."""

from __future__ import annotations

from pathlib import Path

import pytest

from weft.fom import ObjectModel, parse_rid
from weft.host.client.settings import client_settings
from weft.host.server.guard import hash_password, read_password_file, verify_password
from weft.host.settings import MeshDdmSettings, load_settings, read_rid
from weft.interest import Spaces, read_ddm_settings
from weft.model.errors import ConnectionFailed, SettingsError
from weft.model.records import RtiConfiguration


def test_flag_over_environment_over_file_over_default() -> None:
    text = "[serve]\nport = 1\nhost = 'a'\ntls_port = 1\n[limits]\nsilence_seconds = 3\n"
    found = load_settings(
        {"serve.port": 3, "serve.host": None},
        {"WEFT_SERVE_PORT": "2", "WEFT_SERVE_HOST": "b"},
        text,
        "weft.toml",
    )
    assert (found.serve.port, found.serve.host, found.serve.tls_port) == (3, "b", 1)
    assert found.limits.silence_seconds == 3
    assert found.limits.sessions == load_settings({}, {}).limits.sessions


@pytest.mark.parametrize(
    ("text", "environment", "said"),
    [
        ("[serve\n", {}, "weft.toml"),
        ("[server]\nport = 1", {}, r"no section \[server\]"),
        ("[serve]\nprot = 1", {}, "no setting serve.prot"),
        ("[serve]\nport = 'x'", {}, "serve.port is 'x'; it must be of type int"),
        ("", {"WEFT_SERVE_PORT": "many"}, "WEFT_SERVE_PORT is 'many'"),
        ("[ddm]\ndeclarations = 'all'", {}, "ddm.declarations is 'all'; it must be one of off, timed, regul"),
        ("", {"WEFT_SECURITY_CLEAR_TEXT_PASSWORDS": "maybe"}, "must be true or false"),
    ],
)
def test_a_bad_setting_is_named(text: str, environment: dict[str, str], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        load_settings({}, environment, text, "weft.toml")


def test_declarations_by_logical_time_with_and_without_a_rid_file(tmp_path: Path) -> None:
    """S4-21: the setting is a form of the RID file, which travels with a federation."""
    assert read_rid(MeshDdmSettings()) is None
    spaces = Spaces(ObjectModel())
    alone = read_rid(MeshDdmSettings(declarations="regulating"))
    assert alone is not None
    found = read_ddm_settings(parse_rid(alone), spaces)
    assert (found.declarations, found.strategy) == ("Regulating", "Exact")
    file = tmp_path / "two.rid"
    file.write_text("(RTI (DataDistribution (StrategyToUse Simple)))")
    both = read_rid(MeshDdmSettings(rid=str(file), declarations="timed"))
    assert both is not None
    found = read_ddm_settings(parse_rid(both), spaces)
    assert (found.declarations, found.strategy) == ("Timed", "Simple")


def test_where_a_client_connects() -> None:
    """FEDPRO section 5: defaults, FEDPRO_CLIENT_SETTINGS, connect, FEDPRO_CLIENT_OVERRIDES."""
    environment = {
        "FEDPRO_CLIENT_SETTINGS": "connect.hostname=low,FED_INT_HEART=7,asyncUpdates=true",
        "FEDPRO_CLIENT_OVERRIDES": "connect.port=99",
    }
    given = RtiConfiguration("", "tls://mid:5", "FedPro.connect.timeout=4\nother=1,FED_TIMEOUT_HEART=8")
    settings, rest = client_settings(given, environment)
    assert settings.where == "tls://mid:99"
    assert (settings.heartbeat, settings.silence, settings.timeout, settings.async_updates) == (7, 8, 4, True)
    assert (rest.rti_address, rest.additional_settings) == ("", "other=1")


@pytest.mark.parametrize(
    ("address", "where"),
    [
        ("host", "tcp://host:15164"),
        ("host:7", "tcp://host:7"),
        ("tls://host", "tls://host:15165"),
        ("ws://host:8", "websocket://host:8"),
        ("wss://host", "websocketsecure://host:443"),
        ("[::1]:9", "tcp://::1:9"),
        (":9", "tcp://localhost:9"),
    ],
)
def test_addresses(address: str, where: str) -> None:
    assert client_settings(RtiConfiguration(rti_address=address), {})[0].where == where


@pytest.mark.parametrize(
    ("address", "more", "said"),
    [
        ("ftp://host", "", "not ftp"),
        ("host:port", "", "is no address"),
        ("host", "FedPro.nonsense=1", "no setting 'nonsense'"),
        ("host", "FedPro.connect.port=x", "connect.port cannot be 'x'"),
        ("host", "word", "write key=value"),
        ("host", "FedPro.connect.protocol=udp", "speaks"),
    ],
)
def test_a_bad_client_setting_is_named(address: str, more: str, said: str) -> None:
    with pytest.raises(ConnectionFailed, match=said):
        client_settings(RtiConfiguration("", address, more), {})


def test_passwords_are_kept_as_hashes() -> None:
    stored = hash_password("sesame")
    assert "sesame" not in stored
    assert verify_password("sesame", stored)
    assert not verify_password("Sesame", stored)
    assert stored != hash_password("sesame")


@pytest.mark.parametrize(
    "text", ["[users", "", "[users.a]\npassword = 'clear'", "[users.a]\npasword = 'scrypt$1$1$1$a$b'"]
)
def test_a_bad_password_file_is_named(text: str) -> None:
    with pytest.raises(SettingsError, match=r"users\.toml"):
        read_password_file(text, "users.toml")


@pytest.mark.parametrize(
    "place",
    ["serve.port", "serve.tls_port", "serve.ws_port", "serve.wss_port", "console.port", "ddm.multicast_port"],
)
@pytest.mark.parametrize("port", [-1, 65536, 99999])
def test_what_is_no_port_is_refused(place: str, port: int) -> None:
    """A socket would take the rest of a number that is too large, and nobody would find the server."""
    with pytest.raises(SettingsError, match=rf"{place} is {port}; it must be a port number"):
        load_settings({place: port}, {})
