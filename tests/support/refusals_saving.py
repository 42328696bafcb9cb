"""Refusals of save and restore; SaveInProgress and RestoreInProgress of all services are provoked by the test itself."""

from __future__ import annotations

from support.federation import Federation
from support.refusals import Refusal
from support.saves import LABEL, begin, begin_restore, instruct, save
from weft.model.time import HLAfloat64Interval, HLAfloat64Time, HLAinteger64Time

TIMED = HLAfloat64Time(5.0)


def _join_during(f: Federation) -> None:
    f.join(1)


def _join_in_save(f: Federation) -> None:
    f.resign(1)
    instruct(f)
    _join_during(f)


def _join_in_restore(f: Federation) -> None:
    f.resign(1)
    save(f)
    begin_restore(f)
    _join_during(f)


def _begun_twice(f: Federation) -> None:
    instruct(f)
    begin(f, 0)
    begin(f, 0)


def _complete_too_soon(f: Federation) -> None:
    instruct(f)
    f.rti[0].federate_save_complete()


def _not_complete_too_soon(f: Federation) -> None:
    instruct(f)
    f.rti[0].federate_save_not_complete()


def _restored_twice(f: Federation) -> None:
    save(f)
    begin_restore(f)
    f.rti[0].federate_restore_complete()
    f.rti[0].federate_restore_complete()


def _request_unknowingly(f: Federation) -> None:
    """The other has not taken its callback yet, and is refused all the same: there is one save at a time."""
    f.rti[0].request_federation_save(LABEL)
    f.rti[1].request_federation_save("another")


def _time_passed(f: Federation) -> None:
    f.rti[0].enable_time_regulation(HLAfloat64Interval(1.0))
    f.rti[0].time_advance_request(TIMED)
    f.rti[0].request_federation_save(LABEL, TIMED)


SAVING = [
    Refusal("request_federation_save", "LogicalTimeAlreadyPassed", _time_passed),
    Refusal(
        "request_federation_save",
        "FederateUnableToUseTime",
        lambda f: f.rti[0].request_federation_save(LABEL, TIMED),
    ),
    Refusal("join_federation_execution", "SaveInProgress", _join_in_save),
    Refusal("join_federation_execution", "RestoreInProgress", _join_in_restore),
    Refusal("request_federation_save", "SaveInProgress", _request_unknowingly),
    Refusal(
        "request_federation_save",
        "InvalidLogicalTime",
        lambda f: f.rti[0].request_federation_save(LABEL, HLAinteger64Time(5)),
    ),
    Refusal("federate_save_begun", "SaveNotInitiated", lambda f: f.rti[0].federate_save_begun()),
    Refusal("federate_save_begun", "SaveNotInitiated", _begun_twice),
    Refusal("federate_save_complete", "FederateHasNotBegunSave", _complete_too_soon),
    Refusal("federate_save_not_complete", "FederateHasNotBegunSave", _not_complete_too_soon),
    Refusal("abort_federation_save", "SaveNotInProgress", lambda f: f.rti[0].abort_federation_save()),
    Refusal(
        "federate_restore_complete", "RestoreNotRequested", lambda f: f.rti[0].federate_restore_complete()
    ),
    Refusal("federate_restore_complete", "RestoreNotRequested", _restored_twice),
    Refusal(
        "federate_restore_not_complete",
        "RestoreNotRequested",
        lambda f: f.rti[0].federate_restore_not_complete(),
    ),
    Refusal(
        "abort_federation_restore", "RestoreNotInProgress", lambda f: f.rti[0].abort_federation_restore()
    ),
]
