"""When may it be delivered: the orders of messages, and causal order above all.

Read `orders` for what each order promises, `mses` for the algorithm of causal order, `membership` for joining, resigning and
crashes, `tags` for the bytes; `group` for causal order among members that do not know whom their messages reach, which the
middleware of `weft.federate.causal` uses.  Pure: takes messages, gives those that are released.

How a kernel drives it.  Each federate is a process with a number (`Processes.join`, in the order of joining commands) and has one
`CausalOrder(Mses(number, known, view))` at its node.

    sending     destinations = processes.destinations(federates that will get it)    exactly those (S0-16)
                tag = order.stamp(destinations)
                for a link to one recipient: order.write(tag, recipient); for a link to several: order.write(tag);
                for several links, each to some of them: encode_tags, which often has one tag for all
    receiving   message = Message(payload, decode_tag(data), filtered=…)             filtered: it counts, but has no callback
                for one in order.admit(message): call back
    joining     order.process.joined(number) at all nodes, before anybody addresses it
    resigning   order.process.resigned(number) at all nodes
    a crash     the three steps of `membership`, the last of which is order.crashed(numbers)

Messages must arrive in the end, in any order and any number of times.  Best effort messages have no place in causal order.
For total order the home has a number of its own and a `Sequencer`: send Message(Sequenced(destinations, payload)) with the tag of
order.stamp([home]); what the sequencer releases goes to the destinations of its tag.
"""

from weft.ordering.membership import Forward, Processes, forwards
from weft.ordering.message import Message, Tag
from weft.ordering.mses import Counts, Mses
from weft.ordering.orders import CausalOrder, Order, PriorityOrder, ReceiveOrder, Sequenced, Sequencer
from weft.ordering.tags import decode_tag, encode_tag, encode_tags
from weft.ordering.text_tags import decode_text, encode_text

__all__ = [
    "CausalOrder",
    "Counts",
    "Forward",
    "Message",
    "Mses",
    "Order",
    "PriorityOrder",
    "Processes",
    "ReceiveOrder",
    "Sequenced",
    "Sequencer",
    "Tag",
    "decode_tag",
    "decode_text",
    "encode_tag",
    "encode_tags",
    "encode_text",
    "forwards",
]
