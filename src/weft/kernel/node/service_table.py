"""The services a joined federate may call: what carries each out, and how far its effect reaches.

A *control* service changes what all nodes know of the federation, so the home node decides its place in the order and every
node carries it out.  All others are answered by the federate's own node: they only look, or they send data.

`DURING_SAVE` and `DURING_RESTORE` list what a federate may call while it saves or restores; all else is refused then.
"""

from __future__ import annotations

from collections.abc import Callable

from weft.kernel.ddm import adapting
from weft.kernel.federation import membership, operator, restore, save, synchronization, timed_saves
from weft.kernel.message import (
    causal_order,
    causal_views,
    pipeline,
    timed_deletion,
)
from weft.kernel.mom import mom_services
from weft.kernel.qos import services
from weft.kernel.recording import call_rows
from weft.kernel.services import (
    data_distribution,
    declaration,
    object_management,
    ownership,
    publications,
    support,
    time_management,
)
from weft.kernel.time import grants
from weft.model.enums import ServiceGroup

RESIGN = "resign_federation_execution"
RESIGN_LOST = "resign_lost"
INTERNAL = frozenset(
    [
        RESIGN_LOST,
        mom_services.MOM_ADJUST,
        save.SAVE_WRITING,
        save.SAVE_ENDED,
        save.SAVE_DUE,
        *timed_saves.COMMANDS,
        restore.RESTORE_DECIDED,
        timed_deletion.INSTANCE_REMOVED,
        timed_deletion.DELETE_RETRACTED,
        *time_management.COMMANDS,
        causal_order.ORDERS_USED,
        causal_views.VIEW_ENDS,
        causal_views.VIEW_BEGINS,
        *operator.COMMANDS,
        *adapting.COMMANDS,
        grants.PUBLICATIONS_DUE,
    ]
)
"""Commands that are no service of the standard: the RTI gives them itself."""


class Service:
    """`control`: all nodes of the federation carry it out, in the order that its home gives."""

    def __init__(self, function: Callable[..., object], control: bool, group: ServiceGroup) -> None:
        self.function = function
        self.control = control
        self.sends = False  # a message, which is recorded on its way
        self.group = group


def _control(group: ServiceGroup, module: object, *names: str) -> dict[str, Service]:
    return {name: Service(getattr(module, name), True, group) for name in names}


def _local(group: ServiceGroup, module: object, *names: str) -> dict[str, Service]:
    return {name: Service(getattr(module, name), False, group) for name in names}


_FEDERATION = ServiceGroup.FEDERATION_MANAGEMENT
_DECLARATION = ServiceGroup.DECLARATION_MANAGEMENT
_OBJECT = ServiceGroup.OBJECT_MANAGEMENT
_OWNERSHIP = ServiceGroup.OWNERSHIP_MANAGEMENT
_TIME = ServiceGroup.TIME_MANAGEMENT
_DDM = ServiceGroup.DATA_DISTRIBUTION_MANAGEMENT
_SUPPORT = ServiceGroup.SUPPORT_SERVICES


_LOOK_UPS = (
    "get_federate_handle",
    "get_federate_name",
    "get_object_class_handle",
    "get_object_class_name",
    "get_known_object_class_handle",
    "get_object_instance_handle",
    "get_object_instance_name",
    "get_attribute_handle",
    "get_attribute_name",
    "get_update_rate_value",
    "get_update_rate_value_for_attribute",
    "get_interaction_class_handle",
    "get_interaction_class_name",
    "get_parameter_handle",
    "get_parameter_name",
    "get_order_type",
    "get_order_name",
    "get_transportation_type_handle",
    "get_transportation_type_name",
    "get_available_dimensions_for_object_class",
    "get_available_dimensions_for_interaction_class",
    "get_dimension_handle",
    "get_dimension_name",
    "get_dimension_upper_bound",
    "normalize_service_group",
    "normalize_federate_handle",
    "normalize_object_class_handle",
    "normalize_interaction_class_handle",
    "normalize_object_instance_handle",
)

