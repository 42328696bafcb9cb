"""What a node keeps for its callers: its sessions and federations, and calls that another node has to answer."""

from __future__ import annotations

from weft.kernel.state.effects import Callback
from weft.kernel.state.federation import Federation, Member
from weft.kernel.state.parcels import Request


class Session:
    """A connected federate ambassador; a joined federate once it is a member."""

    def __init__(self, number: int, evolved: bool = False) -> None:
        self.number = number
        self.evolved = evolved  # its federate was written for the 2010 edition
        self.federation: Federation | None = None
        self.member: Member | None = None
        self.resigned = ""  # why it is not a member any more, if it has not resigned itself
        self.joining = 0  # the number of the last call to join
        self.paused = ""  # "save" or "restore", once the federate knows of it: its calls are refused
        self.untaken = 0  # callbacks that pause it and that it has not taken yet
        self.held: list[Callback] | None = None  # while a save or restore is under way: callbacks for later


class Waiting:
    """A call that another node has to answer: who is asked, and what to do with the answer."""

    def __init__(
        self,
        node: str,
        created: Federation | None = None,
        request: Request | None = None,
        destroyed: bool = False,
        asked: Request | None = None,
    ) -> None:
        self.node = node
        self.asked = asked  # a service that the home is asked to carry out
        self.created = created  # a federation to open once the directory grants its name
        self.request = request  # a request to send once the directory says where
        self.destroyed = destroyed  # all is done once the directory has freed the name
        self.held: list[Request] = []  # requests that came before the grant of `created`


class NodeState:
    """What all parts of a node read: which one it is, and its sessions and federations."""

    def __init__(self, name: str, directory: str | None) -> None:
        self.name = name
        self.directory = directory or name
        self.meshed = directory is not None
        self.sessions: dict[int, Session] = {}
        self.federations: dict[str, Federation] = {}

    def is_directory(self) -> bool:
        return self.directory == self.name
