"""The RTI ambassador: all services of IEEE 1516.1-2025 under their standard names, in snake_case.

Most services are one call each (`weft.federate.services`).  Here are those that also concern the federate's own side: connecting,
joining, and when callbacks run.

Two callback models.  EVOKED: callbacks run inside `evoke_callback` and `evoke_multiple_callbacks`, in the thread that
calls them; an exception raised by a callback comes out there.  IMMEDIATE: callbacks run in one thread of their own; an exception
raised there goes to `threading.excepthook`, and the next callback follows.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterable, Sequence
from typing import Any, Final, NoReturn, overload

from weft.federate.awaited import Awaited
from weft.federate.callbacks import FederateAmbassador
from weft.federate.services.calls import NOT_CONNECTED
from weft.federate.services.data_distribution import DataDistributionManagement
from weft.federate.services.declaration import DeclarationManagement
from weft.federate.services.federation import FederationManagement
from weft.federate.services.kinds import FLOAT, INTEGER, SERVICES, Kind
from weft.federate.services.object import ObjectManagement
from weft.federate.services.ownership import OwnershipManagement
from weft.federate.services.support import Factories, SupportServices
from weft.federate.services.time import TimeManagement
from weft.federate.services.urgency import UrgencyServices
from weft.host import Connection, Designator, NodeHost, read_source, read_sources, shared_node
from weft.host.client.connection import RemoteNode
from weft.host.client.settings import client_settings
from weft.host.in_process import mesh_nodes
from weft.kernel import DURING_RESTORE, DURING_SAVE, Callback, UrgentCallback
from weft.model.conveyed import conveyed_handle
from weft.model.enums import AdditionalSettingsResultCode, CallbackModel, ResignAction
from weft.model.errors import (
    AlreadyConnected,
    CallNotAllowedFromWithinCallback,
    ConnectionFailed,
    CouldNotOpenFOM,
    CouldNotOpenMIM,
    DesignatorIsHLAstandardMIM,
    FederateIsExecutionMember,
    FederateNotExecutionMember,
    InvalidCredentials,
    RestoreInProgress,
    RTIexception,
    RTIinternalError,
    SaveInProgress,
    UnsupportedCallbackModel,
)
from weft.model.handles import FederateHandle
from weft.model.records import (
    ConfigurationResult,
    CorrelatedEvent,
    Credentials,
    DeadlineMiss,
    RtiConfiguration,
    Source,
    blocking_from,
)
from weft.model.time import HLAinteger64TimeFactory, LogicalTimeFactory, time_factory

HLA_VERSION = "IEEE 1516-2025"
STANDARD_MIM = "HLAstandardMIM"
_PAUSING: dict[str, type[RTIexception] | None] = {
    "initiate_federate_save": SaveInProgress,
    "federation_saved": None,
    "federation_not_saved": None,
    "federation_restore_begun": RestoreInProgress,
    "federation_restored": None,
    "federation_not_restored": None,
}

_JOINED: Final = SERVICES.keys() - {
    "create_federation_execution",
    "destroy_federation_execution",
    "list_federation_execution_members",
    "join_federation_execution",
}
"""Of the services whose arguments are looked at, those that need a joined federate."""

_CANCELLING: Final = frozenset(
    [ResignAction.CANCEL_PENDING_OWNERSHIP_ACQUISITIONS, ResignAction.CANCEL_THEN_DELETE_THEN_DIVEST]
)
"""These also end acquisitions."""
_CONVEYING = frozenset(["reflect_attribute_values", "receive_interaction"])
_OWN = frozenset(["time_advance_blocked", "deadline_missed", "receive_correlation"])


class RTIambassador(
    FederationManagement,
    DeclarationManagement,
    ObjectManagement,
    OwnershipManagement,
    TimeManagement,
    DataDistributionManagement,
    SupportServices,
    UrgencyServices,
    Factories,
):
    """One federate's access to the RTI.  `host` says which node to connect to; None: the one of this process."""

    def __init__(self, host: NodeHost | None = None) -> None:
        self._host = host
        self._ambassador: FederateAmbassador | None = None
        self._model = CallbackModel.EVOKED
        self._time_name: str | None = None
        self._enabled = True
        self._awaited = Awaited()
        self._calling_back = 0  # the identity of the thread in which a callback runs
        self._pump: threading.Thread | None = None
        self._resume = threading.Event()

    # --- 4.2, 4.3: connect and disconnect ---------------------------------------------------------------------

    def connect(
        self,
        federate_ambassador: FederateAmbassador,
        callback_model: CallbackModel,
        configuration: RtiConfiguration | Credentials | str | None = None,
        credentials: Credentials | None = None,
    ) -> ConfigurationResult:
        """Clause 4.2.  No configuration, or one without an address, means the node inside this process."""
        self._refuse_within_callback("connect")
        if self._connection is not None:
            raise AlreadyConnected("this ambassador is connected; disconnect first")
        if not isinstance(callback_model, CallbackModel):
            raise UnsupportedCallbackModel(
                f"{callback_model!r} is no callback model; use CallbackModel.EVOKED or IMMEDIATE"
            )
        if isinstance(configuration, Credentials):
            configuration, credentials = None, configuration
        if isinstance(configuration, str):
            configuration = RtiConfiguration(rti_address=configuration)
        if configuration is None:
            configuration = RtiConfiguration()
        connection, result = self._open(configuration, credentials)
        self._ambassador = federate_ambassador
        self._model = callback_model
        self._enabled = True
        self._connection = connection
        self._absent = NOT_CONNECTED
        if callback_model is CallbackModel.IMMEDIATE:
            self._start_pump(connection)
        return result

    def _open(
        self, configuration: RtiConfiguration, credentials: Credentials | None
    ) -> tuple[Connection, ConfigurationResult]:
        """To the node of this process, alone or of a fabric, or over the Federate Protocol to the address given."""
        remote = configuration.rti_address or "crcAddress=" in configuration.additional_settings
        if self._host is None and configuration.rti_address.startswith(mesh_nodes.SCHEME):
            return self._own(configuration, credentials)
        if self._host is None and remote:
            settings, rest = client_settings(configuration, os.environ)
            connection = RemoteNode(settings, rest, credentials).connect()
            return connection, connection.result
        if remote:
            raise ConnectionFailed(
                f"this ambassador was made for {self._host!r}; make one without a host to use an address"
            )
        _refuse_credentials(credentials)
        return (self._host or shared_node()).connect(), ConfigurationResult(message="embedded node")

    def _own(
        self, configuration: RtiConfiguration, credentials: Credentials | None
    ) -> tuple[Connection, ConfigurationResult]:
        """To a node of a fabric, which this process is."""
        _refuse_credentials(credentials)
        role = mesh_nodes.role_of(configuration)
        assert role is not None
        used = AdditionalSettingsResultCode.SETTINGS_APPLIED
        if not configuration.additional_settings:
            used = AdditionalSettingsResultCode.SETTINGS_IGNORED
        said = f"node {role.server} of {role.file}, inside this process"
        return mesh_nodes.own_node(role).connect(), ConfigurationResult(False, True, used, said)

    def disconnect(self) -> None:
        """Clause 4.3."""
        self._refuse_within_callback("disconnect")
        connection = self._connection
        if connection is None:
            return
        if self._time_name is not None:
            raise FederateIsExecutionMember("this federate is joined; resign first")
        self._connection = None
        try:
            connection.close()
        finally:
            self._stop_pump()

    def leave(self) -> None:
        """Disconnect whatever the state: a federate that is still joined resigns by its automatic resign directive.

        Nothing is asked of an RTI that may be gone, as after `federate_resigned` by a server that stops.
        """
        if self._time_name is None:
            self._refuse_within_callback("disconnect")
        connection = self._cut_off()
        if connection is not None:
            connection.leave()
            self._stop_pump()

    def _lose_connection(self) -> None:
        """Break off as a crash would."""
        connection = self._cut_off()
        if connection is not None:
            connection.lose()
            self._stop_pump()

    def _cut_off(self) -> Connection | None:
        connection, self._connection = self._connection, None
        self._forget_federation()
        return connection

    def _forget_federation(self) -> None:
        self._time_name = None
        self._paused = None
        self._awaited = Awaited()

    @property
    def connection(self) -> Connection:
        """The connection beneath: its clock, and whether callbacks are waiting."""
        return self._require_connection()

    # --- 4.5 to 4.12: federations -----------------------------------------------------------------------------

    def create_federation_execution(
        self,
        federation_name: str,
        fom_modules: Designator | Iterable[Designator],
        logical_time_implementation_name: str = "",
    ) -> None:
        """Clause 4.5.  A module is a path, a file: address or a `Source` with its text."""
        self._require_connection()
        arguments = (federation_name, read_sources(fom_modules), None, logical_time_implementation_name)
        self._call("create_federation_execution", arguments)

    def create_federation_execution_with_mim(
        self,
        federation_name: str,
        fom_modules: Designator | Iterable[Designator],
        mim_module: Designator,
        logical_time_implementation_name: str = "",
    ) -> None:
        """Clause 4.5, with a MIM that extends the standard one."""
        self._require_connection()
        if mim_module == STANDARD_MIM:
            raise DesignatorIsHLAstandardMIM("the standard MIM is always there; leave it out")
        try:
            mim = read_source(mim_module)
        except CouldNotOpenFOM as error:
            raise CouldNotOpenMIM(str(error)) from error
        arguments = (federation_name, read_sources(fom_modules), mim, logical_time_implementation_name)
        self._call("create_federation_execution", arguments)

    def destroy_federation_execution(self, federation_name: str) -> None:
        """Clause 4.6."""
        self._call("destroy_federation_execution", (federation_name,))

    def list_federation_executions(self) -> None:
        """Clause 4.7."""
        self._call("list_federation_executions", ())

    def query_status(self) -> list[dict[str, Any]]:
        """Not of the standard: the node's federations, their members and where they are in time, as plain data."""
        return self._ask(list, "query_status")

    def query_survey(self, sections: Sequence[str] = ()) -> dict[str, Any]:
        """Not of the standard: what the node knows of itself and its federations just now, as plain data
        (docs/reference/survey.md).

        `sections`: some of federates, classes, regions, consumers, fabric, server, recording; none named: all.
        """
        return self._ask(dict, "survey", list(sections))

    def steer(self, action: str, federation_name: str, target: str | int | None = None) -> dict[str, Any]:
        """Not of the standard: "pause", "resume", "step" (`target`: how many) or "resign" (`target`: whom);
        docs/how-to/steering.md.

        A server allows it to an operator only: connect with `Credentials("WeftOperator", key)`.
        """
        return self._ask(dict, "steer", action, federation_name, target)

    def list_federation_execution_members(self, federation_name: str) -> None:
        """Clause 4.9."""
        self._call("list_federation_execution_members", (federation_name,))

    @overload
    def join_federation_execution(
        self, federate_type: str, federation_name: str, additional_fom_modules: Iterable[Designator] = ...
    ) -> FederateHandle: ...

    @overload
    def join_federation_execution(
        self,
        federate_name: str,
        federate_type: str,
        federation_name: str,
        additional_fom_modules: Iterable[Designator] = ...,
    ) -> FederateHandle: ...

    def join_federation_execution(self, *positional: object, **named: object) -> FederateHandle:
        """Clause 4.11: (type, federation[, modules]) or (name, type, federation[, modules])."""
        self._refuse_within_callback("join_federation_execution")
        self._require_connection()
        name, kind, federation, modules = joining(positional, named)
        arguments = (federation, kind, name, read_sources(modules))
        handle: FederateHandle
        handle, self._time_name = self._ask(tuple, "join_federation_execution", *arguments)
        self._awaited.federate = handle
        self._times = INTEGER if self._time_name == HLAinteger64TimeFactory.name else FLOAT
        return handle

    def resign_federation_execution(self, resign_action: ResignAction) -> None:
        """Clause 4.12."""
        self._refuse_within_callback("resign_federation_execution")
        if self._awaited.wanted:
            self._look_at("resign_federation_execution", (resign_action,))
            if resign_action not in _CANCELLING:
                self._pending().refuse_while_acquiring(lambda pair: True)
        self._call("resign_federation_execution", (resign_action,))
        self._require_connection().forget_federation()
        self._forget_federation()

    # --- 10.57 to 10.60: callbacks ----------------------------------------------------------------------------

    def evoke_callback(self, approximate_minimum_time_in_seconds: float) -> bool:
        """Clause 10.57: run one callback, waiting for it at most so long; True if more are waiting."""
        connection = self._connection
        if connection is None or self._calling_back:
            connection = self._evoked("evoke_callback")
        if type(approximate_minimum_time_in_seconds) is not float:
            _require_seconds("evoke_callback", approximate_minimum_time_in_seconds)
        if not self._enabled:
            return False
        if not connection.pending():
            connection.wait(max(0.0, approximate_minimum_time_in_seconds))
        callback = connection.take()
        if callback is not None:
            self._deliver(callback)
        return connection.pending()

    def evoke_multiple_callbacks(
        self, approximate_minimum_time_in_seconds: float, approximate_maximum_time_in_seconds: float
    ) -> bool:
        """Clause 10.58: run callbacks for at least the minimum, and on to the maximum while there are any."""
        connection = self._evoked("evoke_multiple_callbacks")
        _require_seconds("evoke_multiple_callbacks", approximate_minimum_time_in_seconds)
        _require_seconds("evoke_multiple_callbacks", approximate_maximum_time_in_seconds)
        started = connection.now()
        minimum = started + approximate_minimum_time_in_seconds
        maximum = started + max(approximate_minimum_time_in_seconds, approximate_maximum_time_in_seconds)
        take = connection.take
        while self._enabled:
            callback = take()
            if callback is not None:
                self._deliver(callback)
                if connection.now() >= maximum:
                    break
            else:
                left = minimum - connection.now()
                if left <= 0:
                    break
                connection.wait(left)
        return self._enabled and connection.pending()

    def enable_callbacks(self) -> None:
        """Clause 10.59."""
        self._require_connection()
        self._refuse_while_paused("enable_callbacks")
        self._enabled = True
        self._resume.set()

    def disable_callbacks(self) -> None:
        """Clause 10.60: callbacks wait until they are enabled again."""
        self._require_connection()
        self._refuse_while_paused("disable_callbacks")
        self._enabled = False
        self._resume.clear()

    # --- what the federate's own side knows -------------------------------------------------------------------

    def get_hla_version(self) -> str:
        """Clause 10.60."""
        return HLA_VERSION

    def get_time_factory(self) -> LogicalTimeFactory:
        """Clause 10.60: the factory for the logical time of the joined federation."""
        self._require_connection()
        factory = None if self._time_name is None else time_factory(self._time_name)
        if factory is None:
            raise FederateNotExecutionMember("a federation decides on the logical time; join one first")
        return factory

    # --- within -----------------------------------------------------------------------------------------------

    def _refuse(self, service: str, kind: Kind, value: object) -> NoReturn:
        """What the federate may not do at all now comes before how it does it."""
        if service in _JOINED:
            if self._time_name is None:
                raise FederateNotExecutionMember(
                    f"{service} needs a joined federate; join a federation first"
                )
            if service not in (DURING_SAVE if self._paused is SaveInProgress else DURING_RESTORE):
                self._refuse_while_paused(service)
        super()._refuse(service, kind, value)

    def _refuse_within_callback(self, service: str) -> None:
        if self._calling_back == threading.get_ident():
            raise CallNotAllowedFromWithinCallback(f"{service} cannot be called from within a callback")

    def _evoked(self, service: str) -> Connection:
        self._refuse_within_callback(service)
        return self._require_connection()

    def _refuse_while_paused(self, service: str) -> None:
        if self._paused is not None:
            raise self._paused(f"{service} is refused until the save or restore is over")

    def _deliver(self, callback: Callback) -> None:
        method, delivery = callback.method, callback.delivery
        arguments = callback.arguments if delivery is None else delivery.arguments()
        if method not in _CONVEYING:
            arguments = self._told(method, arguments)
        elif arguments[5] is not None:
            arguments = _conveyed(arguments)
        self._calling_back = threading.get_ident()
        try:
            getattr(self._ambassador, method)(*arguments)
        finally:
            self._calling_back = 0
            callback.handled = True
            if isinstance(callback, UrgentCallback) and callback.ticket and self._connection is not None:
                self._connection.finished(callback)

    def _told(self, method: str, arguments: tuple[object, ...]) -> tuple[object, ...]:
        """What follows for the ambassador itself from a callback that is about to be delivered; returns its arguments."""
        if method == "connection_lost":
            # Clause 4.4: from here on the federate is not connected, and may connect again.
            connection = self._cut_off()
            self._enabled = False  # ends the evoking that delivers this; connecting enables again
            self._absent = f"the connection was lost: {arguments[0]}; connect again"
            if connection is not None:
                connection.close()
        elif method == "federate_resigned":
            # Clause 4.13: from here on the federate is no member; it may join again, or disconnect.
            self._forget_federation()
        else:
            if method in _PAUSING:
                self._paused = _PAUSING[method]
                self._advance_was_refused()  # before what is awaited is noted for a save
            self._awaited.told(method, arguments)
        return _own_arguments(method, arguments) if method in _OWN else arguments

    def _start_pump(self, connection: Connection) -> None:
        self._resume.set()
        self._pump = threading.Thread(
            target=self._run_callbacks, args=(connection,), name="weft callbacks", daemon=True
        )
        self._pump.start()

    def _stop_pump(self) -> None:
        self._resume.set()
        pump, self._pump = self._pump, None
        if pump is not None and pump is not threading.current_thread():
            pump.join()

    def _run_callbacks(self, connection: Connection) -> None:
        while self._connection is connection:
            if not connection.wait(None):
                continue
            self._resume.wait()
            callback = connection.take() if self._enabled and self._connection is connection else None
            if callback is not None:
                try:
                    self._deliver(callback)
                except Exception:
                    hook_arguments = (*sys.exc_info(), threading.current_thread())
                    threading.excepthook(threading.ExceptHookArgs(hook_arguments))


