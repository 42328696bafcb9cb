"""Founding a federation: from object model texts to a catalog.  Object model errors get their HLA names here, once."""

from __future__ import annotations

from typing import Any

from weft.fom import Module, ObjectModel, extend, merge, parse_module
from weft.fom.catalog import Catalog
from weft.kernel.ddm.channels import Channels
from weft.kernel.message.causal_order import CausalOrder
from weft.kernel.message.deliver_as_of import DeliveryAsOf
from weft.kernel.mom import mom
from weft.kernel.state.federation import Federation
from weft.model.errors import (
    ConflictingObjectModels,
    CouldNotCreateLogicalTimeFactory,
    ErrorReadingFOM,
    ErrorReadingMIM,
    InconsistentFOM,
    InvalidFOM,
    InvalidMIM,
    ObjectModelError,
    RTIexception,
    RTIinternalError,
    SettingsError,
    UnreadableObjectModel,
)
from weft.model.records import Source
from weft.model.time import HLAfloat64TimeFactory, HLAinteger64TimeFactory, time_factory


def found(name: str, execution: str, home: str, founding: tuple[Any, ...]) -> Federation:
    """A new federation.

    `founding` is (FOM module sources, MIM source or None, logical time implementation name, RID source or None).
    """
    sources, mim_source, time_name, rid = founding
    factory = time_factory(time_name)
    if factory is None:
        known = f"{HLAfloat64TimeFactory.name} and {HLAinteger64TimeFactory.name}"
        raise CouldNotCreateLogicalTimeFactory(f"there is no logical time {time_name!r}; there are {known}")
    mim = None if mim_source is None else _read_mim(mim_source)
    try:
        model = merge([parse_module(source) for source in sources], mim=mim)
        catalog = Catalog(model)
    except ObjectModelError as error:
        raise _as_fom_error(error) from error
    channels = _channels(model, rid)
    federation = Federation(
        name, execution, home, founding, catalog, factory, CausalOrder(), DeliveryAsOf(), channels
    )
    mom.establish(federation)
    return federation


def _channels(model: ObjectModel, rid: Source | None) -> Channels:
    try:
        return Channels(model, rid)
    except (SettingsError, UnreadableObjectModel) as error:
        raise RTIinternalError(
            f"the RID file that this node was started with does not fit: {error}"
        ) from error


def extended_model(federation: Federation, sources: tuple[Source, ...]) -> ObjectModel | None:
    """The object model with the modules a joining federate brings; None if it brings none."""
    if not sources:
        return None
    try:
        return extend(federation.catalog.model, [parse_module(source) for source in sources])
    except ObjectModelError as error:
        raise _as_fom_error(error) from error


def _as_fom_error(error: ObjectModelError) -> RTIexception:
    if isinstance(error, UnreadableObjectModel):
        return ErrorReadingFOM(str(error))
    if isinstance(error, ConflictingObjectModels):
        return InconsistentFOM(str(error))
    return InvalidFOM(str(error))


def _read_mim(source: Source) -> Module:
    """A MIM must stand on its own: what it lacks is its own fault, not that of a FOM module."""
    try:
        mim = parse_module(source)
        Catalog(merge([], mim=mim))
    except UnreadableObjectModel as error:
        raise ErrorReadingMIM(str(error)) from error
    except ObjectModelError as error:
        raise InvalidMIM(str(error)) from error
    return mim
