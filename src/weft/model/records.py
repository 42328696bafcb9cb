"""Small value records that services take or give."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from weft.model.enums import AdditionalSettingsResultCode, RestoreStatus
from weft.model.handles import FederateHandle, MessageRetractionHandle
from weft.model.time import LogicalTime


@dataclass(frozen=True, slots=True)
class Source:
    """A text handed to Weft together with the name by which its errors will be reported."""

    name: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class RtiConfiguration:
    """Where and how to connect; an empty address means the node inside this process."""

    configuration_name: str = ""
    rti_address: str = ""
    additional_settings: str = ""


@dataclass(frozen=True, slots=True)
class ConfigurationResult:
    configuration_used: bool = False
    address_used: bool = False
    additional_settings_result: AdditionalSettingsResultCode = AdditionalSettingsResultCode.SETTINGS_IGNORED
    message: str = ""


@dataclass(frozen=True, slots=True)
class Credentials:
    type: str = "HLAnoCredentials"
    data: bytes = field(default=b"", repr=False)


class FederationExecutionInformation(NamedTuple):
    federation_execution_name: str
    logical_time_implementation_name: str


class FederationExecutionMemberInformation(NamedTuple):
    federate_name: str
    federate_type: str


class RangeBounds(NamedTuple):
    lower: int
    upper: int


class MessageRetractionReturn(NamedTuple):
    retraction_handle_is_valid: bool
    handle: MessageRetractionHandle | None


class TimeQueryReturn(NamedTuple):
    time_is_valid: bool
    time: LogicalTime | None


class FederateRestoreStatus(NamedTuple):
    pre_restore_handle: FederateHandle
    post_restore_handle: FederateHandle
    restore_status: RestoreStatus
