"""Data distribution as HLA 1.3 has it, above the services of IEEE 1516: routing spaces, regions of extents, closed bounds.

    spaces = weft.RoutingSpaces(rti, "air.fed")
    ground = spaces.get_routing_space_handle("Ground")
    x = spaces.get_dimension_handle("x", ground)
    near = spaces.create_region(ground, 1)
    near.set_range_upper_bound(0, x, 0xff)
    spaces.notify_about_region_modification(near)
    spaces.subscribe_object_class_attributes_with_region(tank, near, {position})

Services have the names of HLA 1.3 in snake_case, and classes, attributes, instances and interactions the handles of the
ambassador below, which may be used beside it.  Spaces and their dimensions are numbered, as in HLA 1.3.

What HLA 1.3 does otherwise than IEEE 1516, and so is kept here: an attribute of an instance is updated with one region at a
time, so associating another takes the place of the former; and subscribing again to a class with the same region takes the
place of the former attributes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import NoReturn

from weft.federate.ambassador import RTIambassador
from weft.federate.services.calls import AttributeRegions
from weft.federate.spaces.names import (
    DEFAULT_SPACE,
    GIVE_ONE,
    NamedSpace,
    SpacesAsked,
    SpacesOfModel,
)
from weft.federate.spaces.regions import MAX_EXTENT, MIN_EXTENT, Axis, RoutingRegion
from weft.fom import ObjectModel
from weft.host import Designator, load_fom, read_sources
from weft.model.enums import OrderType
from weft.model.errors import InvalidRegion, InvalidRegionContext, NameNotFound
from weft.model.handles import (
    AttributeHandle,
    InteractionClassHandle,
    ObjectClassHandle,
    ObjectInstanceHandle,
    ParameterHandle,
)
from weft.model.records import MessageRetractionReturn
from weft.model.time import AnyTime

Placed = dict[AttributeHandle, RoutingRegion]


class RoutingSpaces:
    """The routing spaces of the federation that a federate has joined.  Make another for another federation.

    `fom` is its object model: FED or OMT files, or what `weft.load_fom` returns.  Without it the RTI is asked, which knows
    the spaces of a FED file by name, but not in which of them an attribute travels.
    """

    MIN_EXTENT = MIN_EXTENT
    MAX_EXTENT = MAX_EXTENT

    def __init__(
        self, rti: RTIambassador, fom: ObjectModel | Designator | Iterable[Designator] | None = None
    ) -> None:
        self.rti = rti
        self._names: SpacesAsked | SpacesOfModel
        if fom is None:
            self._names = SpacesAsked(rti)
        else:
            model = fom if isinstance(fom, ObjectModel) else load_fom(*read_sources(fom))
            self._names = SpacesOfModel(rti, model)
        self._spaces = {space.number: space for space in self._names.all()}
        self._axes: dict[int, tuple[Axis, ...]] = {DEFAULT_SPACE.number: ()}
        self._defaults: dict[int, RoutingRegion] = {}
        self._placed: dict[ObjectInstanceHandle, Placed] = {}
        self._subscribed: dict[tuple[ObjectClassHandle, RoutingRegion], frozenset[AttributeHandle]] = {}

    # --- names ------------------------------------------------------------------------------------------------

    def get_routing_space_handle(self, name: str) -> int:
        for space in self._spaces.values():
            if space.name == name:
                return space.number
        known = ", ".join(space.name for space in self._spaces.values())
        hint = "" if self._names.tells_all else f"; {GIVE_ONE}"
        raise NameNotFound(f"there is no routing space {name!r}; there are: {known}{hint}")

    def get_routing_space_name(self, space: int) -> str:
        return self._space(space).name

    def get_dimension_handle(self, name: str, space: int) -> int:
        found = self._space(space)
        if name not in found.dimensions:
            known = ", ".join(found.dimensions) or "none"
            raise NameNotFound(f"routing space {found.name} has no dimension {name!r}; it has: {known}")
        return found.dimensions.index(name) + 1

    def get_dimension_name(self, dimension: int, space: int) -> str:
        found = self._space(space)
        if type(dimension) is not int or not 1 <= dimension <= len(found.dimensions):
            raise NameNotFound(f"{dimension!r} is no dimension of routing space {found.name}")
        return found.dimensions[dimension - 1]

    def get_attribute_routing_space_handle(
        self, attribute: AttributeHandle, object_class: ObjectClassHandle
    ) -> int:
        return self._names.of_attribute(object_class, attribute)

    def get_interaction_routing_space_handle(self, interaction_class: InteractionClassHandle) -> int:
        return self._names.of_interaction(interaction_class)

    # --- regions ----------------------------------------------------------------------------------------------

    def create_region(self, space: int, number_of_extents: int) -> RoutingRegion:
        found = self._space(space)
        if found == DEFAULT_SPACE:
            raise InvalidRegionContext(
                "the default routing space has no dimensions, so no regions but default_region()"
            )
        if type(number_of_extents) is not int or number_of_extents < 1:
            raise InvalidRegion(f"a region has one extent or more, not {number_of_extents!r}")
        axes = self._axes_of(found)
        dimensions = {axis.handle for axis in axes}
        return RoutingRegion(
            found, axes, tuple(self.rti.create_region(dimensions) for _ in range(number_of_extents))
        )

    def default_region(self, space: int = DEFAULT_SPACE.number) -> RoutingRegion:
        """All of a space: what services without regions stand for.  That of the default space is the overall default region."""
        if space not in self._defaults:
            found = self._space(space)
            self._defaults[found.number] = RoutingRegion(found, self._axes_of(found), (), default=True)
        return self._defaults[space]

    def notify_about_region_modification(self, region: RoutingRegion) -> None:
        """The bounds of all extents count from now on, together."""
        for handle, dimension, bounds in region.half_open():
            self.rti.set_range_bounds(handle, dimension, bounds)
        self.rti.commit_region_modifications(frozenset(region.handles))

    def delete_region(self, region: RoutingRegion) -> None:
        region.require_own("be deleted")
        for handle in region.handles:
            self.rti.delete_region(handle)

    # --- updates ----------------------------------------------------------------------------------------------

    def register_object_instance_with_region(
        self,
        object_class: ObjectClassHandle,
        regions: Mapping[AttributeHandle, RoutingRegion],
        object_instance_name: str | None = None,
    ) -> ObjectInstanceHandle:
        for attribute, region in regions.items():
            self._require_attributes(region, object_class, [attribute])
        pairs = _pairs(regions)
        instance = self.rti.register_object_instance_with_regions(object_class, pairs, object_instance_name)
        self._placed[instance] = dict(regions)
        return instance

    def associate_region_for_updates(
        self, region: RoutingRegion, object_instance: ObjectInstanceHandle, attributes: Set[AttributeHandle]
    ) -> None:
        """In the place of the regions that these attributes are updated with so far."""
        object_class = self.rti.get_known_object_class_handle(object_instance)
        self._require_attributes(region, object_class, attributes)
        held = self._placed.setdefault(object_instance, {})
        former = {each: held[each] for each in attributes if held.get(each, region) is not region}
        # First the new one: between the two the attributes are in both, not in the default region.
        if not region.default:
            self.rti.associate_regions_for_updates(object_instance, [(attributes, frozenset(region.handles))])
        held.update(dict.fromkeys(attributes, region))
        self._unassociate(object_instance, former)

    def unassociate_region_for_updates(
        self, region: RoutingRegion, object_instance: ObjectInstanceHandle
    ) -> None:
        """What was updated with it is in the default region from now on."""
        held = self._placed.get(object_instance, {})
        ended = {attribute: each for attribute, each in held.items() if each is region}
        self._unassociate(object_instance, ended)
        for attribute in ended:
            del held[attribute]

    def _unassociate(self, object_instance: ObjectInstanceHandle, ended: Placed) -> None:
        pairs = _pairs(ended)
        if pairs:
            self.rti.unassociate_regions_for_updates(object_instance, pairs)

    # --- subscriptions ----------------------------------------------------------------------------------------

    def subscribe_object_class_attributes_with_region(
        self,
        object_class: ObjectClassHandle,
        region: RoutingRegion,
        attributes: Set[AttributeHandle],
        active: bool = True,
        update_rate_designator: str | None = None,
    ) -> None:
        """In the place of what is subscribed to of this class with this region so far."""
        self._require_attributes(region, object_class, attributes)
        rti = self.rti
        if region.default:
            plain = rti.subscribe_object_class_attributes
            if not active:
                plain = rti.subscribe_object_class_attributes_passively
            plain(object_class, attributes, update_rate_designator)
        else:
            subscribe = rti.subscribe_object_class_attributes_with_regions
            if not active:
                subscribe = rti.subscribe_object_class_attributes_passively_with_regions
            subscribe(object_class, [(attributes, frozenset(region.handles))], update_rate_designator)
        former = self._subscribed.get((object_class, region), frozenset())
        self._subscribed[object_class, region] = frozenset(attributes)
        self._unsubscribe(object_class, region, former - attributes)

    def unsubscribe_object_class_with_region(
        self, object_class: ObjectClassHandle, region: RoutingRegion
    ) -> None:
        self._unsubscribe(object_class, region, self._subscribed.pop((object_class, region), frozenset()))

    def _unsubscribe(
        self, object_class: ObjectClassHandle, region: RoutingRegion, attributes: frozenset[AttributeHandle]
    ) -> None:
        if not attributes:
            return
        if region.default:
            self.rti.unsubscribe_object_class_attributes(object_class, attributes)
        else:
            pairs = [(attributes, frozenset(region.handles))]
            self.rti.unsubscribe_object_class_attributes_with_regions(object_class, pairs)

    def request_class_attribute_value_update_with_region(
        self,
        object_class: ObjectClassHandle,
        attributes: Set[AttributeHandle],
        region: RoutingRegion,
        user_supplied_tag: bytes = b"",
    ) -> None:
        self._require_attributes(region, object_class, attributes)
        if region.default:
            self.rti.request_attribute_value_update(object_class, attributes, user_supplied_tag)
        else:
            pairs = [(attributes, frozenset(region.handles))]
            self.rti.request_attribute_value_update_with_regions(object_class, pairs, user_supplied_tag)

    # --- interactions -----------------------------------------------------------------------------------------

    def subscribe_interaction_class_with_region(
        self, interaction_class: InteractionClassHandle, region: RoutingRegion, active: bool = True
    ) -> None:
        self._require_interaction(region, interaction_class)
        rti = self.rti
        if region.default:
            plain = rti.subscribe_interaction_class if active else rti.subscribe_interaction_class_passively
            plain(interaction_class)
        else:
            subscribe = rti.subscribe_interaction_class_with_regions
            if not active:
                subscribe = rti.subscribe_interaction_class_passively_with_regions
            subscribe(interaction_class, frozenset(region.handles))

    def unsubscribe_interaction_class_with_region(
        self, interaction_class: InteractionClassHandle, region: RoutingRegion
    ) -> None:
        if region.default:
            self.rti.unsubscribe_interaction_class(interaction_class)
        else:
            self.rti.unsubscribe_interaction_class_with_regions(interaction_class, frozenset(region.handles))

    def send_interaction_with_region(
        self,
        interaction_class: InteractionClassHandle,
        parameter_values: Mapping[ParameterHandle, bytes],
        region: RoutingRegion,
        user_supplied_tag: bytes = b"",
        time: AnyTime | None = None,
        *,
        order: OrderType | None = None,
    ) -> MessageRetractionReturn | None:
        self._require_interaction(region, interaction_class)
        if region.default:
            return self.rti.send_interaction(
                interaction_class, parameter_values, user_supplied_tag, time, order=order
            )
        return self.rti.send_interaction_with_regions(
            interaction_class,
            parameter_values,
            frozenset(region.handles),
            user_supplied_tag,
            time,
            order=order,
        )

    # --- within -----------------------------------------------------------------------------------------------

    def _space(self, space: int) -> NamedSpace:
        found = self._spaces.get(space) if type(space) is int else None
        if found is None:
            raise NameNotFound(f"{space!r} is no routing space; ask get_routing_space_handle for one")
        return found

    def _axes_of(self, space: NamedSpace) -> tuple[Axis, ...]:
        found = self._axes.get(space.number)
        if found is None:
            handles = [self.rti.get_dimension_handle(name) for name in space.qualified]
            found = tuple(Axis(handle, self.rti.get_dimension_upper_bound(handle)) for handle in handles)
            self._axes[space.number] = found
        return found

    def _require_attributes(
        self, region: RoutingRegion, object_class: ObjectClassHandle, attributes: Iterable[AttributeHandle]
    ) -> None:
        for attribute in attributes if self._names.tells_all else ():
            there = self._names.of_attribute(object_class, attribute)
            if there != region.space.number:
                self._refuse(region, self.rti.get_attribute_name(object_class, attribute), there)

    def _require_interaction(self, region: RoutingRegion, interaction_class: InteractionClassHandle) -> None:
        if self._names.tells_all:
            there = self._names.of_interaction(interaction_class)
            if there != region.space.number:
                self._refuse(region, self.rti.get_interaction_class_name(interaction_class), there)

    def _refuse(self, region: RoutingRegion, what: str, there: int) -> NoReturn:
        raise InvalidRegionContext(
            f"{region!r} is not for {what}, which travels in {self._space(there).name}"
        )


def _pairs(regions: Mapping[AttributeHandle, RoutingRegion]) -> AttributeRegions:
    """Attributes with the same region together; those in a default region are associated with none."""
    together: dict[RoutingRegion, set[AttributeHandle]] = {}
    for attribute, region in regions.items():
        if not region.default:
            together.setdefault(region, set()).add(attribute)
    return [(attributes, frozenset(region.handles)) for region, attributes in together.items()]
