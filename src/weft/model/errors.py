"""Every error Weft raises.

One root, `WeftError`.  Below it stand `ObjectModelError` (a file is at fault), `SettingsError` (a setting is), and
`RTIexception`, the parent of the exceptions of IEEE 1516.1-2025, which keep their standard names.  Code below
the kernel raises the first two; the kernel translates them, once, to the HLA name a federate expects.

A message says who erred, where, and what to do about it.  Docstrings are the reference (docs/reference/exceptions.md):
first what the error means, in one sentence, then what to do.
"""

from __future__ import annotations

from typing import Final

TRY_AGAIN: Final = "try again later"
"""So ends what is said of a node that is away: whoever can wait asks again (`weft.join(wait=)`)."""


class WeftError(Exception):
    """The root of all errors raised by Weft.  Catch it to catch them all."""


class _Placed(Exception):
    """Something is at fault at `place`: `file` or `file:line`, if that is known."""

    def __init__(self, message: str, place: str = "") -> None:
        super().__init__(f"{place}: {message}" if place else message)
        self.message = message
        self.place = place


class SettingsError(WeftError):
    """A setting, a flag or a settings file is at fault; the message names it.  Correct it there."""


class PackageMissing(SettingsError, ImportError):
    """What was asked for needs a package that is not installed here.  The message says which `pip install` brings it."""


class DomainsError(_Placed, SettingsError):
    """A domains file is at fault; `place` is `file` or `file:line`.  `weft domains check` says all, with a repair."""


class FederationFileError(_Placed, SettingsError):
    """A federation file is at fault; `place` is `file` or `file:line`.  `weft run --check FILE` says all that is wrong."""


class FabricError(WeftError):
    """A server of the fabric, its peers and its journal do not fit together.  The message names who; see
    docs/explanation/domains.md."""


class ChannelError(WeftError):
    """A supplier, a consumer or a gateway of an event channel asks for what makes no sense.  The message names it."""


class AdmissionRefused(ChannelError):
    """With this supplier or consumer the schedule of the channel would miss deadlines; the message says whose and why.  Let it
    run less often or for shorter, take another off, or admit all the same (`AdmissionControl(refuse=False)`)."""


class ScheduleError(_Placed, SettingsError):
    """A schedule cannot be made, or its file is at fault.  Correct it at `place`, `file` or `file:line`."""


class ReviewError(WeftError):
    """A run cannot be reviewed here: something is missing or wrong.  The message says what, and what to do."""


class OrderingError(WeftError):
    """Tags, processes and their driver do not fit together.  The message names the process and what is wrong."""


class InterestError(WeftError):
    """A change or an update comes for a time at which it cannot.  The message names who, when and what is possible."""


class ObjectModelError(_Placed, WeftError):
    """An object model file cannot be used; `place` is `file` or `file:line`.  `weft fom check` says all that is wrong."""


class UnreadableObjectModel(ObjectModelError):
    """The text is not what it claims to be: not XML, truncated, too deep, an entity bomb.  Get the file anew."""


class InvalidObjectModel(ObjectModelError):
    """The text can be read but means nothing: an unknown parent class, a missing name.  Correct the line that is named."""


class ConflictingObjectModels(ObjectModelError):
    """Two modules contradict each other.  Make them agree; `weft fom merge` names what differs."""


class NotInTime(WeftError, TimeoutError):
    """Others were waited for in vain.  The message names who is missing; start them, or wait longer."""


class EncodingError(WeftError):
    """A value does not fit its data type, or bytes do not.  The message gives the path to the field."""


class RTIexception(WeftError):
    """The parent of all exceptions that IEEE 1516.1-2025 defines.  Catch it to catch all of the standard's."""


class AlreadyConnected(RTIexception):
    """This ambassador has a connection.  Call `disconnect` first, or make another ambassador."""


class AsynchronousDeliveryAlreadyDisabled(RTIexception):
    """Asynchronous delivery is off.  Nothing is to be done; remember what you asked for."""


