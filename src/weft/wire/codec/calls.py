"""The calls of the Federate Protocol: from a kernel service and its arguments to bytes, and back.

A call travels as one member of `CallRequest`, and is answered by the member with the next number of `CallResponse`: the same for
every form of a service, so whoever answers must remember the number.  An exception is always member 1.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from weft.model.errors import RTIexception, RTIinternalError, rti_exception
from weft.wire.codec.evolved import exception_name
from weft.wire.codec.forms import Forms
from weft.wire.codec.messages import MessageForm, decode, encode, plan, union
from weft.wire.codec.scalars import Time
from weft.wire.codec.schema import EVOLVED_EXCEPTIONS, HLA4_EXCEPTIONS, schema
from weft.wire.own.fields import join_order, join_time, split_order, split_time, with_own, with_time
from weft.wire.protobuf import BYTES, Malformed, WireError, read_varint, tag, varint

_RULES = """
Connect: connect None None
ConnectWithCredentials: connect None credentials
ConnectWithConfiguration: connect rtiConfiguration None
ConnectWithConfigurationAndCredentials: connect rtiConfiguration credentials
CreateFederationExecution: create_federation_execution federationName (fomModule) None ""
CreateFederationExecutionWithTime:
    create_federation_execution federationName (fomModule) None logicalTimeImplementationName
CreateFederationExecutionWithModules: create_federation_execution federationName fomModules None ""
CreateFederationExecutionWithModulesAndTime:
    create_federation_execution federationName fomModules None logicalTimeImplementationName
CreateFederationExecutionWithMIM: create_federation_execution federationName fomModules mimModule ""
CreateFederationExecutionWithMIMAndTime:
    create_federation_execution federationName fomModules mimModule logicalTimeImplementationName
JoinFederationExecution: join_federation_execution federationName federateType None ()
JoinFederationExecutionWithModules: join_federation_execution federationName federateType None additionalFomModules
JoinFederationExecutionWithName: join_federation_execution federationName federateType federateName ()
JoinFederationExecutionWithNameAndModules:
    join_federation_execution federationName federateType federateName additionalFomModules
RegisterFederationSynchronizationPointWithSet: register_federation_synchronization_point *
SynchronizationPointAchieved: synchronization_point_achieved *
SynchronizationPointAchieved successfully=True: synchronization_point_achieved synchronizationPointLabel
RequestFederationSaveWithTime: request_federation_save *
UnpublishObjectClassDirectedInteractionsWithSet: unpublish_object_class_directed_interactions *
SubscribeObjectClassAttributesWithRate: subscribe_object_class_attributes *
SubscribeObjectClassAttributesPassively: subscribe_object_class_attributes objectClass attributes "" False
SubscribeObjectClassAttributesPassivelyWithRate:
    subscribe_object_class_attributes objectClass attributes updateRateDesignator False
SubscribeInteractionClassPassively: subscribe_interaction_class interactionClass False
SubscribeObjectClassDirectedInteractionsUniversally:
    subscribe_object_class_directed_interactions objectClass interactionClasses True
UnsubscribeObjectClassDirectedInteractionsWithSet: unsubscribe_object_class_directed_interactions *
RegisterObjectInstanceWithName: register_object_instance *
UpdateAttributeValuesWithTime: update_attribute_values *
SendInteractionWithTime: send_interaction *
SendDirectedInteractionWithTime: send_directed_interaction *
DeleteObjectInstanceWithTime: delete_object_instance *
RequestInstanceAttributeValueUpdate:
    request_attribute_value_update objectInstance:ObjectInstanceHandle attributes userSuppliedTag
RequestClassAttributeValueUpdate:
    request_attribute_value_update objectClass:ObjectClassHandle attributes userSuppliedTag
RegisterObjectInstanceWithNameAndRegions: register_object_instance_with_regions *
SubscribeObjectClassAttributesWithRegions active=True:
    subscribe_object_class_attributes_with_regions objectClass attributesAndRegions
SubscribeObjectClassAttributesWithRegions active=False:
    subscribe_object_class_attributes_passively_with_regions objectClass attributesAndRegions
SubscribeObjectClassAttributesWithRegionsAndRate active=True:
    subscribe_object_class_attributes_with_regions objectClass attributesAndRegions updateRateDesignator
SubscribeObjectClassAttributesWithRegionsAndRate active=False:
    subscribe_object_class_attributes_passively_with_regions objectClass attributesAndRegions updateRateDesignator
SubscribeInteractionClassWithRegions active=True: subscribe_interaction_class_with_regions interactionClass regions
SubscribeInteractionClassWithRegions active=False:
    subscribe_interaction_class_passively_with_regions interactionClass regions
