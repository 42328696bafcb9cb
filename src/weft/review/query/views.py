"""Views over the tables of the lake, each for a question that people ask; docs/reference/lake.md lists them from here.

In SQL that DuckDB and Spark both read; names in double quotes, which for Spark are turned into its own.
"""

from __future__ import annotations

from typing import NamedTuple


class LakeView(NamedTuple):
    name: str
    question: str
    sql: str


_RUN = 'r.federation, r."date", r.run, r.start_ns'
_SAME = "x.federation = r.federation AND x.run = r.run"

VIEWS = (
    LakeView(
        "violated_runs",
        "Which runs were not right, and by which audits?",
        f"""SELECT {_RUN}, x.audit, x.violations, x.unsure, r.path FROM run r JOIN audit x ON {_SAME}
        WHERE x.violations > 0""",
    ),
    LakeView(
        "not_whole",
        "Of which runs is the data not whole, or not to be trusted, and why?",
        f"""SELECT {_RUN}, r.status, x.severity, x."check", x.subject, x.text
        FROM run r JOIN data_quality x ON {_SAME} WHERE x.severity IN ('gap', 'wrong', 'clock')
        UNION ALL
        SELECT {_RUN}, r.status, 'failed', 'review', r.path, r.error FROM run r WHERE r.status = 'failed'""",
    ),
    LakeView(
        "late_messages",
        "Which messages came too late for causal order, and behind which?",
        f"""SELECT {_RUN}, x.number, x.federate_name, x.source_name, x.message, x."class", x."order",
            x.after_source, x."after", x.after_class
        FROM run r JOIN violation x ON {_SAME} WHERE x.audit = 'causal'""",
    ),
    LakeView(
        "worst_latency",
        "Where did messages take longest, from send to delivery?  Whole runs, by class and receiver.",
        f"""SELECT {_RUN}, x."class", x."order", x.federate_name, x.across, x."count", x.p50_ms, x.p95_ms, x.p99_ms, x.max_ms
        FROM run r JOIN latency x ON {_SAME} WHERE x.what = 'deliver' AND x.span = 'run'""",
    ),
    LakeView(
        "latency_by_class",
        "How long do messages of a class take in a run?  All receivers together: counts and means are exact; `worst_p99_ms` is "
        "that of the slowest receiver.",
        f"""SELECT {_RUN}, x."class", x."order", sum(x."count") AS deliveries,
            sum(x."count" * x.mean_ms) / sum(x."count") AS mean_ms, max(x.p99_ms) AS worst_p99_ms, max(x.max_ms) AS max_ms
        FROM run r JOIN latency x ON {_SAME} WHERE x.what = 'deliver' AND x.span = 'run'
        GROUP BY {_RUN}, x."class", x."order\"""",
    ),
    LakeView(
        "latency_over_time",
        "How did the latency of a class change during a run?  Intervals, all receivers together.",
        f"""SELECT {_RUN}, x.from_s, x.interval_s, x."class", x."order", sum(x."count") AS deliveries,
            sum(x."count" * x.mean_ms) / sum(x."count") AS mean_ms, max(x.p99_ms) AS worst_p99_ms
        FROM run r JOIN latency x ON {_SAME} WHERE x.what = 'deliver' AND x.span = 'interval'
        GROUP BY {_RUN}, x.from_s, x.interval_s, x."class", x."order\"""",
    ),
    LakeView(
        "blocked_longest",
        "Who waited longest for logical time, from request to grant?",
        f"""SELECT {_RUN}, x.federate_name, x.service, x."count", x."count" * x.mean_ms / 1000 AS waited_s,
            x.p50_ms, x.p99_ms, x.max_ms
        FROM run r JOIN latency x ON {_SAME} WHERE x.what = 'grant' AND x.span = 'run'""",
    ),
    LakeView(
        "held_longest",
        "Which messages were held longest before they could be delivered in their order?",
        f"""SELECT {_RUN}, x."class", x."order", x.federate_name, x."count", x.p50_ms, x.p99_ms, x.max_ms
        FROM run r JOIN latency x ON {_SAME} WHERE x.what = 'hold' AND x.span = 'run'""",
    ),
    LakeView(
        "missed_deadlines",
        "Which consumers missed deadlines, and how often?",
        f"""SELECT {_RUN}, x.node, x.name, x.priority, x.events, x.misses, CAST(x.misses AS double) / x.events AS share,
            x.laxity_min_ms
        FROM run r JOIN deadline x ON {_SAME} WHERE x.misses > 0""",
    ),
    LakeView(
        "traffic_by_class",
        "How much was sent of each class in a run, and how much of it was delivered?",
        f"""SELECT {_RUN}, x."class", x."order",
            sum(CASE WHEN x.side = 'sent' THEN x.messages ELSE 0 END) AS sent,
            sum(CASE WHEN x.side = 'received' THEN x.messages ELSE 0 END) AS delivered,
            sum(CASE WHEN x.side = 'sent' THEN x.bytes ELSE 0 END) AS bytes,
            sum(CASE WHEN x.side = 'sent' THEN x.control_bytes ELSE 0 END) AS control_bytes
        FROM run r JOIN traffic x ON {_SAME} GROUP BY {_RUN}, x."class", x."order\"""",
    ),
    LakeView(
        "traffic_by_pair",
        "Who sent how much to whom?",
        f"""SELECT {_RUN}, x.source_name, x.federate_name, sum(x.messages) AS deliveries, sum(x.bytes) AS bytes
        FROM run r JOIN traffic x ON {_SAME} WHERE x.side = 'received'
        GROUP BY {_RUN}, x.source_name, x.federate_name""",
    ),
    LakeView(
        "regressions_since",
        "What got worse since the run before of the same federation?  Audits with more violations; deadlines missed more often; "
        "classes whose worst 99 % is more than 1.5 times what it was and more than 1 ms.  Whether that is more than chance, "
        "these figures alone do not say.",
        """WITH runs AS (
            SELECT federation, "date", run, start_ns,
                lag(run) OVER (PARTITION BY federation ORDER BY start_ns, run) AS run_before
            FROM run WHERE status NOT IN ('failed', 'following')),
        figures AS (
            SELECT federation, run, 'violations' AS what, audit AS subject, CAST(violations AS double) AS figure,
                CAST(0 AS double) AS least, CAST(1 AS double) AS times FROM audit
            UNION ALL
            SELECT federation, run, 'missed deadlines', name, CAST(sum(misses) AS double), CAST(0 AS double), CAST(1 AS double)
                FROM deadline GROUP BY federation, run, name
            UNION ALL
            SELECT federation, run, 'p99_ms', concat("class", ' ', "order"), max(p99_ms), CAST(1 AS double), CAST(1.5 AS double)
                FROM latency WHERE what = 'deliver' AND span = 'run' GROUP BY federation, run, "class", "order")
        SELECT r.federation, r."date", r.run, r.start_ns, r.run_before, x.what, x.subject, b.figure AS before_it,
            x.figure AS now_it
        FROM runs r JOIN figures x ON x.federation = r.federation AND x.run = r.run
            JOIN figures b ON b.federation = r.federation AND b.run = r.run_before AND b.what = x.what AND b.subject = x.subject
        WHERE x.figure > b.figure * x.times AND x.figure - b.figure > x.least""",
    ),
    LakeView(
        "newest",
        "What is the latest run of each federation, and was it right?",
        """SELECT r.* FROM run r JOIN (SELECT federation, max(start_ns) AS latest FROM run GROUP BY federation) n
        ON r.federation = n.federation AND r.start_ns = n.latest""",
    ),
)


def for_spark(sql: str) -> str:
    return sql.replace('"', "`")
