"""A federation of n recording federates, with short ways to its handles; on one embedded node, if not placed elsewhere."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import pytest

from support import own_nodes, simulated_nodes
from support.placement import EMBEDDED, Placement
from support.recording_ambassador import Call, Recorder
from support.small_fom import fom
from weft import CallbackModel, EmbeddedNode, ResignAction, RTIambassador, Source
from weft.host import NodeHost
from weft.kernel.state.federation import Federation as State
from weft.model.errors import RTIexception
from weft.model.handles import (
    AttributeHandle,
    FederateHandle,
    InteractionClassHandle,
    ObjectClassHandle,
    ObjectInstanceHandle,
    ParameterHandle,
)

NAME = "range"
_directories = count()


def new_directory() -> Path:
    """Where nothing is yet; nobody makes it but a save."""
    return Path(gettempdir()) / f"weft-test-{os.getpid()}-{next(_directories)}"


class Federation:
    """`rti[i]` and `log[i]` are the two ambassadors of federate i; the first `joined` of n have joined."""

    def __init__(
        self,
        n: int = 2,
        joined: int | None = None,
        model: Source | None = None,
        callbacks: CallbackModel = CallbackModel.EVOKED,
        time: str = "",
        node: EmbeddedNode | None = None,
        nodes: Sequence[NodeHost] | None = None,
        placement: Placement = EMBEDDED,
    ) -> None:
        self.node = node or EmbeddedNode(save_directory=new_directory())
        if node is None and nodes is None:
            nodes = placement.sites(n)
        self.sites = nodes
        self.log = [Recorder() for _ in range(n)]
        self.rti = [placement.ambassador(host) for host in nodes or [self.node] * n]
        self.handles: list[FederateHandle | None] = [None] * n
        self.present: set[int] = set()
        for rti, log in zip(self.rti, self.log, strict=True):
            rti.connect(log, callbacks)
        self.rti[0].create_federation_execution(NAME, [model or fom()], time)
        for i in range(n if joined is None else joined):
            self.join(i)

    def state(self) -> State:
        """The federation as the kernel of its home holds it."""
        site = None if self.sites is None else self.sites[0]
        kernels = (
            site.kernels()
            if isinstance(site, (simulated_nodes.Site, own_nodes.OwnSite))
            else [self.node._node]
        )
        return next(kernel.federations[NAME] for kernel in kernels if NAME in kernel.federations)

    def join(self, i: int) -> FederateHandle:
        handle = self.rti[i].join_federation_execution(f"federate {i}", "test", NAME)
        self.handles[i] = handle
        self.present.add(i)
        return handle

    def handle(self, i: int) -> FederateHandle:
        found = self.handles[i]
        assert found is not None
        return found

    def resign(self, i: int, action: ResignAction = ResignAction.CANCEL_THEN_DELETE_THEN_DIVEST) -> None:
        self.rti[i].resign_federation_execution(action)
        self.present.discard(i)

    # --- callbacks --------------------------------------------------------------------------------------------

    def drain(self, *which: int) -> None:
        """Run all waiting callbacks, of these federates or of all."""
        for i in which or range(len(self.rti)):
            while self.rti[i].evoke_callback(0.0):
                pass

    def take(self, i: int, *methods: str) -> list[Call]:
        """Drain federate i; what it heard since the last time, or only these methods of it."""
        self.drain(i)
        return [call for call in self.log[i].take() if not methods or call[0] in methods]

    def heard(self, i: int) -> list[str]:
        """The names of the callbacks federate i got since the last time."""
        return [method for method, _ in self.take(i)]

    def quiet(self) -> None:
        """Forget all callbacks so far."""
        self.drain()
        for log in self.log:
            log.take()

    # --- handles ----------------------------------------------------------------------------------------------

    @property
    def _asked(self) -> RTIambassador:
        """Any joined federate can say what a name means."""
        return self.rti[min(self.present)]

    def object_class(self, name: str) -> ObjectClassHandle:
        return self._asked.get_object_class_handle(name)

    def interaction(self, name: str) -> InteractionClassHandle:
        return self._asked.get_interaction_class_handle(name)

    def attribute(self, object_class: str, name: str) -> AttributeHandle:
        return self._asked.get_attribute_handle(self.object_class(object_class), name)

    def attributes(self, object_class: str, *names: str) -> frozenset[AttributeHandle]:
        return frozenset(self.attribute(object_class, name) for name in names)

    def parameter(self, interaction: str, name: str) -> ParameterHandle:
        return self._asked.get_parameter_handle(self.interaction(interaction), name)

    # --- short ways -------------------------------------------------------------------------------------------

    def publish(self, i: int, object_class: str, *names: str) -> None:
        self.rti[i].publish_object_class_attributes(
            self.object_class(object_class), self.attributes(object_class, *names)
        )

    def subscribe(
        self, i: int, object_class: str, *names: str, rate: str | None = None, active: bool = True
    ) -> None:
        rti = self.rti[i]
        subscribe = (
            rti.subscribe_object_class_attributes
            if active
            else rti.subscribe_object_class_attributes_passively
        )
        subscribe(self.object_class(object_class), self.attributes(object_class, *names), rate)

    def register(self, i: int, object_class: str, name: str | None = None) -> ObjectInstanceHandle:
        return self.rti[i].register_object_instance(self.object_class(object_class), name)

    def update(
        self, i: int, instance: ObjectInstanceHandle, object_class: str, *names: str, tag: bytes = b""
    ) -> None:
        values = {self.attribute(object_class, name): name.encode() for name in names}
        self.rti[i].update_attribute_values(instance, values, tag)

    def send(self, i: int, interaction: str, *names: str, tag: bytes = b"") -> None:
        values = {self.parameter(interaction, name): name.encode() for name in names}
        self.rti[i].send_interaction(self.interaction(interaction), values, tag)

    def close(self) -> None:
        """Let go of all connections, so that no callback thread outlives its test."""
        for rti in self.rti:
            rti._lose_connection()
        shutil.rmtree(self.node.saves, ignore_errors=True)


@contextmanager
def federation(*arguments: Any, **named: Any) -> Iterator[Federation]:
    made = Federation(*arguments, **named)
    try:
        yield made
    finally:
        made.close()


@contextmanager
def refused(*errors: type[RTIexception]) -> Iterator[None]:
    """The body raises exactly one of these classes, and says something."""
    with pytest.raises(RTIexception) as caught:
        yield
    assert type(caught.value) in errors, f"expected {[e.__name__ for e in errors]}, got {caught.value!r}"
    assert str(caught.value)


def names_of(calls: Iterable[Call]) -> list[str]:
    return [method for method, _ in calls]
