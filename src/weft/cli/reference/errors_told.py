"""What the docstrings of exceptions leave out: what leads to each in practice, by what they are about.

Order and titles are those of docs/reference/exceptions.md.  A test holds that every exception stands here once.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from weft.cli.reference.errors_own import OWN


class Family(NamedTuple):
    title: str
    about: str
    causes: dict[str, str]


STANDARD: Final = (
    Family(
        "Connecting",
        "Between a federate and the RTI, before there is a federation.",
        {
            "NotConnected": (
                "The first call comes before `connect`, or the connection was lost and the federate "
                "went on: the message says which."
            ),
            "AlreadyConnected": (
                "`connect` is called twice on one ambassador, as by a retry after a join that failed."
            ),
            "ConnectionFailed": (
                "No server listens at the address, a firewall is between, a port for TLS is spoken to "
                "without TLS or the other way round, a certificate is not trusted, or a setting of "
                "the connection has a typing mistake."
            ),
            "InvalidCredentials": (
                "The server has a password file and the federate shows no credentials; a wrong "
                "password; a password on a line without TLS; credentials shown to a server that has "
                "no password file. See [TLS and passwords](../how-to/tls.md)."
            ),
            "Unauthorized": (
                "The user's entry in the password file names other federations, or says `create = "
                "false`; or somebody steers without being an operator. Only servers with a guard "
                "raise it."
            ),
            "UnsupportedCallbackModel": (
                "Something else than a `CallbackModel` is given, such as its name as text."
            ),
            "CallNotAllowedFromWithinCallback": (
                "A callback connects, joins, resigns or evokes other callbacks."
            ),
        },
    ),
    Family(
        "Federations and their members",
        "Creating, joining, resigning, synchronization points.",
        {
            "FederationExecutionAlreadyExists": (
                "Two federates start at once and both create; the second simply goes on to join. "
                "`weft.join` does so by itself. Or a federation of an earlier run was not destroyed."
            ),
            "FederationExecutionDoesNotExist": (
                "Another server or node than the one where it was created, another spelling, or it "
                "was destroyed: `weft.join` does so when the last member leaves."
            ),
            "FederatesCurrentlyJoined": (
                "Somebody has not resigned; the message says who. A federate that crashed is still a "
                "member for `limits.reconnect_seconds`."
            ),
            "FederateAlreadyExecutionMember": (
                "A second join by the same ambassador, in place of a second ambassador."
            ),
            "FederateNotExecutionMember": (
                "A call before joining or after resigning; or the federate was resigned by the RTI, "
                "an operator or the MOM and has not noticed."
            ),
            "FederateIsExecutionMember": (
                "`disconnect` without `resign_federation_execution`. `leave` does both."
            ),
            "FederateNameAlreadyInUse": (
                "Two copies of a federate run; or one crashed, and its name is kept until it is given up."
            ),
            "FederateHandleNotKnown": "The federate of this handle has resigned meanwhile.",
            "InvalidFederateHandle": (
                "A handle that no federate of this federation was ever given, often one of an earlier run."
            ),
            "FederateOwnsAttributes": (
                "Resigning with `NO_ACTION`, or forgetting an object locally, while attributes are "
                "owned; or acquiring what the federate owns."
            ),
            "OwnershipAcquisitionPending": (
                "Resigning, unpublishing or forgetting an object while an acquisition is open."
            ),
            "InvalidResignAction": "Something else than a `ResignAction` is given.",
            "SynchronizationPointLabelNotAnnounced": (
                "`synchronization_point_achieved` before the announcement has come as a callback, a "
                "label that is spelled in two ways, a point that did not concern this federate, or "
                "one that was achieved before."
            ),
        },
    ),
    Family(
        "Object models",
        (
            "Of files that a federation is created or joined with. `weft fom check` finds all of "
            "these before a run."
        ),
        {
            "CouldNotOpenFOM": (
                "The path is relative and the federate was started in another folder, or the file "
                "cannot be read."
            ),
            "ErrorReadingFOM": (
                "The file is no XML, is cut off, has an entity bomb, or is larger than the server "
                "takes (`limits.module_bytes` and the like)."
            ),
            "InvalidFOM": (
                "An unknown parent class, a class or attribute without a name, an unknown data type."
            ),
            "InconsistentFOM": "Two federates bring different versions of the same module.",
            "CouldNotOpenMIM": "As `CouldNotOpenFOM`, for the MIM.",
            "ErrorReadingMIM": "As `ErrorReadingFOM`, for the MIM.",
            "InvalidMIM": (
                "It cannot stand on its own: a class has an unknown parent, or a name is missing."
            ),
            "DesignatorIsHLAstandardMIM": "`HLAstandardMIM` is given as if it were a file.",
            "CouldNotCreateLogicalTimeFactory": "The name of a time of another RTI or of one's own.",
            "NameNotFound": (
                "A typing mistake, the wrong case, a module that was not loaded, a name without the "
                "classes above it (`Vehicle.Tank`), or a federate that has not joined."
            ),
        },
    ),
    Family(
        "Handles",
        (
            "A handle belongs to one federation execution and one kind of thing. Keep no handles "
            "from one run to the next, and look them up after joining."
        ),
        {
            "ObjectClassNotDefined": (
                "A handle of another federation, of an earlier run, or of an attribute or interaction class."
            ),
            "InteractionClassNotDefined": (
                "A handle of another federation, of an earlier run, or of an object class."
            ),
            "AttributeNotDefined": (
                "The attribute is of a class beside or below this one: it was looked up with another "
                "class's handle."
            ),
            "InteractionParameterNotDefined": "The parameter is of a class beside or below this one.",
            "InvalidObjectClassHandle": "As `ObjectClassNotDefined`, where handles are only looked up.",
            "InvalidInteractionClassHandle": (
                "As `InteractionClassNotDefined`, where handles are only looked up."
            ),
            "InvalidAttributeHandle": (
                "As `AttributeNotDefined`, for a handle that is an attribute of no class at all."
            ),
            "InvalidParameterHandle": (
                "As `InteractionParameterNotDefined`, for a handle that is a parameter of no class at all."
            ),
            "InvalidObjectInstanceHandle": ("A handle that was never given to an object of this federation."),
            "InvalidDimensionHandle": (
                "A handle of another federation, or of something that is no dimension."
            ),
            "InvalidTransportationTypeHandle": (
                "A handle of another federation, or the name in place of the handle."
            ),
            "InvalidOrderName": "`RECEIVE` in place of `Receive`, `TimeStamp`.",
            "InvalidOrderType": "The name of an order in place of an `OrderType`.",
            "InvalidTransportationName": (
                "`reliable` in place of `HLAreliable`, or a transportation of a module that was not loaded."
            ),
            "InvalidUpdateRateDesignator": (
                "The update rate is missing in the object model; the message lists those that are there."
            ),
            "InvalidServiceGroup": "Something else than a `ServiceGroup` is given.",
        },
    ),
    Family(
        "Publishing, objects and messages",
        "Declarations come first, then objects and what is sent.",
        {
            "ObjectClassNotPublished": (
                "Registering or acquiring before publishing, or at a class above or below the one published."
            ),
            "AttributeNotPublished": (
                "Acquiring an attribute, or registering it with a region, that is not among those published."
            ),
            "InteractionClassNotPublished": (
                "Sending before publishing, or a class below the one published."
            ),
            "ObjectInstanceNotKnown": (
                "The object was removed, or its discovery still waits as a callback; an object of a "
                "class that the federate does not subscribe to is never discovered."
            ),
            "ObjectInstanceNameInUse": ("Two federates register the same name, or one was started twice."),
            "ObjectInstanceNameNotReserved": (
                "Registering under a name before `object_instance_name_reservation_succeeded` has "
                "come as a callback, or releasing a name twice."
            ),
            "NameSetWasEmpty": "A set of names that turned out to be empty.",
            "IllegalName": "The name is empty, or begins with HLA.",
            "DeletePrivilegeNotHeld": (
                "Deleting an object that another federate registered, or whose ownership was given away."
            ),
            "AttributeNotOwned": (
                "Updating an object that another federate registered; or ownership went away, which "
                "`request_divestiture_confirmation` and its like have told."
            ),
            "FederateServiceInvocationsAreBeingReportedViaMOM": (
                "A monitoring federate subscribes to `HLAreportServiceInvocation` with its own reporting on."
            ),
            "ReportServiceInvocationsAreSubscribed": ("A monitoring federate turns its own reporting on."),
        },
    ),
    Family(
        "Ownership",
        "Acquisitions and divestitures take several callbacks, and others may be faster.",
        {
            "AttributeAlreadyOwned": (
                "An acquisition is cancelled that has succeeded: its callback still waits."
            ),
            "AttributeAlreadyBeingAcquired": (
                "`attribute_ownership_acquisition_if_available` while an acquisition is open."
            ),
            "AttributeAlreadyBeingDivested": "A second `negotiated_attribute_ownership_divestiture`.",
            "AttributeAcquisitionWasNotRequested": (
                'An acquisition is cancelled twice, or was one "if available", which ends by itself.'
            ),
            "AttributeDivestitureWasNotRequested": (
                "A divestiture is confirmed or cancelled after it is over."
            ),
            "NoAcquisitionPending": (
                "Who wanted the attribute has cancelled or resigned before the divestiture is confirmed."
            ),
        },
    ),
    Family(
        "Logical time",
        (
            "[Logical time](../explanation/time.md) says what a federate may do when; [My federation "
            "hangs](../how-to/hangs.md) what it waits for."
        ),
        {
            "InTimeAdvancingState": (
                "A second request before the grant: callbacks are not evoked, or a callback asks for "
                "time by itself."
            ),
            "LogicalTimeAlreadyPassed": (
                "Asking for a time before the one granted, often zero after joining late; a sum of "
                "floats that falls short."
            ),
            "InvalidLogicalTime": (
                "A message before the sender's time plus lookahead; an `HLAinteger64Time` in a "
                "federation that has `HLAfloat64Time`; a plain number."
            ),
            "InvalidLogicalTimeInterval": (
                "A negative interval, not a number, or one beyond the last. Raised where it is made."
            ),
            "IllegalTimeArithmetic": (
                "Adding beyond the last time, or an interval of the other kind of time. Raised by `+` "
                "and `-`."
            ),
            "InvalidLookahead": "A negative lookahead, or an interval of the other kind of time.",
            "TimeRegulationAlreadyEnabled": "`enable_time_regulation` twice.",
            "TimeRegulationIsNotEnabled": (
                "Asking for or changing a lookahead, or retracting, without regulating; disabling twice."
            ),
            "RequestForTimeRegulationPending": (
                "A federate over nodes asks for time before `time_regulation_enabled` has come. At a "
                "single node a federate regulates at once, so it shows only later."
            ),
            "TimeConstrainedAlreadyEnabled": "`enable_time_constrained` twice.",
            "TimeConstrainedIsNotEnabled": "`disable_time_constrained` without having enabled it.",
            "RequestForTimeConstrainedPending": (
                "A federate asks for time before `time_constrained_enabled` has come."
            ),
            "AsynchronousDeliveryAlreadyEnabled": "`enable_asynchronous_delivery` twice.",
            "AsynchronousDeliveryAlreadyDisabled": (
                "`disable_asynchronous_delivery` where it was not on; it is off at first."
            ),
            "MessageCanNoLongerBeRetracted": (
                "The sender has advanced past the message's time less its lookahead, or retracted it before."
            ),
            "InvalidMessageRetractionHandle": (
                "A handle of another federate, or of a message that was sent without a time."
            ),
        },
    ),
    Family(
        "Regions",
        "[Regions](../explanation/ddm-services.md) has the services by example.",
        {
            "InvalidRegion": (
                "It was deleted, or never committed: `set_range_bounds` alone changes nothing until "
                "`commit_region_modifications`."
            ),
            "InvalidRegionContext": (
                "The object model gives the class or attribute other dimensions than the region has."
            ),
            "RegionNotCreatedByThisFederate": (
                "A region that was conveyed with a message, or another federate's, is used to subscribe."
            ),
            "RegionDoesNotContainSpecifiedDimension": (
                "Bounds of a dimension that was left out of `create_region`."
            ),
            "RegionInUseForUpdateOrSubscription": (
                "`delete_region` before `unsubscribe…_with_regions` or `unassociate_regions_for_updates`."
            ),
            "InvalidRangeBound": (
                "Lower and upper are equal or exchanged, or real coordinates were not scaled to the "
                "dimension."
            ),
        },
    ),
    Family(
        "Save and restore",
        (
            "Between the first and the last callback of a save or restore a federate may look "
            "things up, go on with the save or restore, and resign."
        ),
        {
            "SaveInProgress": (
                "A federate goes on sending or asking for time after `initiate_federate_save`; or "
                "somebody joins or asks for a save or restore meanwhile."
            ),
            "SaveNotInitiated": "`federate_save_begun` twice, or without being told to save.",
            "FederateHasNotBegunSave": "`federate_save_complete` without `federate_save_begun`.",
            "SaveNotInProgress": (
                "`abort_federation_save` when the save is over, waits for its time, or is being written."
            ),
            "FederateUnableToUseTime": "A save at a logical time where nobody regulates time.",
            "RestoreInProgress": (
                "A federate goes on after `federation_restore_begun`; or somebody joins or asks for a "
                "save or restore meanwhile."
            ),
            "RestoreNotRequested": ("`federate_restore_complete` twice, or without being told to restore."),
            "RestoreNotInProgress": "`abort_federation_restore` when the restore is over.",
        },
    ),
    Family(
        "The RTI itself",
        "",
        {
            "RTIexception": "What to catch where any of them will do.",
            "RTIinternalError": (
                "An argument of the wrong type, such as text where bytes are wanted; a limit of the "
                "server; a node that went away; a service of Weft's own asked of another RTI. Rarely "
                "a defect: then the message says so, and a traceback is in the log."
            ),
        },
    ),
    Family(
        "Not of services",
        "Raised by values and encoders, or in other languages.",
        {
            "CouldNotDecode": (
                "Bytes of a logical time that are not eight. Python's encoders raise `EncodingError`."
            ),
            "CouldNotEncode": "In C++ and Java; Python's encoders raise `EncodingError`.",
            "FederateInternalError": (
                "In C++ and Java. In Python the callback's own exception comes out of "
                "`evoke_callback`, as it is."
            ),
            "InternalError": "In C++ and Java.",
        },
    ),
    Family(
        "Never raised by Weft",
        (
            "Other RTIs, or older editions of the standard, have them: catch them if a federate "
            "is to run there, too."
        ),
        {
            "AttributeAlreadyBeingChanged": (
                "Weft changes the transportation within the call, so no change is ever under way."
            ),
            "InteractionClassAlreadyBeingChanged": (
                "Weft changes the transportation within the call, so no change is ever under way."
            ),
            **{
                f"{switch}AdvisorySwitchIs{state}": "HLA 4 sets switches to a value; to set one to the value it has is no error."
                for switch in (
                    "AttributeRelevance",
                    "AttributeScope",
                    "InteractionRelevance",
                    "ObjectClassRelevance",
                )
                for state in ("Off", "On")
            },
        },
    ),
)

FAMILIES: Final = (*STANDARD, *(Family(*one) for one in OWN))
