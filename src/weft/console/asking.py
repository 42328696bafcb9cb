"""Asks nodes what they do: a thread for each node, since calls wait; at most twice a second, and only while somebody looks.

What threads learn they post to the thread that paints, so the painter needs no lock.  A node's thread has its connection to
itself; whatever else is asked of the node (steering) is a job for the same thread, between two surveys.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Protocol

from weft.console.picture import Painter
from weft.federate import FederateAmbassador, RTIambassador
from weft.host.conventions import OPERATOR
from weft.model.enums import CallbackModel
from weft.model.json_types import JsonObject
from weft.model.records import Credentials, RtiConfiguration

INTERVAL = 0.5
MOST_INTERVAL = 1.5
REST = 15.0  # a node that takes long to answer is left alone for so many times as long, up to that
LEASE = 2.0  # a page or a scrape counts as looking for so long
LINGER = 10.0  # … and the connection is kept for so long after that
# Nothing is worth resuming: whoever asks again gets a newer answer from a new session.
_PATIENCE = (
    "FedPro.connect.timeout=3,FED_TIMEOUT_RECONNECT=0.3,FED_INT_HEART=1,FED_TIMEOUT_HEART=6,"
    "FedPro.resume.retryDelayMillis=200"
)

Post = Callable[[Callable[[], object]], None]
"""Has something done in the thread that paints."""


class NodeConnection(Protocol):
    """A connection to a node."""

    def survey(self, sections: tuple[str, ...]) -> JsonObject: ...

    def steer(self, action: str, federation: str, target: str | int | None) -> JsonObject: ...

    def close(self) -> None: ...


Job = Callable[[NodeConnection], JsonObject]


class NodeLink:
    """Over the Federate Protocol, as an operator where there is a key."""

    def __init__(self, address: str, key: str) -> None:
        self._rti = RTIambassador()
        credentials = Credentials(OPERATOR, key.encode()) if key else None
        configuration = RtiConfiguration(rti_address=address, additional_settings=_PATIENCE)
        self._rti.connect(FederateAmbassador(), CallbackModel.EVOKED, configuration, credentials)

    def survey(self, sections: tuple[str, ...]) -> JsonObject:
        return self._rti.query_survey(sections)

    def steer(self, action: str, federation: str, target: str | int | None) -> JsonObject:
        return self._rti.steer(action, federation, target)

    def close(self) -> None:
        with contextlib.suppress(Exception):  # it may be gone, which is as good
            self._rti.disconnect()


class _Station:
    """What asks one node."""

    def __init__(
        self,
        place: str,
        address: str,
        key: str,
        painter: Painter,
        post: Post,
        connect: Callable[[str, str], NodeConnection],
    ) -> None:
        self._place = place
        self._address = address
        self._key = key
        self._painter = painter
        self._post = post
        self._connect = connect
        self._link: NodeConnection | None = None
        self._changed = threading.Condition()
        self._sections: tuple[str, ...] = ()
        self._wanted_until = 0.0
        self._jobs: deque[tuple[Job, Future[JsonObject]]] = deque()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name=f"asks {place}", daemon=True)
        self._thread.start()

    def want(self, sections: tuple[str, ...], until: float) -> None:
        with self._changed:
            self._sections, self._wanted_until = sections, max(until, self._wanted_until)
            self._changed.notify()

    def do(self, job: Job) -> Future[JsonObject]:
        done: Future[JsonObject] = Future()
        with self._changed:
            self._jobs.append((job, done))
            self._changed.notify()
        return done

    def close(self) -> None:
        """It ends by itself; a call that hangs is not waited for."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def _run(self) -> None:
        following = 0.0
        while self._wait(following):
            began = time.monotonic()
            if self._jobs:
                self._work(*self._jobs.popleft())
                following = 0.0  # what it changed is to be seen at once
            elif began < self._wanted_until:
                following = next_time(self._ask(), time.monotonic())
        if self._link is not None:
            self._link.close()

    def _wait(self, following: float) -> bool:
        """Until there is something to do, though not before its time; False once it is closed."""
        with self._changed:
            while not self._closed and not self._jobs:
                now = time.monotonic()
                if now < self._wanted_until:
                    if now >= following:
                        break
                    self._changed.wait(following - now)
                elif self._link is None:
                    self._changed.wait()
                elif now < self._wanted_until + LINGER:
                    self._changed.wait(self._wanted_until + LINGER - now)
                else:
                    link, self._link = self._link, None
                    link.close()
            return not self._closed

    def _ask(self) -> float:
        """Since when the node was busy with it: to connect costs it nothing."""
        due = time.monotonic()
        self._tell(lambda: self._painter.asked(self._place, due))
        try:
            link = self._connected()
            began = time.monotonic()
            survey = link.survey(self._sections)
        except Exception as error:
            self._lost(error)
            return time.monotonic()
        self._tell(lambda: self._painter.answered(self._place, survey, time.monotonic()))
        return began

    def _work(self, job: Job, done: Future[JsonObject]) -> None:
        try:
            done.set_result(job(self._connected()))
        except Exception as error:
            done.set_exception(error)

    def _connected(self) -> NodeConnection:
        if self._link is None:
            self._link = self._connect(self._address, self._key)
        return self._link

    def _lost(self, error: Exception) -> None:
        link, self._link = self._link, None
        if link is not None:
            link.close()
        why = f"{self._address}: {error}" if self._address not in str(error) else str(error)
        self._tell(lambda: self._painter.failed(self._place, why, time.monotonic()))

    def _tell(self, what: Callable[[], object]) -> None:
        def unless_closed() -> None:
            if not self._closed:
                what()

        self._post(unless_closed)