class AsynchronousDeliveryAlreadyEnabled(RTIexception):
    """Asynchronous delivery is on.  Nothing is to be done; remember what you asked for."""


class AttributeAcquisitionWasNotRequested(RTIexception):
    """There is no acquisition of this attribute to cancel or confirm.

    It may have been decided meanwhile: see which callback came.
    """


class AttributeAlreadyBeingAcquired(RTIexception):
    """The federate is acquiring the attribute.  Wait for the callback, or cancel the acquisition."""


class AttributeAlreadyBeingChanged(RTIexception):
    """A change of the attribute's transportation is under way.  Wait for its confirmation."""


class AttributeAlreadyBeingDivested(RTIexception):
    """The federate is giving the attribute away.  Wait for the callback, or cancel the divestiture."""


class AttributeAlreadyOwned(RTIexception):
    """The federate owns the attribute, or another does where nobody may.  Ask `is_attribute_owned_by_federate` before."""


class AttributeDivestitureWasNotRequested(RTIexception):
    """There is no divestiture of this attribute to cancel or confirm.  It may be over: see which callback came."""


class AttributeNotDefined(RTIexception):
    """The class of the object has no such attribute.

    Take the handle from `get_attribute_handle` of this class or one above it.
    """


class AttributeNotOwned(RTIexception):
    """The federate does not own the attribute, so it cannot update or give it away.  Acquire it first."""


class AttributeNotPublished(RTIexception):
    """The federate does not publish the attribute.  Publish it at this class first."""


class AttributeRelevanceAdvisorySwitchIsOff(RTIexception):
    """The switch is off.  Nothing is to be done; `set_attribute_relevance_advisory_switch` sets it in HLA 4."""


class AttributeRelevanceAdvisorySwitchIsOn(RTIexception):
    """The switch is on.  Nothing is to be done; `set_attribute_relevance_advisory_switch` sets it in HLA 4."""


class AttributeScopeAdvisorySwitchIsOff(RTIexception):
    """The switch is off.  Nothing is to be done; `set_attribute_scope_advisory_switch` sets it in HLA 4."""


class AttributeScopeAdvisorySwitchIsOn(RTIexception):
    """The switch is on.  Nothing is to be done; `set_attribute_scope_advisory_switch` sets it in HLA 4."""


class CallNotAllowedFromWithinCallback(RTIexception):
    """The call would wait for callbacks, and is made within one.  Take note in the callback, and call after it."""


class ConnectionFailed(RTIexception):
    """The RTI cannot be reached, or the settings of the connection make no sense.

    See that the server runs, its address, port and protocol.
    """


class CouldNotCreateLogicalTimeFactory(RTIexception):
    """There is no logical time of this name.  Use HLAinteger64Time or HLAfloat64Time."""


class CouldNotDecode(RTIexception):
    """Bytes are not of the data type or kind of handle that was asked for.  Both sides must use the same object model."""


class CouldNotEncode(RTIexception):
    """A value is not of its data type.  The message gives the path to the field."""


class CouldNotOpenFOM(RTIexception):
    """An object model file cannot be read where the federate runs.  Check the path, seen from its working directory."""


class CouldNotOpenMIM(RTIexception):
    """The MIM file cannot be read where the federate runs.  Check the path, or leave it out: the standard's own is built in."""


class DeletePrivilegeNotHeld(RTIexception):
    """The federate does not own the privilege to delete this object.

    Only its owner can delete it; acquire HLAprivilegeToDeleteObject first.
    """


class DesignatorIsHLAstandardMIM(RTIexception):
    """The standard MIM is there anyway.  Leave it out."""


class ErrorReadingFOM(RTIexception):
    """An object model file is not what it claims to be, or larger than a limit.

    The message gives file and line; `weft fom check` says all that is wrong.
    """


class ErrorReadingMIM(RTIexception):
    """The MIM file is not what it claims to be, or larger than a limit.  The message gives file and line."""


class FederateAlreadyExecutionMember(RTIexception):
    """This ambassador has joined.  Resign first, or use another ambassador."""


