"""The settings of a server: flag over environment over settings file over default.

    [serve]                     WEFT_SERVE_PORT=…        --port
    port = 15164

Every setting has a place `section.key`; the environment variable is WEFT_SECTION_KEY.  A setting nobody knows, or a value
of the wrong kind, is an error that names the file or the variable.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import get_type_hints

from weft.fom import parse_rid
from weft.host.log import FORMS
from weft.interest.ddm_settings import DECLARATIONS, EXACT, SYNCHRONIZED
from weft.model.errors import SettingsError
from weft.model.records import Source


def _check_port(place: str, port: int, none: str) -> None:
    """Sockets take the rest of a number that is too large."""
    if not 0 <= port < 1 << 16:
        raise SettingsError(f"{place} is {port}; it must be a port number, from 1 to 65535, or 0 for {none}")


@dataclass(frozen=True)
class ServeSettings:
    host: str = "127.0.0.1"  # the address to listen on; this machine only
    port: int = 15164  # TCP; 0 takes a free one
    tls_port: int = 0  # TLS 1.3, with cert and key; 0: no TLS
    ws_port: int = 0  # WebSocket; 0: none
    wss_port: int = 0  # WebSocket over TLS; 0: none
    cert: str = ""  # the certificate chain, a PEM file
    key: str = ""  # its private key, a PEM file
    run_directory: str = "runs"  # where the server's log and recordings go
    save_directory: str = ""  # none: saves in the run directory, where the next run finds them
    module_directory: str = ""  # object models for federates that send only an address; none: refused
    log: str = "text"  # or json: an object for each line (docs/how-to/logs.md)
    otel: bool = False  # spans of OpenTelemetry (docs/how-to/logs.md)

    def __post_init__(self) -> None:
        if self.log not in FORMS:
            raise SettingsError(f"serve.log is {self.log!r}; it must be {' or '.join(FORMS)}")
        if self.module_directory and not Path(self.module_directory).is_dir():
            raise SettingsError(
                f"serve.module_directory is {self.module_directory!r}; there is no such folder"
            )
        _check_port("serve.port", self.port, "any that is free")
        for name in ("tls_port", "ws_port", "wss_port"):
            _check_port(f"serve.{name}", getattr(self, name), "none")

    @property
    def saves(self) -> Path:
        return Path(self.save_directory or Path(self.run_directory) / "saves")


@dataclass(frozen=True)
class LimitSettings:
    frame_bytes: int = 64 << 20  # the largest message from a federate
    sessions: int = 4096  # federates connected at once
    half_open: int = 256  # connections of one address in which nobody has connected yet
    unjoined: int = 1024  # sessions of one address in which no federate has joined
    history_bytes: int = 64 << 20  # kept for each federate, to be sent again after a broken connection
    queue_bytes: int = 128 << 20  # what a federate may leave unread before it is dropped: two of the largest
    slow_bytes: int = 8 << 20  # what it may leave unread before it is reported
    calls: int = 512  # of one federate carried out in a row, before others have their turn
    report_bytes: int = 64 << 20  # a file of service reports
    module_bytes: int = 16 << 20  # the object models of one call, unpacked
    modules: int = 256  # object models of one call
    federations: int = 256  # that exist at once; they stay until somebody destroys them
    saves: int = 100  # saves of one federation
    greeting_seconds: float = 10.0  # that a connection may take to greet, and a session to connect
    silence_seconds: float = 900.0  # that a federate may say nothing while its machine answers for it
    reconnect_seconds: float = 12.0  # that a federate may stay away before it resigns

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            least = 1 if type(one.default) is int else 0.001
            if not value >= least:
                raise SettingsError(f"limits.{one.name} is {value}; it must be at least {least}")
        if not 1024 <= self.frame_bytes < 1 << 31:
            raise SettingsError(
                f"limits.frame_bytes is {self.frame_bytes}; it must be from 1024 to 2147483647"
            )
        if self.slow_bytes > self.queue_bytes:
            raise SettingsError(
                f"limits.slow_bytes is {self.slow_bytes}; it must not be more than limits.queue_bytes, {self.queue_bytes}"
            )


@dataclass(frozen=True)
class SecuritySettings:
    password_file: str = ""  # who may connect, made by `weft passwd`; none: everybody
    clear_text_passwords: bool = False  # accept passwords without TLS
    guard: str = ""  # one's own, as module:name of a class of guards or of something that makes one


@dataclass(frozen=True)
class FabricSettings:
    """Links to other nodes, and the journal; see docs/explanation/domains.md."""

    lost_seconds: float = 10.0  # without a connection, until a node counts as lost
    queue_bytes: int = 64 << 20  # of reliable messages that a neighbour has not taken, until the link is cut
    packets_in_memory: int = 16_384  # causal ones that wait for one neighbour; more are in the journal alone
    backlog_bytes: int = 1 << 30  # of causal packets that wait for one neighbour, in the journal
    retry_seconds: float = 0.1  # from one attempt to connect to the next, at first
    retry_most_seconds: float = 5.0  # from one attempt to the next, at most
    synchronous: str = "NORMAL"  # of the journal; FULL survives the loss of power, too
    tries: int = 3  # of an agent's reaction that raises, until the event is set aside

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if not isinstance(value, str) and not value > 0:
                raise SettingsError(f"fabric.{one.name} is {value}; it must be more than 0")
        if self.synchronous not in ("NORMAL", "FULL"):
            raise SettingsError(f"fabric.synchronous is {self.synchronous!r}; it must be NORMAL or FULL")
        for name in ("queue_bytes", "backlog_bytes"):
            if getattr(self, name) < 1 << 20:
                raise SettingsError(f"fabric.{name} is {getattr(self, name)}; it must be at least 1048576")


@dataclass(frozen=True)
class MeshDdmSettings:
    """Data distribution management between nodes; see docs/explanation/ddm.md."""

    rid: str = ""  # a RID file: strategy, partitions and channels of the federations that are created here
    multicast_port: int = 0  # of the groups, where a RID file asks for UDPmulticast; 0: the node's own
    multicast_interface: str = ""  # the address of a network interface; none: that of the node
    multicast_hops: int = 1  # 1: this network only
    declarations: str = (
        ""  # which go by logical time in federations created here: "timed" or "regulating"; none: few
    )

    def __post_init__(self) -> None:
        if self.declarations.lower() not in ("", *[one.lower() for one in DECLARATIONS]):
            known = ", ".join(one.lower() for one in DECLARATIONS)
            raise SettingsError(f"ddm.declarations is {self.declarations!r}; it must be one of {known}")
        _check_port("ddm.multicast_port", self.multicast_port, "the node's own")
        if not 0 <= self.multicast_hops < 256:
            raise SettingsError(f"ddm.multicast_hops is {self.multicast_hops}; it must be from 0 to 255")


@dataclass(frozen=True)
class ChannelSettings:
    """How urgently callbacks are handed over; see docs/explanation/urgency.md."""

    schedule: str = ""  # a schedule file: how urgent classes are for federates that join here
    deadlines: bool = False  # the period of an operation of the schedule is the deadline of its callbacks
    window: int = 16  # callbacks under way to a federate in another language, once some are urgent for it

    def __post_init__(self) -> None:
        if self.window < 1:
            raise SettingsError(f"channel.window is {self.window}; it must be at least 1")


@dataclass(frozen=True)
class RecordSettings:
    """Recording of runs; see docs/how-to/recording.md."""

    on: bool = True  # record what the node does
    directory: str = (
        ""  # where runs are recorded: a folder, or an address of a store; none: the run directory of [serve]
    )
    payloads: bool = True  # values and tags of messages, too
    seconds: float = 1.0  # rows are on the disk after so long, at the latest
    queue_bytes: int = 64 << 20  # of rows that wait for the disk, until some are dropped
    spool: str = (
        ""  # where runs wait that go to a store; none: weft/spool in the user's folder for such files
    )
    keep_spool: bool = False  # leave them there when they are in the store
    upload_seconds: float = 30.0  # that the end may wait for what is not in the store yet

    def __post_init__(self) -> None:
        for name in ("seconds", "upload_seconds"):
            if not getattr(self, name) > 0:
                raise SettingsError(f"record.{name} is {getattr(self, name)}; it must be more than 0")
        if self.queue_bytes < 1 << 20:
            raise SettingsError(f"record.queue_bytes is {self.queue_bytes}; it must be at least 1048576")


@dataclass(frozen=True)
class ConsoleSettings:
    """Pages that show what nodes do; see docs/how-to/console.md."""

    on: bool = True  # whether `weft serve` and `weft run` start one
    host: str = "127.0.0.1"  # the address to listen on; another only with TLS, or `insecure`
    port: int = 0  # 0: any that is free
    cert: str = ""  # the certificate chain, a PEM file; with `key`: TLS
    key: str = ""  # its private key, a PEM file
    insecure: bool = False  # listen for other machines without TLS
    names: str = ""  # further names by which it is reached, separated by commas

    def __post_init__(self) -> None:
        _check_port("console.port", self.port, "any that is free")


@dataclass(frozen=True)
class Settings:
    serve: ServeSettings = field(default_factory=ServeSettings)
    limits: LimitSettings = field(default_factory=LimitSettings)
    security: SecuritySettings = field(default_factory=SecuritySettings)
    fabric: FabricSettings = field(default_factory=FabricSettings)
    ddm: MeshDdmSettings = field(default_factory=MeshDdmSettings)
    channel: ChannelSettings = field(default_factory=ChannelSettings)
    record: RecordSettings = field(default_factory=RecordSettings)
    console: ConsoleSettings = field(default_factory=ConsoleSettings)

    @property
    def recordings(self) -> str:
        """Below which folder runs are recorded."""
        return self.record.directory or self.serve.run_directory


_SECTIONS: dict[str, type] = get_type_hints(Settings)


def load_settings(
    flags: Mapping[str, object], environment: Mapping[str, str], text: str = "", file_name: str = ""
) -> Settings:
    """`flags` by place ("serve.port"); None where a flag was not given."""
    chosen: dict[str, dict[str, object]] = {section: {} for section in _SECTIONS}
    _take_file(chosen, text, file_name)
    for section in _SECTIONS:
        for key, kind in _kinds(section).items():
            variable = f"WEFT_{section}_{key}".upper()
            if variable in environment:
                chosen[section][key] = _parse(variable, environment[variable], kind)
    for place, value in flags.items():
        if value is not None:
            section, key = place.split(".")
            chosen[section][key] = value
    return Settings(**{section: kind(**chosen[section]) for section, kind in _SECTIONS.items()})


def read_rid(ddm: MeshDdmSettings) -> Source | None:
    """The RID file, if one is named.  It is understood where a federation is created; here it is only checked to be one."""
    said = f"({SYNCHRONIZED} {ddm.declarations})" if ddm.declarations else ""
    if not ddm.rid:
        # Nothing else is other than without a RID file.
        text = f"(RTI (DataDistribution (StrategyToUse {EXACT}) {said}))"
        return Source("ddm.declarations", text.encode()) if said else None
    try:
        source = Source(ddm.rid, Path(ddm.rid).read_bytes() + f"\n{said}\n".encode() * bool(said))
    except OSError as error:
        raise SettingsError(f"ddm.rid: {ddm.rid}: {error.strerror or error}") from error
    parse_rid(source)
    return source


def _kinds(section: str) -> dict[str, type]:
    return {one.name: type(one.default) for one in fields(_SECTIONS[section])}


def _take_file(chosen: dict[str, dict[str, object]], text: str, name: str) -> None:
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{name}: {error}") from error
    for section, entries in document.items():
        if section not in _SECTIONS or not isinstance(entries, dict):
            raise SettingsError(f"{name}: there is no section [{section}]; there are {', '.join(_SECTIONS)}")
        kinds = _kinds(section)
        for key, value in entries.items():
            if key not in kinds:
                raise SettingsError(
                    f"{name}: there is no setting {section}.{key}; there are {', '.join(kinds)}"
                )
            if type(value) is not kinds[key] and not (kinds[key] is float and type(value) is int):
                raise SettingsError(
                    f"{name}: {section}.{key} is {value!r}; it must be of type {kinds[key].__name__}"
                )
            chosen[section][key] = value


def _parse(variable: str, text: str, kind: type[bool | int | float | str]) -> object:
    if kind is bool:
        if text.lower() in ("1", "true", "yes", "on"):
            return True
        if text.lower() in ("0", "false", "no", "off"):
            return False
        raise SettingsError(f"{variable} is {text!r}; it must be true or false")
    try:
        return kind(text)
    except ValueError as error:
        raise SettingsError(f"{variable} is {text!r}; it must be of type {kind.__name__}") from error
