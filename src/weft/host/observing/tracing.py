"""Spans of OpenTelemetry for what federates ask of a node, one for each call that `observing.call_watch` watches.

Where they go is for OpenTelemetry's own settings to say: a provider that the program has set up already, or one made here with
the exporter that OTEL_TRACES_EXPORTER names.  Nothing of OpenTelemetry is imported before somebody asks for a tracer.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from weft.host.observing.call_watch import WatchedCall
from weft.model.errors import SettingsError
from weft.model.extras import require

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

EXPORTER = "OTEL_TRACES_EXPORTER"


def span_sink(provider: TracerProvider, node: str, version: str) -> Callable[[WatchedCall], None]:
    """What makes spans of calls that are over."""
    from opentelemetry.trace import SpanKind, Status, StatusCode

    tracer = provider.get_tracer("weft", version)

    def sink(call: WatchedCall) -> None:
        about = {
            "weft.node": node,
            "weft.federation": call.federation,
            "weft.federate": call.federate,
            "weft.label": call.label,
            "weft.time.requested": call.requested,
            "weft.time.granted": call.granted,
            "weft.ended_by": call.ended_by,
            "error.type": call.refused,
        }
        span = tracer.start_span(
            f"weft.{call.service}",
            kind=SpanKind.SERVER,
            attributes={name: value for name, value in about.items() if value},
            start_time=call.began_ns,
        )
        if call.error:
            span.set_status(Status(StatusCode.ERROR, call.error))
        span.end(end_time=call.ended_ns)

    return sink


def provider_of(node: str, environment: Mapping[str, str] = os.environ) -> TracerProvider:
    """The provider that is set up already, or one as the environment says; raises PackageMissing or SettingsError."""
    require("--otel (serve.otel)", "otel", "opentelemetry.sdk", otherwise="leave it out")
    from opentelemetry import trace
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider as Provider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    found = trace.get_tracer_provider()
    if isinstance(found, Provider):
        return found
    name = environment.get(EXPORTER, "otlp")
    exporter = _exporter(name)
    made = Provider(resource=Resource.create({"service.name": "weft", "service.instance.id": node}))
    made.add_span_processor(BatchSpanProcessor(exporter))
    return made


def _exporter(name: str) -> Any:
    known = {point.name: point for point in entry_points(group="opentelemetry_traces_exporter")}
    if name not in known:
        raise SettingsError(
            f"there is no exporter {name!r} of OpenTelemetry ({EXPORTER}); installed are {', '.join(sorted(known)) or 'none'}. "
            f"Set {EXPORTER} to one of these, or install the package of that exporter (opentelemetry-exporter-otlp for otlp)"
        )
    return known[name].load()()


def flush(provider: TracerProvider) -> None:
    """What is still to be exported goes out: the process is about to end."""
    force = getattr(provider, "force_flush", None)
    if force is not None:
        force()
