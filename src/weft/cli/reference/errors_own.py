"""What leads to Weft's own errors in practice: title, about, and the causes by exception, as in `reference.errors_told`."""

from __future__ import annotations

from typing import Final

OWN: Final = (
    (
        "Files and settings",
        "Raised before anything runs. A command prints the message and ends with exit code 2.",
        {
            "WeftError": ("What to catch where any error of Weft will do; the standard's are below it, too."),
            "SettingsError": (
                "A typing mistake in a settings file, a `WEFT_…` variable or an option; a value out "
                "of its range; two settings that exclude each other; an operator key or password file "
                "that is not there."
            ),
            "DomainsError": (
                "A domains file with a server in no domain, a circle of domains, an address twice, or "
                "a line that is no TOML. See [Domains](../explanation/domains.md)."
            ),
            "ScheduleError": (
                "A schedule file that names unknown operations, or operations that depend on each "
                "other in a circle. See [The event channel](../explanation/channel.md)."
            ),
            "ObjectModelError": (
                "What to catch where any fault of an object model will do. Services translate it to "
                "the standard's names."
            ),
            "UnreadableObjectModel": (
                "The file is no XML or FED, is cut off, nested too deep, or has an entity bomb."
            ),
            "InvalidObjectModel": "An unknown parent class, a missing name, an unknown data type.",
            "ConflictingObjectModels": (
                "Two versions of a module, or two modules that give one class different attributes."
            ),
            "EncodingError": (
                "A value of another shape than the object model says, or bytes of a federate that "
                "uses another version of it."
            ),
            "Misfit": "The `EncodingError` of the encoders of `weft.fom`; its path leads to the field.",
        },
    ),
    (
        "Servers, links and files of a run",
        "Of `weft serve`, `weft run`, and federates whose process is a node.",
        {
            "FabricError": (
                "Servers of a fabric were started with different domains files, under a name that is "
                "not in it, or with a journal of another one. A journal is not to be shared or "
                "copied."
            ),
            "RecordingError": (
                "No room on the disk, a run that is not there, a file that was cut off or is of a "
                "later version."
            ),
            "SaveError": "No room on the disk for a save, or a saved file that was changed.",
            "SnapshotError": "A saved federation of another version of Weft.",
            "ProtocolError": (
                "The peer speaks another protocol: another port, a proxy between, TLS against no TLS. "
                "The server drops it."
            ),
            "WireError": (
                "A client of another edition, or a defect in one. A call with such bytes is refused, "
                "and the session goes on."
            ),
            "ParcelError": "Nodes of different versions in one fabric. Update all of them.",
            "SessionMisuse": (
                "For those who drive `weft.wire` by themselves: the calls of a session come in the "
                "wrong order."
            ),
        },
    ),
    (
        "Orders, regions in time, channels",
        "Of what Weft adds to the standard. Most come from a program that drives these parts by itself.",
        {
            "OrderingError": (
                "A tag of another version or process, as by a federate with `CausalRTIambassador` of "
                "another version."
            ),
            "NotInTime": "`synchronize` or `wait_for` of a federate, where another has not joined or does not come to the point.",
            "InterestError": "A region is to change as of a time that is over.",
            "ChannelError": (
                "A supplier that publishes nothing, a dependency that can never be met, two channels "
                "of one name."
            ),
        },
    ),
    (
        "Reviews",
        "",
        {
            "ReviewError": (
                "pyspark or Java is not installed, a Spark master cannot be reached, the run has no "
                "rows, or is of a later version. A review that cannot be done ends with exit code 2, "
                "never with 0."
            ),
        },
    ),
)