class FederateHandleNotKnown(RTIexception):
    """No federate with this handle is joined.  It may have resigned."""


class FederateHasNotBegunSave(RTIexception):
    """The federate says that its save is complete before it said that it has begun.  Call `federate_save_begun` first."""


class FederateInternalError(RTIexception):
    """A callback of the federate failed.  Look at the federate: its own error is the cause."""


class FederateIsExecutionMember(RTIexception):
    """The ambassador is joined, and cannot be disconnected so.  Resign first."""


class FederateNameAlreadyInUse(RTIexception):
    """A federate of this name is joined.

    Choose another, or wait until a lost one has resigned (`limits.reconnect_seconds`).
    """


class FederateNotExecutionMember(RTIexception):
    """The federate has not joined, or has resigned or been resigned.  Join first; `federate_resigned` says why it is out."""


class FederateOwnsAttributes(RTIexception):
    """The federate would leave with attributes that it owns.  Resign with a directive that divests or deletes them."""


class FederateServiceInvocationsAreBeingReportedViaMOM(RTIexception):
    """Reporting of service calls is on for this federate, so it may not subscribe to the reports.

    Turn the reporting off first.
    """


class FederateUnableToUseTime(RTIexception):
    """A save at a logical time was asked for by who has no time to compare it with.

    Enable time constraint or regulation, or save without a time.
    """


class FederatesCurrentlyJoined(RTIexception):
    """The federation has members, so it cannot be destroyed.  They resign first; the last one destroys it."""


class FederationExecutionAlreadyExists(RTIexception):
    """There is a federation of this name.  Join it; whoever is first creates it."""


class FederationExecutionDoesNotExist(RTIexception):
    """There is no federation of this name at this RTI.  Create it, or check name and server."""


class IllegalName(RTIexception):
    """Names that begin with HLA are the RTI's own.  Choose another."""


class IllegalTimeArithmetic(RTIexception):
    """A sum or difference of times has no value: it is beyond the last or before the first.

    Use smaller steps, or a time of another kind.
    """


class InTimeAdvancingState(RTIexception):
    """The federate waits for a grant, and cannot do this meanwhile.  Evoke callbacks until `time_advance_grant` comes."""


class InconsistentFOM(RTIexception):
    """A module contradicts those the federation has.

    The message names class and attribute; `weft fom merge` finds it before you run.
    """


class InteractionClassAlreadyBeingChanged(RTIexception):
    """A change of the class's transportation is under way.  Wait for its confirmation."""


class InteractionClassNotDefined(RTIexception):
    """There is no such interaction class in the object model.

    Take handles from `get_interaction_class_handle` of this federation.
    """


class InteractionClassNotPublished(RTIexception):
    """The federate does not publish the interaction class.  Publish it before sending."""


class InteractionParameterNotDefined(RTIexception):
    """The interaction class has no such parameter.  Take the handle from `get_parameter_handle` of this class."""


class InteractionRelevanceAdvisorySwitchIsOff(RTIexception):
    """The switch is off.  Nothing is to be done; `set_interaction_relevance_advisory_switch` sets it in HLA 4."""


class InteractionRelevanceAdvisorySwitchIsOn(RTIexception):
    """The switch is on.  Nothing is to be done; `set_interaction_relevance_advisory_switch` sets it in HLA 4."""


class InternalError(RTIexception):
    """A logical time or an encoder failed within itself.  Please report it, with the message."""


class InvalidAttributeHandle(RTIexception):
    """This is no handle of an attribute in this federation.  Handles of another federation or kind do not do."""


class InvalidCredentials(RTIexception):
    """Name or password is wrong, or they were sent without TLS where that is not allowed.

    Check the entry made by `weft passwd`, and connect by TLS.
    """


class InvalidDimensionHandle(RTIexception):
    """This is no handle of a dimension in this federation.  Take it from `get_dimension_handle`."""


class InvalidFOM(RTIexception):
    """An object model file can be read and means nothing: an unknown parent, a missing name.

    `weft fom check` gives file, line and all faults.
    """


