"""The public surface: what users may import, and nothing by accident."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import subprocess
import sys

import pytest

import weft

PUBLIC = {
    "weft": [
        "CAUSAL_MODULE", "Agent", "AsyncFederate", "CallbackModel", "CausalRTIambassador", "Credentials", "EmbeddedNode",
        "Federate", "FederateAmbassador", "FederationRun", "HLAfloat64Interval",
        "HLAfloat64Time", "HLAinteger64Interval", "HLAinteger64Time", "HLAinteractionRoot", "HLAobjectRoot", "Interaction",
        "LocalObject", "LocalRegion", "OrderType",
        "RTIambassador", "RangeBounds", "RemoteObject", "ResignAction", "RoutingRegion", "RoutingSpaces",
        "QOS_MODULE", "RtiConfiguration", "Source", "Undecoded", "Update", "errors", "fom_from", "heard", "hla",
        "join", "join_async", "load_fom", "open_channel",
        "record", "run_file", "steps", "stop_node", "stop_recording",
    ],
    "weft.federate": [
        "Agent", "AsyncFederate", "CAUSAL_MODULE", "CausalCounts", "CausalRTIambassador", "Federate", "FederateAmbassador",
        "HLAinteractionRoot", "HLAobjectRoot", "Interaction", "LocalObject", "LocalRegion", "RTIambassador", "RemoteObject",
        "RoutingRegion", "RoutingSpaces",
        "QOS_MODULE", "Undecoded", "Update", "fom_from", "heard", "hla", "join", "join_async", "steps",
    ],
    "weft.review": ["AUDITS", "Review", "ReviewError", "Verdict", "follow", "judge", "register", "review", "sql"],
    "weft.prove": [
        "AtAddress", "AtServer", "Campaign", "CampaignOutcome", "Embedded", "Finding", "MakeWorld", "MeshedServers", "ModelWords",
        "OwnNodes", "Played", "Script", "ScriptedCall", "ServerCertificate", "Simulated", "Stage", "World", "judged",
        "check_strategy", "proving_model", "read_script", "shrunk", "words_of", "StrategyContractBroken",
        "IN_TURN",
    ],
    "weft.review.report": ["Evidence", "gather", "html_report"],
    "weft.host": [
        "Connection", "Designator", "EmbeddedConnection", "EmbeddedNode", "FederationRun", "NodeHost", "load_fom", "open_channel",
        "read_source",
        "read_sources", "record", "run_file", "shared_node", "stop_node", "stop_recording",
    ],
    "weft.host.dispatch": [
        "ConsumerDied", "HostDispatcher", "OneThread", "Preemptive", "RealTimeChannel", "RealTimeConsumer", "RealTimeSupplier",
        "Standing", "ThreadPerConsumer", "ThreadPools", "realtime_standing", "standing_for",
    ],
    "weft.fabric": [
        "TOPOLOGIES", "Acknowledgement", "AgentPlace", "Batch", "Beyond", "Certificate", "Changes", "Channel", "Cost",
        "FabricCounts", "CausalDelivery", "Domains", "DomainsFindings", "Fault", "Hop", "MatrixClock", "Packet", "Portion",
        "ReleaseRule", "Repair", "Saved", "MatrixStamp", "Topology", "Transmission", "cost", "decode_packet", "decode_stamp",
        "encode_packet", "encode_stamp", "examine_domains", "faults", "kept_back", "kept_names", "parse_domains",
        "parts", "plan", "shortest_cycle", "smallest_repair", "write_domains",
    ],
    "weft.channel": [
        "ANY", "BROADCAST", "DEADLINE_TIMEOUT", "DISCARD_NEWEST", "DISCARD_OLDEST", "EARLIEST_DEADLINE_FIRST", "FIRST_TYPE",
        "FULL", "INTERVAL_TIMEOUT", "MAXIMUM_URGENCY_FIRST", "MORE", "NO_CORRELATION", "NO_DISPATCHING", "RATE_MONOTONIC",
        "WAIT", "AdmissionControl", "AdmissionVerdict",
        "After", "AfterAll", "AfterAny", "Border", "ChannelObserver", "Configuration", "ConsumerAdmin", "ConsumerQos",
        "Cooperative", "Dependency", "DispatchRecord", "Dispatcher", "Event", "EventChannel", "Events", "Every", "Gateway",
        "Happening", "Immediate", "LocalLink", "LocalLinks", "News", "Policy",
        "SchedulePlan", "ProxyPushConsumer", "ProxyPushSupplier", "ProxyPullConsumer", "ProxyPullSupplier", "PullSupplier",
        "Publication", "PushConsumer", "PushSupplier", "Record", "RtInfo", "Schedule", "Scheduled", "SimulatedProcessor",
        "SingleThreaded", "SubscriptionObserver", "SupplierAdmin", "SupplierQos", "Timeout", "Timer", "Timers", "Urgency",
        "WaterMarks", "PushWork", "WorkQueue", "all_of", "any_of", "deadline", "depends", "interval", "on", "parse_schedule",
        "plan", "publishes", "recorded", "write_schedule",
    ],
    "weft.interest": [
        "DEFAULT_REGION", "NOWHERE", "STRATEGIES", "WHOLE", "Axis", "CellAxis", "Bounds", "CellInterest", "CellUpdate",
        "DdmSettings", "Declarations", "Declared", "DistributionList", "DistributionLists", "Extent", "Grid",
        "Logged", "Modified", "Outcome", "Placed", "Region", "Space", "SpaceDimension",
        "SpaceTime", "Spaces", "StaticGridPartitioned", "Strategy", "Subscribed", "AttributeWish", "closed", "make_strategy",
        "read_ddm_settings", "strategy_names", "stronger",
    ],
    "weft.interest.matching": ["BoxTree", "OverlapChange", "Overlaps", "match"],
    "weft.ordering": [
        "Mses", "MsesCounts", "Tag", "TaggedMessage", "decode_tag", "encode_tag", "encode_tags",
    ],
    "weft.recorder": ["BY_RESTORE", "COLUMNS", "FILTERED", "KINDS", "VERSION", "Book", "BookBatch", "Column"],
    "weft.recorder.timeline": [
        "Activation", "Ended", "Figures", "KINDS", "Laxity", "Lost", "Miss", "Picture", "Push", "Row", "SCRIPT", "TIP",
        "TIPS", "Table", "TimeWindow", "TimelineLane",
        "busy", "cut", "endings", "extent", "figures", "figures_by_priority", "html_page",
        "html_parts", "html_table", "lanes", "laxity", "page_style", "page_text", "picture", "rows_of", "share_processor",
        "timeline_graphic",
    ],
    "weft.wire": [
        "CALLBACK_SUCCEEDED", "ServiceCodec", "CompressedModule", "ConveyedRegion", "DecodedCall", "ModuleUrl", "WireError",
    ],
    "weft.kernel": [
        "DURING_RESTORE", "DURING_SAVE", "INTERNAL", "PAUSES", "SECTIONS", "SERVICES", "LEAST_URGENT",
        "Absence", "Alarm", "Callback", "Carried", "Cast", "ClassSchedule", "Effect", "Fetch", "Lane", "LastMile", "Listen",
        "Named", "Node", "Notice", "Record", "Refuse", "Remember", "Reply", "Store", "Surroundings", "Transmit",
        "UrgentCallback", "Wish",
    ],
}  # fmt: skip


@pytest.mark.parametrize("package", PUBLIC)
def test_a_facade_exports_what_it_says(package: str) -> None:
    """Adding to or taking from a façade is a decision, to be made here as well."""
    module = importlib.import_module(package)
    assert sorted(module.__all__) == sorted(PUBLIC[package])
    for name in module.__all__:
        assert hasattr(module, name)


def test_every_module_imports_and_says_what_it_is_for() -> None:
    """No module is broken, and each opens with a docstring."""
    for found in pkgutil.walk_packages(weft.__path__, "weft."):
        if not found.name.endswith("__main__"):
            module = importlib.import_module(found.name)
            # mypyc keeps no docstring of a compiled module; the source beside it has one.
            compiled = not str(getattr(module, "__file__", "")).endswith(".py")
            assert compiled or module.__doc__, f"{found.name} has no docstring"


def test_public_classes_and_functions_have_docstrings() -> None:
    for name in weft.__all__:
        thing = getattr(weft, name)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            assert thing.__doc__ or name == "EmbeddedNode", f"weft.{name} has no docstring"


def test_importing_weft_stays_light() -> None:
    """A federate install stays small: of third-party packages only librt, which compiled modules need, is imported."""
    code = (
        "import sys; import weft; "
        "print(sorted({n.split('.')[0] for n in sys.modules} - set(sys.stdlib_module_names) - {'weft'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    others = [name for name in eval(done.stdout) if "__mypyc" not in name and not name.startswith("__")]
    assert [name for name in others if name not in ("_distutils_hack", "sitecustomize", "librt")] == []
