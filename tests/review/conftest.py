"""One Spark session for all tests of a run, small and quick to start; Java and pyspark come with `make test`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from weft.review.errors import ReviewError
from weft.review.session import Profile, spark_session


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    opened = spark_session(Profile("local[1]", memory="1g"))
    try:
        session = opened.__enter__()
    except ReviewError as error:
        pytest.skip(str(error))
    try:
        yield session
    finally:
        opened.__exit__(None, None, None)