class InvalidFederateHandle(RTIexception):
    """This is no handle of a federate.  Take it from `get_federate_handle` or a callback."""


class InvalidInteractionClassHandle(RTIexception):
    """This is no handle of an interaction class in this federation.  Take it from `get_interaction_class_handle`."""


class InvalidLogicalTime(RTIexception):
    """The time is not of the federation's kind, or too early to send or change something as of it.

    The message says from when on it is possible.
    """


class InvalidLogicalTimeInterval(RTIexception):
    """The interval is not one of this kind of time.  Use that of the federation's logical time."""


class InvalidLookahead(RTIexception):
    """The lookahead is negative or not of the federation's kind of time.  Use its interval, zero or more."""


class InvalidMIM(RTIexception):
    """The MIM file can be read and is not what the standard asks for.  The message says what is missing."""


class InvalidMessageRetractionHandle(RTIexception):
    """This is no retraction handle of a message of this federate.  Take it from the call that sent it."""


class InvalidObjectClassHandle(RTIexception):
    """This is no handle of an object class in this federation.  Take it from `get_object_class_handle`."""


class InvalidObjectInstanceHandle(RTIexception):
    """This is no handle of an object.  Take it from `register_object_instance` or a discovery."""


class InvalidOrderName(RTIexception):
    """There is no order of this name.  Receive, TimeStamp; Weft's own are HLAcausal, HLAtotal and HLApriority."""


class InvalidOrderType(RTIexception):
    """This is no order type.  Use one of `OrderType`."""


class InvalidParameterHandle(RTIexception):
    """This is no handle of a parameter in this federation.  Take it from `get_parameter_handle`."""


class InvalidRangeBound(RTIexception):
    """Bounds of a range are reversed or beyond the dimension.  0 ≤ lower < upper ≤ the dimension's upper bound."""


class InvalidRegion(RTIexception):
    """There is no such region, or it was deleted.  Create it, and commit it before it is used."""


class InvalidRegionContext(RTIexception):
    """The dimensions of the region do not fit the class or attribute.  Use only dimensions that the object model gives it."""


class InvalidResignAction(RTIexception):
    """This is no resign action.  Use one of `ResignAction`."""


class InvalidServiceGroup(RTIexception):
    """This is no group of services.  Use one of `ServiceGroup`."""


class InvalidTransportationName(RTIexception):
    """There is no transportation of this name.  HLAreliable, HLAbestEffort, or one of the object model."""


class InvalidTransportationTypeHandle(RTIexception):
    """This is no handle of a transportation.  Take it from `get_transportation_type_handle`."""


class InvalidUpdateRateDesignator(RTIexception):
    """The object model has no update rate of this name.  Add it there, or leave it out."""


class LogicalTimeAlreadyPassed(RTIexception):
    """The time is not later than one that was granted or asked for.

    Ask for a later one; `query_logical_time` says where the federate is.
    """


class MessageCanNoLongerBeRetracted(RTIexception):
    """The message may have been delivered: its time is within the sender's promise.  Retract earlier, or send a correction."""


class NameNotFound(RTIexception):
    """The object model or federation has nothing of this name.

    The message suggests what is near; `weft fom show` lists what there is.
    """


class NameSetWasEmpty(RTIexception):
    """No names were given to reserve or release.  Give at least one."""


class NoAcquisitionPending(RTIexception):
    """Nobody is acquiring the attribute, so there is nobody to hand it to.  It may have been cancelled meanwhile."""


class NotConnected(RTIexception):
    """The ambassador has no connection.  Call `connect` first; after `connection_lost`, connect and join again."""


class ObjectClassNotDefined(RTIexception):
    """There is no such object class in the object model.  Take handles from `get_object_class_handle` of this federation."""


class ObjectClassNotPublished(RTIexception):
    """The federate does not publish the object class.  Publish at least one attribute of it first."""


class ObjectClassRelevanceAdvisorySwitchIsOff(RTIexception):
    """The switch is off.  Nothing is to be done; `set_object_class_relevance_advisory_switch` sets it in HLA 4."""


