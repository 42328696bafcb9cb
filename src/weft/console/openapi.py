"""`GET /api/openapi.json`: the API, as OpenAPI 3.1.  A test holds every route and every answer against it."""

from __future__ import annotations

import weft
from weft.console.picture import SECTIONS
from weft.kernel.federation.operator import ACTIONS, MOST_STEPS
from weft.model.json_types import Json, JsonObject

TEXT: JsonObject = {"type": "string"}
NUMBER: JsonObject = {"type": "number"}
COUNT: JsonObject = {"type": "integer", "minimum": 0}
FLAG: JsonObject = {"type": "boolean"}
NAMES: JsonObject = {"type": "array", "items": TEXT}


def _object(
    properties: JsonObject, required: tuple[str, ...] = (), more: bool | JsonObject = True
) -> JsonObject:
    """`more`: of what kind members are that have no name here."""
    made: JsonObject = {"type": "object", "properties": properties, "additionalProperties": more}
    return {**made, "required": list(required)} if required else made


def _by_name(schema: JsonObject) -> JsonObject:
    return {"type": "object", "additionalProperties": schema}


def _ref(name: str) -> JsonObject:
    return {"$ref": f"#/components/schemas/{name}"}


_LINK = _object({"up": FLAG, "why": TEXT, "since": {**NUMBER, "description": "seconds that it is so"},
                 "sent": COUNT, "received": COUNT, "backlog": COUNT, "sent_rate": NUMBER, "received_rate": NUMBER})  # fmt: skip
