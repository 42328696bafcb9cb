"""One Spark session for all tests of a run, small and quick to start; Java and pyspark come with `make test`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from support.object_store import credentials
from weft.review.spark.session import Profile, spark_session


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in credentials().items():  # its workers have the environment in which it is started
            patch.setenv(name, value)
        with spark_session(Profile("local[1]", memory="1g")) as session:
            yield session