SendInteractionWithRegionsAndTime: send_interaction_with_regions *
GetObjectClassRelevanceAdvisorySwitch: get_switch "object_class_relevance"
SetObjectClassRelevanceAdvisorySwitch: set_switch "object_class_relevance" value
GetAttributeRelevanceAdvisorySwitch: get_switch "attribute_relevance"
SetAttributeRelevanceAdvisorySwitch: set_switch "attribute_relevance" value
GetAttributeScopeAdvisorySwitch: get_switch "attribute_scope"
SetAttributeScopeAdvisorySwitch: set_switch "attribute_scope" value
GetInteractionRelevanceAdvisorySwitch: get_switch "interaction_relevance"
SetInteractionRelevanceAdvisorySwitch: set_switch "interaction_relevance" value
GetConveyRegionDesignatorSetsSwitch: get_switch "convey_region_designator_sets"
SetConveyRegionDesignatorSetsSwitch: set_switch "convey_region_designator_sets" value
GetServiceReportingSwitch: get_switch "service_reporting"
SetServiceReportingSwitch: set_switch "service_reporting" value
GetExceptionReportingSwitch: get_switch "exception_reporting"
SetExceptionReportingSwitch: set_switch "exception_reporting" value
GetSendServiceReportsToFileSwitch: get_switch "send_service_reports_to_file"
SetSendServiceReportsToFileSwitch: set_switch "send_service_reports_to_file" value
GetAutoProvideSwitch: get_federation_switch "autoProvide"
GetDelaySubscriptionEvaluationSwitch: get_federation_switch "delaySubscriptionEvaluation"
GetAdvisoriesUseKnownClassSwitch: get_federation_switch "advisoriesUseKnownClass"
GetAllowRelaxedDDMSwitch: get_federation_switch "allowRelaxedDDM"
GetNonRegulatedGrantSwitch: get_federation_switch "nonRegulatedGrant"
"""


class DecodedCall(NamedTuple):
    number: int
    service: str
    arguments: tuple[object, ...]


# --- the side that is called ----------------------------------------------------------------------------------


def decode_call(payload: bytes, time: Time = None) -> DecodedCall:
    """What a client asks for; `time` is the factory of the federation it has joined."""
    number, start, end = union("CallRequest").find(payload, 0, len(payload))
    fields = _request(number).read(payload, start, end, time)
    service, arguments = call_forms().understand(number, fields)
    arguments = join_order(service, arguments, payload, start, end)
    return DecodedCall(number, service, join_time(service, arguments, payload, start, end, time))


def service_of(beginning: bytes) -> str:
    """What is called, by the first bytes of the payload; nothing if that cannot be told."""
    try:
        key, _ = read_varint(beginning, 0, len(beginning))
    except Malformed:
        return ""
    forms = call_forms().by_number.get(key >> 3)
    return forms[0].service if forms else ""


def encode_response(number: int, value: object = None) -> bytes:
    """The answer to call `number`."""
    if value is None:
        return _empty_response(number)
    content = _response(number).write(value)
    return tag(number + 1, BYTES) + varint(len(content)) + content


def encode_exception(name: str, details: str, evolved: bool = False, java: bool | None = None) -> bytes:
    """The answer to any call: it has failed.  `evolved` is for a client of the 2010 edition, `java` for that in Java."""
    known = exception_name(name, java) if evolved else name
    if known not in HLA4_EXCEPTIONS and not (evolved and known in EVOLVED_EXCEPTIONS):
        known = "RTIinternalError"
    if known != name:
        details = f"{name}: {details}"
    return encode("CallResponse", (1, (known, details.encode("utf-8", "replace").decode())))


# --- the side that calls --------------------------------------------------------------------------------------


def encode_call(service: str, arguments: tuple[object, ...]) -> tuple[int, bytes]:
    """The number of the call, by which its response is understood, and its bytes."""
    arguments, order = split_order(service, arguments)
    arguments, as_of = split_time(service, arguments)
    form = call_forms().choose(service, arguments)
    content = _request(form.number).write(form.fields(arguments))
    payload = tag(form.number, BYTES) + varint(len(content)) + content
    if as_of is not None:
        payload = with_time(payload, as_of)
    return form.number, payload if order is None else with_own(payload, order.value)


def decode_response(number: int, payload: bytes, time: Time = None) -> object:
    """The result of call `number`; raises the HLA exception if the call has failed."""
    answered, start, end = union("CallResponse").find(payload, 0, len(payload))
    if answered == 1:
        name, details = decode("ExceptionData", payload[start:end])
        kind: type[RTIexception] = rti_exception(name)
        unknown = kind is RTIinternalError and name != kind.__name__
        raise kind(f"{name}: {details}" if unknown else details)
    if answered != number + 1:
        name = schema().calls[number - 1]
        raise WireError(f"{name}Response (field {number + 1}) is due, and field {answered} came")
    return _response(number).read(payload, start, end, time)


# --- within ---------------------------------------------------------------------------------------------------


@cache
def call_forms() -> Forms:
    messages = schema().messages
    return Forms([(name, messages[f"{name}Request"]) for name in schema().calls], _RULES)


@cache
def _request(number: int) -> MessageForm:
    return plan(f"{schema().calls[number - 1]}Request")


@cache
def _response(number: int) -> MessageForm:
    return plan(f"{schema().calls[number - 1]}Response")


@cache
def _empty_response(number: int) -> bytes:
    return tag(number + 1, BYTES) + varint(0) + _response(number).write(None)