class ObjectClassRelevanceAdvisorySwitchIsOn(RTIexception):
    """The switch is on.  Nothing is to be done; `set_object_class_relevance_advisory_switch` sets it in HLA 4."""


class ObjectInstanceNameInUse(RTIexception):
    """An object of this name exists, or still has to be removed somewhere.  Choose another name."""


class ObjectInstanceNameNotReserved(RTIexception):
    """The name was not reserved by this federate.  Reserve it and wait for the callback, or register without a name."""


class ObjectInstanceNotKnown(RTIexception):
    """The federate does not know the object: it has not discovered it, or it is removed.

    Wait for the discovery; drop handles at a removal.
    """


class OwnershipAcquisitionPending(RTIexception):
    """The federate would leave while it acquires attributes.  Cancel the acquisitions, or resign with a directive that does."""


class RTIinternalError(RTIexception):
    """The RTI could not do it, for a reason no other exception has: a limit, a node that was lost, a defect.

    The message says which.
    """


class RegionDoesNotContainSpecifiedDimension(RTIexception):
    """The region was created without this dimension.  Create one that has it."""


class RegionInUseForUpdateOrSubscription(RTIexception):
    """The region is used by a subscription or an update, so it cannot be deleted.  Unsubscribe or unassociate first."""


class RegionNotCreatedByThisFederate(RTIexception):
    """Only who created a region may use or change it.  Create one of your own."""


class ReportServiceInvocationsAreSubscribed(RTIexception):
    """The federate subscribes to reports of service calls, so its own calls cannot be reported.  Unsubscribe first."""


class RequestForTimeConstrainedPending(RTIexception):
    """The federate waits for `time_constrained_enabled`.  Evoke callbacks until it comes."""


class RequestForTimeRegulationPending(RTIexception):
    """The federate waits for `time_regulation_enabled`.  Evoke callbacks until it comes."""


class RestoreInProgress(RTIexception):
    """The federation is being restored, and nothing else is possible in it.

    Go on after `federation_restored` or `federation_not_restored`.
    """


class RestoreNotInProgress(RTIexception):
    """There is no restore to abort or to ask about.  It may be over: see which callback came."""


class RestoreNotRequested(RTIexception):
    """No restore was asked for, so none can be completed.  Wait for `initiate_federate_restore`."""


class SaveInProgress(RTIexception):
    """The federation is being saved, and nothing else is possible in it.

    Go on after `federation_saved` or `federation_not_saved`.
    """


class SaveNotInProgress(RTIexception):
    """There is no save to abort or to ask about.  It may be over, or be written already."""


class SaveNotInitiated(RTIexception):
    """No save was begun at this federate, or it was aborted.  Wait for `initiate_federate_save`."""


class SynchronizationPointLabelNotAnnounced(RTIexception):
    """The synchronization point was not announced to this federate, or is over.  Wait for `announce_synchronization_point`."""


class TimeConstrainedAlreadyEnabled(RTIexception):
    """The federate is time-constrained.  Nothing is to be done."""


class TimeConstrainedIsNotEnabled(RTIexception):
    """The federate is not time-constrained.  Enable it first."""


class TimeRegulationAlreadyEnabled(RTIexception):
    """The federate regulates time.  Nothing is to be done; `modify_lookahead` changes its lookahead."""


class TimeRegulationIsNotEnabled(RTIexception):
    """The federate does not regulate time, so it has no lookahead and may not do this.  Enable regulation first."""


class Unauthorized(RTIexception):
    """The server's guard or password file does not allow this.  Ask its operator; the message says what was refused."""


class UnsupportedCallbackModel(RTIexception):
    """There is no such callback model.  Use one of `CallbackModel`."""


def rti_exception(name: str) -> type[RTIexception]:
    """The exception class of an IEEE name; RTIinternalError for a name this RTI does not know."""
    found = globals().get(name)
    if isinstance(found, type) and issubclass(found, RTIexception):
        return found
    return RTIinternalError
