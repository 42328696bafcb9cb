"""Who may do what: the three questions a server asks before it lets a federate connect, create or destroy, and join.

A `Guard` answers by returning or by raising `InvalidCredentials` or `Unauthorized`.  `OpenGuard` admits everybody who shows no
credentials; `PasswordGuard` knows people by a password file.  A deployment can bring its own.

The password file is TOML:

    [users.alice]
    password = "scrypt$16384$8$1$…$…"          # written by `weft passwd`
    federations = ["Harbour", "Range*"]          # which federations she may use; patterns as in file names; all if left out
    create = true                                # may she create and destroy them?

Passwords are kept as scrypt hashes and never logged.
"""

from __future__ import annotations

import base64
import contextlib
import fnmatch
import hashlib
import hmac
import importlib
import os
import secrets
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from weft.host.files.private import make_private
from weft.model.errors import InvalidCredentials, SettingsError, Unauthorized
from weft.model.records import PLAIN_PASSWORD, Credentials

NO_CREDENTIALS = "HLAnoCredentials"
OPERATOR_KEY = "operator.key"
_COST = (16384, 8, 1)


class OperatorKey:
    """Who can read a server's run directory may steer its federations: the key lies there, for the owner's eyes only."""

    def __init__(self, directory: str) -> None:
        """Without a run directory there is no key, and no operator."""
        self.path = Path(directory) / OPERATOR_KEY if directory else None
        self._key = secrets.token_urlsafe(32).encode() if directory else b""

    def keep(self) -> None:
        """Write it down: the server has started."""
        path = self.path
        if path is None:
            return
        try:
            make_private(path.parent)
            path.unlink(missing_ok=True)
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(self._key + b"\n")
        except OSError as error:
            raise SettingsError(f"{path}: {error.strerror or error} (serve.run_directory)") from error

    def admit(self, credentials: Credentials, secure: bool) -> None:
        """May this operator connect?  `secure`: nobody else can read what it sends."""
        if not secure:
            raise InvalidCredentials(
                "the operator key on a connection without TLS can be read by others; use the TLS port, "
                "or steer from the machine of the server"
            )
        if not self._key:
            raise InvalidCredentials("this server has no run directory, so it has no operator key")
        if not hmac.compare_digest(bytes(credentials.data).strip(), self._key):
            raise InvalidCredentials(f"this is not the operator key of this server; {self.where()}")

    def where(self) -> str:
        if self.path is None:
            return "it has none, because it has no run directory"
        return f"its key is in {self.path} on the machine of the server, for each start another"

    def remove(self) -> None:
        """The server has stopped: nobody is to find a key that fits nothing."""
        if self.path is not None:
            with contextlib.suppress(OSError):
                self.path.unlink()


class Guard:
    """Admits everybody; the base of guards that do not."""

    def admit(self, credentials: Credentials, secure: bool) -> str:
        """May this federate connect?  Returns who it is.

        Called in a thread of its own, one federate after the other: it may take its time.
        """
        return ""

    def may_create(self, who: str, federation: str) -> None:
        """May it create this federation?"""

    def may_destroy(self, who: str, federation: str) -> None:
        """May it destroy this federation?"""

    def may_join(self, who: str, federation: str, name: str, kind: str) -> None:
        """May it join this federation, under this name and as this type?"""


def own_guard(name: str) -> Guard:
    """A guard that a deployment brings: `module:name`, a class of guards or a function that makes one."""
    where, _, what = name.partition(":")
    try:
        make = getattr(importlib.import_module(where), what)
    except (ImportError, AttributeError, ValueError) as error:
        raise SettingsError(
            f"security.guard {name!r} cannot be imported: {error}; write module:name, and see that the module is on PYTHONPATH"
        ) from error
    try:
        made = make()
    except Exception as error:  # whatever goes wrong in code of others
        raise SettingsError(f"security.guard {name!r} could not be made: {error!r}") from error
    if not isinstance(made, Guard):
        raise SettingsError(
            f"security.guard {name!r} made {made!r}, which is no weft.host.server.guard.Guard"
        )
    return made


class OpenGuard(Guard):
    """No passwords; credentials that nobody can check are refused rather than ignored."""

    def admit(self, credentials: Credentials, secure: bool) -> str:
        if credentials.type not in ("", NO_CREDENTIALS):
            raise InvalidCredentials(
                f"this server has no password file, so it cannot check credentials of type {credentials.type!r}"
            )
        return ""


