"""Messages that come late: after their federation, or after their sender."""

from __future__ import annotations

from support.simulated_federates import NAME, federation, mesh
from weft.host.simulated.simulated import LinkProfile


def test_a_message_of_an_earlier_execution_is_not_heard_in_the_next() -> None:
    """What was sent in a federation that is destroyed has no meaning in the next one of that name."""
    network = mesh()
    home, sender, receiver = federation(network, "S1", "S2", "S3")
    for seat in (sender, receiver):
        seat.publish_interaction("Event")
        seat.subscribe_interaction("Event")
    network.settle()
    network.cut("S2", "S3")
    sender.send("Event", b"of yesterday")
    for seat in (home, sender, receiver):
        seat.resign()
    home.destroy()
    home.create()
    for seat in (home, sender, receiver):
        seat.join()
    receiver.subscribe_interaction("Event")
    network.heal("S2", "S3")
    home.publish_interaction("Event")
    for _ in range(10):  # as many commits as the message waits for
        home.publish_interaction("Event")
    network.settle()
    assert network.node("S3").federations[NAME].sequence > 10
    assert receiver.tags("receive_interaction") == []


def test_the_last_words_of_a_federate_are_heard() -> None:
    """A reliable interaction sent before resigning arrives, also where the resignation comes sooner by way of the home."""
    network = mesh()
    _, sender, receiver = federation(network, "S1", "S2", "S3")
    sender.publish_interaction("Event")
    receiver.subscribe_interaction("Event")
    network.settle()
    network.set_link("S2", "S3", LinkProfile(delay=1.0))
    sender.send("Event", b"farewell")
    sender.resign()
    network.settle()
    assert receiver.tags("receive_interaction") == [b"farewell"]
