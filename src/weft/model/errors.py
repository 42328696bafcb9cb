"""Every error Weft raises.

One root, `WeftError`.  Below it stand `ObjectModelError` (a file is at fault), `SettingsError` (a setting is), and
`RTIexception`, the parent of the exceptions of IEEE 1516.1-2025, which keep their standard names.  Code below
the kernel raises the first two; the kernel translates them, once, to the HLA name a federate expects.

A message says who erred, where, and what to do about it.
"""

from __future__ import annotations


class WeftError(Exception):
    """The root of all errors raised by Weft."""


class SettingsError(WeftError):
    """A setting, a flag or a settings file is at fault; the message names it."""


class DomainsError(SettingsError):
    """A domains file is at fault; `place` is `file` or `file:line`."""

    def __init__(self, message: str, place: str = "") -> None:
        super().__init__(f"{place}: {message}" if place else message)
        self.message = message
        self.place = place


class FabricError(WeftError):
    """A server of the fabric, its peers and its journal do not fit together; the message names who."""


class ChannelError(WeftError):
    """A supplier, a consumer or a gateway of an event channel asks for what makes no sense; the message names it."""


class ScheduleError(SettingsError):
    """A schedule cannot be made, or its file is at fault; `place` is `file` or `file:line`."""

    def __init__(self, message: str, place: str = "") -> None:
        super().__init__(f"{place}: {message}" if place else message)
        self.message = message
        self.place = place


class OrderingError(WeftError):
    """Tags, processes and their driver do not fit together; the message names the process and what is wrong."""


class InterestError(WeftError):
    """A change or an update comes for a time at which it cannot; the message names who, when and what is possible."""


class ObjectModelError(WeftError):
    """An object model file cannot be used; `place` is `file` or `file:line`."""

    def __init__(self, message: str, place: str = "") -> None:
        super().__init__(f"{place}: {message}" if place else message)
        self.message = message
        self.place = place


class UnreadableObjectModel(ObjectModelError):
    """The text is not what it claims to be: not XML, truncated, too deep, an entity bomb."""


class InvalidObjectModel(ObjectModelError):
    """The text can be read but means nothing: an unknown parent class, a missing name."""


class ConflictingObjectModels(ObjectModelError):
    """Two modules contradict each other."""


class EncodingError(WeftError):
    """A value does not fit its data type, or bytes do not; the message gives the path to the field."""


class RTIexception(WeftError):
    """The parent of all exceptions that IEEE 1516.1-2025 defines."""


class AlreadyConnected(RTIexception):
    pass


class AsynchronousDeliveryAlreadyDisabled(RTIexception):
    pass


class AsynchronousDeliveryAlreadyEnabled(RTIexception):
    pass


class AttributeAcquisitionWasNotRequested(RTIexception):
    pass


class AttributeAlreadyBeingAcquired(RTIexception):
    pass


class AttributeAlreadyBeingChanged(RTIexception):
    pass


class AttributeAlreadyBeingDivested(RTIexception):
    pass


class AttributeAlreadyOwned(RTIexception):
    pass


class AttributeDivestitureWasNotRequested(RTIexception):
    pass


class AttributeNotDefined(RTIexception):
    pass


class AttributeNotOwned(RTIexception):
    pass


class AttributeNotPublished(RTIexception):
    pass


class AttributeRelevanceAdvisorySwitchIsOff(RTIexception):
    pass


class AttributeRelevanceAdvisorySwitchIsOn(RTIexception):
    pass


class AttributeScopeAdvisorySwitchIsOff(RTIexception):
    pass


class AttributeScopeAdvisorySwitchIsOn(RTIexception):
    pass


class CallNotAllowedFromWithinCallback(RTIexception):
    pass


class ConnectionFailed(RTIexception):
    pass


class CouldNotCreateLogicalTimeFactory(RTIexception):
    pass


class CouldNotDecode(RTIexception):
    pass


class CouldNotEncode(RTIexception):
    pass


class CouldNotOpenFOM(RTIexception):
    pass


class CouldNotOpenMIM(RTIexception):
    pass


class DeletePrivilegeNotHeld(RTIexception):
    pass


class DesignatorIsHLAstandardMIM(RTIexception):
    pass


class ErrorReadingFOM(RTIexception):
    pass


class ErrorReadingMIM(RTIexception):
    pass


class FederateAlreadyExecutionMember(RTIexception):
    pass


class FederateHandleNotKnown(RTIexception):
    pass


class FederateHasNotBegunSave(RTIexception):
    pass


class FederateInternalError(RTIexception):
    pass


class FederateIsExecutionMember(RTIexception):
    pass


class FederateNameAlreadyInUse(RTIexception):
    pass


class FederateNotExecutionMember(RTIexception):
    pass


class FederateOwnsAttributes(RTIexception):
    pass


class FederateServiceInvocationsAreBeingReportedViaMOM(RTIexception):
    pass


