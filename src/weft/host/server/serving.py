"""Serving the Federate Protocol: from frames to the kernel and back.  Everything but the sockets.

A `Switchboard` has one kernel node and any number of sessions.  A session outlives its connection (`Line`): while there is
none, what is for the federate waits in the session's history.

The path of a message, for which this module is compiled: frame → `read_hot` (only the envelope) → kernel → one callback
payload for all who hear the same → a header for each.  Messages like an earlier one take the lane that the kernel found for it
(`weft.kernel.message.fast_lanes`): frame → a look at the handles → a header for each receiver, and the sender's bytes spliced
behind it.

Nothing is written until all that was read has been dealt with; then each session that has something goes out at once.  Answers to
updates and interactions may wait a little longer, if the client said that it does not wait for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.fom.mim import OLDER_CLASS, older_mom
from weft.host.causes import RECORDED, AnsweredCauses, Causes, NamedCauses
from weft.host.conventions import GATHER_ANSWERS, OPERATOR, SORTS_CALLBACKS
from weft.host.mesh.federations import MeshedNode
from weft.host.server.guard import Guard, OperatorKey
from weft.host.server.outbox import WINDOW, Outbox
from weft.host.server.session import Served, SplicedLane
from weft.host.server.unpacking import ModuleLimits, unpack_modules
from weft.host.sizes import ASK_LIMITS, FRAME_BYTES, Most
from weft.kernel import Fetch, Node, Reply, Store
from weft.model.enums import AdditionalSettingsResultCode
from weft.model.errors import (
    AlreadyConnected,
    FederateIsExecutionMember,
    NotConnected,
    RTIexception,
    RTIinternalError,
    Unauthorized,
    rti_exception,
)
from weft.model.log_text import WARNING, LogText
from weft.model.records import ConfigurationResult, Credentials, RtiConfiguration
from weft.wire.codec.calls import service_of
from weft.wire.codec.evolved import is_java
from weft.wire.codec.hot import (
    EMPTY_SEND_RESPONSE,
    EMPTY_UPDATE_RESPONSE,
    RECEIVE,
    REFLECT,
    SEND,
    HotCall,
    callback_head,
    callback_tail,
    read_hot,
)
from weft.wire.codec.hot_fields import handle_number, lane_content
from weft.wire.codec.packed import packed, read_advance, target_of, value_handles
from weft.wire.protobuf import WireError
from weft.wire.session.frames import CALL_REQUEST, CALLBACK_RESPONSE, COPIED, LAST_NUMBER, NONE, FrameReader
from weft.wire.session.state import State

EVOLVED = "API.version=IEEE 1516-2010"
_LANES = 4096  # of one session
_ALIKE = 4  # lanes of one class or instance: as many sets of parameters or attributes


Ask = Callable[[str, Credentials, bool, Callable[[str, Exception | None], None]], None]


class Switchboard(Outbox):
    def __init__(
        self,
        node: Node,
        guard: Guard,
        limits: ModuleLimits,
        report: Callable[[str], None],
        report_bytes: int,
        keep: Callable[[Store | Fetch], None],
        calls_in_a_row: int = 1 << 30,
        meshed: MeshedNode | None = None,
        most_unread: int = 1 << 62,
        window: int = WINDOW,
        operator_key: OperatorKey | None = None,
        most: Most | None = None,
    ) -> None:
        super().__init__(node, report, report_bytes, keep, meshed, most_unread, window)
        self._guard = guard
        self._operator_key = operator_key or OperatorKey("")
        self._limits = limits
        self._calls_in_a_row = calls_in_a_row
        self.admission: Ask | None = None  # finds out who connects, beside the loop; None: the guard, at once
        self._most = most or Most(LAST_NUMBER, FRAME_BYTES)
        # Like those of what was sent.
        self.messages = 0  # updates and interactions
        self.spliced = 0  # of these, the ones that took a lane

    # --- from the federate ------------------------------------------------------------------------------------

    def received(self, served: Served, data: bytes, now: float) -> bool:
        """Bytes from a session's connection.  A broken protocol raises ProtocolError, and the session is over.

        Is there more to be done, after others have had their turn?  Then come again, with or without new bytes.
        """
        wire = served.wire
        wire.feed(data, now)
        self.bytes_in += len(data)
        served.bytes_in += len(data)
        if self._meshed is not None:
            self._meshed.now = now
        frame = wire.frame
        if not served.heard and not served.patient:
            served.heard = True
            self._touch(served)
        left = self._calls_in_a_row
        while wire.next():
            if frame.type == CALL_REQUEST:
                served.calls_made += 1
                if frame.excess:
                    self._too_large(served, frame)
                    continue
                if served.causes is not None:
                    self._name_cause(served, served.causes, frame.last_received)
                # While callbacks are held for somebody (a save or restore), every message has its turn of the kernel.
                may = served.kernel_session and not self.node.holding
                if not may or not self._along_lane(served, frame, now):
                    self._called(served, frame.sequence, frame.payload, now)
                    left -= 1
                    if left == 0:
                        return True
            elif frame.type == CALLBACK_RESPONSE:
                answers = frame.sequence if frame.answers == NONE else frame.answers
                if served.causes is not None:
                    backlog = served.backlog
                    ended = served.sorts and backlog is not None and answers in backlog.sent
                    served.causes.answered(answers, ended)
                if served.pauses and answers in served.pauses:
                    self.node.took(served.kernel_session, served.pauses.pop(answers))
                if served.backlog is not None:
                    self._dealt_with(served, served.backlog, answers, now)
        return False

    def _too_large(self, served: Served, frame: FrameReader) -> None:
        """Refused by its beginning, nothing of it is kept; the session goes on."""
        error = self._most.refusal(service_of(frame.payload), frame.excess, "this server")
        text = f"a call of {frame.excess} bytes was refused ({self._most.setting})"
        about = {"federation": served.federation, "federate": served.federate}
        self._report(LogText(text, "call-too-large", WARNING, **about))
        self._refused(served, frame.sequence, error)

    def _name_cause(self, served: Served, causes: Causes, received: int) -> None:
        """For the recorder: which message the federate handles as it makes the call that has come."""
        source, message = causes.cause(received)
        if not message and not served.caused:
            return  # as before, which is the usual case
        session = self.node.sessions.get(served.kernel_session)
        if session is not None and session.member is not None:
            session.member.cause_source, session.member.cause = source, message
            served.caused = message != 0

    def _along_lane(self, served: Served, frame: FrameReader, now: float) -> bool:
        """Send the call along its lane, if it has one that is open."""
        data = frame.data
        end = frame.end
        content = lane_content(data, frame.start, end)
        if content < 0:
            return False
        target = handle_number(data, content + 4)
        is_update = data[frame.start] == 0xF2
        lane = served.lane
        if lane is None or not lane.suits(target, is_update, data, content, end):
            lane = self._find_lane(served, frame, target, is_update, now)
            if lane is None:
                return False
            served.lane = lane
        way = lane.way
        if way is None or not way.is_open():
            served.lane = None
            return False
        way.passed()
        self.messages += 1
        self.spliced += 1
        served.wire.send_call_response(
            frame.sequence, EMPTY_UPDATE_RESPONSE if is_update else EMPTY_SEND_RESPONSE
        )
        self._touch_answered(served)
        receivers = lane.receivers
        recorder = way.federation.recorder
        shared = data[content:end] if receivers or recorder is not None else b""
        if recorder is not None:
            way.record(recorder, now, self.node.name, shared)
        if receivers:
            tail = lane.tail
            length = len(shared) + len(tail)
            if length != lane.length:
                lane.length = length
                lane.head = callback_head(REFLECT if is_update else RECEIVE, length)
            self._gathered += length * len(receivers)
            if length > COPIED:
                payload = lane.head + shared + tail
                for receiver in receivers:
                    sent = receiver.wire.send_callback(payload)
                    if receiver.causes is not None:
                        receiver.causes.put(sent, way.source, way.member.timing.sent)
                    self._touch(receiver)
            else:
                head = lane.head
                for receiver in receivers:
                    sent = receiver.wire.send_callback_spliced(head, shared, tail)
                    if receiver.causes is not None:
                        receiver.causes.put(sent, way.source, way.member.timing.sent)
                    self._touch(receiver)
        return True

    def _find_lane(
        self, served: Served, frame: FrameReader, target: int, is_update: bool, now: float
    ) -> SplicedLane | None:
        """The lane for a call like this one; None if there is none, or the call is not canonical."""
        data = frame.data
        content = lane_content(data, frame.start, frame.end)
        alike = served.lanes.get(target)
        if alike is not None:
            for index, lane in enumerate(alike):
                if lane.suits(target, is_update, data, content, frame.end):
                    way = lane.way
                    if way is not None and way.is_open():
                        return lane
                    if way is None and lane.generation == self._generation(served):
                        return lane
                    del alike[index]
                    break
        hot = read_hot(frame.payload)
        if hot is None or any(len(handle) != 4 for handle in hot.handles):
            return None
        service = "send_interaction" if hot.number == SEND else "update_attribute_values"
        way = self.node.lane(served.kernel_session, service, target_of(hot), value_handles(hot), now)
        receivers: list[Served] = []
        tail = b""
        if way is not None:
            found = [self._by_kernel.get(member.session) for member in way.receivers()]
            receivers = [receiver for receiver in found if receiver is not None]
            tail = callback_tail(way.transportation, way.member.handle)
            if any(receiver.backlog is not None for receiver in receivers):
                way = None  # it would pass what waits there
        numbers = [handle_number(handle, 0) for handle in hot.handles]
        made = SplicedLane(target, is_update, numbers, way, self._generation(served), receivers, tail)
        if alike is None:
            if len(served.lanes) >= _LANES:
                served.lanes.clear()
            alike = served.lanes[target] = []
        if len(alike) >= _ALIKE:
            del alike[0]
        alike.append(made)
        return made

    def _generation(self, served: Served) -> int:
        session = self.node.sessions.get(served.kernel_session)
        federation = None if session is None else session.federation
        return 0 if federation is None else federation.generation

    def _called(self, served: Served, sequence: int, payload: bytes, now: float) -> None:
        """Every call is answered once, whatever is wrong with it: a client would wait for ever."""
        try:
            hot = read_hot(payload)
            if hot is not None and served.kernel_session:
                self._hot_call(served, sequence, hot, now)
                return
            advance = read_advance(payload)
            if advance is not None and served.kernel_session and served.codec.time is not None:
                served.calls[sequence] = advance[0]
                arguments = (served.codec.time.decode_time(advance[2]),)
                self._advance(served, sequence, advance[1], arguments, now)
                return
            call = served.codec.decode_call(payload)
            served.calls[sequence] = call.number
            if call.service == "connect":
                self._connect(served, sequence, call.arguments)
            elif call.service == "disconnect":
                self._disconnect(served)
                self._replied(served, sequence, None)
            else:
                self._cold_call(served, sequence, call.service, call.arguments, now)
        except RTIexception as error:
            self._refused(served, sequence, error)
        except WireError as error:
            self._refused(served, sequence, rti_exception(error.exception_name)(str(error)))
        except Exception as error:  # a mistake of ours must neither end the server nor leave a client waiting
            self._failed(served, sequence, error)

    def _advance(
        self, served: Served, sequence: int, service: str, arguments: tuple[Any, ...], now: float
    ) -> None:
        """A request to advance: if nobody waits for its answer, that comes with the grant."""
        if self.watch is not None:
            self.watch.called(served.kernel_session, sequence, service, arguments)
        effects = self.node.call(served.kernel_session, sequence, service, arguments, now)
        if not served.patient or not isinstance(effects[0], Reply):
            self.perform(effects)
            return
        number = served.calls.pop(sequence)
        served.wire.send_call_response(sequence, served.codec.encode_response(number, None))
        self._touch_answered(served)
        if len(effects) > 1:
            self.perform(effects[1:])

    def _hot_call(self, served: Served, sequence: int, hot: HotCall, now: float) -> None:
        self.messages += 1
        number = hot.number
        service = "send_interaction" if number >= SEND else "update_attribute_values"
        arguments: tuple[Any, ...]
        if hot.time and served.codec.time is not None:
            time = served.codec.time.decode_time(hot.time)
            arguments = (target_of(hot), packed(hot), hot.tag, time)
        else:
            arguments = (target_of(hot), packed(hot), hot.tag)
        effects = self.node.call(served.kernel_session, sequence, service, arguments, now)
        first = effects[0]
        if isinstance(first, Reply) and not hot.time:
            empty = EMPTY_SEND_RESPONSE if number == SEND else EMPTY_UPDATE_RESPONSE
            served.wire.send_call_response(sequence, empty)
            self._touch_answered(served)
            if len(effects) > 1:
                self._callbacks(effects)
        else:
            served.calls[sequence] = number
            self.perform(effects)

    def _cold_call(
        self, served: Served, sequence: int, service: str, arguments: tuple[Any, ...], now: float
    ) -> None:
        if not served.kernel_session:
            raise NotConnected("not connected; call connect first")
        if service == "create_federation_execution":
            name, modules, mim, time_name = arguments
            if not served.operator:
                self._guard.may_create(served.federate, name)
            if len(self.node.federations) >= self._limits.federations:
                raise RTIinternalError(
                    f"there are {len(self.node.federations)} federations already (the setting limits.federations); "
                    "destroy one that is not needed"
                )
            self._learn_client(served, modules if mim is None else (*modules, mim))
            sources = unpack_modules(modules, self._limits)
            mim_source = None if mim is None else unpack_modules((mim,), self._limits, mim=True)[0]
            if served.codec.evolved and mim is None:
                sources = (*sources, older_mom())
            arguments = (name, sources, mim_source, time_name)
        elif service == "destroy_federation_execution":
            if not served.operator:
                self._guard.may_destroy(served.federate, arguments[0])
        elif service == "join_federation_execution":
            name, kind, federate, modules = arguments
            if not served.operator:
                self._guard.may_join(served.federate, name, federate or "", kind)
            self._learn_client(served, modules)
            sources = unpack_modules(modules, self._limits)
            if served.codec.evolved and not self._has_older_mom(name):
                sources = (*sources, older_mom())
            arguments = (name, kind, federate, sources)
            served.federation = name
            served.joining = sequence
        elif service == "resign_federation_execution":
            served.resigning = sequence
        elif service == "steer" and not served.operator:
            raise Unauthorized(
                f"only an operator may steer a federation: connect with credentials of type {OPERATOR} "
                f"and the operator key of this server; {self._operator_key.where()}"
            )
        if self.watch is not None:
            self.watch.called(served.kernel_session, sequence, service, arguments)
        self.perform(self.node.call(served.kernel_session, sequence, service, arguments, now))

    def _learn_client(self, served: Served, modules: tuple[Any, ...]) -> None:
        """How it sends modules tells in which language the client of a 2010 federate is written."""
        found = is_java(modules)
        if found is not None:
            served.codec.java = found

    def _has_older_mom(self, federation: str) -> bool:
        """Does this node know that the federation has the MOM classes of 2010?"""
        found = self.node.federations.get(federation)
        return found is not None and OLDER_CLASS in found.catalog.interaction_class_names

    def _connect(self, served: Served, sequence: int, arguments: tuple[Any, ...]) -> None:
        if served.kernel_session:
            raise AlreadyConnected("this session is connected; disconnect first")
        if served.connecting:
            raise AlreadyConnected("this session is connecting; wait for the answer")
        configuration = RtiConfiguration()
        credentials = Credentials()
        for argument in arguments:
            if isinstance(argument, RtiConfiguration):
                configuration = argument
            elif isinstance(argument, Credentials):
                credentials = argument
        line = served.line
        secure = line is not None and line.secure
        served.operator = False
        if credentials.type == OPERATOR:
            self._operator_key.admit(credentials, secure or (line is not None and line.local))
            served.operator = True
            self._replied(served, sequence, self._admitted(served, "", configuration))
        elif self.admission is None:
            who = self._guard.admit(credentials, secure)
            self._replied(served, sequence, self._admitted(served, who, configuration))
        else:
            served.connecting = True
            self.admission(
                served.address,
                credentials,
                secure,
                lambda who, error: self._known(served, sequence, configuration, who, error),
            )

    def _known(
        self,
        served: Served,
        sequence: int,
        configuration: RtiConfiguration,
        who: str,
        error: Exception | None,
    ) -> None:
        """It has been found out who connects, or that it may not."""
        served.connecting = False
        if served.wire.state is State.TERMINATED:
            return
        if error is None:
            self._replied(served, sequence, self._admitted(served, who, configuration))
        elif isinstance(error, RTIexception):
            self._refused(served, sequence, error)
        else:
            self._failed(served, sequence, error)

    def _admitted(self, served: Served, who: str, configuration: RtiConfiguration) -> ConfigurationResult:
        served.federate = who
        served.admitted = True
        served.codec.evolved = EVOLVED in configuration.additional_settings
        served.patient = GATHER_ANSWERS in configuration.additional_settings
        served.sorts = SORTS_CALLBACKS in configuration.additional_settings
        message = "Weft"
        if self.node.recordings is not None:
            message = RECORDED
            served.causes = NamedCauses() if served.sorts else AnsweredCauses()
        if ASK_LIMITS in configuration.additional_settings:
            message += f"\n{self._most}"
        served.kernel_session = self.node.open_session(served.codec.evolved)
        self._by_kernel[served.kernel_session] = served
        return ConfigurationResult(
            configuration_used=False,
            address_used=False,
            additional_settings_result=AdditionalSettingsResultCode.SETTINGS_IGNORED,
            message=message,
        )

    def _disconnect(self, served: Served) -> None:
        if not served.kernel_session:
            raise NotConnected("not connected; call connect first")
        session = self.node.sessions.get(served.kernel_session)
        if session is not None and session.member is not None:
            raise FederateIsExecutionMember("this federate is joined; resign first")
        self.node.close_session(served.kernel_session)
        del self._by_kernel[served.kernel_session]
        served.kernel_session = 0

    # --- the end of a session ---------------------------------------------------------------------------------

    def ended(self, served: Served, now: float) -> None:
        """The session is over; a federate that has not resigned does so by its directive."""
        self.release(served)
        if served.kernel_session:
            self._by_kernel.pop(served.kernel_session, None)
            session = self.node.sessions.get(served.kernel_session)
            if session is not None and session.member is not None:
                why = served.wire.ending or "its session ended"
                text = f"federate {session.member.name!r} of {served.federation!r} is gone: {why}"
                about = {"federation": served.federation, "federate": session.member.name}
                self._report(LogText(text, "federate-gone", WARNING, **about))
            if self.watch is not None:
                self.watch.lost(served.kernel_session, served.wire.ending or "its session ended")
            self.perform(self.node.session_lost(served.kernel_session, now, served.wire.ending))
            served.kernel_session = 0