SERVICES: dict[str, Service] = {
    RESIGN: Service(membership.resign, True, _FEDERATION),
    RESIGN_LOST: Service(membership.resign_lost, True, _FEDERATION),
    mom_services.MOM_ADJUST: Service(mom_services.adjust, True, _FEDERATION),
    **_control(
        _FEDERATION,
        synchronization,
        "register_federation_synchronization_point",
        "synchronization_point_achieved",
    ),
    **_control(
        _FEDERATION,
        save,
        "request_federation_save",
        "federate_save_begun",
        "federate_save_complete",
        "federate_save_not_complete",
        "abort_federation_save",
        save.SAVE_WRITING,
        save.SAVE_ENDED,
        save.SAVE_DUE,
    ),
    **_control(_FEDERATION, timed_saves, *timed_saves.COMMANDS),
    **_local(_FEDERATION, save, "query_federation_save_status"),
    **_control(
        _FEDERATION,
        restore,
        "request_federation_restore",
        "federate_restore_complete",
        "federate_restore_not_complete",
        "abort_federation_restore",
        restore.RESTORE_DECIDED,
    ),
    **_local(_FEDERATION, restore, "query_federation_restore_status"),
    **_control(
        _DECLARATION,
        declaration,
        "publish_object_class_attributes",
        "unpublish_object_class",
        "unpublish_object_class_attributes",
        "publish_interaction_class",
        "unpublish_interaction_class",
        "publish_object_class_directed_interactions",
        "unpublish_object_class_directed_interactions",
        "subscribe_object_class_attributes",
        "unsubscribe_object_class",
        "unsubscribe_object_class_attributes",
        "subscribe_interaction_class",
        "unsubscribe_interaction_class",
        "subscribe_object_class_directed_interactions",
        "unsubscribe_object_class_directed_interactions",
    ),
    **_control(_DECLARATION, publications, grants.PUBLICATIONS_DUE),
    **_control(
        _OBJECT,
        object_management,
        "reserve_object_instance_name",
        "release_object_instance_name",
        "reserve_multiple_object_instance_names",
        "release_multiple_object_instance_names",
        "register_object_instance",
        "delete_object_instance",
        "local_delete_object_instance",
        "request_attribute_transportation_type_change",
        "change_default_attribute_transportation_type",
        "request_interaction_transportation_type_change",
    ),
    **_local(
        _OBJECT,
        object_management,
        "request_attribute_value_update",
        "query_attribute_transportation_type",
        "query_interaction_transportation_type",
    ),
    **_control(
        _OWNERSHIP,
        ownership,
        "unconditional_attribute_ownership_divestiture",
        "negotiated_attribute_ownership_divestiture",
        "confirm_divestiture",
        "attribute_ownership_acquisition",
        "attribute_ownership_acquisition_if_available",
        "attribute_ownership_release_denied",
        "attribute_ownership_divestiture_if_wanted",
        "cancel_negotiated_attribute_ownership_divestiture",
        "cancel_attribute_ownership_acquisition",
    ),
    **_local(_OWNERSHIP, ownership, "query_attribute_ownership", "is_attribute_owned_by_federate"),
    **_control(_OBJECT, object_management, timed_deletion.INSTANCE_REMOVED),
    **_control(_OBJECT, timed_deletion, timed_deletion.DELETE_RETRACTED),
    **_control(
        _TIME,
        object_management,
        "change_attribute_order_type",
        "change_default_attribute_order_type",
        "change_interaction_order_type",
    ),
    **_control(_TIME, time_management, *time_management.COMMANDS),
    **_local(
        _TIME,
        time_management,
        "enable_time_regulation",
        "disable_time_regulation",
        "enable_time_constrained",
        "disable_time_constrained",
        "time_advance_request",
        "time_advance_request_available",
        "next_message_request",
        "next_message_request_available",
        "flush_queue_request",
        "enable_asynchronous_delivery",
        "disable_asynchronous_delivery",
        "query_galt",
        "query_logical_time",
        "query_lits",
        "modify_lookahead",
        "query_lookahead",
        "query_blocking",
        "set_time_advance_patience",
        "retract",
    ),
    **_control(
        _DDM,
        data_distribution,
        "create_region",
        "commit_region_modifications",
        "delete_region",
        "associate_regions_for_updates",
        "unassociate_regions_for_updates",
        "subscribe_object_class_attributes_with_regions",
        "subscribe_object_class_attributes_passively_with_regions",
        "unsubscribe_object_class_attributes_with_regions",
        "subscribe_interaction_class_with_regions",
        "subscribe_interaction_class_passively_with_regions",
        "unsubscribe_interaction_class_with_regions",
    ),
    "register_object_instance_with_regions": Service(
        object_management.register_object_instance_with_regions, True, _DDM
    ),
    **_local(
        _DDM,
        data_distribution,
        "send_interaction_with_regions",
        "request_attribute_value_update_with_regions",
    ),
    **{
        name: Service(getattr(data_distribution, name), False, _SUPPORT)
        for name in ("get_dimension_handle_set", "get_range_bounds", "set_range_bounds")
    },
    **{name: Service(getattr(services, name), False, _OBJECT) for name in services.SERVICES},
    **_local(_OBJECT, pipeline, "send_interaction", "update_attribute_values", "send_directed_interaction"),
    **_control(_OBJECT, causal_order, causal_order.ORDERS_USED),
    **_control(_OBJECT, causal_views, causal_views.VIEW_ENDS, causal_views.VIEW_BEGINS),
    **_control(_FEDERATION, operator, *operator.COMMANDS),
    **_control(_DDM, adapting, *adapting.COMMANDS),
    **_control(_SUPPORT, support, "set_switch", "set_automatic_resign_directive"),
    **_local(
        _SUPPORT, support, *_LOOK_UPS, "get_switch", "get_federation_switch", "get_automatic_resign_directive"
    ),
}
for _name in call_rows.SENDS:
    SERVICES[_name].sends = True

_ALWAYS = frozenset(
    [
        *_LOOK_UPS,
        "query_blocking",
        "set_time_advance_patience",
        *services.ALWAYS,
        RESIGN,
        *INTERNAL,
        "abort_federation_save",
        "abort_federation_restore",
    ],
)
DURING_SAVE = _ALWAYS | {
    "federate_save_begun",
    "federate_save_complete",
    "federate_save_not_complete",
    "query_federation_save_status",
}
DURING_RESTORE = _ALWAYS | {
    "federate_restore_complete",
    "federate_restore_not_complete",
    "query_federation_restore_status",
}