class FederateUnableToUseTime(RTIexception):
    pass


class FederatesCurrentlyJoined(RTIexception):
    pass


class FederationExecutionAlreadyExists(RTIexception):
    pass


class FederationExecutionDoesNotExist(RTIexception):
    pass


class IllegalName(RTIexception):
    pass


class IllegalTimeArithmetic(RTIexception):
    pass


class InTimeAdvancingState(RTIexception):
    pass


class InconsistentFOM(RTIexception):
    pass


class InteractionClassAlreadyBeingChanged(RTIexception):
    pass


class InteractionClassNotDefined(RTIexception):
    pass


class InteractionClassNotPublished(RTIexception):
    pass


class InteractionParameterNotDefined(RTIexception):
    pass


class InteractionRelevanceAdvisorySwitchIsOff(RTIexception):
    pass


class InteractionRelevanceAdvisorySwitchIsOn(RTIexception):
    pass


class InternalError(RTIexception):
    pass


class InvalidAttributeHandle(RTIexception):
    pass


class InvalidCredentials(RTIexception):
    pass


class InvalidDimensionHandle(RTIexception):
    pass


class InvalidFOM(RTIexception):
    pass


class InvalidFederateHandle(RTIexception):
    pass


class InvalidInteractionClassHandle(RTIexception):
    pass


class InvalidLogicalTime(RTIexception):
    pass


class InvalidLogicalTimeInterval(RTIexception):
    pass


class InvalidLookahead(RTIexception):
    pass


class InvalidMIM(RTIexception):
    pass


class InvalidMessageRetractionHandle(RTIexception):
    pass


class InvalidObjectClassHandle(RTIexception):
    pass


class InvalidObjectInstanceHandle(RTIexception):
    pass


class InvalidOrderName(RTIexception):
    pass


class InvalidOrderType(RTIexception):
    pass


class InvalidParameterHandle(RTIexception):
    pass


class InvalidRangeBound(RTIexception):
    pass


class InvalidRegion(RTIexception):
    pass


class InvalidRegionContext(RTIexception):
    pass


class InvalidResignAction(RTIexception):
    pass


class InvalidServiceGroup(RTIexception):
    pass


class InvalidTransportationName(RTIexception):
    pass


class InvalidTransportationTypeHandle(RTIexception):
    pass


class InvalidUpdateRateDesignator(RTIexception):
    pass


class LogicalTimeAlreadyPassed(RTIexception):
    pass


class MessageCanNoLongerBeRetracted(RTIexception):
    pass


class NameNotFound(RTIexception):
    pass


class NameSetWasEmpty(RTIexception):
    pass


class NoAcquisitionPending(RTIexception):
    pass


class NotConnected(RTIexception):
    pass


class ObjectClassNotDefined(RTIexception):
    pass


class ObjectClassNotPublished(RTIexception):
    pass


class ObjectClassRelevanceAdvisorySwitchIsOff(RTIexception):
    pass


class ObjectClassRelevanceAdvisorySwitchIsOn(RTIexception):
    pass


class ObjectInstanceNameInUse(RTIexception):
    pass


class ObjectInstanceNameNotReserved(RTIexception):
    pass


class ObjectInstanceNotKnown(RTIexception):
    pass


class OwnershipAcquisitionPending(RTIexception):
    pass


class RTIinternalError(RTIexception):
    pass


class RegionDoesNotContainSpecifiedDimension(RTIexception):
    pass


class RegionInUseForUpdateOrSubscription(RTIexception):
    pass


class RegionNotCreatedByThisFederate(RTIexception):
    pass


class ReportServiceInvocationsAreSubscribed(RTIexception):
    pass


class RequestForTimeConstrainedPending(RTIexception):
    pass


class RequestForTimeRegulationPending(RTIexception):
    pass


class RestoreInProgress(RTIexception):
    pass


class RestoreNotInProgress(RTIexception):
    pass


class RestoreNotRequested(RTIexception):
    pass


class SaveInProgress(RTIexception):
    pass


class SaveNotInProgress(RTIexception):
    pass


class SaveNotInitiated(RTIexception):
    pass


class SynchronizationPointLabelNotAnnounced(RTIexception):
    pass


class TimeConstrainedAlreadyEnabled(RTIexception):
    pass


class TimeConstrainedIsNotEnabled(RTIexception):
    pass


class TimeRegulationAlreadyEnabled(RTIexception):
    pass


class TimeRegulationIsNotEnabled(RTIexception):
    pass


class Unauthorized(RTIexception):
    pass


class UnsupportedCallbackModel(RTIexception):
    pass


def rti_exception(name: str) -> type[RTIexception]:
    """The exception class of an IEEE name; RTIinternalError for a name this RTI does not know."""
    found = globals().get(name)
    if isinstance(found, type) and issubclass(found, RTIexception):
        return found
    return RTIinternalError
