"""The oracle's rules for advisories.  See `support.oracle`.

* Object class relevance: a published class is relevant while another federate subscribes actively, somewhere in the lineage
  of the class, to an attribute that is published there.
* Interaction relevance: likewise for a published interaction class.
* Attribute relevance: an owned attribute is relevant while another federate knows the instance and subscribes to the attribute
  actively, at its known class if advisories use the known class, else anywhere in the lineage of the instance's class; the rate
  is the fastest anybody asked for, "" (every update) being the fastest of all.
* Attribute scope: an attribute is in scope while one knows the instance, subscribes to it at the known class, and another
  federate owns it.

A federate whose switch is on hears of every change of these.  What ceases to concern it goes without a word: a class or
attribute it no longer publishes or owns, an instance it no longer knows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from support.small_fom import INTERACTION_ROOT, RATES, ROOT, lineage

if TYPE_CHECKING:
    from support.oracle_state import Declaring as Oracle
    from support.oracle_state import Out, Who

SWITCHES = ("registrations", "interactions", "updates", "scope")


def news(oracle: Oracle) -> Out:
    """What all federates hear when the state is now as it is; what they were told is brought up to date."""
    out: Out = []
    for who in oracle.who.values():
        for switch, worked_out in (
            ("registrations", registrations(oracle, who)),
            ("interactions", interactions(oracle, who)),
            ("updates", updates(oracle, who)),
            ("scope", scope(oracle, who)),
        ):
            concerned, now = worked_out
            if not who.switches[switch]:
                who.told.pop(switch, None)
                continue
            told = who.told.get(switch, {})
            who.told[switch] = now
            gained = {key: value for key, value in now.items() if key not in told or told[key] != value}
            lost = {key for key in told if key not in now and key in concerned}
            out += callbacks(who, switch, gained, lost)
    return out


def callbacks(who: Who, switch: str, gained: dict[Any, str], lost: set[Any]) -> Out:
    if switch == "registrations":
        on, off = "start_registration_for_object_class", "stop_registration_for_object_class"
    else:
        on, off = "turn_interactions_on", "turn_interactions_off"
    if switch in ("registrations", "interactions"):
        return [(who.seat, on, (cls,)) for cls in gained] + [(who.seat, off, (cls,)) for cls in lost]
    if switch == "updates":
        on, off = "turn_updates_on_for_object_instance", "turn_updates_off_for_object_instance"
    else:
        on, off = "attributes_in_scope", "attributes_out_of_scope"
    out: Out = []
    for handle, rate in {(handle, rate) for (handle, _), rate in gained.items()}:
        names = frozenset(a for (h, a), r in gained.items() if (h, r) == (handle, rate))
        out.append((who.seat, on, (handle, names, rate) if rate else (handle, names)))
    for handle in {handle for handle, _ in lost}:
        out.append((who.seat, off, (handle, frozenset(a for h, a in lost if h == handle))))
    return out


def registrations(oracle: Oracle, who: Who) -> tuple[set[Any], dict[Any, str]]:
    now = {}
    for cls, published in who.published.items():
        for other in oracle.who.values():
            for above in lineage(cls, ROOT):
                wishes = other.subscribed.get(above, {}).items()
                if other is not who and any(active and a in published for a, (active, _) in wishes):
                    now[cls] = ""
    return set(who.published), now


def interactions(oracle: Oracle, who: Who) -> tuple[set[Any], dict[Any, str]]:
    now = {}
    for cls in who.sends:
        for other in oracle.who.values():
            if other is not who and any(other.receives.get(c) for c in lineage(cls, INTERACTION_ROOT)):
                now[cls] = ""
    return who.sends, now


def updates(oracle: Oracle, who: Who) -> tuple[set[Any], dict[Any, str]]:
    concerned = set()
    now = {}
    for thing in oracle.things.values():
        for name, owner in thing.owners.items():
            if owner is not who:
                continue
            concerned.add((thing.handle, name))
            rates = [
                other.subscribed[cls][name][1]
                for other, at in thing.known.items()
                for cls in ([at] if oracle.use_known_class else lineage(thing.cls, ROOT))
                if other is not who and other.subscribed.get(cls, {}).get(name, (False, ""))[0]
            ]
            if rates:
                now[thing.handle, name] = max(rates, key=lambda rate: RATES[rate] if rate else float("inf"))
    return concerned, now


def scope(oracle: Oracle, who: Who) -> tuple[set[Any], dict[Any, str]]:
    concerned = set()
    now = {}
    for thing in oracle.things.values():
        if who in thing.known:
            subscribed = who.subscribed.get(thing.known[who], {})
            for name in {*subscribed, *(a for h, a in who.told.get("scope", {}) if h == thing.handle)}:
                concerned.add((thing.handle, name))
                if name in subscribed and thing.owners.get(name, who) is not who:
                    now[thing.handle, name] = ""
    return concerned, now
