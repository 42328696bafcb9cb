"""Which services refuse with which exception, but for those that follow from what a service needs (`weft.federate.refusals`)."""

from __future__ import annotations

from typing import Final

_CREATE: Final = "create_federation_execution create_federation_execution_with_mim"
_TAKE_MODULES: Final = f"{_CREATE} join_federation_execution"
_ADVANCE: Final = """
    flush_queue_request next_message_request next_message_request_available time_advance_request
    time_advance_request_available
"""

TABLE: Final[dict[str, str]] = {
    "AlreadyConnected": "connect",
    "AsynchronousDeliveryAlreadyDisabled": "disable_asynchronous_delivery",
    "AsynchronousDeliveryAlreadyEnabled": "enable_asynchronous_delivery",
    "AttributeAcquisitionWasNotRequested": "cancel_attribute_ownership_acquisition",
    "AttributeAlreadyBeingAcquired": "attribute_ownership_acquisition_if_available",
    "AttributeAlreadyBeingDivested": "negotiated_attribute_ownership_divestiture",
    "AttributeAlreadyOwned": "cancel_attribute_ownership_acquisition",
    "AttributeDivestitureWasNotRequested": """
        cancel_negotiated_attribute_ownership_divestiture confirm_divestiture
    """,
    "AttributeNotDefined": """
        associate_regions_for_updates attribute_ownership_acquisition
        attribute_ownership_acquisition_if_available attribute_ownership_divestiture_if_wanted
        attribute_ownership_release_denied cancel_attribute_ownership_acquisition
        cancel_negotiated_attribute_ownership_divestiture change_attribute_order_type
        change_default_attribute_order_type change_default_attribute_transportation_type confirm_divestiture
        correlate get_attribute_name get_update_rate_value_for_attribute is_attribute_owned_by_federate
        negotiated_attribute_ownership_divestiture publish_object_class_attributes query_attribute_ownership
        query_attribute_transportation_type register_object_instance_with_regions
        request_attribute_transportation_type_change request_attribute_value_update
        request_attribute_value_update_with_regions subscribe_object_class_attributes
        subscribe_object_class_attributes_passively subscribe_object_class_attributes_passively_with_regions
        subscribe_object_class_attributes_with_regions unassociate_regions_for_updates
        unconditional_attribute_ownership_divestiture unpublish_object_class_attributes
        unsubscribe_object_class_attributes unsubscribe_object_class_attributes_with_regions
        update_attribute_values
    """,
    "AttributeNotOwned": """
        attribute_ownership_divestiture_if_wanted attribute_ownership_release_denied
        cancel_negotiated_attribute_ownership_divestiture change_attribute_order_type confirm_divestiture
        negotiated_attribute_ownership_divestiture request_attribute_transportation_type_change
        unconditional_attribute_ownership_divestiture update_attribute_values
    """,
    "AttributeNotPublished": """
        attribute_ownership_acquisition attribute_ownership_acquisition_if_available
        register_object_instance_with_regions
    """,
    "CallNotAllowedFromWithinCallback": """
        connect disconnect evoke_callback evoke_multiple_callbacks join_federation_execution
        resign_federation_execution
    """,
    "ConnectionFailed": "connect",
    "CouldNotCreateLogicalTimeFactory": _CREATE,
    "CouldNotOpenFOM": _TAKE_MODULES,
    "CouldNotOpenMIM": "create_federation_execution_with_mim",
    "DeletePrivilegeNotHeld": "delete_object_instance",
    "DesignatorIsHLAstandardMIM": "create_federation_execution_with_mim",
    "ErrorReadingFOM": _TAKE_MODULES,
    "ErrorReadingMIM": "create_federation_execution_with_mim",
    "FederateAlreadyExecutionMember": "join_federation_execution",
    "FederateHandleNotKnown": "get_federate_name",
    "FederateHasNotBegunSave": "federate_save_complete federate_save_not_complete",
    "FederateIsExecutionMember": "disconnect",
    "FederateNameAlreadyInUse": "join_federation_execution",
    "FederateOwnsAttributes": """
        attribute_ownership_acquisition attribute_ownership_acquisition_if_available
        local_delete_object_instance resign_federation_execution
    """,
    "FederateServiceInvocationsAreBeingReportedViaMOM": """
        subscribe_interaction_class subscribe_interaction_class_passively
        subscribe_interaction_class_passively_with_regions subscribe_interaction_class_with_regions
    """,
    "FederateUnableToUseTime": "request_federation_save",
    "FederatesCurrentlyJoined": "destroy_federation_execution",
    "FederationExecutionAlreadyExists": _CREATE,
    "FederationExecutionDoesNotExist": "destroy_federation_execution join_federation_execution steer",
    "IllegalName": "reserve_multiple_object_instance_names reserve_object_instance_name",
    "InTimeAdvancingState": f"enable_time_constrained enable_time_regulation modify_lookahead {_ADVANCE}",
    "InconsistentFOM": _TAKE_MODULES,
    "InteractionClassNotDefined": """
        change_interaction_order_type correlate publish_interaction_class
        publish_object_class_directed_interactions query_interaction_transportation_type
        request_interaction_transportation_type_change send_directed_interaction send_interaction
        send_interaction_with_regions set_class_qos subscribe_interaction_class
        subscribe_interaction_class_passively subscribe_interaction_class_passively_with_regions
        subscribe_interaction_class_with_regions subscribe_object_class_directed_interactions
        subscribe_object_class_directed_interactions_universally unpublish_interaction_class
        unpublish_object_class_directed_interactions unsubscribe_interaction_class
        unsubscribe_interaction_class_with_regions unsubscribe_object_class_directed_interactions
    """,
    "InteractionClassNotPublished": """
        change_interaction_order_type request_interaction_transportation_type_change
        send_directed_interaction send_interaction send_interaction_with_regions
    """,
    "InteractionParameterNotDefined": """
        get_parameter_name send_directed_interaction send_interaction send_interaction_with_regions
    """,
    "InvalidAttributeHandle": "get_attribute_name",
    "InvalidCredentials": "connect",
    "InvalidDimensionHandle": "create_region get_dimension_name get_dimension_upper_bound",
    "InvalidFOM": _TAKE_MODULES,
    "InvalidFederateHandle": """
        get_federate_name normalize_federate_handle register_federation_synchronization_point
    """,
    "InvalidInteractionClassHandle": """
        get_available_dimensions_for_interaction_class get_interaction_class_name get_parameter_handle
        get_parameter_name normalize_interaction_class_handle
    """,
    "InvalidLogicalTime": f"""
        delete_object_instance request_federation_save send_directed_interaction send_interaction
        send_interaction_with_regions update_attribute_values {_ADVANCE}
    """,
    "InvalidLookahead": "enable_time_regulation modify_lookahead",
    "InvalidMIM": "create_federation_execution_with_mim",
    "InvalidMessageRetractionHandle": "retract",
    "InvalidObjectClassHandle": """
        get_attribute_handle get_attribute_name get_available_dimensions_for_object_class
        get_object_class_name normalize_object_class_handle
    """,
    "InvalidObjectInstanceHandle": "normalize_object_instance_handle",
    "InvalidOrderName": "get_order_type",
    "InvalidOrderType": "get_order_name",
    "InvalidParameterHandle": "get_parameter_name",
    "InvalidRangeBound": "set_range_bounds",
    "InvalidRegion": """
        associate_regions_for_updates commit_region_modifications delete_region get_dimension_handle_set
        get_range_bounds register_object_instance_with_regions request_attribute_value_update_with_regions
        send_interaction_with_regions set_range_bounds subscribe_interaction_class_passively_with_regions
        subscribe_interaction_class_with_regions subscribe_object_class_attributes_passively_with_regions
        subscribe_object_class_attributes_with_regions unassociate_regions_for_updates
        unsubscribe_interaction_class_with_regions unsubscribe_object_class_attributes_with_regions
    """,
    "InvalidRegionContext": """
        associate_regions_for_updates register_object_instance_with_regions
        request_attribute_value_update_with_regions send_interaction_with_regions
        subscribe_interaction_class_passively_with_regions subscribe_interaction_class_with_regions
        subscribe_object_class_attributes_passively_with_regions
        subscribe_object_class_attributes_with_regions
    """,
    "InvalidResignAction": "resign_federation_execution set_automatic_resign_directive",
    "InvalidServiceGroup": "normalize_service_group",
    "InvalidTransportationName": "get_transportation_type_handle",
    "InvalidTransportationTypeHandle": """
        change_default_attribute_transportation_type get_transportation_type_name
        request_attribute_transportation_type_change request_interaction_transportation_type_change
    """,
    "InvalidUpdateRateDesignator": """
        get_update_rate_value subscribe_object_class_attributes subscribe_object_class_attributes_passively
        subscribe_object_class_attributes_passively_with_regions
        subscribe_object_class_attributes_with_regions
    """,
    "LogicalTimeAlreadyPassed": f"request_federation_save {_ADVANCE}",
    "MessageCanNoLongerBeRetracted": "retract",
    "NameNotFound": """
        get_attribute_handle get_dimension_handle get_federate_handle get_interaction_class_handle
        get_object_class_handle get_parameter_handle steer
    """,
    "NameSetWasEmpty": "reserve_multiple_object_instance_names",
    "NoAcquisitionPending": "confirm_divestiture",
    "ObjectClassNotDefined": """
        change_default_attribute_order_type change_default_attribute_transportation_type correlate
        publish_object_class_attributes publish_object_class_directed_interactions register_object_instance
        register_object_instance_with_regions request_attribute_value_update
        request_attribute_value_update_with_regions set_class_qos subscribe_object_class_attributes
        subscribe_object_class_attributes_passively subscribe_object_class_attributes_passively_with_regions
        subscribe_object_class_attributes_with_regions subscribe_object_class_directed_interactions
        subscribe_object_class_directed_interactions_universally unpublish_object_class
        unpublish_object_class_attributes unpublish_object_class_directed_interactions
        unsubscribe_object_class unsubscribe_object_class_attributes
        unsubscribe_object_class_attributes_with_regions unsubscribe_object_class_directed_interactions
    """,
    "ObjectClassNotPublished": """
        attribute_ownership_acquisition attribute_ownership_acquisition_if_available
        register_object_instance register_object_instance_with_regions
    """,
    "ObjectInstanceNameInUse": "register_object_instance register_object_instance_with_regions",
    "ObjectInstanceNameNotReserved": """
        register_object_instance register_object_instance_with_regions
        release_multiple_object_instance_names release_object_instance_name
    """,
    "ObjectInstanceNotKnown": """
        associate_regions_for_updates attribute_ownership_acquisition
        attribute_ownership_acquisition_if_available attribute_ownership_divestiture_if_wanted
        attribute_ownership_release_denied cancel_attribute_ownership_acquisition
        cancel_negotiated_attribute_ownership_divestiture change_attribute_order_type confirm_divestiture
        delete_object_instance get_known_object_class_handle get_object_instance_handle
        get_object_instance_name get_update_rate_value_for_attribute is_attribute_owned_by_federate
        local_delete_object_instance negotiated_attribute_ownership_divestiture query_attribute_ownership
        query_attribute_transportation_type request_attribute_transportation_type_change
        request_attribute_value_update send_directed_interaction unassociate_regions_for_updates
        unconditional_attribute_ownership_divestiture update_attribute_values
    """,
    "OwnershipAcquisitionPending": """
        local_delete_object_instance resign_federation_execution unpublish_object_class
        unpublish_object_class_attributes
    """,
    "RegionDoesNotContainSpecifiedDimension": "get_range_bounds set_range_bounds",
    "RegionInUseForUpdateOrSubscription": "delete_region",
    "RegionNotCreatedByThisFederate": """
        associate_regions_for_updates commit_region_modifications delete_region
        register_object_instance_with_regions request_attribute_value_update_with_regions
        send_interaction_with_regions set_range_bounds subscribe_interaction_class_passively_with_regions
        subscribe_interaction_class_with_regions subscribe_object_class_attributes_passively_with_regions
        subscribe_object_class_attributes_with_regions unassociate_regions_for_updates
        unsubscribe_interaction_class_with_regions unsubscribe_object_class_attributes_with_regions
    """,
    "ReportServiceInvocationsAreSubscribed": "set_service_reporting_switch",
    "RequestForTimeConstrainedPending": f"enable_time_constrained {_ADVANCE}",
    "RequestForTimeRegulationPending": f"enable_time_regulation {_ADVANCE}",
    "RestoreInProgress": "join_federation_execution",
    "RestoreNotInProgress": "abort_federation_restore",
    "RestoreNotRequested": "federate_restore_complete federate_restore_not_complete",
    "SaveInProgress": "join_federation_execution",
    "SaveNotInProgress": "abort_federation_save",
    "SaveNotInitiated": "federate_save_begun",
    "SynchronizationPointLabelNotAnnounced": "synchronization_point_achieved",
    "TimeConstrainedAlreadyEnabled": "enable_time_constrained",
    "TimeConstrainedIsNotEnabled": "disable_time_constrained",
    "TimeRegulationAlreadyEnabled": "enable_time_regulation",
    "TimeRegulationIsNotEnabled": "disable_time_regulation modify_lookahead query_lookahead retract",
    "Unauthorized": f"connect destroy_federation_execution steer {_TAKE_MODULES}",
    "UnsupportedCallbackModel": "connect",
}