def next_time(began: float, answered: float) -> float:
    """When to ask again: what a node pays for being watched stays small, however much it has to tell."""
    return max(began + INTERVAL, answered + min(REST * (answered - began), MOST_INTERVAL))


class Asking:
    """All nodes of a console."""

    def __init__(
        self, painter: Painter, post: Post, connect: Callable[[str, str], NodeConnection] = NodeLink
    ) -> None:
        self._painter = painter
        self._post = post
        self._connect = connect
        self._stations: dict[str, _Station] = {}
        self._addresses: dict[str, tuple[str, str]] = {}
        self._leases: dict[str, float] = {}  # section: until when somebody looks at it

    def told(self, news: JsonObject) -> None:
        """Whoever started nodes tells of them: {"node", "address", "key"} once it is up, {"node", "state", "why"} otherwise."""
        address = str(news.get("address", ""))
        place = str(news.get("node") or address)
        self._painter.named(place, str(news.get("node", "")), address)
        if address:
            self._at(place, address, str(news.get("key", "")))
            return
        self._drop(place)
        if news.get("state") == "down":
            self._painter.failed(place, str(news.get("why", "")) or "it has ended", time.monotonic())
        else:
            self._painter.restarted(place)

    def _at(self, place: str, address: str, key: str) -> None:
        if self._addresses.get(place) == (address, key):
            return
        self._drop(place)
        self._addresses[place] = (address, key)
        station = _Station(place, address, key, self._painter, self._post, self._connect)
        self._stations[place] = station
        self._ask(station)

    def _drop(self, place: str) -> None:
        self._addresses.pop(place, None)
        station = self._stations.pop(place, None)
        if station is not None:
            station.close()

    def want(self, sections: frozenset[str], seconds: float = LEASE) -> None:
        """Somebody looks at these, for the next seconds."""
        now = time.monotonic()
        self._leases = {section: until for section, until in self._leases.items() if until > now}
        for section in sections:
            self._leases[section] = max(now + seconds, self._leases.get(section, 0.0))
        for station in self._stations.values():
            self._ask(station)

    def _ask(self, station: _Station) -> None:
        station.want(tuple(sorted(self._leases)), max(self._leases.values(), default=0.0))

    @property
    def places(self) -> list[str]:
        """Nodes that can be asked."""
        return list(self._stations)

    def do(self, place: str, job: Job) -> Future[JsonObject]:
        return self._stations[place].do(job)

    def close(self) -> None:
        for place in list(self._stations):
            self._drop(place)
