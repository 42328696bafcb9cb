"""A federate whose client was written by others: it speaks the protocol, and has none of what Weft's own client adds."""

from __future__ import annotations

from typing import Any

from support.raw_client import CALLBACK, CALLBACK_ANSWER, RESPONSE, Frame, Raw, frame, ints
from weft.model.records import RtiConfiguration
from weft.model.time import time_factory
from weft.wire.codec.callbacks import CALLBACK_SUCCEEDED
from weft.wire.codec.codec import ServiceCodec

EVOLVED = "API.version=IEEE 1516-2010\n"


class Foreign:
    """Calls by the names of the services; keeps the callbacks that come meanwhile, and answers each once it is taken."""

    def __init__(self, port: int, settings: str = EVOLVED) -> None:
        self.raw = Raw(port).greet()
        self.codec = ServiceCodec()
        self.waiting: list[Frame] = []
        self.call("connect", RtiConfiguration(additional_settings=settings), None)

    def call(self, service: str, *arguments: Any) -> Any:
        number, payload = self.codec.encode_call(service, arguments)
        self.raw.send(self.raw.request(payload))
        while True:
            found = self.raw.receive()
            if found.kind == CALLBACK:
                self.waiting.append(found)
            elif found.kind == RESPONSE:
                assert found.answers == self.raw.number
                return self.codec.decode_response(number, found.payload)

    def refused(self, service: str, *arguments: Any) -> tuple[str, str]:
        """The name and the text of the exception, as they are on the wire."""
        _, payload = self.codec.encode_call(service, arguments)
        answer = self.raw.call(payload)
        assert answer[:1] == b"\x0a", answer
        from weft.wire.codec.messages import decode

        number, (name, text) = decode("CallResponse", answer)
        assert number == 1
        return name, text

    def join(self, federation: str, name: str) -> Any:
        handle, time = self.call("join_federation_execution", federation, "foreign", name, ())
        self.codec.time = time_factory(time)
        return handle

    def callback(self) -> tuple[str, tuple[Any, ...]]:
        """The next callback, which is answered."""
        found = self.waiting.pop(0) if self.waiting else self.raw.callback()
        self.raw.number += 1
        answer = ints(found.number) + CALLBACK_SUCCEEDED
        self.raw.send(frame(CALLBACK_ANSWER, self.raw.number, self.raw.session, self.raw.last, answer))
        return self.codec.decode_callback(found.payload)

    def callback_payload(self) -> bytes:
        found = self.waiting.pop(0) if self.waiting else self.raw.callback()
        return found.payload

    def expect(self, method: str) -> tuple[Any, ...]:
        """The arguments of the next callback, which has to be this one."""
        found, arguments = self.callback()
        assert found == method
        return arguments
