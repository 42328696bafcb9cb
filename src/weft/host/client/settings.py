"""How a federate reaches an RTI: the address it names, its settings, and the environment.

From weakest to strongest: defaults, FEDPRO_CLIENT_SETTINGS, the address and additional settings given to `connect`,
FEDPRO_CLIENT_OVERRIDES.  Settings are `key=value`, separated by commas or line breaks.  In the environment keys have no
prefix; in additional settings those for the client begin with `FedPro.` (FED_INT_HEART, FED_TIMEOUT_HEART and
FED_TIMEOUT_RECONNECT may stand without), and the rest is handed on to the RTI.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from weft.model.errors import ConnectionFailed
from weft.model.records import RtiConfiguration

DEFAULT_PORTS = {"tcp": 15164, "tls": 15165, "websocket": 80, "websocketsecure": 443}
_SCHEMES = {"tcp": "tcp", "tls": "tls", "ws": "websocket", "wss": "websocketsecure"}
_BARE = ("FED_INT_HEART", "FED_TIMEOUT_HEART", "FED_TIMEOUT_RECONNECT")


@dataclass(frozen=True)
class ClientSettings:
    host: str = "localhost"  # name or address of the server
    port: int = 0  # 0: that of the protocol, 15164 for tcp, 15165 for tls
    protocol: str = "tcp"  # tcp, tls, websocket or websocketsecure
    timeout: float = 180.0  # seconds that connecting may take
    heartbeat: float = 5.0  # seconds between signs of life while nothing else is sent
    silence: float = 30.0  # seconds that a server may leave signs of life unanswered whose machine is there
    reconnect: float = 12.0  # seconds for which a broken connection is tried to resume; calls wait so long
    retry: float = 1.0  # from one attempt to resume to the next; in milliseconds, 1000 for 1 s
    async_updates: bool = False  # updates, interactions and requests for time do not wait for answers
    tls_mode: str = "SERVER_AUTH"  # SERVER_AUTH checks the certificate, ENCRYPTED takes any
    sni: str = ""  # the name to ask for and to check, where it is not that of connect.hostname
    clear_text: bool = False  # send a password over a connection that others can read: tcp, ws
    ca_file: str = ""  # a PEM file of the authorities to trust; none: those of the system

    @property
    def secure(self) -> bool:
        """Can nobody else read what is sent?"""
        return self.protocol in ("tls", "websocketsecure")

    @property
    def where(self) -> str:
        return f"{self.protocol}://{self.host}:{self.port}"


# key: the field, and how its text is read
_KEYS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "connect.hostname": ("host", str),
    "connect.port": ("port", int),
    "connect.protocol": ("protocol", str),
    "connect.timeout": ("timeout", float),
    "FED_INT_HEART": ("heartbeat", float),
    "FED_TIMEOUT_HEART": ("silence", float),
    "FED_TIMEOUT_RECONNECT": ("reconnect", float),
    "resume.retryDelayMillis": ("retry", lambda text: float(text) / 1000),
    "asyncUpdates": ("async_updates", lambda text: text.lower() == "true"),
    "connect.clearTextPassword": ("clear_text", lambda text: text.lower() == "true"),
    "tls.mode": ("tls_mode", str),
    "tls.sniHostname": ("sni", str),
    "keystore.path": ("ca_file", str),
}
# Of other clients, without a meaning here.
_IGNORED = re.compile(r"(messageQueue|log|keystore)\.|connect\.maxRetryAttempts$|API\.version$")


def client_settings(
    configuration: RtiConfiguration, environment: Mapping[str, str]
) -> tuple[ClientSettings, RtiConfiguration]:
    """How to connect, and the configuration that is left for the RTI."""
    settings = _from_environment(ClientSettings(), environment, "FEDPRO_CLIENT_SETTINGS")
    settings = _address(settings, configuration.rti_address)
    ours, theirs = [], []
    for key, value in pairs(configuration.additional_settings):
        if key.startswith("FedPro.") or key in _BARE:
            ours.append((key.removeprefix("FedPro."), value))
        elif key == "crcAddress":
            settings = _address(settings, value)
        else:
            theirs.append(f"{key}={value}")
    settings = _apply(settings, ours, "the additional settings")
    settings = _from_environment(settings, environment, "FEDPRO_CLIENT_OVERRIDES")
    if settings.protocol not in DEFAULT_PORTS:
        raise ConnectionFailed(
            f"connect.protocol is {settings.protocol!r}; this client speaks {' and '.join(DEFAULT_PORTS)}"
        )
    if settings.port == 0:
        settings = replace(settings, port=DEFAULT_PORTS[settings.protocol])
    return settings, replace(configuration, rti_address="", additional_settings="\n".join(theirs))


def pairs(text: str) -> list[tuple[str, str]]:
    """Settings as they are written: `key=value`, separated by commas or line breaks."""
    found = []
    for item in re.split(r"[,\n]", text):
        key, equals, value = item.strip().partition("=")
        if key and not equals:
            raise ConnectionFailed(f"{item.strip()!r} is no setting; write key=value")
        if key:
            found.append((key.strip(), value.strip()))
    return found


def _from_environment(settings: ClientSettings, environment: Mapping[str, str], name: str) -> ClientSettings:
    return _apply(settings, pairs(environment.get(name, "")), name)


def _apply(settings: ClientSettings, pairs: list[tuple[str, str]], where: str) -> ClientSettings:
    for key, value in pairs:
        if key not in _KEYS:
            if _IGNORED.match(key):
                continue
            raise ConnectionFailed(f"{where}: there is no setting {key!r}; there are {', '.join(_KEYS)}")
        name, read = _KEYS[key]
        try:
            settings = replace(settings, **{name: read(value)})
        except ValueError as error:
            raise ConnectionFailed(f"{where}: {key} cannot be {value!r}") from error
    return settings


def _address(settings: ClientSettings, address: str) -> ClientSettings:
    if not address:
        return settings
    scheme, separator, rest = address.partition("://")
    if separator:
        if scheme not in _SCHEMES:
            raise ConnectionFailed(f"{address!r}: this client speaks {', '.join(_SCHEMES)}, not {scheme}")
        settings = replace(settings, protocol=_SCHEMES[scheme])
    else:
        rest = address
    found = re.fullmatch(r"(\[[^\]]+\]|[^:/]*)(?::(\d+))?/?", rest)
    if found is None:
        raise ConnectionFailed(f"{address!r} is no address; write host or host:port")
    host = found[1].strip("[]") or settings.host
    return replace(settings, host=host, port=int(found[2] or 0))
