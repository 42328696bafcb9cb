"""Weft: a run-time infrastructure (RTI) for distributed simulation.

`weft.join` and `weft.Federate` are the Python way to write a federate; `weft.RTIambassador` and
`weft.FederateAmbassador` carry the services of IEEE 1516.1-2025 under their standard names.
"""

from weft._build import prefer_source_if_asked

prefer_source_if_asked()
del prefer_source_if_asked

from weft import errors  # noqa: E402
from weft.federate import (  # noqa: E402
    CAUSAL_MODULE,
    QOS_MODULE,
    Agent,
    AsyncFederate,
    CausalRTIambassador,
    Federate,
    FederateAmbassador,
    HLAinteractionRoot,
    HLAobjectRoot,
    Interaction,
    LocalObject,
    LocalRegion,
    RemoteObject,
    RoutingRegion,
    RoutingSpaces,
    RTIambassador,
    Undecoded,
    Update,
    fom_from,
    heard,
    hla,
    join,
    join_async,
    steps,
)
from weft.host import (  # noqa: E402
    EmbeddedNode,
    FederationRun,
    load_fom,
    open_channel,
    record,
    run_file,
    stop_node,
    stop_recording,
)
from weft.model.enums import CallbackModel, OrderType, ResignAction  # noqa: E402
from weft.model.records import Credentials, RangeBounds, RtiConfiguration, Source  # noqa: E402
from weft.model.time import (  # noqa: E402
    HLAfloat64Interval,
    HLAfloat64Time,
    HLAinteger64Interval,
    HLAinteger64Time,
)

__version__ = "0.1.0"

__all__ = [
    "CAUSAL_MODULE",
    "QOS_MODULE",
    "Agent",
    "AsyncFederate",
    "CallbackModel",
    "CausalRTIambassador",
    "Credentials",
    "EmbeddedNode",
    "Federate",
    "FederateAmbassador",
    "FederationRun",
    "HLAfloat64Interval",
    "HLAfloat64Time",
    "HLAinteger64Interval",
    "HLAinteger64Time",
    "HLAinteractionRoot",
    "HLAobjectRoot",
    "Interaction",
    "LocalObject",
    "LocalRegion",
    "OrderType",
    "RTIambassador",
    "RangeBounds",
    "RemoteObject",
    "ResignAction",
    "RoutingRegion",
    "RoutingSpaces",
    "RtiConfiguration",
    "Source",
    "Undecoded",
    "Update",
    "errors",
    "fom_from",
    "heard",
    "hla",
    "join",
    "join_async",
    "load_fom",
    "open_channel",
    "record",
    "run_file",
    "steps",
    "stop_node",
    "stop_recording",
]
