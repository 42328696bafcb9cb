"""What the review raises."""

from __future__ import annotations

import re

from weft.model.errors import ReviewError as ReviewError

PACKAGE = "`weft package -o weft-package.tar.gz` makes an archive with all of it, and --package weft-package.tar.gz uses it"

_OF_WORKERS = {
    r"\{weft package: ([^}]*)\}": "the package does not fit: {0}",
    r"No module named '((?:weft|numpy|pyarrow)\b[\w.]*)'": "Python of Spark's workers has no {0}; " + PACKAGE,
    r"((?:numpy|pyarrow|PyArrow|pandas)[ \w.>=]*) must be installed": "Python of Spark's workers has no {0}; "
    + PACKAGE,
    r"Python in worker has different version: ([\d.]+) than that in driver: ([\d.]+)": (
        "Spark's workers have Python {0}, and here it is {1}; it must be the same: name another one of the workers by "
        "--conf spark.pyspark.python=PATH, or call weft with Python {0}"
    ),
    r'Cannot run program "([^"]+)"': (
        "Spark's workers have no {0}: name their Python by --conf spark.pyspark.python=PATH"
    ),
    r"ExecutorLostFailure \((executor \S+) .*?Reason: ([^\n]*)": (
        "workers were lost while they worked at it ({0}: {1}); what they wrote last is in their logs; if memory ended, "
        "--conf spark.executor.memory=… gives more"
    ),
    r"(SparkContext was shut down|stopped SparkContext|All masters are unresponsive|Master removed our application: \w+)": (
        "the cluster has ended the application ({0}): see the web page of its master, and what its workers wrote"
    ),
}
"""What goes wrong with workers, in Spark's words and in ours."""


def reason(error: Exception) -> str:
    """Of what Java and Python say, the last line of the innermost trace, or the first; of workers, what to do."""
    text = str(error)
    for pattern, told in _OF_WORKERS.items():
        if found := re.search(pattern, text, re.DOTALL):
            return told.format(*(" ".join(group.split()) for group in found.groups()))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    inner = [line for line in lines if line[:1].isalpha() and "Error:" in line and "org.apache" not in line]
    return (inner or lines or [type(error).__name__])[-1 if inner else 0]
