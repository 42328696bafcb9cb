"""Lives of federates (`recorded_runs`) that are restored in the middle of things: whatever can wait does, and never comes."""

from __future__ import annotations

from support.recorded_runs import Life
from support.small_fom import fom
from weft import OrderType, Source

SLOW = "Slow"
_RATES = b"<updateRate><name>Slow</name><rate>0.001</rate></updateRate></updateRates>"
PACED = 1  # the federate that wants some attributes at that rate; it is not time-constrained


class Hasty(Life):
    """`hurried`: rounds of traffic between the request and Federation Restore Begun."""

    hurried = 30

    def model(self) -> Source:
        plain = fom()
        return Source("range with a slow rate", plain.data.replace(b"</updateRates>", _RATES))

    def join(self, i: int) -> None:
        super().join(i)
        if i == PACED:
            names = self.attributes(i, "Name", "Crew")
            self.rti[i].subscribe_object_class_attributes(self.kind(i), names, SLOW)

    def restore(self) -> None:
        """Two nodes do not hear of each other meanwhile; what is under way between them comes when all is over."""
        if self.network is not None:
            self.network.cut("east", "south")
            for i in (1, 0):  # at the third node what the second of them sends waits for what the first sent
                command = self.rti[i].get_interaction_class_handle("Command")
                self.rti[i].send_interaction(command, {}, b"", order=OrderType.CAUSAL)
                self.wait(0.05)
        for i in sorted(self.present):
            self._update_all(i)
            self._update_all(i)
        self.rti[min(self.present)].request_federation_restore(f"save {self.saves - 1}")
        for _ in range(self.hurried):
            self.tell(self.random.choice(sorted(self.present)))
            self.wait(0.001)
        self.until("initiate_federate_restore", lambda i: self.rti[i].federate_restore_complete())
        self.advancing, self.asked, self.objects = self.saved
        self.retractable.clear()
        self.until("federation_restored", lambda i: None)
        if self.network is not None:
            self.network.heal("east", "south")

    def _update_all(self, i: int) -> None:
        names = self.attributes(i, "Name", "Crew", "Position", "Speed")
        for instance in self.objects[i]:
            self.rti[i].update_attribute_values(instance, dict.fromkeys(names, b"x"), b"")
        self.wait(0.001)