def _require_seconds(service: str, value: float) -> None:
    if type(value) is bool or not isinstance(value, (int, float)):
        raise RTIinternalError(f"{service} takes a number of seconds, not {value!r}")


def _own_arguments(method: str, arguments: tuple[object, ...]) -> tuple[object, ...]:
    """Of a callback of Weft's own, which comes as plain data."""
    if method == "receive_correlation":
        number, events = arguments
        assert isinstance(events, Iterable)
        return number, tuple(_correlated(event) for event in events)
    (data,) = arguments
    assert isinstance(data, dict)
    return (blocking_from(data) if method == "time_advance_blocked" else DeadlineMiss(**data),)


def _correlated(event: CorrelatedEvent) -> CorrelatedEvent:
    if event.method in _CONVEYING and event.arguments[5] is not None:
        return event._replace(arguments=_conveyed(event.arguments))
    return event


def _conveyed(arguments: tuple[object, ...]) -> tuple[object, ...]:
    regions = arguments[5]
    assert isinstance(regions, Iterable)
    return (*arguments[:5], frozenset(conveyed_handle(region) for region in regions), *arguments[6:])


def _refuse_credentials(credentials: Credentials | None) -> None:
    if credentials is not None and credentials.type != "HLAnoCredentials":
        raise InvalidCredentials(
            f"the node inside this process takes no credentials of type {credentials.type!r}"
        )