_NODE = _object(
    {
        "state": {"enum": ["up", "down", "starting"]},
        "why": TEXT,
        "address": TEXT,
        "version": TEXT,
        "age": {**NUMBER, "description": "seconds since its last answer"},
        "server": _object(
            {"cpu": NUMBER, "messages_rate": NUMBER, "bytes_in_rate": NUMBER, "bytes_out_rate": NUMBER}
        ),
        "fabric": _object({"links": _by_name(_LINK), "domains": _by_name(NAMES), "routers": NAMES}),
        "recording": _object({"on": FLAG, "directory": TEXT, "runs": _by_name(TEXT)}),
    },
    ("state",),
)
_FEDERATE = _object(
    {
        "type": TEXT,
        "node": TEXT,
        "state": {
            **TEXT,
            "description": "joined, saving, restoring, lost, or unreachable: its node does not answer",
        },
        "regulating": FLAG,
        "constrained": FLAG,
        "asks": TEXT,
        "seconds": {**NUMBER, "description": "how long it has waited for a time advance"},
        "blocked_by": NAMES,
        "calls_rate": NUMBER,
        "callbacks_rate": NUMBER,
        "bytes_in_rate": NUMBER,
        "bytes_out_rate": NUMBER,
    },
    ("node",),
)
_GAIN = _object({"messages": COUNT, "before": NUMBER, "after": NUMBER, "gain": NUMBER})
_FEDERATION = _object(
    {
        "home": TEXT,
        "instances": COUNT,
        "paused": _object({"since": NUMBER, "by": TEXT, "steps": COUNT}),
        "strategy": TEXT,
        "strategy_fault": TEXT,
        "adaptation": _object({"changes": COUNT, "state": TEXT, "predicted": _GAIN, "obtained": _GAIN}),
        "federates": _by_name(_ref("Federate")),
        "classes": _by_name(_object({"publishers": NAMES, "subscribers": NAMES, "sent_rate": NUMBER, "received_rate": NUMBER})),
        "dimensions": _by_name(NUMBER),
        "regions": _by_name(_object({"owner": TEXT, "ranges": _by_name({"type": "array", "items": NUMBER})})),
        "consumers": _by_name(_object({})),
    },
    ("federates",),
)  # fmt: skip
_REVIEW = _object(
    {
        "state": {"enum": ["none", "running", "done", "failed"]},
        "progress": {**NUMBER, "minimum": 0, "maximum": 1},
        "stage": TEXT,
        "violations": COUNT,
        "inconclusive": FLAG,
        "report": TEXT,
        "reviewed": {**NUMBER, "description": "seconds since 1970"},
        "error": TEXT,
    },
    ("state",),
    more=False,
)
_RUN = _object(
    {
        "path": TEXT,
        "federations": NAMES,
        "started": {**NUMBER, "description": "seconds since 1970"},
        "rows": COUNT,
        "bytes": COUNT,
        "nodes": NAMES,
        "state": {"enum": ["recording", "complete", "incomplete", "interrupted", "unreadable"]},
        "state_text": TEXT,
        "error": TEXT,
        "review": _ref("Review"),
    },
    ("path", "state", "review"),
    more=False,
)
_PICTURE = _object(
    {
        "nodes": _by_name(_ref("Node")),
        "federations": _by_name(_ref("Federation")),
        "runs": _by_name(_ref("Run")),
        "console": _object(
            {"may_steer": FLAG, "version": TEXT, "pages": COUNT}, ("may_steer", "version", "pages"), False
        ),
    },
    ("nodes", "federations", "runs", "console"),
    more=False,
)
_STEERING = _object(
    {
        "action": {"enum": list(ACTIONS)},
        "federation": TEXT,
        "target": {
            "description": "of resign, the federate; of step, how many",
            "oneOf": [TEXT, {"type": "integer", "minimum": 1, "maximum": MOST_STEPS}],
        },
    },
    ("action", "federation"),
    more=False,
)
_LAKE_RUN = _object(
    {
        "federation": TEXT,
        "run": TEXT,
        "start_ns": COUNT,
        "status": {"enum": ["ok", "violated", "inconclusive", "failed", "following"]},
    },
    ("federation", "run", "start_ns", "status"),
)
_LAKE_FEDERATION = _object(
    {"name": TEXT, "runs": COUNT, "newest_ns": COUNT, "status": _by_name(COUNT)},
    ("name", "runs", "newest_ns", "status"),
)
_LAKE = _object(
    {
        "lake": TEXT,
        "federations": {"type": "array", "items": _ref("LakeFederation")},
        "runs": {"type": "array", "items": _ref("LakeRun")},
        "left_out": {**COUNT, "description": "older runs that are not listed"},
    },
    ("lake", "federations", "runs", "left_out"),
    more=False,
)  # fmt: skip
_LIST: JsonObject = {"type": "array", "items": {"type": "object"}}
_TREND = _object(
    {"federation": TEXT, "runs": _LIST, "worse": COUNT, "events": _LIST, "lines": _LIST},
    ("federation", "runs", "worse", "events", "lines"),
    more=False,
)
_COMPARISON = _object(
    {"before": _LIST, "after": _LIST, "by": TEXT, "notes": NAMES, "compared": COUNT, "worse": COUNT, "differences": _LIST},
    ("before", "after", "by", "notes", "compared", "worse", "differences"),
    more=False,
)  # fmt: skip
SCHEMAS: JsonObject = {
    "Lake": _LAKE,
    "LakeFederation": _LAKE_FEDERATION,
    "LakeRun": _LAKE_RUN,
    "Trend": _TREND,
    "Comparison": _COMPARISON,
    "Picture": _PICTURE,
    "Node": _NODE,
    "Federation": _FEDERATION,
    "Federate": _FEDERATE,
    "Run": _RUN,
    "Review": _REVIEW,
    "Steering": _STEERING,
    "Steered": _object({"ok": {"const": True}}, ("ok",)),
    "Error": _object({"error": TEXT}, ("error",), False),
}


def _answers(good: JsonObject, *bad: int, status: int = 200) -> JsonObject:
    refusals = {str(code): {"description": _WHY[code], **_json("Error")} for code in (401, 421, *bad)}
    return {str(status): good, **refusals}


_WHY = {
    400: "the request cannot be understood",
    401: "no token, or a wrong one",
    403: "from another site, without X-Weft-Token, or by a token that may only look",
    404: "there is no such thing",
    409: "refused, and why",
    413: "the body is too long",
    415: "the body is not JSON",
    421: "Host is not this console",
    500: "it cannot be read, and why",
    503: "too many pages, or questions",
    504: "the node, or who reads results, did not answer",
}


def _json(schema: str) -> JsonObject:
    return {"content": {"application/json": {"schema": _ref(schema)}}}


def _text(kind: str, what: str) -> JsonObject:
    return {"description": what, "content": {kind: {"schema": TEXT}}}


_RUN_NAME: JsonObject = {
    "name": "run",
    "in": "path",
    "required": True,
    "schema": TEXT,
    "description": "as in the picture's runs",
}
_CSRF: JsonObject = {"name": "X-Weft-Token", "in": "header", "schema": TEXT,
         "description": "of a page, from its <meta name=\"weft-csrf\">; not needed with Authorization"}  # fmt: skip
_CHANGES = (400, 403, 404, 409)
_READS = (404, 500, 503, 504)


