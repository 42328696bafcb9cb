"""How a `Federate` comes in: it waits for what is not there yet, and shows who it is; who is not let in is told why."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterable, Mapping
from errno import EADDRINUSE, ECONNREFUSED
from typing import NamedTuple, TypeVar

from weft.federate.ambassador import RTIambassador
from weft.federate.callbacks import FederateAmbassador
from weft.host import Designator
from weft.model.enums import CallbackModel
from weft.model.errors import (
    TRY_AGAIN,
    ConnectionFailed,
    InvalidCredentials,
    RTIexception,
    RTIinternalError,
    SettingsError,
)
from weft.model.records import Credentials, RtiConfiguration

_RETRY = 0.2  # seconds
Number = int | float
Done = TypeVar("Done")


class Invitation(NamedTuple):
    """What `join` was told, and what it was not told and the environment says: `weft run` sets that for a federation file's
    federates (docs/how-to/run-file.md)."""

    federation: str
    name: str
    kind: str
    fom: Designator | Iterable[Designator] | None
    time: str | Number
    rti: str | RtiConfiguration


def invitation(
    told: Invitation, rti: str | RtiConfiguration | None, environment: Mapping[str, str]
) -> Invitation:
    """`rti`: as it was given; None: not at all.  Name, type and time of the environment go with its federation."""
    found = told if rti is not None else told._replace(rti=environment.get("WEFT_ADDRESS", ""))
    if told.federation:
        if told.fom is None:
            raise SettingsError(
                f"weft.join({told.federation!r}) needs fom=: the federation's object models, by their paths"
            )
        return found
    federation = environment.get("WEFT_FEDERATION", "")
    if not federation:
        raise SettingsError(
            "weft.join needs the federation's name; without one, start the program by `weft run FILE` "
            "with a federation file, which tells it (docs/how-to/run-file.md)"
        )
    fom = told.fom
    if fom is None:
        models = [one for one in environment.get("WEFT_FOM", "").split(os.pathsep) if one]
        if not models:
            raise SettingsError(
                f"federation {federation!r}: weft.join was given no fom=, and neither the environment (WEFT_FOM) nor the "
                "federation file has object models; write fom = … in its [federation]"
            )
        fom = models
    return found._replace(
        federation=federation,
        name=told.name or environment.get("WEFT_FEDERATE", ""),
        kind=told.kind or environment.get("WEFT_FEDERATE_TYPE", ""),
        fom=fom,
        time=environment.get("WEFT_TIME", "") if told.time == "" else told.time,
    )


def credentials_of(user: str, password: str, given: Credentials | None) -> Credentials | None:
    if not user and not password:
        return given
    if given is not None:
        raise InvalidCredentials("join takes user and password, or credentials, not both")
    if not user or not password:
        raise InvalidCredentials(
            f"join was given a {'user' if user else 'password'} without a {'password' if user else 'user'}"
        )
    return Credentials.password(user, password)


class Patience:
    """Waits for what is not there yet: whoever starts a federation need not start its parts in an order.

    That is a server or node that does not run, a node whose address the process before still has, or another node of the mesh
    that was taken for gone.
    """

    def __init__(self, seconds: float, given_up: Callable[[], bool] = lambda: False) -> None:
        self._seconds = seconds
        self._given_up = given_up
        self._deadline = time.monotonic() + seconds
        self._told = False

    def until_done(self, attempt: Callable[[], Done]) -> Done:
        while True:
            try:
                return attempt()
            except (ConnectionFailed, RTIinternalError) as error:
                if not _may_come(error) or time.monotonic() >= self._deadline or self._given_up():
                    raise
                if not self._told:
                    self._told = True
                    logging.getLogger("weft").warning("waiting %g s for the RTI: %s", self._seconds, error)
            time.sleep(min(_RETRY, max(0.0, self._deadline - time.monotonic())))


def _may_come(error: RTIexception) -> bool:
    if isinstance(error, RTIinternalError):
        return TRY_AGAIN in str(error)
    cause = error.__cause__
    while isinstance(cause, SettingsError):  # of a node in this process, which names the address
        cause = cause.__cause__
    return isinstance(cause, OSError) and cause.errno in (ECONNREFUSED, EADDRINUSE)


def say_how_to_join(rti: RTIambassador) -> None:
    """What a federate hears that was made by `join` and not entered."""
    below = getattr(rti, "_rti", rti)
    below._absent = (
        "this federate has not joined: weft.join(…) makes one for a block, `with weft.join(…) as me:`; "
        "without a block call me.join() first, and me.resign() at the end"
    )


def connect(
    rti: RTIambassador,
    ears: FederateAmbassador,
    callbacks: CallbackModel,
    address: str | RtiConfiguration,
    credentials: Credentials | None,
) -> None:
    """A server that asks for a password is answered in words of `join`."""
    try:
        rti.connect(ears, callbacks, address or None, credentials)
    except InvalidCredentials as error:
        if credentials is not None:
            raise
        raise InvalidCredentials(
            f"{error}: join with user= and password= (or credentials=); `weft passwd` makes the server's entry"
        ) from error