def joining(
    positional: tuple[object, ...], named: dict[str, object]
) -> tuple[object, object, object, list[Designator]]:
    """What a federate gives to join: its name, type, federation and modules; the services look at them, but for the modules."""
    names = ["federate_type", "federation_name", "additional_fom_modules"]
    if "federate_name" in named or (len(positional) >= 3 and isinstance(positional[2], str)):
        names.insert(0, "federate_name")
    if "federate_name" in named and positional:
        names.remove("federate_name")
    given = dict(zip(names, positional, strict=False)) | named
    unknown = set(named) - {"federate_name", "federate_type", "federation_name", "additional_fom_modules"}
    if len(positional) > len(names) or unknown or not {"federate_type", "federation_name"} <= set(given):
        raise TypeError(
            "join_federation_execution takes (federate_type, federation_name[, additional_fom_modules]) "
            "or (federate_name, federate_type, federation_name[, additional_fom_modules])"
        )
    modules = given.get("additional_fom_modules", ())
    if isinstance(modules, (str, os.PathLike, Source)):
        modules = [modules]
    if not isinstance(modules, Iterable):
        raise CouldNotOpenFOM(f"object models are named by paths or given as Sources, not by {modules!r}")
    return given.get("federate_name"), given["federate_type"], given["federation_name"], list(modules)
