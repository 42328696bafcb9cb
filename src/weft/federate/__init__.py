"""What a Python simulation is written against."""

from weft.federate.agents import Agent
from weft.federate.ambassador import RTIambassador
from weft.federate.callbacks import FederateAmbassador
from weft.federate.federate import Federate, join
from weft.federate.things import Interaction, LocalObject, RemoteObject

__all__ = [
    "Agent",
    "Federate",
    "FederateAmbassador",
    "Interaction",
    "LocalObject",
    "RTIambassador",
    "RemoteObject",
    "join",
]