@dataclass(frozen=True)
class User:
    password: str = field(repr=False)
    federations: tuple[str, ...] = ("*",)
    create: bool = True


class PasswordGuard(Guard):
    """Knows people by name and password: HLAplainTextPassword with "name:password"."""

    def __init__(self, users: dict[str, User], clear_text_allowed: bool = False) -> None:
        self._users = users
        self._clear_text_allowed = clear_text_allowed

    def admit(self, credentials: Credentials, secure: bool) -> str:
        if credentials.type != PLAIN_PASSWORD:
            raise InvalidCredentials(
                f"this server wants {PLAIN_PASSWORD}, not {credentials.type or NO_CREDENTIALS}"
            )
        if not secure and not self._clear_text_allowed:
            raise InvalidCredentials(
                "a password on a connection without TLS can be read by others; use the TLS port, "
                "or let the operator allow it (security.clear_text_passwords)"
            )
        name, _, password = _text(credentials.data).partition(":")
        user = self._users.get(name)
        # A name that is not known costs as much time as one that is.
        if not verify_password(password, user.password if user is not None else _NOBODY) or user is None:
            raise InvalidCredentials("unknown name or wrong password")
        return name

    def may_create(self, who: str, federation: str) -> None:
        self._may_use(who, federation)
        if not self._users[who].create:
            raise Unauthorized(f"{who} may not create or destroy federations")

    def may_destroy(self, who: str, federation: str) -> None:
        self.may_create(who, federation)

    def may_join(self, who: str, federation: str, name: str, kind: str) -> None:
        self._may_use(who, federation)

    def _may_use(self, who: str, federation: str) -> None:
        if not any(fnmatch.fnmatchcase(federation, pattern) for pattern in self._users[who].federations):
            raise Unauthorized(f"{who} may not use federation {federation!r}")


def user_of(credentials: Credentials) -> str:
    """Whose password it claims to be; nobody's, if it is none or cannot be read."""
    if credentials.type != PLAIN_PASSWORD:
        return ""
    try:
        return _text(credentials.data).partition(":")[0]
    except InvalidCredentials:
        return ""


def _text(data: bytes) -> str:
    """An HLAunicodeString: the number of characters, then UTF-16."""
    count = int.from_bytes(data[:4], "big")
    if len(data) < 4 or len(data) - 4 != 2 * count:
        raise InvalidCredentials("the password is not an HLAunicodeString")
    try:
        return data[4:].decode("utf-16-be")
    except UnicodeDecodeError as error:
        raise InvalidCredentials("the password is not an HLAunicodeString") from error


def hash_password(password: str, salt: bytes | None = None) -> str:
    salt = os.urandom(16) if salt is None else salt
    cost, block, parallel = _COST
    made = _scrypt(password, salt, cost, block, parallel)
    return f"scrypt${cost}${block}${parallel}${_b64(salt)}${_b64(made)}"


def verify_password(password: str, stored: str) -> bool:
    try:
        _, cost, block, parallel, salt, expected = stored.split("$")
        made = _scrypt(password, base64.b64decode(salt), int(cost), int(block), int(parallel))
    except ValueError as error:
        raise SettingsError(
            "a password in the password file is not a hash; make it with `weft passwd`"
        ) from error
    return hmac.compare_digest(made, base64.b64decode(expected))


def _scrypt(password: str, salt: bytes, cost: int, block: int, parallel: int) -> bytes:
    return hashlib.scrypt(password.encode(), salt=salt, n=cost, r=block, p=parallel, dklen=32)


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


_NOBODY = hash_password("", b"no such user here")


def read_password_file(text: str, name: str, clear_text_allowed: bool = False) -> PasswordGuard:
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{name}: {error}") from error
    users = {}
    for who, entry in document.get("users", {}).items():
        unknown = set(entry) - {"password", "federations", "create"}
        if unknown or not str(entry.get("password")).startswith("scrypt$"):
            raise SettingsError(
                f"{name}: users.{who} needs a password hash (`weft passwd`), and has {sorted(entry)}"
            )
        users[who] = User(
            entry["password"], tuple(entry.get("federations", ("*",))), bool(entry.get("create", True))
        )
    if not users:
        raise SettingsError(f"{name}: no [users.NAME] in it")
    return PasswordGuard(users, clear_text_allowed)
