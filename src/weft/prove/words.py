"""What there is to talk about: the classes of an object model, and those of the MOM that worlds must agree on.

Best effort promises nothing that two runs could be compared by, but where nothing is lost all of it arrives; worlds are such.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from weft.fom import INTERACTION_ROOT, OBJECT_ROOT, PRIVILEGE_TO_DELETE, ObjectModel
from weft.host import load_fom
from weft.model.records import Source

MANAGER = "HLAmanager"
FEDERATE = f"{INTERACTION_ROOT}.{MANAGER}.HLAfederate"
FEDERATION = f"{INTERACTION_ROOT}.{MANAGER}.HLAfederation"
MOM_OBJECTS = {
    f"{OBJECT_ROOT}.{MANAGER}.HLAfederate": (
        "HLAfederateName", "HLAfederateType", "HLAtimeConstrained", "HLAtimeRegulating", "HLAasynchronousDelivery",
        "HLAfederateState", "HLAtimeManagerState", "HLAlookahead",
    ),
    f"{OBJECT_ROOT}.{MANAGER}.HLAfederation": (
        "HLAtimeImplementationName", "HLAlastSaveName", "HLAnextSaveName", "HLAautoProvide",
    ),
}  # fmt: skip
"""Object classes of the MOM, with the attributes that say the same wherever a federation runs."""
MOM_REQUESTS = (
    "HLArequestPublications", "HLArequestSubscriptions", "HLArequestObjectInstancesThatCanBeDeleted",
    "HLArequestObjectInstancesUpdated", "HLArequestObjectInstancesReflected", "HLArequestUpdatesSent",
    "HLArequestInteractionsSent", "HLArequestReflectionsReceived", "HLArequestInteractionsReceived",
    "HLArequestDirectedInteractionsSent",
    "HLArequestDirectedInteractionsReceived",
)  # fmt: skip
MOM_REPORTS = (
    "HLAreportObjectClassPublication", "HLAreportInteractionPublication", "HLAreportDirectedInteractionPublication",
    "HLAreportObjectClassSubscription", "HLAreportInteractionSubscription", "HLAreportDirectedInteractionSubscription",
    "HLAreportObjectInstancesThatCanBeDeleted", "HLAreportObjectInstancesUpdated", "HLAreportObjectInstancesReflected",
    "HLAreportUpdatesSent", "HLAreportReflectionsReceived", "HLAreportInteractionsSent", "HLAreportInteractionsReceived",
    "HLAreportDirectedInteractionsSent", "HLAreportDirectedInteractionsReceived", "HLAreportMOMexception",
)  # fmt: skip
MOM_SERVICES = (
    "HLAresignFederationExecution", "HLAsynchronizationPointAchieved", "HLAenableTimeConstrained", "HLAdisableTimeConstrained",
    "HLAenableAsynchronousDelivery", "HLAdisableAsynchronousDelivery", "HLAdisableTimeRegulation",
)  # fmt: skip


@dataclass(frozen=True)
class ModelWords:
    sources: tuple[Source, ...]
    model: ObjectModel

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """Object classes of the federation's own."""
        return tuple(name for name in self.model.object_classes if not _of_mom(name, OBJECT_ROOT))

    @cached_property
    def interactions(self) -> tuple[str, ...]:
        return tuple(name for name in self.model.interaction_classes if not _of_mom(name, INTERACTION_ROOT))

    @cached_property
    def all_classes(self) -> tuple[str, ...]:
        return (OBJECT_ROOT, *self.classes, *MOM_OBJECTS)

    @cached_property
    def mom_interactions(self) -> tuple[str, ...]:
        names = [f"{FEDERATE}.HLArequest.{name}" for name in MOM_REQUESTS]
        names += [f"{FEDERATE}.HLAreport.{name}" for name in MOM_REPORTS]
        names += [f"{FEDERATE}.HLAservice.{name}" for name in MOM_SERVICES]
        names += [f"{FEDERATION}.HLArequest.HLArequestSynchronizationPoints"]
        names += [f"{FEDERATION}.HLAreport.HLAreportSynchronizationPoints"]
        return tuple(name for name in names if name in self.model.interaction_classes)

    @cached_property
    def all_interactions(self) -> tuple[str, ...]:
        return (INTERACTION_ROOT, *self.interactions, *self.mom_interactions)

    def attributes(self, cls: str) -> tuple[str, ...]:
        """Without the privilege to delete."""
        if cls in MOM_OBJECTS:
            return MOM_OBJECTS[cls]
        return tuple(a.name for a in self.model.all_attributes(cls) if a.name != PRIVILEGE_TO_DELETE)

    def parameters(self, interaction: str) -> tuple[str, ...]:
        return tuple(p.name for p in self.model.all_parameters(interaction))

    def attribute_type(self, cls: str, name: str) -> str:
        """Its data type; nothing if the class has no such attribute."""
        of = self.model.all_attributes(cls) if cls in self.model.object_classes else ()
        return next((one.data_type for one in of if one.name == name), "")

    def parameter_type(self, interaction: str, name: str) -> str:
        of = self.model.all_parameters(interaction) if interaction in self.model.interaction_classes else ()
        return next((one.data_type for one in of if one.name == name), "")

    def directed(self, cls: str) -> tuple[str, ...]:
        """Interactions that the class, or one above it, names as directed."""
        return tuple(name for owner in self.model.object_lineage(cls) for name in owner.directed_interactions)

    @cached_property
    def dimensions(self) -> dict[str, int]:
        """With their upper bounds; without those of the MOM."""
        return {
            name: one.upper_bound for name, one in self.model.dimensions.items() if not name.startswith("HLA")
        }

    @cached_property
    def rates(self) -> tuple[str, ...]:
        """Only those so high that nothing waits for real time, which two worlds have not in common."""
        return tuple(name for name, rate in self.model.update_rates.items() if rate >= 1e100)

    @cached_property
    def transportations(self) -> tuple[str, ...]:
        return tuple(self.model.transportations)


def _of_mom(name: str, root: str) -> bool:
    return name == root or name.startswith(f"{root}.{MANAGER}")


def words_of(sources: Sequence[Source]) -> ModelWords:
    """Of an object model in one or several modules."""
    return ModelWords(tuple(sources), load_fom(*sources))
