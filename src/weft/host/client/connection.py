"""A federate's connection to an RTI over the Federate Protocol: ours or any other that speaks it.

Whoever waits reads.  There is no thread of our own: a thread that waits for an answer or a callback reads the socket
itself, which saves two thread switches on each round trip; if another thread reads already, it waits for that one to
bring what it needs.

What is sent gathers and goes out before anybody waits, or when it has grown large.  Answers to callbacks travel along
with whatever goes next.

When the connection breaks, the next that waits opens a new one and resumes the session; calls in between wait, and
nothing is lost or repeated.  If the session cannot be resumed, calls raise NotConnected and the federate hears `connection_lost`.
Whoever waits is told why and until when, by the log (`weft`): nothing waits without a bound or without a word.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
import weakref
from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from weft.host.causes import RECORDED
from weft.host.client.settings import ClientSettings
from weft.host.client.streams import no_session, open_stream
from weft.host.conventions import GATHER_ANSWERS, OPERATOR, SORTS_CALLBACKS
from weft.host.effects import Inbox
from weft.host.sizes import ASK_LIMITS, Most, told_most
from weft.kernel import PAUSES, Callback, UrgentCallback
from weft.model.deliveries import Removal, delivery_from
from weft.model.errors import ConnectionFailed, NotConnected, RTIexception, RTIinternalError
from weft.model.records import (
    PLAIN_PASSWORD,
    ConfigurationResult,
    Credentials,
    LateAnswer,
    LateRetractionReturn,
    MessageRetractionReturn,
    RtiConfiguration,
)
from weft.model.time import time_factory
from weft.wire.codec.callbacks import CALLBACK_SUCCEEDED
from weft.wire.codec.codec import ServiceCodec
from weft.wire.codec.hot import EMPTY_SEND_RESPONSE, EMPTY_UPDATE_RESPONSE, SEND, UPDATE
from weft.wire.codec.hot_callbacks import HotCallbacks
from weft.wire.codec.packed import advance_number, encode_advance, encode_hot_call
from weft.wire.errors import ProtocolError
from weft.wire.own.fields import read_urgent
from weft.wire.protobuf import WireError
from weft.wire.session.client import ClientSession
from weft.wire.session.frames import CALL_RESPONSE, HEADER_SIZE, LAST_NUMBER, FrameReader
from weft.wire.session.state import Action, SessionSettings, State

# Looked up once: the attribute of an Enum costs more than the rest of what these are used in.
_NEW: Final = State.NEW
_RUNNING: Final = State.RUNNING
_DROPPED: Final = State.DROPPED
_TERMINATED: Final = State.TERMINATED

_GATHER = 64 << 10  # so much is sent without waiting for a reason
# What a thread waits for, if it is not the answer to a call.
_CALLBACK: Final = -1
_BEGINNING: Final = -2
_END: Final = -3
_CONNECTED: Final = -4
_EMPTY = (EMPTY_SEND_RESPONSE, EMPTY_UPDATE_RESPONSE)
_HOT = ("send_interaction", "update_attribute_values")
_ADVANCES = frozenset(
    [
        "time_advance_request",
        "time_advance_request_available",
        "next_message_request",
        "next_message_request_available",
        "flush_queue_request",
    ]
)
_UNAWAITED = _ADVANCES | frozenset(_HOT)
_FAILED = b"\x0a"  # how the answer to a call that has failed begins
_NAPPED = 0.5  # seconds; after so long without anything it is looked whether the other machine is there
_NOTICED = 1.0  # seconds; shorter waits need no words


class RemoteNode:
    """An RTI at an address, as something to connect to."""

    def __init__(
        self,
        settings: ClientSettings,
        configuration: RtiConfiguration | None = None,
        credentials: Credentials | None = None,
    ) -> None:
        self._settings = settings
        self._configuration = configuration or RtiConfiguration()
        self._credentials = credentials

    def connect(self) -> RemoteConnection:
        kind = "" if self._credentials is None else self._credentials.type
        if kind == PLAIN_PASSWORD and not self._settings.secure and not self._settings.clear_text:
            raise ConnectionFailed(
                f"the password was not sent to {self._settings.where}, where others could read it: use the server's "
                f"TLS port (tls://{self._settings.host}:PORT), or say FedPro.connect.clearTextPassword=true in the "
                "additional settings (connect.clearTextPassword=true in FEDPRO_CLIENT_SETTINGS)"
            )
        connection = RemoteConnection(self._settings)
        if kind == OPERATOR and not self._settings.secure and not connection.local:
            connection.lose()
            raise ConnectionFailed(
                f"the operator key was not sent to {self._settings.where}, since others could read it: use the "
                "server's TLS port, or steer from the machine of the server"
            )
        told = [SORTS_CALLBACKS, ASK_LIMITS]  # other RTIs know nothing of it
        if self._settings.async_updates:
            told.append(GATHER_ANSWERS)  # those that nobody waits for
        settings = "\n".join([self._configuration.additional_settings, *told]).strip()
        configuration = replace(self._configuration, additional_settings=settings)
        try:
            result = connection.call("connect", (configuration, self._credentials))
            assert isinstance(result, ConfigurationResult)
            message, connection.most = told_most(result.message)
            connection.result = replace(result, message=message)
            connection.names_causes = message == RECORDED
        except BaseException:
            connection.lose()
            raise
        return connection


def _require_bytes(values: object, tag: object) -> None:
    """Of a send or an update: what is no bytes is refused, as by a node of this process, also where it could be sent."""
    for value in (*(values.values() if isinstance(values, Mapping) else ()), tag):
        if type(value) is not bytes:
            raise TypeError(f"values and tags are bytes, not {type(value).__name__}; encode it first")


class RemoteConnection:
    def __init__(self, settings: ClientSettings) -> None:
        self._settings = settings
        self.result = ConfigurationResult()  # what the RTI answered to connect
        self.most: Most | None = None  # bytes of a call, if the RTI says so
        self._codec = ServiceCodec()
        self._hot = HotCallbacks()
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._reading = False
        self._others = 0  # threads that wait for the one that reads
        self._inbox = Inbox()
        self._unanswered: deque[int] = deque()  # callbacks that are answered when they are taken
        self._answers: dict[int, bytes] = {}
        self._wanted: set[int] = set()  # calls somebody waits for
        self._unwatched: dict[int, int] = {}  # calls nobody waits for: the number of the call
        self._late: dict[int, weakref.ref[LateAnswer]] = {}  # of those, with a time: who may want the answer
        self._complaint: Exception | None = None  # what became of the first of those that was refused …
        self._complained = 0  # … and which that is
        self._advance = 0  # of those, the last request to advance
        self._advance_refused = False
        self._gathered = 0
        self._attempt = ""  # how the last attempt to connect again failed
        self.names_causes = False  # the RTI records, and wants to know what causes a call (`host.causes`)
        self._handling: Callback | None = None  # what the federate took last, if so
        self._first = b""  # how the server's first words begin, until there is a session
        self._stream = open_stream(settings)
        self._session = ClientSession(
            time.monotonic(),
            SessionSettings(
                max_frame=LAST_NUMBER,  # the server has its limit; what it passes on is a little larger than what it took
                heartbeat=settings.heartbeat,
                silence=settings.silence,
                reconnect=settings.reconnect,
                retry=settings.retry,
            ),
        )
        with self._lock:
            self._wait_for(_BEGINNING, settings.timeout)
            if self._session.state is not _RUNNING:
                self._stream.close()
                why = self._session.ending or f"no answer within {settings.timeout:g} s"
                raise ConnectionFailed(f"{settings.where}: {why}{no_session(self._first, settings)}")

    @property
    def local(self) -> bool:
        """Is the RTI on this very machine?"""
        return self._stream.local

    # --- calls ------------------------------------------------------------------------------------------------

    def call(self, service: str, arguments: tuple[object, ...]) -> object:
        number, payload = self._encoded(service, arguments)
        most = self.most
        if most is not None and len(payload) + HEADER_SIZE > most.size:
            raise most.refusal(service, len(payload) + HEADER_SIZE, self._settings.where)
        with self._lock:
            if self._session.state is _TERMINATED:
                raise NotConnected(f"the session with {self._settings.where} is over: {self._session.ending}")
            complaint = self.complaint()
            if complaint is not None:
                raise complaint
            if self._handling is not None:
                self._name_cause(self._handling)
            sequence = self._session.send_call_request(payload)
            self._gathered += len(payload)
            if self._settings.async_updates and len(arguments) <= 4 and service in _UNAWAITED:
                self._unwatched[sequence] = number
                if service in _ADVANCES:
                    self._advance = sequence
                    self._send()
                elif self._gathered > _GATHER:
                    self._send()
                    self._read_what_is_there()
                if self._session.state is not _RUNNING:
                    # Who sends without waiting for answers waits as well, or would never hear of it.
                    self._wait_for(_CONNECTED, None)
                    if not self._has_come(_CONNECTED):
                        raise self._not_answered(service)
                return None if len(arguments) < 4 else self._later(sequence, number)
            answer = self._await_answer(sequence)
        if answer is None:
            raise self._not_answered(service)
        if answer in _EMPTY:
            return None
        value = self._codec.decode_response(number, answer)
        if service == "join_federation_execution":
            self._codec.time = self._hot.time = time_factory(value[1])
        return value

    def _encoded(self, service: str, arguments: tuple[object, ...]) -> tuple[int, bytes]:
        """The number of the call, by which its response is understood, and its bytes."""
        payload: bytes | None = None
        number = 0
        try:
            if service in _HOT:
                payload = encode_hot_call(service, arguments)
                if payload is None:
                    _require_bytes(arguments[1], arguments[2])
                number = (SEND if service == "send_interaction" else UPDATE) + (len(arguments) > 3)
            elif len(arguments) == 1:
                number = advance_number(service)
                if number:
                    payload = encode_advance(number, arguments[0])
            return (number, payload) if payload is not None else self._codec.encode_call(service, arguments)
        except (WireError, TypeError, AttributeError, ValueError) as error:
            raise RTIinternalError(f"{service} cannot be sent with these arguments: {error}") from error

    def _not_answered(self, service: str) -> NotConnected:
        where = self._settings.where
        return NotConnected(
            f"{service} was not answered, since the session with {where} is over: {self._session.ending}"
        )

    def _await_answer(self, sequence: int) -> bytes | None:
        """None if the session ends before."""
        self._wanted.add(sequence)
        self._wait_for(sequence, None)
        self._wanted.discard(sequence)
        return self._answers.pop(sequence, None)

    def advance_refused(self) -> bool:
        """Was the last request to advance refused, which nobody has waited for?  Told once."""
        found, self._advance_refused = self._advance_refused, False
        return found

    def complaint(self) -> Exception | None:
        """What became of an earlier call that nobody has waited for, if it was refused; told once."""
        found, self._complaint = self._complaint, None
        return found

    def _name_cause(self, callback: Callback) -> None:
        """This call is made while the federate handles that callback."""
        if callback.handled:
            self._handling = None
        elif callback.number:
            self._session.send_callback_response(callback.number, CALLBACK_SUCCEEDED)

    def _later(self, sequence: int, number: int) -> LateRetractionReturn:
        """Of a message with a time: its retraction handle, which few look at."""
        late = LateAnswer()
        self._late[sequence] = weakref.ref(late)

        def ask() -> MessageRetractionReturn:
            answer = self._await_late(sequence, late)
            value: MessageRetractionReturn = self._codec.decode_response(number, answer)
            return value

        return LateRetractionReturn.of(ask)

    def _await_late(self, sequence: int, late: LateAnswer) -> bytes:
        with self._lock:
            if not late.has_come():
                found = self._await_answer(sequence)
                if found:
                    late.put(found)
            if not late.has_come():
                raise NotConnected(f"the message was not answered: {self._session.ending}")
            if self._complained == sequence:
                self._complaint = None  # whoever looks at the retraction handle is told of it there
            return late.answer

    # --- callbacks --------------------------------------------------------------------------------------------

    def take(self) -> Callback | None:
        inbox = self._inbox
        if inbox.is_worth_a_look():  # something more urgent than what waits may have come
            with self._lock:
                if not self._reading and inbox.is_worth_a_look():
                    self._send()
                    self._read_what_is_there()
        callback = inbox.take()
        if callback is None:
            return None
        if self._unanswered and callback.method in PAUSES:
            # The RTI refuses calls once the federate knows that it is to save, so it is told when that is.
            with self._lock:
                self._session.send_callback_response(self._unanswered.popleft(), CALLBACK_SUCCEEDED)
        if self.names_causes:
            self._handling = callback
        return callback

    def pending(self) -> bool:
        return self._inbox.pending()

    def finished(self, callback: UrgentCallback) -> None:
        """The RTI hears that it is over with whatever is sent next; who takes another callback sends first."""
        with self._lock:
            if self._session.state is not _TERMINATED:
                self._session.send_callback_response(callback.ticket, CALLBACK_SUCCEEDED)

    def now(self) -> float:
        return time.monotonic()

    def wait(self, seconds: float | None) -> bool:
        with self._lock:
            self._wait_for(_CALLBACK, seconds)
        return self.pending()

    def forget_federation(self) -> None:
        with self._lock:
            self._inbox.forget_federation()

    # --- the end ----------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Disconnect, terminate the session and close."""
        with contextlib.suppress(NotConnected):
            self.call("disconnect", ())
        self.leave()

    def leave(self) -> None:
        """Terminate the session: the RTI resigns a federate that is still joined."""
        with self._lock:
            if self._session.state is _RUNNING:
                self._session.terminate()
                self._wait_for(_END, self._settings.timeout)
            self._over("this federate disconnected")

    def lose(self) -> None:
        """Break off: the session is not resumed, and the RTI resigns the federate when its patience ends."""
        with self._lock:
            self._over("this federate broke off")

    def _over(self, why: str) -> None:
        if self._session.state is not _TERMINATED:
            self._session.discard(why)
        self._stream.close()
        self._changed.notify_all()

    # --- waiting, reading, sending (with the lock held) -------------------------------------------------------

    def _has_come(self, what: int) -> bool:
        if what >= 0:
            return what in self._answers
        if what == _CALLBACK:
            return self.pending()
        if what == _CONNECTED:
            return self._session.state is _RUNNING
        return what == _BEGINNING and self._session.state is not _NEW

    def _wait_for(self, what: int, seconds: float | None) -> None:
        """Until it has come, time is up or the session is over; a number means the answer to that call."""
        deadline = None if seconds is None else time.monotonic() + seconds
        while not self._has_come(what) and self._session.state is not _TERMINATED:
            now = time.monotonic()
            if deadline is not None and now >= deadline:
                return
            self._send()
            if self._reading:
                self._wait_for_others(None if deadline is None else deadline - now)
                continue
            due = self._session.next_deadline()
            if deadline is not None:
                due = min(due, deadline)
            if not self._read(max(0.0, due - now)) and self._session.state is _RUNNING:
                after = time.monotonic()
                if after - now >= _NAPPED and self._stream.is_gone(after):
                    self._lost(after)  # there is no machine at the other end any more
            if time.monotonic() >= self._session.next_deadline():
                self._tick()

    def _read(self, patience: float) -> bool:
        """Read once, without the lock, so that others may send or look meanwhile.  Has something come?"""
        if self._session.state is _DROPPED:
            if self._session.next_deadline() > time.monotonic():
                self._wait_for_others(patience)
            return False
        self._reading = True
        stream = self._stream
        data: bytes | None = None
        ready = False
        self._lock.release()
        try:
            if stream.plain:
                data = stream.receive(patience)
            else:
                ready = stream.wait(patience)
        finally:
            self._lock.acquire()
            self._reading = False
        if ready:
            data = stream.receive(0.0)
        self._took(data)
        if self._others:
            self._changed.notify_all()
        return data is not None

    def _wait_for_others(self, seconds: float | None) -> None:
        """While another thread reads: what it brings may be for this one."""
        self._others += 1
        try:
            self._changed.wait(seconds)
        finally:
            self._others -= 1

    def _read_what_is_there(self) -> None:
        if self._session.state is _RUNNING:
            data = self._stream.receive(0.0)
            if data is not None:
                self._took(data)

    def _took(self, data: bytes | None) -> None:
        if data is None:
            return
        if self._session.state is _NEW:
            self._first = data[:8]
        now = time.monotonic()
        if not data:
            self._lost(now)
            return
        session = self._session
        try:
            session.feed(data, now)
            frame = session.frame
            while session.next():
                if frame.type == CALL_RESPONSE:
                    self._answered(frame.answers, frame.payload)
                else:
                    self._called_back(frame)
        except ProtocolError as error:
            self._fail(f"{self._settings.where} broke the protocol: {error}")
        if session.state is _TERMINATED and session.ending:
            self._stream.finish()
            self._fail(session.ending)

    def _answered(self, sequence: int, payload: bytes) -> None:
        number = self._unwatched.pop(sequence, 0)
        if self._late:
            late = self._late.pop(sequence, None)
            holder = None if late is None else late()
            if holder is not None:
                holder.put(payload)
                if sequence in self._wanted:
                    self._answers[sequence] = payload
            if late is not None and payload[:1] != _FAILED:
                return
        if number == 0:
            if sequence in self._wanted:
                self._answers[sequence] = payload
        elif payload not in _EMPTY:
            try:
                self._codec.decode_response(number, payload)
            except RTIexception as error:
                error.add_note("from an earlier call, made without waiting for its answer (asyncUpdates)")
                if self._complaint is None:
                    self._complaint = error
                    self._complained = sequence
                self._advance_refused |= sequence == self._advance

    def _called_back(self, frame: FrameReader) -> None:
        hot = self._hot
        delivery = hot.read(frame.data, frame.start, frame.end)
        granted = hot.read_grant(frame.data, frame.start, frame.end) if delivery is None else None
        if delivery is not None:
            self._inbox.put(Callback(0, delivery.method, (), frame.sequence, delivery))
        elif granted is not None:
            self._inbox.put(Callback(0, "time_advance_grant", (granted,), frame.sequence))
        else:
            method, arguments = self._codec.decode_callback(frame.payload)
            delivery = delivery_from(method, arguments)
            urgent = read_urgent(frame.payload)
            if urgent is None:
                brings = delivery is not None and not isinstance(delivery, Removal)
                number = frame.sequence if brings else 0
                self._inbox.put(Callback(0, method, arguments, number, delivery))
            else:
                priority, order, dynamic, sub, watched = urgent
                ticket, number = (frame.sequence, 0) if watched else (0, frame.sequence)
                self._inbox.put(
                    UrgentCallback(
                        0, method, arguments, priority, order, dynamic, sub, ticket, number, delivery
                    )
                )
                if watched:
                    return  # it is answered when the federate has dealt with it
            if method in PAUSES:
                self._unanswered.append(frame.sequence)
                return
        self._session.send_callback_response(frame.sequence, CALLBACK_SUCCEEDED)

    def _send(self) -> None:
        self._gathered = 0
        parts = self._session.take_outgoing(time.monotonic())
        if parts:
            try:
                self._stream.send(parts)
            except OSError:
                self._lost(time.monotonic())

    def _lost(self, now: float) -> None:
        gone = self._stream.gone
        self._stream.close()
        if self._session.state not in (_DROPPED, _TERMINATED):
            running = self._session.state is _RUNNING
            self._session.connection_lost(now, gone)
            if running:
                self._tell(f"the connection to {self._settings.where} was lost")

    def _tell(self, what: str) -> None:
        """Calls wait from now on: say so, since when and until when."""
        session = self._session
        left = session.dropped_at + self._settings.reconnect - time.monotonic()
        if session.state is _DROPPED and left >= _NOTICED:
            until = time.strftime("%H:%M:%S", time.localtime(time.time() + left))
            logging.getLogger("weft").warning(
                f"{what}; it is tried to resume the session until {until} (FED_TIMEOUT_RECONNECT), calls wait"
            )

    def _tick(self) -> None:
        running = self._session.state is _RUNNING
        actions = self._session.tick(time.monotonic())
        if running and self._session.state is _DROPPED:
            silence = self._settings.silence
            self._tell(f"{self._settings.where} has answered nothing for {silence:g} s (FED_TIMEOUT_HEART)")
        for action in actions:
            if action is Action.FLUSH:
                self._send()
            elif action is Action.CLOSE:
                self._stream.close()
            elif action is Action.CONNECT:
                self._reconnect()
            else:
                self._fail(self._session.ending)

    def _reconnect(self) -> None:
        left = self._session.dropped_at + self._settings.reconnect - time.monotonic()
        try:
            self._stream = open_stream(self._settings, max(_NAPPED, min(left, self._settings.timeout)))
        except ConnectionFailed as error:
            self._attempt = str(error)
            self._session.connection_lost(time.monotonic())
            return
        self._attempt = ""
        self._session.resume(time.monotonic())

    def _fail(self, why: str) -> None:
        if self._attempt:
            why = f"{why}; the last attempt: {self._attempt}"
            self._attempt = ""
        self._stream.close()
        self._inbox.put(Callback(0, "connection_lost", (why,)))
        self._changed.notify_all()
