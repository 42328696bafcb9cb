"""`weft passwd`: a line for the password file of `weft serve`."""

from __future__ import annotations

import argparse
import getpass
import sys

from weft.cli.arguments import Commands, add_command
from weft.host.server.guard import hash_password
from weft.model.errors import SettingsError


def register(commands: Commands) -> None:
    parser = add_command(commands, "passwd", run, "make an entry for a server's password file")
    parser.add_argument("name", help="the name the federate will give")


def run(arguments: argparse.Namespace) -> int:
    """The password is asked for, or read from a pipe; never an argument, which others could see."""
    if sys.stdin.isatty():
        password = getpass.getpass("Password: ")
        if getpass.getpass("Again: ") != password:
            raise SettingsError("the two passwords differ")
    else:
        password = sys.stdin.readline().rstrip("\n")
    if not password or ":" in arguments.name:
        raise SettingsError("a password is not empty, and a name has no colon")
    print(f'[users.{arguments.name}]\npassword = "{hash_password(password)}"')
    return 0
