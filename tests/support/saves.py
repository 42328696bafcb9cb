"""Ways into a save and a restore, for tests at one embedded node."""

from __future__ import annotations

from support.federation import Federation

LABEL = "noon"


def instruct(f: Federation, label: str = LABEL) -> None:
    """Everybody has taken Initiate Federate Save."""
    f.rti[min(f.present)].request_federation_save(label)
    f.drain(*f.present)


def begin(f: Federation, *which: int) -> None:
    for i in which or f.present:
        f.rti[i].federate_save_begun()


def save(f: Federation, label: str = LABEL) -> None:
    """The federation is saved, and everybody has heard it."""
    instruct(f, label)
    begin(f)
    for i in f.present:
        f.rti[i].federate_save_complete()
    f.drain(*f.present)


def begin_restore(f: Federation, label: str = LABEL) -> None:
    """Everybody has taken Federation Restore Begun and Initiate Federate Restore."""
    f.rti[min(f.present)].request_federation_restore(label)
    f.drain(*f.present)


def restore(f: Federation, label: str = LABEL) -> None:
    begin_restore(f, label)
    for i in f.present:
        f.rti[i].federate_restore_complete()
    f.drain(*f.present)
