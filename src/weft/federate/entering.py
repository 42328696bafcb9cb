"""How a `Federate` shows a server who it is, and what it says to a person whom the server does not let in."""

from __future__ import annotations

from weft.federate.ambassador import RTIambassador
from weft.federate.callbacks import FederateAmbassador
from weft.model.enums import CallbackModel
from weft.model.errors import InvalidCredentials
from weft.model.records import Credentials, RtiConfiguration


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
) -> None:
    """Connect; a server that asks for a password is answered in words of `join`."""
    try:
        rti.connect(ears, callbacks, address or None, credentials)
    except InvalidCredentials as error:
        if credentials is not None:
            raise
        raise InvalidCredentials(
            f"{error}: join with user= and password= (or credentials=); `weft passwd` makes the server's entry"
        ) from error
