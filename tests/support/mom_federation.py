"""A federation seen through the MOM: sends its interactions and reads its reports, all through the object model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from support.federation import Federation
from weft import RTIambassador
from weft.fom import ObjectModel, parse_module
from weft.fom import merge as merge_modules
from weft.kernel.mom.mom_objects import FIRST
from weft.model.handles import ObjectInstanceHandle

FEDERATE = "HLAmanager.HLAfederate"
FEDERATION = "HLAmanager.HLAfederation"
THE_FEDERATION = ObjectInstanceHandle.of(FIRST)


class Mom:
    """`f.rti[0]` is the one who manages; it hears what it subscribes to."""

    def __init__(self, f: Federation, model: ObjectModel | None = None) -> None:
        self.f = f
        self.model = model or f.state().catalog.model
        self._published: set[str] = set()

    @property
    def rti(self) -> RTIambassador:
        return self.f.rti[0]

    def instance(self, i: int) -> ObjectInstanceHandle:
        return ObjectInstanceHandle.of(FIRST + self.f.handle(i).number)

    # --- interactions -----------------------------------------------------------------------------------------

    def hear(self, *names: str, about: str = FEDERATE) -> None:
        for name in names:
            self.rti.subscribe_interaction_class(self.f.interaction(f"{about}.HLAreport.{name}"))

    def send(self, name: str, federate: int | None = None, about: str = FEDERATE, **values: Any) -> None:
        """`name` is like "HLArequest.HLArequestPublications"."""
        full = f"HLAinteractionRoot.{about}.{name}"
        handle = self.rti.get_interaction_class_handle(full)
        if full not in self._published:
            self._published.add(full)
            self.rti.publish_interaction_class(handle)
        if federate is not None:
            values["HLAfederate"] = self.f.handle(federate)
        types = {p.name: p.data_type for p in self.model.all_parameters(full)}
        self.rti.send_interaction(
            handle,
            {
                self.rti.get_parameter_handle(handle, p): bytes(v)
                if isinstance(v, Raw)
                else self.model.encode(types[p], v)
                for p, v in values.items()
            },
            b"",
        )

    def reports(self, i: int = 0) -> list[tuple[str, dict[str, Any]]]:
        """(name, parameters) of the reports that federate i heard since the last time."""
        return [self.decoded(args) for _, args in self.f.take(i, "receive_interaction")]

    def decoded(self, arguments: tuple[Any, ...]) -> tuple[str, dict[str, Any]]:
        handle, values, _, _, producer, *_ = arguments
        assert producer.number == 0, "reports come from the RTI"
        name = self.rti.get_interaction_class_name(handle)
        types = {p.name: p.data_type for p in self.model.all_parameters(name)}
        found = {}
        for parameter, value in values.items():
            known = self.rti.get_parameter_name(handle, parameter)
            found[known] = self.model.decode(types[known], value)
        return name.rpartition(".")[2], found

    def ask(self, name: str, *args: Any, **values: Any) -> list[dict[str, Any]]:
        """Send a request and take its reports."""
        self.f.quiet()
        self.send(f"HLArequest.{name}", *args, **values)
        return [found for _, found in self.reports()]

    # --- attributes -------------------------------------------------------------------------------------------

    def watch(self, about: str, *names: str) -> None:
        """Subscribe to these attributes of a MOM class, or to all."""
        self.f.subscribe(0, about, *(names or self.names(about)))

    def names(self, about: str) -> list[str]:
        return [a.name for a in self.model.object_classes[f"HLAobjectRoot.{about}"].attributes]

    def values(self, instance: ObjectInstanceHandle, about: str) -> dict[str, Any]:
        """What was reflected of the instance since the last time; the last value of each attribute counts."""
        found: dict[str, Any] = {}
        for _, (handle, values, *_) in self.f.take(0, "reflect_attribute_values"):
            if handle == instance:
                found.update(self.read(about, values))
        return found

    def read(self, about: str, values: dict[Any, bytes]) -> dict[str, Any]:
        types = {a.name: a.data_type for a in self.model.object_classes[f"HLAobjectRoot.{about}"].attributes}
        object_class = self.f.object_class(about)
        found = {}
        for attribute, value in values.items():
            name = self.rti.get_attribute_name(object_class, attribute)
            found[name] = self.model.decode(types[name], value)
        return found

    def request(
        self, instance: ObjectInstanceHandle, about: str, names: Iterable[str] = ()
    ) -> dict[str, Any]:
        """Ask for values of a MOM instance and read them."""
        self.f.quiet()
        chosen = self.f.attributes(about, *(names or self.names(about)))
        self.rti.request_attribute_value_update(instance, chosen, b"")
        return self.values(instance, about)


class Raw(bytes):
    """A parameter that is sent as it is, however wrong."""


def whole_model(*sources: Any) -> ObjectModel:
    return merge_modules([parse_module(source) for source in sources])
