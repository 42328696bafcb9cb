"""Save and restore (4.19 to 4.35) against a brute-force model: random federates that save, fail, resign, crash and restore."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pytest

from support.oracle_saves import Model, Out
from support.oracle_state import Refused
from support.simulated_federates import DELETE, FOM, NAME, handles
from weft.host.files import cbor
from weft.kernel import PAUSES, Callback, Effect, Fetch, Node, Refuse, Reply, Store
from weft.model.enums import RestoreFailureReason, SaveFailureReason

SEATS = 4
STEPS = 1500
LABELS = ["noon", "dusk"]
STATUS = {
    "NO_SAVE_IN_PROGRESS": "NO",
    "FEDERATE_INSTRUCTED_TO_SAVE": "INSTRUCTED",
    "FEDERATE_SAVING": "SAVING",
    "FEDERATE_WAITING_FOR_FEDERATION_TO_SAVE": "WAITING",
    "NO_RESTORE_IN_PROGRESS": "NO",
    "FEDERATE_RESTORE_REQUEST_PENDING": "PENDING",
    "FEDERATE_RESTORING": "RESTORING",
    "FEDERATE_WAITING_FOR_FEDERATION_TO_RESTORE": "WAITING",
}
WEIGHTS = {
    "join": 6,
    "resign": 1,
    "lose": 1,
    "send": 20,
    "take": 30,
    "request_save": 4,
    "begun": 40,
    "complete": 40,
    "not_complete": 1,
    "abort_save": 1,
    "stored": 10,
    "query_save": 2,
    "request_restore": 4,
    "fetched": 10,
    "restored": 40,
    "not_restored": 1,
    "abort_restore": 1,
    "query_restore": 2,
}
SERVICES = {
    "request_save": "request_federation_save",
    "begun": "federate_save_begun",
    "complete": "federate_save_complete",
    "not_complete": "federate_save_not_complete",
    "abort_save": "abort_federation_save",
    "query_save": "query_federation_save_status",
    "request_restore": "request_federation_restore",
    "restored": "federate_restore_complete",
    "not_restored": "federate_restore_not_complete",
    "abort_restore": "abort_federation_restore",
    "query_restore": "query_federation_restore_status",
}


class Bench:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.node = Node("S1")
        self.model = Model()
        self.sessions = [self.node.open_session() for _ in range(SEATS)]
        founder = self.node.open_session()
        self.node.call(founder, 0, "create_federation_execution", (NAME, (FOM,), None, ""), 0.0)
        self.inboxes: dict[int, list[str]] = defaultdict(list)  # pausing callbacks that wait to be taken
        self.disk: dict[str, bytes] = {}
        self.asked: list[Store | Fetch] = []
        self.eras: dict[str, int] = {}
        self.sent = 0
        self.ends: dict[str, int] = defaultdict(int)

    def step(self) -> None:
        operation = self.random.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        seat = self.random.randrange(SEATS)
        label = self.random.choice(LABELS)
        well = self.random.random() < 0.9
        try:
            expected: Out | str = self._predict(operation, seat, label, well)
        except Refused as refused:
            (expected,) = refused.names
        effects = self._do(operation, seat, label, well)
        found: Out | str = self._found(effects)
        assert _by_seat(found) == _by_seat(expected), f"{operation} {seat} {label} {well}"

    def _predict(self, operation: str, seat: int, label: str, well: bool) -> Out:
        model = self.model
        if operation in ("resign", "lose"):
            return model.leave(seat) if operation == "resign" or seat in model.who else []
        if operation == "send":
            return model.send(seat, b"%d" % self.sent)
        if operation == "take":
            return model.take(seat, self.inboxes[seat][0]) if len(self.inboxes[seat]) == 1 else []
        if operation == "stored":
            return model.stored(well) if self._first(Store) is not None else []
        if operation == "fetched":
            asked = self._first(Fetch)
            return [] if asked is None else model.fetched(well, asked.label, self.eras[asked.execution])
        if operation == "request_save":
            return model.request_save(seat, label)
        if operation == "request_restore":
            return model.request_restore(seat, label)
        if operation in ("complete", "not_complete"):
            return model.complete(seat, operation == "complete")
        if operation in ("restored", "not_restored"):
            return model.restored(seat, operation == "restored")
        plain: Callable[[int], Out] = getattr(model, operation)
        return plain(seat)

    def _first(self, kind: type[Store] | type[Fetch]) -> Store | Fetch | None:
        return next((one for one in self.asked if isinstance(one, kind)), None)

    def _do(self, operation: str, seat: int, label: str, well: bool) -> list[Effect]:
        node, session = self.node, self.sessions[seat]
        if operation == "join":
            effects = node.call(session, 1, "join_federation_execution", (NAME, "test", None, ()), 0.0)
            if isinstance(effects[0], Reply):
                halt = handles().interactions["Command.Halt"]
                node.call(session, 1, "publish_interaction_class", (halt,), 0.0)
                node.call(session, 1, "subscribe_interaction_class", (halt,), 0.0)
            return effects
        if operation == "resign":
            self.inboxes[seat].clear()
            return node.call(session, 1, "resign_federation_execution", (DELETE,), 0.0)
        if operation == "lose":
            effects = node.session_lost(session, 0.0)
            self.sessions[seat] = node.open_session()
            self.inboxes[seat].clear()
            return effects
        if operation == "send":
            tag = b"%d" % self.sent
            self.sent += 1
            values: dict[Any, Any] = {}
            arguments = (handles().interactions["Command.Halt"], values, tag)
            return node.call(session, 1, "send_interaction", arguments, 0.0)
        if operation == "take":
            if self.inboxes[seat]:
                node.took(session, self.inboxes[seat].pop(0))
            return []
        if operation in ("stored", "fetched"):
            return self._host(Store if operation == "stored" else Fetch, well)
        given = (label,) if operation.startswith("request") else ()
        return node.call(session, 1, SERVICES[operation], given, 0.0)

    def _host(self, kind: type[Store] | type[Fetch], well: bool) -> list[Effect]:
        """What the host was asked for first of that kind, well or badly done."""
        one = self._first(kind)
        if one is None:
            return []
        self.asked.remove(one)
        where = (one.federation, one.execution, one.label)
        if isinstance(one, Store):
            if well:
                self.disk[one.label] = cbor.encode(one.data)
            return self.node.stored(*where, well, 0.0)
        data = cbor.decode(self.disk[one.label]) if well and one.label in self.disk else None
        return self.node.fetched(*where, data, 0.0)

    def _found(self, effects: list[Effect]) -> Out | str:
        out: Out = []
        for effect in effects:
            if isinstance(effect, Refuse):
                return type(effect.error).__name__
            if isinstance(effect, (Store, Fetch)):
                self.asked.append(effect)
                self.eras.setdefault(effect.execution, self.model.era)
            if isinstance(effect, Callback):
                seat = self.sessions.index(effect.session)
                if effect.method in PAUSES:
                    self.inboxes[seat].append(effect.method)
                out.append((seat, effect.method, _detail(effect.method, effect.arguments)))
                self.ends[effect.method] += 1
        return out


def _detail(method: str, arguments: tuple[Any, ...]) -> Any:
    if method == "receive_interaction":
        return arguments[2]
    if method == "initiate_federate_restore":
        return arguments[2].number, arguments[1]
    if method == "federation_save_status_response":
        return [(handle.number, STATUS[status.name]) for handle, status in arguments[0]]
    if method == "federation_restore_status_response":
        return [(one[0].number, one[1].number, STATUS[one[2].name]) for one in arguments[0]]
    if arguments and isinstance(arguments[0], (SaveFailureReason, RestoreFailureReason)):
        return arguments[0].name
    return arguments[0] if arguments else None


def _by_seat(out: Out | str) -> Any:
    if isinstance(out, str):
        return out
    found: dict[int, list[Any]] = defaultdict(list)
    for seat, *what in out:
        found[seat].append(what)
    return dict(found)


def run(seed: int, steps: int) -> dict[str, int]:
    bench = Bench(seed)
    for _ in range(steps):
        bench.step()
    return bench.ends


def test_saves_and_restores_go_as_the_model_says() -> None:
    """Clauses 4.19 to 4.35, whoever does what when; and the runs really get to every end there is."""
    ends: dict[str, int] = defaultdict(int)
    for seed in range(40):
        for method, count in run(seed, STEPS).items():
            ends[method] += count
    for method in (
        "federation_saved",
        "federation_not_saved",
        "federation_restored",
        "federation_not_restored",
    ):
        assert ends[method] > 10, ends


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_saves_and_restores_go_as_the_model_says_for_long() -> None:
    """As above, for longer."""
    for seed in range(1000, 4000):
        run(seed, 2 * STEPS)