def _query(name: str, what: str) -> JsonObject:
    return {"name": name, "in": "query", "schema": TEXT, "description": what}


def _bounds() -> list[Json]:
    least = "changes up to so much are of no interest"
    return [_query("percent", f"{least} (10)"), _query("ms", f"{least}, of latencies and waits (0.5)")]


def _paths() -> JsonObject:
    return {
        "/": {"get": {
            "summary": "the page",
            "parameters": [_query("token", "the first visit brings it; the answer sets the cookie")],
            "responses": {**_answers(_text("text/html", "the page")), "303": {"description": "to /, with the cookie"}}}},
        "/static/{name}": {"get": {
            "summary": "scripts and styles of the page",
            "parameters": [{"name": "name", "in": "path", "required": True, "schema": TEXT}],
            "responses": {**_answers(_text("text/javascript", "the file"), 404), "304": {"description": "unchanged"}}}},
        "/ws": {"get": {
            "summary": "WebSocket: the picture, then JSON Merge Patches (RFC 7396), at most two a second",
            "description": 'Comes: {"type": "full", "seq", "picture"}, {"type": "delta", "seq", "patch"}. '
                           'Goes: {"type": "look", "federation", "sections"}, what the page shows now.',
            "responses": _answers({"description": "switched to WebSocket"}, 403, 503, status=101)}},
        "/api/picture": {"get": {
            "summary": "the picture: nodes, federations, runs",
            "parameters": [_query("sections", f"some of {','.join(SECTIONS)}; all if not given"),
                           _query("federation", "sections of this one alone")],
            "responses": _answers({"description": "the picture", **_json("Picture")}, 400)}},
        "/api/openapi.json": {"get": {
            "summary": "this description",
            "responses": _answers({"description": "OpenAPI 3.1",
                                   "content": {"application/json": {"schema": {"type": "object"}}}})}},
        "/api/steer": {"post": {
            "summary": "pause, resume or step a federation's time advance, or resign a federate",
            "parameters": [_CSRF],
            "requestBody": {"required": True, **_json("Steering")},
            "responses": _answers({"description": "done", **_json("Steered")}, *_CHANGES, 413, 415, 504)}},
        "/api/runs/{run}/review": {
            "post": {
                "summary": "start the review of a run",
                "parameters": [_RUN_NAME, _CSRF],
                "responses": _answers({"description": "it runs", **_json("Review")}, *_CHANGES[1:], status=202)},
            "delete": {
                "summary": "stop it",
                "parameters": [_RUN_NAME, _CSRF],
                "responses": _answers({"description": "it has stopped", **_json("Review")}, *_CHANGES[1:])}},
        "/runs/{run}/report.html": {"get": {
            "summary": "what the review found",
            "parameters": [_RUN_NAME],
            "responses": _answers(_text("text/html", "the report"), 404)}},
        "/api/lake": {"get": {
            "summary": "the runs that were reviewed into the lake of results, with what was found",
            "responses": _answers({"description": "the newest first", **_json("Lake")}, *_READS)}},
        "/api/lake/trend": {"get": {
            "summary": "how figures go, run after run: as `weft trend RUNS --json`",
            "parameters": [_query("runs", "a federation, or some of its runs"), *_bounds()],
            "responses": _answers({"description": "the trend", **_json("Trend")}, 400, *_READS)}},
        "/api/lake/compare": {"get": {
            "summary": "what differs by more than noise: as `weft compare BEFORE AFTER --json`",
            "parameters": [_query("before", "runs, as for trend"), _query("after", "likewise"), *_bounds()],
            "responses": _answers({"description": "the comparison", **_json("Comparison")}, 400, *_READS)}},
        "/metrics": {"get": {
            "summary": "the same facts for Prometheus",
            "responses": _answers(_text("text/plain", "text exposition"))}},
    }  # fmt: skip


def description(url: str) -> JsonObject:
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Weft console",
            "version": weft.__version__,
            "description": "What nodes do, and what an operator may do about it. docs/how-to/console.md says more.",
        },
        "servers": [{"url": url}],
        "security": [{"cookie": []}, {"bearer": []}],
        "paths": _paths(),
        "components": {
            "schemas": SCHEMAS,
            "securitySchemes": {
                "cookie": {"type": "apiKey", "in": "cookie", "name": "weft-console-PORT"},
                "bearer": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "the operator's or the reader's token",
                },
            },
        },
    }
