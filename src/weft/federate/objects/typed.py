"""Received values as classes of Python, and handlers that are given such."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, TypeVar

from weft.fom.classes import HLAinteractionRoot, HLAobjectRoot, required
from weft.fom.encoding.typed import ValueSet
from weft.model.errors import EncodingError

if TYPE_CHECKING:
    from weft.federate.ears import Ears
    from weft.federate.things import ReceivedInteraction, ReceivedUpdate, RemoteObject

T = TypeVar("T", bound=ValueSet)
O = TypeVar("O", bound=HLAobjectRoot)  # noqa: E741
I = TypeVar("I", bound=HLAinteractionRoot)  # noqa: E741


def missing(kind: type[ValueSet], there: Iterable[str]) -> list[str]:
    """The values without which there can be none of that class."""
    needed = required(kind)
    return [slot.name for slot in kind.SLOTS if slot.attribute in needed and slot.name not in there]


def read(kind: type[T], whose: str, values: Mapping[str, bytes]) -> T:
    """One of that class, from those of the values that it has."""
    wanting = missing(kind, values)
    if wanting:
        raise EncodingError(
            f"{whose} has sent no {', '.join(wanting)}, without which there is no {kind.__qualname__}"
        )
    return kind.decode({slot.name: values[slot.name] for slot in kind.SLOTS if slot.name in values})


def require_handler(handler: Callable[..., object], kind: type, how: str) -> None:
    """It is called with two: one of that class, and how it came."""
    try:
        inspect.signature(handler).bind(None, None)
    except TypeError:
        raise TypeError(
            f"{getattr(handler, '__qualname__', handler)} is called with two arguments: a {kind.__qualname__}, and {how}"
        ) from None
    except ValueError:
        pass  # written in C, and says nothing of itself


def of_updates(
    kind: type[O], handler: Callable[[O, ReceivedUpdate], object], ears: Ears
) -> Callable[[RemoteObject, ReceivedUpdate], object]:
    """Called with the object's last values as soon as these make a whole."""
    waited: set[str] = set()

    def heard(found: RemoteObject, update: ReceivedUpdate) -> None:
        wanting = missing(kind, found._encoded)
        if wanting:
            if not waited:
                logging.getLogger("weft").warning(
                    "%s %r has sent no %s yet, and %s is called when it has; with a default in %s it is called without "
                    "(further ones like it are not logged)",
                    found.kind, found.name, ", ".join(wanting), getattr(handler, "__qualname__", handler), kind.__qualname__,
                )  # fmt: skip
            waited.update(wanting)
            return
        try:
            made = read(kind, found.name, found._encoded)
        except EncodingError as error:
            ears.complain_of(kind, found.name, update.sender, error)
            return
        handler(made, update)

    return heard


def of_interactions(
    kind: type[I], handler: Callable[[I, ReceivedInteraction], object], ears: Ears
) -> Callable[[ReceivedInteraction], object]:
    def heard(message: ReceivedInteraction) -> None:
        try:
            made = read(kind, message.sender, message.encoded)
        except EncodingError as error:
            ears.complain_of(kind, "", message.sender, error)
            return
        handler(made, message)

    return heard
