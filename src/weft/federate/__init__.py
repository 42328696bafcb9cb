"""What a Python simulation is written against."""

from weft.federate.agents import Agent
from weft.federate.ambassador import RTIambassador
from weft.federate.asynchronous import AsyncFederate
from weft.federate.asynchronous.federate import join_async
from weft.federate.callbacks import FederateAmbassador
from weft.federate.causal import CAUSAL_MODULE, CausalCounts, CausalRTIambassador
from weft.federate.clock import steps
from weft.federate.correlation import heard
from weft.federate.federate import Federate, join
from weft.federate.qos_module import QOS_MODULE
from weft.federate.regions import LocalRegion
from weft.federate.spaces import RoutingRegion, RoutingSpaces
from weft.federate.things import LocalObject, RemoteObject, Undecoded
from weft.federate.things import ReceivedInteraction as Interaction
from weft.federate.things import ReceivedUpdate as Update
from weft.fom.classes import HLAinteractionRoot, HLAobjectRoot, fom_from, hla

__all__ = [
    "CAUSAL_MODULE",
    "QOS_MODULE",
    "Agent",
    "AsyncFederate",
    "CausalCounts",
    "CausalRTIambassador",
    "Federate",
    "FederateAmbassador",
    "HLAinteractionRoot",
    "HLAobjectRoot",
    "Interaction",
    "LocalObject",
    "LocalRegion",
    "RTIambassador",
    "RemoteObject",
    "RoutingRegion",
    "RoutingSpaces",
    "Undecoded",
    "Update",
    "fom_from",
    "heard",
    "hla",
    "join",
    "join_async",
    "steps",
]
