"""From old domains to new ones, while messages are under way (S1-20).

The clocks and queues of a journal count the members of its domains, so they end with them.  What must not end are the messages.
A server that is started with other domains first *finishes* the old ones:

    1  It runs its channels under the old domains, but hands nothing over and sends nothing of its own: what comes for it goes to
       its inbox, what comes for others it passes on.
    2  It is *done* with a domain when all it has sent there is acknowledged, and nothing can come to be passed on into it: all
       members of its other domains are done with those.  It tells the members.
    3  When all members of all its domains are done with them, and it is too, nothing for it or by it is under way any more.
       It *leaves*: clocks and empty queues are forgotten, the inbox is kept, and all that in one transaction.  Then it begins
       under the new domains, and hands over its inbox first.
    4  Whoever asks it about the old domains from then on is told that it has left, which says that it was done and that nothing
       to it is missing.

Old domains are a forest, so "my other domains first" ends at servers with one domain, and nobody waits in a circle.  Servers may
crash at any step: what a server said it was done with stays so, because since it began to finish nothing new is sent (a journal
in that state is opened for nothing else), and a packet that is sent again was received before.

Causal order.  A server has all messages of the old domains in its inbox before it gets one of the new.  A message of the old
domains that follows one of the new cannot be: whoever gets a new one sends no old one any more.  So the order is causal within
the old, within the new, and from the old to the new.

Servers may change over one by one; who still runs under the old domains holds its neighbours up until it is started anew, and
nothing else.  A server that is to go is taken out of all domains first, and out of the file when that has been done.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from weft.fabric.channel import Channel
from weft.fabric.domain_state import DomainState
from weft.fabric.journal import Saved
from weft.fabric.topology import Topology
from weft.model.errors import FabricError


class ChangeOver:
    """What one server knows of how far its neighbours are.  Servers and domains are numbers, as in the old topology."""

    def __init__(self, old: Topology, own: int) -> None:
        name = old.servers[own]
        self.names = old.servers
        self._others: dict[int, list[int]] = {}
        for number, members in enumerate(old.domains.values()):
            if name in members:
                self._others[number] = [old.numbers[one] for one in members if one != name]
        self._done: set[tuple[int, int]] = set()
        self._left: set[int] = set()

    @property
    def neighbours(self) -> list[int]:
        return sorted({peer for those in self._others.values() for peer in those})

    def told(self, peer: int, domains: Iterable[int]) -> None:
        """That neighbour is done with these domains."""
        self._done.update((domain, peer) for domain in domains)

    def left(self, peer: int) -> None:
        """That neighbour has left the old domains."""
        self._left.add(peer)

    def has_left(self, peer: int) -> bool:
        return peer in self._left

    def done(self, channels: Collection[Channel]) -> list[int]:
        """The domains that this server is done with; ask when all is committed."""
        complete = {domain for domain in self._others if self._is_complete(domain, channels)}
        return [
            domain
            for domain in self._others
            if all(other in complete for other in self._others if other != domain)
            and all(self._is_sent(channel.states[domain]) for channel in channels)
        ]

    def is_finished(self, channels: Collection[Channel]) -> bool:
        """Is nothing for this server or by it under way any more?"""
        done = self.done(channels)
        return all(domain in done and self._is_complete(domain, channels) for domain in self._others)

    def waited_for(self) -> list[str]:
        """The neighbours that have something left, as far as is known here."""
        open_ends = {
            peer
            for domain, those in self._others.items()
            for peer in those
            if peer not in self._left and (domain, peer) not in self._done
        }
        return [self.names[peer] for peer in sorted(open_ends)]

    def _is_complete(self, domain: int, channels: Collection[Channel]) -> bool:
        """Has all come that ever will?"""
        return all(
            peer in self._left or (domain, peer) in self._done for peer in self._others[domain]
        ) and not any(channel.states[domain].waiting_count for channel in channels)

    def _is_sent(self, state: DomainState) -> bool:
        """Has all been acknowledged?  Who has left has got all, even if its last acknowledgement was lost."""
        return all(
            not state.out[place] and not state.beyond[place]
            for place, peer in enumerate(state.members)
            if peer not in self._left
        )


def check_change(old: Topology, new: Topology) -> None:
    """Refuses a change that would leave a server behind."""
    gone = [name for name in old.servers if name not in new.numbers and old.memberships[name]]
    if gone:
        those = ", ".join(gone)
        raise FabricError(
            f"the new domains file lacks {those}, still in domains of the old; first keep {those} in [servers] but in no"
            " domain, let all servers change over, and take it out of the file then"
        )


def origins(old: Topology, new: Topology) -> dict[int, int]:
    """The new numbers of servers that are in both."""
    return {at: new.numbers[name] for at, name in enumerate(old.servers) if name in new.numbers}


def carried_over(saved: Saved, old: Topology, new: Topology) -> Saved:
    """What is left of a channel's tables when its server leaves the old domains: the inbox."""
    found = Saved(new.fingerprint)
    numbers = origins(old, new)
    for number, (origin, payload) in saved.inbox.items():
        if origin not in numbers:
            raise FabricError(
                f"messages of {old.servers[origin]} are still to be reacted to, and the new domains file lacks it; keep it in"
                " [servers], in no domain, until they have been"
            )
        found.inbox[number] = (numbers[origin], payload)
    return found
