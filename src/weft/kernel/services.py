"""The services a joined federate may call: what carries each out, and how far its effect reaches.

A *control* service changes what all nodes know of the federation, so the home node decides its place in the order and every
node carries it out.  All others are answered by the federate's own node: they only look, or they send data.

`DURING_SAVE` and `DURING_RESTORE` list what a federate may call while it saves or restores; all else is refused then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.kernel import (
    causal,
    condemning,
    data_distribution,
    declaration,
    directed,
    late,
    membership,
    mom_services,
    objects,
    ownership,
    path,
    qos_services,
    queueing,
    recording_calls,
    restoring,
    saving,
    steering,
    support,
    synchronization,
    time_services,
    timed_saves,
    views,
)

RESIGN = "resign_federation_execution"
RESIGN_LOST = "resign_lost"
INTERNAL = frozenset(
    [
        RESIGN_LOST,
        mom_services.MOM_ADJUST,
        saving.SAVE_WRITING,
        saving.SAVE_ENDED,
        saving.SAVE_DUE,
        *timed_saves.COMMANDS,
        restoring.RESTORE_DECIDED,
        condemning.INSTANCE_REMOVED,
        condemning.DELETE_RETRACTED,
        *time_services.COMMANDS,
        causal.ORDERS_USED,
        views.VIEW_ENDS,
        views.VIEW_BEGINS,
        *steering.COMMANDS,
    ]
)
"""Commands that are no service of the standard: the RTI gives them itself."""


queueing.LATE.update(late.CALLBACKS)


class Service:
    def __init__(self, function: Callable[..., Any], control: bool, group: str) -> None:
        self.function = function
        self.control = control
        self.sends = False  # a message, which is recorded on its way
        self.group = group  # the module it is in


def _control(module: Any, *names: str) -> dict[str, Service]:
    return {name: Service(getattr(module, name), True, module.__name__.split(".")[-1]) for name in names}


def _local(module: Any, *names: str) -> dict[str, Service]:
    return {name: Service(getattr(module, name), False, module.__name__.split(".")[-1]) for name in names}


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
    RESIGN: Service(membership.resign, True, "membership"),
    RESIGN_LOST: Service(membership.resign_lost, True, "membership"),
    mom_services.MOM_ADJUST: Service(mom_services.adjust, True, "mom"),
    **_control(
        synchronization,
        "register_federation_synchronization_point",
        "synchronization_point_achieved",
    ),
    **_control(
        saving,
        "request_federation_save",
        "federate_save_begun",
        "federate_save_complete",
        "federate_save_not_complete",
        "abort_federation_save",
        saving.SAVE_WRITING,
        saving.SAVE_ENDED,
        saving.SAVE_DUE,
    ),
    **_control(timed_saves, *timed_saves.COMMANDS),
    **_local(saving, "query_federation_save_status"),
    **_control(
        restoring,
        "request_federation_restore",
        "federate_restore_complete",
        "federate_restore_not_complete",
        "abort_federation_restore",
        restoring.RESTORE_DECIDED,
    ),
    **_local(restoring, "query_federation_restore_status"),
    **_control(
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
    **_control(
        objects,
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
        "change_attribute_order_type",
        "change_default_attribute_order_type",
        "change_interaction_order_type",
    ),
    **_local(
        objects,
        "request_attribute_value_update",
        "query_attribute_transportation_type",
        "query_interaction_transportation_type",
    ),
    **_control(
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
    **_local(ownership, "query_attribute_ownership", "is_attribute_owned_by_federate"),
    **_control(condemning, condemning.INSTANCE_REMOVED, condemning.DELETE_RETRACTED),
    **_control(time_services, *time_services.COMMANDS),
    **_local(
        time_services,
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
        objects.register_object_instance_with_regions, True, "data_distribution"
    ),
    **_local(
        data_distribution, "send_interaction_with_regions", "request_attribute_value_update_with_regions"
    ),
    **{
        name: Service(getattr(data_distribution, name), False, "support")
        for name in ("get_dimension_handle_set", "get_range_bounds", "set_range_bounds")
    },
    **{name: Service(getattr(qos_services, name), False, "object") for name in qos_services.SERVICES},
    **_local(path, "send_interaction", "update_attribute_values"),
    **_local(directed, "send_directed_interaction"),
    **_control(causal, causal.ORDERS_USED),
    **_control(views, views.VIEW_ENDS, views.VIEW_BEGINS),
    **_control(steering, *steering.COMMANDS),
    **_control(support, "set_switch", "set_automatic_resign_directive"),
    **_local(support, *_LOOK_UPS, "get_switch", "get_federation_switch", "get_automatic_resign_directive"),
}
for _name in recording_calls.SENDS:
    SERVICES[_name].sends = True

_ALWAYS = frozenset(
    [
        *_LOOK_UPS,
        "query_blocking",
        "set_time_advance_patience",
        *qos_services.ALWAYS,
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
