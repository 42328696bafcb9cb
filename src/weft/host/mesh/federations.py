"""Joins a node's kernel to the other nodes, over a `Carrier`: its parcels out and in, and what outlives its process.

What goes by which class of service:

    CAUSAL        commands and all that belongs to them (requests, commits, answers, welcomes, claims …), messages in time
                  stamp order, and what nodes say of logical time
    RELIABLE      reliable messages, all in causal or total order, callbacks for single federates elsewhere, and the marks of a
                  save or of the end of a view, which go behind them
    BEST_EFFORT   best-effort messages

Messages may be overtaken by commands and the other way round: a message says after which commit it was sent and waits for that,
and one about something that is gone by then comes to nothing.

Each process of a node has a number, its *boot*, and every parcel carries that of its sender.  The first that a process says is
`Hello`, to all nodes, by the causal class; so it comes before all else of that process, and whoever gets it knows that the one
before is gone.  A message of an earlier boot is dropped, one of a boot that has not greeted yet waits.

What is kept in the carrier's journal, each with the commit of what it came from:

    boot                        the number of this process
    federation/<name>/state     a federation at home here: a snapshot with its place in the order of commands …
    federation/<name>/<place>   … and each commit since; after so many a new snapshot takes their place
    name/<name>                 at the directory: where the federation of that name is at home
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Final

from weft.fabric import ReleaseRule, Topology
from weft.host.carrier import STOPPED, Carrier, Port, ServiceClass
from weft.host.files import cbor
from weft.host.mesh.release_control import ReleaseControl
from weft.host.parcels.codec import ParcelError, decode_parcel, encode_parcel
from weft.kernel import Carried, Cast, Effect, Listen, Named, Node, Notice, Remember, Transmit
from weft.kernel.node import faults
from weft.kernel.recording import order_rows
from weft.kernel.state import parcels
from weft.kernel.state.parcels import (
    Answer,
    Claim,
    Commit,
    Data,
    Hello,
    Inform,
    Locate,
    Mark,
    Ordered,
    Request,
    Welcome,
)
from weft.kernel.state.step import Step
from weft.kernel.state.turn import Turn
from weft.model.errors import RTIinternalError
from weft.model.log_text import ERROR, LogText
from weft.model.records import Source

# Kept at hand: to find a member of an enumeration takes the interpreter as long as a dozen other steps.
_FEDERATIONS: Final = Port.FEDERATIONS
_CAUSAL: Final = ServiceClass.CAUSAL
_RELIABLE: Final = ServiceClass.RELIABLE
_BEST_EFFORT: Final = ServiceClass.BEST_EFFORT

COMMITS = 256  # so many commits before a snapshot takes their place, or as many as there are instances
AHEAD = 10_000  # messages of one node that wait for its greeting


class MeshedNode:
    """Make one with `meshed_node`; then give all `Carried` effects of its node to `carry`."""

    def __init__(
        self,
        node: Node,
        carrier: Carrier,
        perform: Callable[[list[Effect], float], None],
        boot: int,
        control: ReleaseControl | None,
    ) -> None:
        self.node = node
        self.carrier = carrier
        self.boot = boot
        self.now = 0.0
        self._perform = perform
        self._control = control
        self._boots: dict[str, int] = {}  # of the other nodes, as they have greeted
        self._ahead: dict[str, list[tuple[int, Data | Ordered | Inform | Mark]]] = {}
        self._last: object = None  # the parcel that was last written, and its bytes
        self._payload = b""
        self._commits: dict[str, list[str]] = {}  # the keys of the commits since the snapshot
        self._groups: dict[str, tuple[str, ...]] = {}  # multicast groups, by federation

    # --- out --------------------------------------------------------------------------------------------------

    def carry(self, effect: Carried) -> None:
        """What cannot be sent or kept is told, and who would wait for it in vain is answered."""
        try:
            if isinstance(effect, Transmit):
                self._transmit(effect)
            elif isinstance(effect, Cast):
                self._cast(effect)
            elif isinstance(effect, Remember):
                self._remember(effect)
            elif isinstance(effect, Listen):
                self._groups[effect.federation] = effect.groups
                self.carrier.listen(frozenset(one for groups in self._groups.values() for one in groups))
            elif isinstance(effect, Named):
                value = cbor.encode([effect.home, effect.time_implementation]) if effect.home else None
                self.carrier.keep(f"name/{effect.federation}", value)
        except Exception as error:
            doing = type(effect).__name__
            self._perform([faults.fault(error, doing)], self.now)
            if isinstance(effect, Transmit):
                self._answer_instead(effect, faults.refusal(error, doing, self.node.name))

    def _answer_instead(self, effect: Transmit, refusal: RTIinternalError) -> None:
        parcel = effect.parcel
        if isinstance(parcel, (Request, Claim, Locate, parcels.Release)) and parcel.caller is not None:
            self._perform(
                self.node.receive(effect.node, Answer(parcel.caller, None, refusal), self.now), self.now
            )
        elif isinstance(parcel, (Answer, Commit)) and parcel.caller is not None:
            if parcel.caller.node == effect.node:
                self._transmit(Transmit(effect.node, Answer(parcel.caller, None, refusal)))

    def _transmit(self, effect: Transmit) -> None:
        parcel = effect.parcel
        control = self._control
        if control is not None and control.holds_for(effect.node):
            parcel = control.passed(
                effect.node, parcel, self.node.federations.get(getattr(parcel, "federation", ""))
            )
            if parcel is None:
                return
        if parcel is self._last:
            payload = self._payload  # to several nodes: written once
        else:
            try:
                payload = encode_parcel(parcel, self.boot)
            except ParcelError as error:
                self._unsent(effect.node, parcel, error)
                return
            self._last = parcel
            self._payload = payload
        went = self.carrier.send(effect.node, _FEDERATIONS, class_of(parcel, effect.reliable), payload)
        if not went and isinstance(parcel, Data):
            self._record_loss(effect.node, parcel, effect.reliable)

    def _record_loss(self, node: str, parcel: Data, reliable: bool) -> None:
        federation = self.node.federations.get(parcel.federation)
        if federation is not None:
            step = Step(Turn(self.node.name, self.now), federation, federation.rti)
            order_rows.lost(step, parcel.message, node, reliable, "there was no way to that node")

    def _cast(self, effect: Cast) -> None:
        """What is held back from one of the nodes goes to each by itself."""
        control = self._control
        if control is not None and any(control.holds_for(node) for node in effect.nodes):
            for node in effect.nodes:
                self._transmit(Transmit(node, effect.parcel, reliable=False))
            return
        payload = encode_parcel(effect.parcel, self.boot)
        self.carrier.cast(effect.nodes, effect.groups, _FEDERATIONS, payload)

    def _unsent(self, node: str, parcel: object, error: ParcelError) -> None:
        """A federate gave a service something that is no argument of any: what the home would have said is said here."""
        if not isinstance(parcel, Request) or parcel.caller is None:
            raise error  # then it is an error of ours
        refusal = RTIinternalError(f"{parcel.service} was given an argument of a wrong type: {error}")
        self._perform(self.node.receive(node, Answer(parcel.caller, None, refusal), self.now), self.now)

    # --- in: a resident of the carrier ------------------------------------------------------------------------

    def received(self, sender: str, payload: bytes, now: float) -> None:
        self.now = now
        try:
            boot, parcel = decode_parcel(payload)
        except ParcelError as error:
            text = f"node {sender!r} sent what cannot be read, and it is dropped: {error}"
            self._perform([Notice(LogText(text, "unreadable", ERROR, peer=sender))], self.now)
            return
        if isinstance(parcel, Hello):
            self._greeted(sender, boot, parcel, now)
        elif isinstance(parcel, (Data, Ordered, Inform, Mark)) and boot != self._boots.get(sender, 0):
            waiting = self._ahead.setdefault(sender, [])
            if boot > self._boots.get(sender, 0) and len(waiting) < AHEAD:
                waiting.append((boot, parcel))
        else:
            self._perform(self.node.receive(sender, parcel, now), self.now)

    def _greeted(self, sender: str, boot: int, hello: Hello, now: float) -> None:
        self._boots[sender] = boot
        self.carrier.keep(f"boot/{sender}", cbor.encode(boot))
        self._perform(self.node.receive(sender, hello, now), self.now)
        waited = self._ahead.pop(sender, [])
        for sent_by, parcel in waited:
            if sent_by == boot:
                self._perform(self.node.receive(sender, parcel, now), self.now)
        later = [one for one in waited if one[0] > boot]
        if later:
            self._ahead[sender] = later

    def lost(self, node: str, why: str, now: float) -> None:
        self.now = now
        self._perform(self.node.peer_lost(node, now, why, stopped=why.endswith(STOPPED)), self.now)

    def found(self, node: str, restarted: bool, now: float) -> None:
        """That it was restarted it says itself, in order with all else (`Hello`)."""
        self.now = now
        self._perform(self.node.peer_found(node, now), self.now)

    # --- what is kept -----------------------------------------------------------------------------------------

    def _remember(self, effect: Remember) -> None:
        name = effect.federation
        keys = self._commits.setdefault(name, [])
        if effect.commit is None:
            self._keep_state(name, keys)
            return
        key = f"federation/{name}/{effect.commit.sequence:016d}"
        self.carrier.keep(key, encode_parcel(effect.commit, self.boot))
        keys.append(key)
        federation = self.node.federations.get(name)
        if federation is not None and len(keys) >= max(COMMITS, len(federation.instances)):
            self._keep_state(name, keys)

    def _keep_state(self, name: str, keys: list[str]) -> None:
        """A snapshot in place of all that was kept; nothing in place of it if the federation is gone."""
        state = self.node.remembered(name, self.now)
        if state is None and name in self.node.federations:
            return  # it is being saved or restored: the next commits go on in the old way
        self.carrier.keep(
            f"federation/{name}/state", None if state is None else encode_parcel(state, self.boot)
        )
        for key in keys:
            self.carrier.keep(key, None)
        if state is None:
            self._commits.pop(name, None)
        else:
            keys.clear()

    def recover(self, now: float) -> None:
        """Begin, with what earlier processes of this node have kept."""
        self.now = now
        carrier = self.carrier
        carrier.keep("boot", cbor.encode(self.boot))
        for key, value in carrier.kept("boot/").items():
            self._boots[key.removeprefix("boot/")] = cbor.decode(value)
        states: dict[str, Welcome] = {}
        commits: dict[str, list[Commit]] = {}
        for key, value in carrier.kept("federation/").items():
            name, _, place = key.removeprefix("federation/").rpartition("/")
            _, parcel = decode_parcel(value)
            if place == "state":
                states[name] = parcel
            else:
                commits.setdefault(name, []).append(parcel)
                self._commits.setdefault(name, []).append(key)
        names = {
            key.removeprefix("name/"): tuple(cbor.decode(value))
            for key, value in carrier.kept("name/").items()
        }
        by_place = attrgetter("sequence")
        kept = [(state, sorted(commits.get(name, []), key=by_place)) for name, state in states.items()]
        carrier.settle(_FEDERATIONS, self)
        self._perform(self.node.recover(kept, names, carrier.nodes, now), self.now)


def class_of(parcel: object, reliable: bool) -> ServiceClass:
    if isinstance(parcel, Data) and parcel.message.in_time_stamp_order():
        return _CAUSAL
    if isinstance(parcel, (Data, Ordered)):
        return _RELIABLE if reliable else _BEST_EFFORT
    if isinstance(parcel, (Inform, Mark)):
        return _RELIABLE
    return _CAUSAL


def meshed_node(
    carrier: Carrier,
    perform: Callable[[list[Effect], float], None],
    topology: Topology | None = None,
    rules: Iterable[ReleaseRule] = (),
    reports: str = "",
    rid: Source | None = None,
) -> MeshedNode:
    """A node for this carrier, whose directory is the first server of the domains file.  It begins with `recover`.

    `perform` does what the node decided at that time; it gives `Carried` effects to the `carry` of what is returned here.
    """
    kept = carrier.kept("boot").get("boot")  # of the last process
    boot = 1 if kept is None else int(cbor.decode(kept)) + 1
    node = Node(carrier.name, carrier.nodes[0], reports, boot, rid)
    control = None if topology is None else ReleaseControl(topology, rules, carrier.name)
    return MeshedNode(node, carrier, perform, boot, control)
