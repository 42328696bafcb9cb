"""The enumerations of IEEE 1516.1-2025, numbered as on the Federate Protocol's wire."""

from __future__ import annotations

from enum import Enum


class CallbackModel(Enum):
    """When callbacks run: inside the evoke services, or as they come."""

    EVOKED = 0
    IMMEDIATE = 1


class ResignAction(Enum):
    """What becomes of a resigning federate's attributes, objects and pending acquisitions."""

    UNCONDITIONALLY_DIVEST_ATTRIBUTES = 0
    DELETE_OBJECTS = 1
    CANCEL_PENDING_OWNERSHIP_ACQUISITIONS = 2
    DELETE_OBJECTS_THEN_DIVEST = 3
    CANCEL_THEN_DELETE_THEN_DIVEST = 4
    NO_ACTION = 5


class OrderType(Enum):
    """How a message is ordered: as received, or by time stamp; and Weft's own orders (docs/explanation/ordering.md),
    numbered apart."""

    RECEIVE = 0
    TIMESTAMP = 1
    CAUSAL = 100
    TOTAL = 101
    PRIORITY = 102


class ServiceGroup(Enum):
    """The clauses of the standard, for normalisation."""

    FEDERATION_MANAGEMENT = 0
    DECLARATION_MANAGEMENT = 1
    OBJECT_MANAGEMENT = 2
    OWNERSHIP_MANAGEMENT = 3
    TIME_MANAGEMENT = 4
    DATA_DISTRIBUTION_MANAGEMENT = 5
    SUPPORT_SERVICES = 6


class SynchronizationPointFailureReason(Enum):
    """Why a synchronization point could not be registered."""

    SYNCHRONIZATION_POINT_LABEL_NOT_UNIQUE = 0
    SYNCHRONIZATION_SET_MEMBER_NOT_JOINED = 1


class SaveFailureReason(Enum):
    """Why a federation could not be saved."""

    RTI_UNABLE_TO_SAVE = 0
    FEDERATE_REPORTED_FAILURE_DURING_SAVE = 1
    FEDERATE_RESIGNED_DURING_SAVE = 2
    RTI_DETECTED_FAILURE_DURING_SAVE = 3
    SAVE_TIME_CANNOT_BE_HONORED = 4
    SAVE_ABORTED = 5


class RestoreFailureReason(Enum):
    """Why a federation could not be restored."""

    RTI_UNABLE_TO_RESTORE = 0
    FEDERATE_REPORTED_FAILURE_DURING_RESTORE = 1
    FEDERATE_RESIGNED_DURING_RESTORE = 2
    RTI_DETECTED_FAILURE_DURING_RESTORE = 3
    RESTORE_ABORTED = 4


class SaveStatus(Enum):
    """How far a federate is with saving."""

    NO_SAVE_IN_PROGRESS = 0
    FEDERATE_INSTRUCTED_TO_SAVE = 1
    FEDERATE_SAVING = 2
    FEDERATE_WAITING_FOR_FEDERATION_TO_SAVE = 3


class RestoreStatus(Enum):
    """How far a federate is with restoring."""

    NO_RESTORE_IN_PROGRESS = 0
    FEDERATE_RESTORE_REQUEST_PENDING = 1
    FEDERATE_WAITING_FOR_RESTORE_TO_BEGIN = 2
    FEDERATE_PREPARED_TO_RESTORE = 3
    FEDERATE_RESTORING = 4
    FEDERATE_WAITING_FOR_FEDERATION_TO_RESTORE = 5


class AdditionalSettingsResultCode(Enum):
    """What became of the settings given to connect."""

    SETTINGS_IGNORED = 0
    SETTINGS_FAILED_TO_PARSE = 1
    SETTINGS_APPLIED = 2
