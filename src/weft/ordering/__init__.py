"""When may it be delivered: causal order, time stamp order, and the bounds of logical time.

Read `mses` for the algorithm of causal order and `tags` for its bytes; `stamped` and `galt` for time stamp order; for the
middleware of `weft.federate.causal` `group`, among members that do not know whom their messages reach, and `tables`, with
destinations that may be wrong.
Pure: takes messages, gives those that are released.  `weft.kernel.message.causal_order` drives causal and total order.
"""

from weft.ordering.message import Tag, TaggedMessage
from weft.ordering.mses import Mses, MsesCounts
from weft.ordering.tags import decode_tag, encode_tag, encode_tags

__all__ = ["Mses", "MsesCounts", "Tag", "TaggedMessage", "decode_tag", "encode_tag", "encode_tags"]
