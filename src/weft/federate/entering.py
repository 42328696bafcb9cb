"""How a `Federate` shows a server who it is, and what it says to a person whom the server does not let in."""

from __future__ import annotations

import logging
import time

from weft.federate.ambassador import RTIambassador
from weft.federate.callbacks import FederateAmbassador
from weft.model.enums import CallbackModel
from weft.model.errors import ConnectionFailed, InvalidCredentials
from weft.model.records import Credentials, RtiConfiguration

_RETRY = 0.2  # seconds


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


def enter(
    rti: RTIambassador,
    ears: FederateAmbassador,
    callbacks: CallbackModel,
    address: str | RtiConfiguration,
    credentials: Credentials | None,
    wait: float,
) -> None:
    """Connect; a server that asks for a password is answered in words of `join`.

    One that does not run yet is waited for: whoever starts a federation need not start its parts in an order.
    """
    deadline = time.monotonic() + wait
    told = False
    while True:
        try:
            _connect(rti, ears, callbacks, address, credentials)
            return
        except ConnectionFailed as error:
            if not isinstance(error.__cause__, ConnectionRefusedError) or time.monotonic() >= deadline:
                raise
            if not told:
                told = True
                logging.getLogger("weft").warning("waiting %g s for the RTI: %s", wait, error)
        time.sleep(min(_RETRY, max(0.0, deadline - time.monotonic())))


def say_how_to_join(rti: RTIambassador) -> None:
    """What a federate hears that was made by `join` and not entered."""
    below = getattr(rti, "_rti", rti)
    below._absent = (
        "this federate has not joined: weft.join(…) makes one for a block, `with weft.join(…) as me:`; "
        "without a block call me.join() first, and me.resign() at the end"
    )


def _connect(
    rti: RTIambassador,
    ears: FederateAmbassador,
    callbacks: CallbackModel,
    address: str | RtiConfiguration,
    credentials: Credentials | None,
) -> None:
    try:
        rti.connect(ears, callbacks, address or None, credentials)
    except InvalidCredentials as error:
        if credentials is not None:
            raise
        raise InvalidCredentials(
            f"{error}: join with user= and password= (or credentials=); `weft passwd` makes the server's entry"
        ) from error
