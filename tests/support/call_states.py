"""Call × state → exception: what each service answers to a federate in each state, and how to bring a federate there.

The table has a row for every public method of `RTIambassador` and every state; a service that is added is in it at once.  What a
row says follows from four short lists, which `tests/federate/test_call_states.py` holds against the standard.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from enum import Enum
from typing import Any, NamedTuple

from support.recording_ambassador import Recorder
from support.small_fom import fom
from weft import (
    CallbackModel,
    FederateAmbassador,
    HLAfloat64Interval,
    HLAfloat64Time,
    ResignAction,
    RTIambassador,
    Source,
)
from weft.channel import interval
from weft.model.errors import RTIexception
from weft.model.handles import Handle, ObjectClassHandle
from weft.model.records import RangeBounds

NAME = "states"


class State(Enum):
    NOT_CONNECTED = "never connected"
    NOT_JOINED = "connected, not joined"
    JOINED = "joined"
    IN_A_CALLBACK = "joined, within a callback"
    RESIGNED = "resigned, still connected"
    DISCONNECTED = "disconnected after it was connected"
    LOST = "its connection was lost while it was joined"


CONNECTED = (State.NOT_JOINED, State.JOINED, State.IN_A_CALLBACK, State.RESIGNED)
MEMBER = (State.JOINED, State.IN_A_CALLBACK)

# A factory is a Python type, there before any connection (`refusals.FACTORIES`).
FACTORIES = {name for name in dir(RTIambassador) if name.endswith("_factory") and name != "get_time_factory"}
NEEDS_NO_CONNECTION = {"connect", "disconnect", "leave", "get_hla_version"} | FACTORIES
NEEDS_NO_FEDERATION = NEEDS_NO_CONNECTION | {
    "create_federation_execution",
    "create_federation_execution_with_mim",
    "destroy_federation_execution",
    "list_federation_executions",
    "list_federation_execution_members",
    "join_federation_execution",
    "evoke_callback",
    "evoke_multiple_callbacks",
    "enable_callbacks",
    "disable_callbacks",
    "query_status",
    "query_survey",
    "steer",
}
NOT_WITHIN_A_CALLBACK = {
    "connect",
    "disconnect",
    "join_federation_execution",
    "resign_federation_execution",
    "evoke_callback",
    "evoke_multiple_callbacks",
}
# What else is wrong with a state.
ALREADY = {
    **{("connect", state): "AlreadyConnected" for state in CONNECTED},
    ("join_federation_execution", State.JOINED): "FederateAlreadyExecutionMember",
    ("disconnect", State.JOINED): "FederateIsExecutionMember",
}
OF_STATE = frozenset(
    (
        "NotConnected",
        "FederateNotExecutionMember",
        "CallNotAllowedFromWithinCallback",
        *ALREADY.values(),
    )
)

SERVICES = sorted(
    name
    for name, _ in inspect.getmembers(RTIambassador, inspect.isfunction)
    if not name.startswith("_") and name != "leave"  # Weft's own: it is answered in every state
)


class Row(NamedTuple):
    service: str
    state: State
    expected: str  # the exception; "" if the state is no reason to refuse the call


def row(service: str, state: State) -> Row:
    expected = ""
    if state not in CONNECTED:
        expected = "" if service in NEEDS_NO_CONNECTION else "NotConnected"
    elif state is State.IN_A_CALLBACK and service in NOT_WITHIN_A_CALLBACK:
        expected = "CallNotAllowedFromWithinCallback"
    elif (service, state) in ALREADY:
        expected = ALREADY[service, state]
    elif state not in MEMBER and service not in NEEDS_NO_FEDERATION:
        expected = "FederateNotExecutionMember"
    return Row(service, state, expected)


TABLE = [row(service, state) for state in State for service in SERVICES]

# --- arguments ------------------------------------------------------------------------------------------------

_PLAIN: dict[Any, Any] = {
    str: "nobody",
    bytes: b"",
    bool: True,
    float: 0.0,
    int: 1,
    HLAfloat64Time: HLAfloat64Time(1.0),
    HLAfloat64Interval: HLAfloat64Interval(1.0),
    RangeBounds: RangeBounds(0, 1),
    Source: fom(),
}
_BY_NAME = {
    "fom_modules": (fom(),),
    "mim_module": fom(),
    "callback_model": CallbackModel.EVOKED,
    "dependency": interval(1.0),
}


def arguments(service: str) -> list[Any]:
    """Of a sound type each; that they mean nothing is for the service to find, after it has looked at the state."""
    if service == "join_federation_execution":
        return ["test", NAME]
    method = getattr(RTIambassador, service)
    hints = typing.get_type_hints(method)
    wanted = list(inspect.signature(method).parameters.values())[1:]
    return [
        _BY_NAME[p.name] if p.name in _BY_NAME else _sound(hints[p.name])
        for p in wanted
        if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD
    ]


def _sound(kind: Any) -> Any:
    if kind in _PLAIN:
        return _PLAIN[kind]
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin is AbstractSet:
        return {_sound(parts[0])}
    if origin is Mapping:
        return {_sound(parts[0]): _sound(parts[1])}
    if origin is Sequence:
        return [_sound(parts[0])]
    if origin is tuple:
        return tuple(_sound(part) for part in parts)
    if parts:  # one of several types
        return _sound(next((part for part in parts if part in _PLAIN), parts[0]))
    if kind is FederateAmbassador:
        return Recorder()
    if inspect.isclass(kind) and issubclass(kind, Enum):
        return next(iter(kind))
    if inspect.isclass(kind) and issubclass(kind, Handle):
        return kind.of(1)
    return ObjectClassHandle.of(1)


# --- a federate in a state ------------------------------------------------------------------------------------


class Host(typing.Protocol):
    """Where the federates of a table connect: an embedded node, or a server."""

    def connected(self, ears: Recorder) -> RTIambassador: ...

    def lose(self, rti: RTIambassador, ears: Recorder) -> None:
        """Break the connection off, and wait until the federate knows."""


def outcomes(host: Host, state: State) -> dict[str, str]:
    """What each service answers in that state: the exception's name, or "" where it was carried out."""
    found: dict[str, str] = {}
    scenes = _scenes(host, state)
    scene = next(scenes)
    for service in SERVICES:
        found[service] = scene(service)
        if not found[service] and service not in FACTORIES and not service.startswith("get_"):
            scene = next(scenes)  # it may have changed the state
    scenes.close()
    return found


