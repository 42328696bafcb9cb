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


def require_handler(handler: Callable[..., object], kind: type, how: str, first: str = "") -> None:
    """It is called with two: one of that class, and how it came; or with something else `first`."""
    try:
        inspect.signature(handler).bind(*([None] * (3 if first else 2)))
    except TypeError:
        raise TypeError(
            f"{getattr(handler, '__qualname__', handler)} is called with {'three' if first else 'two'} arguments: "
            f"{first}a {kind.__qualname__}, and {how}"
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
    """Called with one of that class, and the interaction."""

    def heard(message: ReceivedInteraction) -> None:
        made = _of_interaction(kind, message, ears)
        if made is not None:
            handler(made, message)

    return heard


def of_directed(
    kind: type[I], handler: Callable[..., object], ears: Ears
) -> Callable[[object, ReceivedInteraction], object]:
    """Called with the object, one of that class, and the interaction."""

    def heard(target: object, message: ReceivedInteraction) -> None:
        made = _of_interaction(kind, message, ears)
        if made is not None:
            handler(target, made, message)

    return heard


def _of_interaction(kind: type[I], message: ReceivedInteraction, ears: Ears) -> I | None:
    try:
        return read(kind, message.sender, message.encoded)
    except EncodingError as error:
        ears.complain_of(kind, "", message.sender, error)
        return None
