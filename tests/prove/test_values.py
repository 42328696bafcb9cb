"""Values in scripts: valid for their data types, readable, and the same when they are played again."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from support.object_models import MODELS, object_model
from weft.fom import ObjectModel
from weft.fom.encoding import Codecs
from weft.model.errors import EncodingError
from weft.prove import Embedded, Stage, proving_model, read_script, words_of
from weft.prove.values import Values

WORDS = words_of([proving_model()])
SAMPLES = 20


def encodable(model: ObjectModel) -> list[str]:
    found = []
    for name in model.data_types:
        try:
            Codecs(model.data_types).codec(name)
        except EncodingError:
            continue
        found.append(name)
    return found


@pytest.mark.parametrize("name", ["proving", *sorted(MODELS)])
def test_every_type_has_values(name: str) -> None:
    """Whatever can be encoded: its values are plain data, encode, and are read back as bytes that encode to the same."""
    model = WORDS.model if name == "proving" else object_model(name)
    values = Values(model, random.Random(7))
    for data_type in encodable(model):
        for _ in range(SAMPLES):
            said: Any = values.of(data_type)
            assert said is not None, data_type
            assert json.loads(json.dumps(said)) == said
            encoded = model.encode(data_type, said["value"])
            assert model.encode(data_type, model.decode(data_type, encoded)) == encoded, data_type


def test_scripts_have_values_of_all_kinds_and_say_them_exactly() -> None:
    world = Embedded()
    world.start()
    sent: list[object] = []
    try:
        for seed in range(8):
            played = Stage(WORDS).write(seed, world, 3, 120)
            again = Stage(WORDS).play(read_script(played.script.text()), world)
            assert [one.plain() for one in again.all_seen] == [one.plain() for one in played.all_seen]
            for step in played.script.steps:
                if step.call == "update_attribute_values":
                    values: Any = step.arguments[1]
                    sent += values.values()
    finally:
        world.stop()
    kinds = {type(one["value"]) if isinstance(one, dict) else bytes for one in sent}
    assert kinds >= {bytes, str, int, float, list, dict}