def _scenes(host: Host, state: State) -> typing.Generator[Callable[[str], str], None, None]:
    """Federates in that state, one after the other; each comes as a way to make a call and learn what came of it."""
    while True:
        ears = Recorder()
        rti = _brought_to(host, state, ears)
        try:
            if state is State.IN_A_CALLBACK:
                yield lambda service, rti=rti, ears=ears: _within(rti, ears, service)  # type: ignore[misc]
            else:
                yield lambda service, rti=rti: _outcome(rti, service)  # type: ignore[misc]
        finally:
            rti.leave()


def _brought_to(host: Host, state: State, ears: Recorder) -> RTIambassador:
    if state is State.NOT_CONNECTED:
        return RTIambassador()
    rti = host.connected(ears)
    with suppress(RTIexception):
        rti.create_federation_execution(NAME, [fom()])
    if state in (State.NOT_JOINED, State.DISCONNECTED):
        if state is State.DISCONNECTED:
            rti.disconnect()
        return rti
    rti.join_federation_execution("test", NAME)
    if state is State.RESIGNED:
        rti.resign_federation_execution(ResignAction.NO_ACTION)
    elif state is State.LOST:
        host.lose(rti, ears)
    return rti


def _outcome(rti: RTIambassador, service: str) -> str:
    try:
        getattr(rti, service)(*arguments(service))
    except RTIexception as error:
        return type(error).__name__ if str(error) else f"{type(error).__name__} without a word"
    return ""


def _within(rti: RTIambassador, ears: Recorder, service: str) -> str:
    heard: list[str] = []
    ears.on["object_instance_name_reservation_failed"] = lambda name: heard.append(_outcome(rti, service))
    ears.on["object_instance_name_reservation_succeeded"] = lambda name: heard.append(_outcome(rti, service))
    rti.reserve_object_instance_name(f"within {service}")
    while not heard:
        rti.evoke_callback(20.0)
    return heard[0]


def rows_of(state: State) -> Iterator[Row]:
    return (one for one in TABLE if one.state is state)
